// A process over all of its periods: its memory by kind, the live heap by place, or time by the values of a label, as layers.

import { useEffect, useMemo, useState } from "preact/hooks";
import { localTime } from "../model/days";
import type { PeriodPart } from "../model/facts";
import type { Model } from "../model/model";
import { clean } from "../model/names";
import { BYTES, HEAP, kindsOf, layers, RESIDENT, sumsOf, typeOf, type Layers } from "../model/over_time";
import type { SampleType } from "../model/profile";
import { amount, percent } from "../model/units";
import { Segments } from "../parts/segments";
import { StackedArea } from "../parts/stacked_area";
import { GEMS } from "../pictures/coloring";
import { brief, labelWord } from "../words/words";
import { clock, MINUTE, spanText } from "./times";

const PAUSE = 30; // periods after which the page may do something else

interface Read {
  readonly kind: string;
  readonly type: SampleType;
  readonly layers: Layers;
}

interface OverTimeProps {
  readonly name: string;
  /** The numbers of the process's periods, and the periods. */
  readonly places: readonly number[];
  readonly parts: readonly PeriodPart[];
  readonly modelOf: (part: number) => Promise<Model>;
  readonly open: (part: number) => void;
}

export function OverTime({ name, places, parts, modelOf, open }: OverTimeProps) {
  const [kinds, setKinds] = useState<readonly string[]>([]);
  const [kind, choose] = useState("");
  const [done, setDone] = useState(0);
  const [read, setRead] = useState<Read | null>(null);
  useEffect(() => {
    const last = places.at(-1);
    if (last !== undefined) modelOf(last).then((it) => setKinds(kindsOf(it)), () => {});
  }, [places]);
  useEffect(() => {
    setRead(null);
    if (kind === "") return;
    let wanted = true;
    void readAll(kind, places, modelOf, (it) => (wanted && setDone(it), wanted)).then((it) => wanted && setRead(it));
    return () => void (wanted = false);
  }, [kind, places]);
  if (kinds.length === 0) return null;
  const word = (it: string) => (it === RESIDENT ? "Resident memory" : it === HEAP ? "Live heap" : labelWord(it));
  return (
    <div class="over-time">
      <div class="bar">
        <span class="muted">Over time</span>
        <Segments label={`${name} over time`} choices={kinds.map((it) => [word(it), it === kind, () => choose(it === kind ? "" : it)])} />
        {kind !== "" && !read && <span class="muted" role="status">Read {done} of {places.length} periods.</span>}
        {read && <span class="muted">{read.kind === RESIDENT ? "At the last row of each period, by kind" : read.kind === HEAP ? "Live at the end of each period, by the place that allocated it" : `${read.type.name === "cpu" ? "CPU time" : "Time"} in each period, by ${brief(clean(read.kind))}`}</span>}
      </div>
      {read && <Stack label={`${name}: ${word(read.kind)} over time`} read={read} places={places} parts={parts} open={open} />}
    </div>
  );
}

/** Reads all periods. A damaged one has no weight here, and says so when it is opened. @param told returns false to stop */
async function readAll(kind: string, places: readonly number[], modelOf: (part: number) => Promise<Model>, told: (done: number) => boolean): Promise<Read> {
  const sums: Map<string, number>[] = [];
  let type: SampleType = { name: "", unit: "" };
  for (const [at, place] of places.entries()) {
    if (at % PAUSE === 0) {
      if (!told(at)) break;
      await new Promise((go) => setTimeout(go, 0));
    }
    const model = await modelOf(place).catch(() => null);
    type = kind === RESIDENT ? BYTES : (model?.profile.types[typeOf(model.profile.types, kind)] ?? type);
    sums.push(model ? sumsOf(model, kind) : new Map());
  }
  return { kind, type, layers: layers(sums, GEMS) };
}

function Stack({ label, read, places, parts, open }: { label: string; read: Read; places: readonly number[]; parts: readonly PeriodPart[]; open: (part: number) => void }) {
  const spans = useMemo(() => places.map((it) => parts[it]!), [places, parts]);
  const isBytes = read.kind === HEAP || read.kind === RESIDENT;
  return (
    <StackedArea
      label={label}
      layers={read.layers}
      spans={spans}
      height={(at, weight) => (isBytes ? weight : weight / 1e6 / Math.max(1, spans[at]!.to - spans[at]!.from))} // else the share of a CPU
      text={(value) => (isBytes ? amount(read.type, value) : `${percent(value, 1)} of a CPU`)}
      time={(ms, step) => clock(localTime(ms), step < MINUTE)}
      title={(at) => spanText(spans[at]!)}
      open={(at) => open(places[at]!)}
    />
  );
}
