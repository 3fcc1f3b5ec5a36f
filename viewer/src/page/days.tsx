// The page of a directory: how busy each process was in each minute. A cell opens its period; two periods can be compared.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { grid, type Grid } from "../model/days";
import type { Facts, IndexFacts, PeriodPart, PeriodProcess } from "../model/facts";
import type { Model } from "../model/model";
import { clean } from "../model/names";
import { NONE, sumsOf } from "../model/over_time";
import { duration, percent } from "../model/units";
import { usePaint, useSize } from "../parts/hooks";
import { widthOf } from "../pictures/lettering";
import { Tip, type TipPlace, type TipText } from "../parts/tip";
import { onRamp, type Theme } from "../pictures/theme";
import type { Surface } from "../pictures/surface";
import { brief } from "../words/words";
import { OverTime } from "./over_time";
import { clock, day, spanText } from "./times";

const ROW = 16; // px
const AXIS = 20; // px
const MINUTE = 60_000; // ms
const HOUR = 60 * MINUTE;
const LABEL = 96; // px in front of the cells
const MINUTES_LABEL = 52; // px that a label takes
const SECONDS_LABEL = 74;
const REST_MS = 150; // from which a pointer rests
const MOST_WORK = 3;

/** A period that is shown, and the one that it is compared with. */
export interface Shown {
  readonly part: number;
  readonly before: number | null;
}

interface DaysProps {
  readonly index: IndexFacts;
  readonly open: (shown: Shown) => void;
  readonly factsOf: (part: number) => Promise<Facts>;
  readonly modelOf: (part: number) => Promise<Model>;
}

export function Days({ index, open, factsOf, modelOf }: DaysProps) {
  const [marked, mark] = useState<number | null>(null);
  const { processes, parts } = index.periods;
  const choose = (part: number, compare: boolean) => {
    if (marked !== null && marked !== part) open(inOrder(parts, marked, part));
    else if (compare) mark(marked === part ? null : part);
    else open({ part, before: null });
  };
  return (
    <div class="days-page">
      <header class="header">
        <h1 title={brief(clean(index.title))}>{brief(clean(index.title))}</h1>
        <p class="muted grow">A click opens a period. Ctrl and a click on two compares them.</p>
        {marked !== null && (
          <p>
            Compare {spanText(parts[marked]!)} with … <button class="opener" onClick={() => mark(null)}>Cancel</button>
          </p>
        )}
        <span class="muted">profiler {index.version}</span>
      </header>
      <div class="days">
        <ul class="legend" aria-label="Colours">
          <li>
            <i class="dot busy-low" />
            little {index.periods.type === "cpu" ? "CPU time" : "activity"}
          </li>
          <li>
            <i class="dot busy-high" />
            most of this process
          </li>
        </ul>
        {busiestFirst(processes).map((it) => (
          <ProcessMap key={it.pid} process={it} index={index} marked={marked} choose={choose} factsOf={factsOf} modelOf={modelOf} />
        ))}
      </div>
    </div>
  );
}

/** Returns the processes with the most weight first. */
function busiestFirst(processes: readonly PeriodProcess[]): PeriodProcess[] {
  const weights = new Map(processes.map((it) => [it, it.cells.reduce((sum, cell) => sum + cell[2], 0)]));
  return [...processes].sort((one, other) => weights.get(other)! - weights.get(one)!);
}

/** Returns two periods with the earlier one as the one before. */
function inOrder(parts: readonly PeriodPart[], one: number, other: number): Shown {
  return parts[one]!.from <= parts[other]!.from ? { part: other, before: one } : { part: one, before: other };
}

interface MapProps {
  readonly process: PeriodProcess;
  readonly index: IndexFacts;
  readonly marked: number | null;
  readonly choose: (part: number, compare: boolean) => void;
  readonly factsOf: (part: number) => Promise<Facts>;
  readonly modelOf: (part: number) => Promise<Model>;
}

function ProcessMap({ process, index, marked, choose, factsOf, modelOf }: MapProps) {
  const map = useMemo(() => grid(process), [process]);
  const own = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = useSize(own);
  const [tip, setTip] = useState<(TipPlace & { readonly cell: number }) | null>(null);
  const [hovered, setHovered] = useState(-1); // a cell
  const [current, setCurrent] = useState(-1); // the cell from which keys move
  const height = map.rows * ROW + AXIS;
  const lit = hovered >= 0 ? hovered : current;
  usePaint(canvas, { width, height }, (surface, colors) => paint(surface, colors, map, width, lit, marked), [map, lit, marked]);
  const cellAt = (event: MouseEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const row = Math.floor((event.clientY - box.top) / ROW);
    const column = Math.floor(((event.clientX - box.left - LABEL) / (width - LABEL)) * map.columns);
    const cell = row * map.columns + column;
    return row < map.rows && column >= 0 && column < map.columns && (map.part[cell] ?? -1) >= 0 ? cell : -1;
  };
  const lead = useLead(lit < 0 ? -1 : map.part[lit]!, factsOf, modelOf);
  const places = useMemo(() => index.periods.parts.flatMap((it, at) => (index.periods.processes[it.process] === process ? [at] : [])), [index, process]);
  const text = (cell: number): TipText => {
    const tip = cellText(index, map, cell);
    if (lead.part !== map.part[cell]) return tip;
    const parts = map.parts[cell]!;
    const place = parts > 1 ? `the busiest of ${parts} periods: ${lead.text}` : lead.text;
    return { ...tip, rows: [...tip.rows, ...lead.rows], ...(lead.text === "" ? {} : { place }) };
  };
  const keyed = (event: KeyboardEvent) => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -map.columns, ArrowDown: map.columns };
    const step = Object.hasOwn(steps, event.key) ? steps[event.key]! : 0;
    if (step !== 0) {
      let next = current < 0 ? map.part.findIndex((it) => it >= 0) : current + step;
      while (next >= 0 && next < map.part.length && map.part[next]! < 0) next += step;
      if (next >= 0 && next < map.part.length) setCurrent(next);
    } else if (event.key === "Enter" && current >= 0) choose(map.part[current]!, event.ctrlKey || event.metaKey);
    else return;
    event.preventDefault();
  };
  const name = `${brief(clean(process.program))} (${process.pid})`;
  return (
    <section class="days-process" aria-label={name}>
      <h2>
        {name} <span class="muted">{duration(map.total)} {index.periods.type === "cpu" ? "CPU time" : "not waiting"} in {process.cells.length} files</span>
      </h2>
      <div
        ref={own}
        class="days-map"
        tabIndex={0}
        role="application"
        aria-roledescription="heatmap"
        aria-label={`${name}: arrow keys walk, Enter opens a period, Ctrl and Enter on two compares them`}
        style={{ height: `${height}px` }}
        onKeyDown={keyed}
      >
        <canvas
          ref={canvas}
          aria-hidden="true"
          onPointerMove={(event) => {
            const cell = cellAt(event);
            setHovered(cell);
            setTip(cell < 0 ? null : { ...text(cell), x: event.clientX, y: event.clientY, cell });
          }}
          onPointerLeave={() => (setHovered(-1), setTip(null))}
          onClick={(event) => {
            const cell = cellAt(event);
            if (cell >= 0) choose(map.part[cell]!, event.ctrlKey || event.metaKey);
          }}
        />
      </div>
      <p class="hidden" aria-live="polite">
        {current >= 0 && `${text(current).title}, ${text(current).rows.map(([key, value]) => `${key} ${value}`).join(", ")}`}
      </p>
      <Tip tip={tip && { ...tip, ...text(tip.cell) }} />
      <OverTime name={name} places={places} parts={index.periods.parts} modelOf={modelOf} open={(part) => choose(part, false)} />
    </section>
  );
}

interface Lead {
  readonly part: number;
  readonly text: string;
  readonly rows: readonly (readonly [name: string, value: string])[];
}

/** Returns the first finding of a period and its heaviest endpoints or jobs, once they are read: empty until then. */
function useLead(part: number, factsOf: MapProps["factsOf"], modelOf: MapProps["modelOf"]): Lead {
  const [lead, setLead] = useState<Lead>({ part: -1, text: "", rows: [] });
  useEffect(() => {
    if (part < 0) return;
    let wanted = true;
    let text = "";
    factsOf(part).then(
      ({ findings }) => {
        const first = findings.find((it) => it.kind !== "trust");
        const share = first && first.share !== null ? `${percent(first.share, 1)} ` : "";
        text = first ? brief(clean(`${share}${first.text}`)) : "";
        if (wanted) setLead({ part, text, rows: [] });
      },
      () => {}, // a damaged period says so when it is opened
    );
    // A pointer that only passes reads no profile.
    const timer = setTimeout(() => modelOf(part).then((model) => wanted && setLead({ part, text, rows: work(model) }), () => {}), REST_MS);
    return () => (clearTimeout(timer), void (wanted = false));
  }, [part]);
  return lead;
}

/** Returns the endpoints or jobs with most time, and their shares. */
function work(model: Model): [string, string][] {
  for (const label of ["endpoint", "job"]) {
    const sums = [...sumsOf(model, label)].filter(([name]) => name !== NONE);
    const all = [...sumsOf(model, label).values()].reduce((one, other) => one + other, 0);
    if (sums.length > 0) return sums.sort((one, other) => other[1] - one[1]).slice(0, MOST_WORK).map(([name, weight]) => [brief(name), percent(weight, all)]);
  }
  return [];
}

function paint(surface: Surface, theme: Theme, map: Grid, width: number, lit: number, marked: number | null): void {
  const cell = (width - LABEL) / map.columns;
  const gap = cell > 4 ? 1 : 0;
  const litPart = lit < 0 ? -1 : map.part[lit]!;
  for (let row = 0; row < map.rows; row++) {
    const label = rowLabel(map, row);
    surface.text(LABEL - 8 - widthOf(label), row * ROW + ROW / 2, label, theme.muted);
    for (let column = 0; column < map.columns; column++) {
      const at = row * map.columns + column;
      const weight = map.cells[at]!;
      const left = LABEL + column * cell;
      if (weight < 0) {
        surface.rect(left, row * ROW + ROW - 2, cell - gap, 1, theme.line);
        continue;
      }
      const part = map.part[at]!;
      const ramp = part === litPart || part === marked ? theme.litHeat : theme.heat;
      surface.rect(left, row * ROW, cell - gap, ROW - 1, onRamp(ramp, map.largest > 0 ? weight / map.largest : 0));
    }
  }
  const isHours = map.rowMs === HOUR && map.rows > 1;
  const isDays = map.rowMs > HOUR;
  const perMinute = MINUTE / map.cellMs;
  for (let column = 0; column < map.columns; column += stepOf(map, cell)) {
    const text = isHours ? `:${String(Math.floor(column / perMinute)).padStart(2, "0")}` : clock((isDays ? 0 : map.first) + column * map.cellMs, map.cellMs < MINUTE);
    const left = LABEL + column * cell;
    if (left + widthOf(text) <= width) surface.text(left, map.rows * ROW + AXIS / 2, text, theme.muted);
  }
}

/** Returns the number of cells from one label of the axis to the next, so that labels do not meet. @param cell the width of a cell, px */
function stepOf({ rowMs, cellMs, columns }: Grid, cell: number): number {
  const least = cellMs < MINUTE && columns * cellMs !== HOUR ? SECONDS_LABEL : MINUTES_LABEL;
  const steps = rowMs > HOUR ? [12, 36, 72] : [1, 2, 5, 10, 20, 30, 60, 120];
  return steps.find((it) => it * cell >= least) ?? columns;
}

function cellText(index: IndexFacts, map: Grid, cell: number): TipText {
  const from = map.first + Math.floor(cell / map.columns) * map.rowMs + (cell % map.columns) * map.cellMs;
  const part = index.periods.parts[map.part[cell]!]!;
  const weight = map.cells[cell]!;
  const rows: [string, string][] = [
    [index.periods.type === "cpu" ? "CPU time" : "not waiting", duration(weight)],
    ["of a CPU", `${((100 * weight) / (map.cellMs * 1e6)).toFixed(1)}%`],
  ];
  if (part.files > 1 || part.to - part.from > map.cellMs * 1.5) rows.push(["opens", spanText(part)]);
  const hasSeconds = map.cellMs < MINUTE;
  return { title: `${day(from)} ${clock(from, hasSeconds)} to ${clock(from + map.cellMs, hasSeconds)}`, rows };
}

function rowLabel(map: Grid, row: number): string {
  const at = map.first + row * map.rowMs;
  if (map.rowMs > HOUR) return day(at);
  // The date is shown at the first hour of each day.
  return row === 0 || clock(at) === "00:00" ? `${day(at)} ${clock(at)}` : clock(at);
}
