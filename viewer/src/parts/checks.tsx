// A popover for choosing some of many entries.

import { useState } from "preact/hooks";
import { percent } from "../model/units";
import { Popover } from "./popover";

export interface Choice {
  readonly key: string;
  readonly text: string;
  readonly weight: number;
  /** The class of the dot before the entry. */
  readonly dot?: string;
}

export interface ChecksProps {
  readonly label: string;
  readonly name: string;
  readonly choices: () => readonly Choice[];
  /** The chosen entries; `null` means all of them. */
  readonly chosen: ReadonlySet<string> | null;
  readonly onChange: (chosen: ReadonlySet<string> | null) => void;
}

const MANY = 8; // the number from which entries can be searched
const MOST = 200; // the maximum number that is shown

export function Checks({ label, name, choices, chosen, onChange }: ChecksProps) {
  return (
    <Popover label={label} name={name} kind="dialog" active={chosen !== null}>
      {() => <List choices={choices()} chosen={chosen} onChange={onChange} />}
    </Popover>
  );
}

function List({ choices, chosen, onChange }: { choices: readonly Choice[]; chosen: ReadonlySet<string> | null; onChange: ChecksProps["onChange"] }) {
  const [wanted, setWanted] = useState("");
  const found = choices.filter((it) => it.text.toLowerCase().includes(wanted.toLowerCase()));
  const all = choices.reduce((sum, it) => sum + it.weight, 0);
  const turn = (key: string) => {
    const next = new Set(chosen ?? choices.map((it) => it.key));
    if (!next.delete(key)) next.add(key);
    onChange(next.size === choices.length ? null : next);
  };
  return (
    <>
      {choices.length > MANY && <input type="search" placeholder="Find" aria-label="Find in the list" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />}
      <ul class="checks">
        {found.slice(0, MOST).map((it) => (
          <li key={it.key}>
            <label>
              <input type="checkbox" checked={chosen?.has(it.key) ?? true} onChange={() => turn(it.key)} />
              {it.dot && <i class={`dot ${it.dot}`} />}
              <span>{it.text}</span>
              <small>{percent(it.weight, all)}</small>
            </label>
            <button class="only" onClick={() => onChange(new Set([it.key]))}>
              only
            </button>
          </li>
        ))}
      </ul>
      {found.length > MOST && <p class="muted">and {found.length - MOST} more</p>}
      <button class="link" disabled={chosen === null} onClick={() => onChange(null)}>
        Select all
      </button>
    </>
  );
}
