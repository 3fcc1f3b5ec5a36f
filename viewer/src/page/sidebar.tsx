// The findings, and how the profile was recorded.

import { useMemo } from "preact/hooks";
import { everything } from "../model/selection";
import type { Finding } from "../model/facts";
import { clean } from "../model/names";
import { amount } from "../model/units";
import { useApp } from "../state/context";
import { isPart, isPressed } from "../state/findings";
import { Breakable } from "../parts/breakable";
import { brief, capital, typeWord } from "../words/words";
import { ChangeCards } from "./change_cards";
import { FindingCard } from "./finding_card";
import { Hottest } from "./hottest";

const TRUST = "trust"; // the kind of findings on how far numbers can be trusted

// The sidebar is focusable, because keys should scroll it even if it contains no button.
export function Sidebar() {
  const { model, state } = useApp();
  const { selection } = state;
  const { facts } = model;
  // How far numbers can be trusted is not a finding of its own. What ranks above all findings is what to read first.
  const findings = facts.findings.filter((it) => it.kind !== TRUST);
  const leading = findings.length === 0 ? facts.findings.length : facts.findings.indexOf(findings[0]!);
  const [first, notes] = [facts.findings.slice(0, leading), facts.findings.slice(leading).filter((it) => it.kind === TRUST)];
  const named = findings.find((it) => it.share !== null)?.type ?? facts.type; // the sample type of the shares
  const type = model.profile.types.find((it) => it.name === named);
  const isOther = type !== undefined && type !== model.type(selection);
  // Under the cards, if a click on one of them led here: what was clicked stays under the pointer.
  const hottest = model.compares(selection) || !(isPart(selection) || isOther) ? null : findings.some((it) => isPressed(it, model, selection)) ? "below" : "above";
  return model.isTwoSided ? <ChangesSidebar /> : (
    <aside class="sidebar" aria-label="Findings" tabIndex={0}>
      <section class="stands-out">
        {model.compares(selection) ? <ChangeCards of={{ ...selection, search: "" }} /> : hottest === "above" && <Hottest />}
        <h2>
          What stands out{isOther && ` in ${typeWord(type)}`}{isPart(selection) && `${isOther ? " of" : " in"} the whole profile`}
        </h2>
        {findings.length === 0 && <p class="muted">Nothing stands out.</p>}
        <Notes notes={first} />
        <Base findings={findings} />
        <ul class="findings">
          {findings.map((it) => (
            <FindingCard key={it.text} finding={it} />
          ))}
        </ul>
        {hottest === "below" && <Hottest />}
        <Notes notes={notes} />
      </section>
      <section class="taken">
        <h2>How it was taken</h2>
        <Header sentences={facts.header} />
        <p class="muted version">profiler {facts.version}</p>
      </section>
    </aside>
  );
}

function Header({ sentences }: { sentences: readonly string[] }) {
  return (
    <ul class="sentences">
      {sentences.map((it) => (
        <li key={it}>{clean(it)}</li>
      ))}
    </ul>
  );
}

/** How far numbers can be trusted. */
function Notes({ notes }: { notes: readonly Finding[] }) {
  if (notes.length === 0) return null;
  return (
    <ul class="sentences notes">
      {notes.map((it) => (
        <li key={it.text}><Breakable text={capital(brief(clean(it.text)))} />.</li>
      ))}
    </ul>
  );
}

/** Says what the shares are of: they leave out some of the wall clock time. */
function Base({ findings }: { findings: readonly Finding[] }) {
  const { profile, facts } = useApp().model;
  const isLeftOut = findings.some((it) => it.kind === "loading" && it.share === null);
  const first = findings.find((it) => it.share !== null && it.share > 0);
  const type = profile.types.find((it) => it.name === first?.type);
  const isDelayLeftOut = findings.some((it) => it.text.includes("left out of the percentages"));
  const without = [...(isLeftOut ? ["loading"] : []), ...(type?.name === "wall" && facts.idle.rows.length > 0 ? ["idle waits"] : []), ...(isDelayLeftOut ? ["waits for a CPU"] : [])];
  if (!first || !type || without.length === 0) return null;
  return (
    <p class="muted base">
      Shares are of the {amount(type, Math.round(first.weight / first.share!))} of {typeWord(type)} without {without.join(", ").replace(/, ([^,]*)$/, " and $1")}.
    </p>
  );
}

/** The changes of all of two profiles, and how both sides were recorded. */
function ChangesSidebar() {
  const { model, state } = useApp();
  const { comparison, version } = model.facts;
  const whole = useMemo(() => ({ ...everything(model.profile), type: state.selection.type }), [model, state.selection.type]);
  const known = comparison!.changes.find((it) => it.type === model.type(whole).name && !it.total && !it.absolute)?.headline;
  return (
    <aside class="sidebar changed" aria-label="Findings" tabIndex={0}>
      <ChangeCards of={whole} headline={known && brief(clean(known))} />
      {comparison!.runs.map((run, at) => (
        <section key={at}>
          <h2>
            {run.side === "before" ? "Before" : "After"}: {brief(clean(run.name))}
          </h2>
          <Header sentences={run.header} />
        </section>
      ))}
      <p class="muted version">profiler {version}</p>
    </aside>
  );
}
