// A directory, or an opened period of it. The address says which.

import { useEffect, useRef, useState } from "preact/hooks";
import { load, loadJson } from "../model/decode";
import type { Facts, IndexFacts } from "../model/facts";
import { Model } from "../model/model";
import { FormatError } from "../model/protobuf";
import { twoFiles, type Opened } from "../model/two_sided";
import { Days, type Shown } from "./days";
import { Failure, Page } from "./page";
import { spanText } from "./times";

/** Returns the bytes of a block of the page. */
export type Block = (id: string) => Uint8Array<ArrayBuffer>;

interface Loaded {
  readonly shown: Shown;
  readonly model: Model;
  readonly file: Uint8Array<ArrayBuffer>;
}

export function Periods({ index, block }: { index: IndexFacts; block: Block }) {
  const [shown, setShown] = useState(() => ofAddress(index));
  const read = useRef(new Map<number, Promise<Facts>>());
  const factsOf = (part: number) => {
    const known = read.current.get(part) ?? loadJson(block(`facts-${part}`)).then((it) => it as Facts);
    read.current.set(part, known);
    return known;
  };
  const modelOf = async (part: number) => new Model(await load(block(`period-${part}`)), await factsOf(part));
  const [loaded, setLoaded] = useState<Loaded | string | null>(null);
  useEffect(() => {
    const moved = () => setShown((it) => {
      const next = ofAddress(index);
      return next?.part === it?.part && next?.before === it?.before ? it : next;
    });
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, [index]);
  useEffect(() => {
    setLoaded(null);
    if (!shown) return void (document.title = `${index.title} - profiler`);
    let wanted = true;
    opened(index, block, shown).then(
      (it) => wanted && setLoaded(it),
      (error: unknown) => wanted && setLoaded(error instanceof FormatError ? `${error.message}.` : `This page failed: ${String(error)}`),
    );
    return () => void (wanted = false);
  }, [shown]);
  if (!shown) return <Days index={index} factsOf={factsOf} modelOf={modelOf} open={(it) => void (location.hash = wordsOf(it))} />;
  if (typeof loaded === "string") return <Failure text={loaded} />;
  if (loaded === null || loaded.shown !== shown) return <p class="empty">Reading the period.</p>;
  return <Page key={wordsOf(shown)} model={loaded.model} file={loaded.file} prefix={wordsOf(shown)} above={<PeriodBar index={index} shown={shown} />} />;
}

function PeriodBar({ index, shown }: { index: IndexFacts; shown: Shown }) {
  const { parts, processes } = index.periods;
  const { part, before } = shown;
  const beside = (by: number) => (parts[part + by]?.process === parts[part]!.process ? part + by : null);
  const process = processes[parts[part]!.process]!;
  const to = (next: number | null, text: string) => (
    <button disabled={next === null} onClick={() => void (location.hash = wordsOf({ part: next!, before: null }))}>
      {text}
    </button>
  );
  return (
    <nav class="period-bar" aria-label="Periods">
      <button class="opener" onClick={() => void (location.hash = "")}>
        All periods
      </button>
      <span class="muted grow">process {process.pid}</span>
      {before === null && (
        <div class="segments" role="group" aria-label="Neighbours">
          {to(beside(-1), "Earlier")}
          {to(beside(1), "Later")}
        </div>
      )}
    </nav>
  );
}

async function opened(index: IndexFacts, block: Block, shown: Shown): Promise<Loaded> {
  const file = block(`period-${shown.part}`);
  const read = async (part: number): Promise<Opened> => ({
    profile: await load(block(`period-${part}`)),
    facts: (await loadJson(block(`facts-${part}`))) as Facts,
    name: spanText(index.periods.parts[part]!),
  });
  const after = await read(shown.part);
  if (shown.before === null) return { shown, file, model: new Model(after.profile, { ...after.facts, title: after.name }) };
  return { shown, file, model: twoFiles(await read(shown.before), after) };
}

/** Returns the period in the address; `null` for none, or for one that the page does not have. */
function ofAddress(index: IndexFacts): Shown | null {
  const words = new URLSearchParams(location.hash.slice(1));
  const part = (name: string) => {
    const number = Number(words.get(name) ?? NaN);
    return Number.isInteger(number) && index.periods.parts[number] ? number : null;
  };
  const shown = part("period");
  return shown === null ? null : { part: shown, before: part("periodBefore") };
}

function wordsOf({ part, before }: Shown): string {
  return before === null ? `period=${part}` : `period=${part}&periodBefore=${before}`;
}
