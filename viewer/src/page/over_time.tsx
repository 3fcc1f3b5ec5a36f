// A process over all of its periods: the live heap by place, or time by the values of a label, as a stack of layers.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { localTime } from "../model/days";
import type { PeriodPart } from "../model/facts";
import type { Model } from "../model/model";
import { clean } from "../model/names";
import { HEAP, kindsOf, layers, sumsOf, typeOf, type Layers } from "../model/over_time";
import type { SampleType } from "../model/profile";
import { amount, percent } from "../model/units";
import { usePaint, useSize } from "../parts/hooks";
import { Segments } from "../parts/segments";
import { Tip, type TipPlace } from "../parts/tip";
import { GEMS } from "../pictures/coloring";
import { widthOf } from "../pictures/lettering";
import type { Surface } from "../pictures/surface";
import { theme, type Theme } from "../pictures/theme";
import { brief, labelWord } from "../words/words";
import { clock, spanText } from "./times";

const HEIGHT = 120; // px
const AXIS = 20; // px
const LABEL = 96; // px in front of the layers, as in the map of the process
const TICK = 110; // px from one time to the next
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
  const word = (it: string) => (it === HEAP ? "Live heap" : labelWord(it));
  return (
    <div class="over-time">
      <div class="bar">
        <span class="muted">Over time</span>
        <Segments label={`${name} over time`} choices={kinds.map((it) => [word(it), it === kind, () => choose(it === kind ? "" : it)])} />
        {kind !== "" && !read && <span class="muted" role="status">Read {done} of {places.length} periods.</span>}
        {read && <span class="muted">{read.kind === HEAP ? "Live at the end of each period, by the place that allocated it" : `${read.type.name === "cpu" ? "CPU time" : "Time"} in each period, by ${brief(clean(read.kind))}`}</span>}
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
    type = model?.profile.types[typeOf(model.profile.types, kind)] ?? type;
    sums.push(model ? sumsOf(model, kind) : new Map());
  }
  return { kind, type, layers: layers(sums, GEMS) };
}

const colorOf = (colors: Theme, layer: number) => colors.kinds[layer < GEMS ? `package-${layer}` : "synthetic"]![0]!;

function Stack({ label, read, places, parts, open }: { label: string; read: Read; places: readonly number[]; parts: readonly PeriodPart[]; open: (part: number) => void }) {
  const own = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(own);
  const [tip, setTip] = useState<TipPlace | null>(null);
  const { names, weights, totals } = read.layers;
  const spans = useMemo(() => places.map((it) => parts[it]!), [places, parts]);
  const range = { from: spans[0]!.from, to: spans.at(-1)!.to };
  /** A period's height: its live bytes, or its share of a CPU. */
  const height = (at: number, weight: number) => (read.kind === HEAP ? weight : weight / 1e6 / Math.max(1, spans[at]!.to - spans[at]!.from));
  const text = (value: number) => (read.kind === HEAP ? amount(read.type, value) : `${percent(value, 1)} of a CPU`);
  const largest = totals.reduce((one, total, at) => Math.max(one, height(at, total)), 0);
  const left = (ms: number) => LABEL + ((ms - range.from) / Math.max(1, range.to - range.from)) * (width - LABEL);
  usePaint(canvas, { width, height: HEIGHT + AXIS }, (surface, colors) => paint(surface, colors), [read, width]);

  function paint(surface: Surface, colors: Theme): void {
    const top = text(largest);
    surface.text(LABEL - 8 - widthOf(top), 8, top, colors.muted);
    surface.rect(LABEL, HEIGHT, width - LABEL, 1, colors.line);
    spans.forEach((span, at) => {
      let y = HEIGHT;
      weights.forEach((of, layer) => {
        const high = largest > 0 ? (height(at, of[at]!) / largest) * HEIGHT : 0;
        y -= high;
        if (high > 0) surface.rect(left(span.from), y, Math.max(1, left(span.to) - left(span.from)), high, colorOf(colors, layer));
      });
    });
    const ticks = Math.max(1, Math.floor((width - LABEL) / TICK));
    for (let tick = 0; tick < ticks; tick++) {
      const at = range.from + ((range.to - range.from) * tick) / ticks;
      surface.text(left(at), HEIGHT + AXIS / 2, clock(localTime(at)), colors.muted);
    }
  }

  const placeAt = (event: MouseEvent) => {
    const at = range.from + ((event.clientX - canvas.current!.getBoundingClientRect().left - LABEL) / (width - LABEL)) * (range.to - range.from);
    return spans.findIndex((it) => it.from <= at && at < it.to);
  };
  const moved = (event: PointerEvent) => {
    const at = placeAt(event);
    if (at < 0) return setTip(null);
    const rows = names.map((name, layer): [string, string, string] => [brief(name), text(height(at, weights[layer]![at]!)), colorOf(theme(), layer)]).filter((_, layer) => weights[layer]![at]! > 0);
    setTip({ title: spanText(spans[at]!), rows: [["in all", text(height(at, totals[at]!))], ...rows], x: event.clientX, y: event.clientY });
  };
  return (
    <div ref={own} class="days-map">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`${label}: at most ${text(largest)}`}
        onPointerMove={moved}
        onPointerLeave={() => setTip(null)}
        onClick={(event) => {
          const at = placeAt(event);
          if (at >= 0) open(places[at]!);
        }}
      />
      <ul class="legend" aria-label="Layers">
        {names.map((it, layer) => (
          <li key={it}>
            <i class={`dot origin-${layer < GEMS ? `package-${layer}` : "synthetic"}`} />
            {brief(it)}
          </li>
        ))}
      </ul>
      <Tip tip={tip} />
    </div>
  );
}
