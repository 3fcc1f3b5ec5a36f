// The overview of all time: how active the program was, and what each thread did. Ranges are selected here.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { clean } from "../model/names";
import { sum } from "../model/selection";
import { spanOf, type Track } from "../model/time";
import { amount, duration, percent } from "../model/units";
import { moment, paintAxis, rangeText } from "../pictures/axis";
import { Brush, type Drag } from "../pictures/brush";
import { useApp, type App } from "../state/context";
import { usePaint, useScroll, useSize } from "../parts/hooks";
import { StateLegend } from "../parts/legend";
import { Tip, type TipPlace } from "../parts/tip";
import { CELL, fullColumn, paintHeat, paintMarkers, paintTrack, TRACK } from "../pictures/track_picture";
import { theme } from "../pictures/theme";
import { isComparing } from "../state/view";
import { brief, capital, stateWord, threadName, typeWord } from "../words/words";

const AXIS = 20; // px
const NO_THREAD = -1; // the thread of markers whose thread has no sample
const FOLD = -1; // the line of idle threads, among those of threads
const COLUMN = 4; // px, the minimum width of a column of cells
const NO_TRACKS: readonly Track[] = [];

export function Overview() {
  const app = useApp();
  return app.model.profile.timeline ? <TimeOverview /> : <NoTime />;
}

function NoTime() {
  return (
    <p class="no-time">
      This profile has no timeline, so there is no time axis. <code>Profiler.run(timeline: true)</code> or <code>profiler record --timeline</code> keeps one.
    </p>
  );
}

function TimeOverview() {
  const app = useApp();
  const { model, store, state } = app;
  const { selection } = state;
  const [tip, setTip] = useState<TipPlace | null>(null);
  const [open, setOpen] = useState(false);
  const strip = useRef<HTMLDivElement>(null);
  const width = useSize(strip).width;
  const span = spanOf(model.profile);
  const brush = useMemo(() => new Brush(span, Math.max(1, width)), [span, width]);
  const drag = useDrag(app, brush, strip);
  const { range, against } = selection;

  const keyed = (event: KeyboardEvent) => {
    const which = range && (event.ctrlKey || event.metaKey || (event.key === "Escape" && against)) ? "against" : "range";
    const next = event.key === "Escape" ? null : brush.key(event.key, event.shiftKey, selection[which]);
    if (next === selection[which] || event.altKey || (which === "range" && (event.ctrlKey || event.metaKey))) return;
    event.preventDefault();
    event.stopPropagation();
    store.select({ [which]: next }, which);
    if (which === "against" && next && !isComparing(state.view.tab)) store.show({ tab: "difference" }, which);
  };
  const strips = { width, span, brush, setTip };
  return (
    <section class="overview" aria-label="Time">
      <StripNote width={width} />
      <div class="heat-line">
        <div class="heat-label">
          <StateLegend />
        </div>
        <div
          class="strip"
          ref={strip}
          tabIndex={0}
          role="slider"
          aria-label="Range of time"
          aria-valuemin={0}
          aria-valuemax={Math.round(span / 1e6)}
          aria-valuenow={Math.round((range?.from ?? 0) / 1e6)}
          aria-valuetext={range ? rangeText(range) : "all of the time"}
          onKeyDown={keyed}
          {...drag}
        >
          <HeatStrip {...strips} />
        </div>
      </div>
      <Tracks {...strips} drag={drag} open={open} setOpen={setOpen} />
      <Shade width={width} span={span} />
      <Tip tip={tip} />
    </section>
  );
}

interface Strips {
  readonly width: number;
  readonly span: number;
  readonly brush: Brush;
  readonly setTip: (tip: TipPlace | null) => void;
}

type Handlers = Record<"onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel", (event: PointerEvent) => void> & { onDblClick: () => void };

/** Returns the handlers of a strip on which a range is drawn. */
function useDrag({ store, state }: App, brush: Brush, strip: { current: HTMLElement | null }): Handlers {
  const drag = useRef<{ drag: Drag; x: number; of: string; which: "range" | "against" } | null>(null);
  const { range, against } = state.selection;
  const place = (event: PointerEvent) => event.clientX - strip.current!.getBoundingClientRect().left;
  const whichAt = (event: PointerEvent, x: number) => {
    const second = range && (event.ctrlKey || event.metaKey || (brush.isEdge(x, against) && !brush.isEdge(x, range)));
    return second ? "against" : "range";
  };
  const end = () => {
    const done = drag.current;
    drag.current = null;
    if (done?.which === "against" && store.state.selection.against && !isComparing(store.state.view.tab)) store.show({ tab: "difference" }, done.of);
  };
  return {
    onPointerDown(event) {
      if (event.button !== 0) return;
      const x = place(event);
      const which = whichAt(event, x);
      drag.current = { drag: brush.begin(x, state.selection[which], event.shiftKey), x, of: `range ${event.timeStamp}`, which };
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
    },
    onPointerMove(event) {
      const x = place(event);
      const own = event.currentTarget as HTMLElement;
      if (!drag.current) own.classList.toggle("on-edge", brush.isEdge(x, range) || brush.isEdge(x, against));
      else if (Math.abs(x - drag.current.x) > 2) {
        const { which, of } = drag.current;
        store.select({ [which]: brush.drag(drag.current.drag, x) ?? state.selection[which] }, of);
      }
    },
    onPointerUp: end,
    onPointerCancel: end,
    onDblClick: () => store.select({ range: null, against: null }),
  };
}

/** What the cells of the strip mean. */
function StripNote({ width }: { width: number }) {
  const { sums, model, state } = useApp();
  const heat = width > 0 ? sums.heat(state.selection, columnsOf(width)) : null;
  if (!heat) return null;
  const what = heat.awake ? "work" : typeWord(model.type(state.selection));
  if (heat.largest === 0) return <p class="muted strip-note">No {what} at a known time here. Drag to select a time.</p>;
  return (
    <p class="muted strip-note">
      A column is {duration(heat.columnNs)}, from top to bottom. {capital(what)}: none <i class="ramp" aria-hidden="true" /> most. Drag to select a time.
    </p>
  );
}

const columnsOf = (width: number) => Math.max(20, Math.floor(width / COLUMN));

function HeatStrip({ width, span, brush, setTip }: Strips) {
  const { sums, model, state } = useApp();
  const { selection } = state;
  const canvas = useRef<HTMLCanvasElement>(null);
  const most = columnsOf(width);
  // Without a width, there is nothing to paint yet.
  const heat = width > 0 ? sums.heat(selection, most) : null;
  const lit = width > 0 ? sums.lit(selection, most) : null;
  const cells = (heat?.rows ?? 0) * CELL;
  const size = { width, height: cells + AXIS };
  usePaint(
    canvas,
    size,
    (surface, colors) => {
      if (heat) paintHeat(surface, colors, heat, lit, span, width);
      paintAxis(surface, colors, { from: 0, to: span }, width, cells, AXIS);
      paintMarkers(surface, colors, model.profile, NO_THREAD, span, width, cells + 1);
    },
    [heat, lit, span],
  );
  const hover = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const time = brush.timeAt(event.clientX - box.left);
    const row = Math.floor((event.clientY - box.top) / CELL);
    if (!heat || row < 0 || row >= heat.rows) return setTip(null);
    const column = Math.min(heat.columns - 1, Math.floor(time / heat.columnNs));
    const cell = column * heat.rows + row;
    const from = column * heat.columnNs + (row * heat.columnNs) / heat.rows;
    const isTime = model.type(selection).unit === "nanoseconds";
    const rows: [string, string, string?][] = [[isTime && heat.awake ? "worked" : typeWord(model.type(selection)), amount(model.type(selection), heat.cells[cell]!)]];
    if (lit) rows.push(["matches", amount(model.type(selection), lit.cells[cell]!), theme().lit]);
    if (model.profile.startMs > 0) rows.push(["clock", new Date(model.profile.startMs + from / 1e6).toLocaleTimeString()]);
    setTip({ x: event.clientX, y: event.clientY, title: `${moment(from, heat.columnNs / heat.rows)}, for ${duration(heat.columnNs / heat.rows)}`, rows });
  };
  return <canvas ref={canvas} aria-hidden="true" onPointerMove={hover} onPointerLeave={() => setTip(null)} />;
}

function Tracks({ width, span, setTip, drag, open, setOpen }: Strips & { drag: Handlers; open: boolean; setOpen: (open: boolean) => void }) {
  const app = useApp();
  const { model, sums, state } = app;
  const { profile } = model;
  const { selection } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const top = useScroll(scroller);
  const view = useSize(scroller);
  const columns = Math.max(1, Math.floor(width));
  const tracks = width > 0 ? sums.tracks(selection, columns) : NO_TRACKS;
  const idle = sums.idleThreads();
  const threads = sums.threads(selection);
  const folded = threads.filter((it) => idle.has(it));
  const busy = threads.filter((it) => !idle.has(it));
  // The line of idle threads comes after the others; it has no track of its own.
  const lines = folded.length === 0 ? busy : [...busy, FOLD, ...(open ? folded : [])];
  const byThread = useMemo(() => new Map(tracks.map((it) => [it.thread, it])), [tracks]);
  const full = fullColumn(tracks, profile.types[sums.clock(selection)]!.unit === "nanoseconds", span, columns);
  const size = { width, height: Math.min(view.height, lines.length * TRACK) };
  usePaint(
    canvas,
    size,
    (surface, colors) => {
      const last = Math.min(lines.length, Math.ceil((top + size.height) / TRACK));
      for (let line = Math.floor(top / TRACK); line < last; line++) {
        const thread = lines[line]!;
        const track = byThread.get(thread);
        const dim = selection.threads !== null && !selection.threads.has(thread);
        if (track) paintTrack(surface, colors, profile.states, track, full, columns, line * TRACK - top, dim);
        if (thread !== FOLD) paintMarkers(surface, colors, profile, thread, span, width, line * TRACK - top);
      }
    },
    [tracks, lines.length, open, top, span, selection.threads],
  );
  // What the fold opens is below it.
  useLayoutEffect(() => {
    if (open) scroller.current!.scrollTop = busy.length * TRACK;
  }, [open]);
  const hover = (event: PointerEvent) => {
    const box = canvas.current!.getBoundingClientRect();
    const track = byThread.get(lines[Math.floor((event.clientY - box.top + top) / TRACK)] ?? FOLD);
    setTip(track ? trackTip(app, track, Math.floor(event.clientX - box.left), columns, span, event) : null);
  };
  const weights = sums.by(selection, "thread");
  const all = sum(weights);
  return (
    <div class="tracks" ref={scroller} tabIndex={0} role="group" aria-label="Threads">
      <div class="track-labels">
        {lines.map((thread) =>
          thread !== FOLD ? (
            <TrackLabel key={thread} thread={thread} share={percent(weights[thread]!, all)} />
          ) : (
            <button key="idle" class="track-label fold" title="Threads that were idle nearly all of their time" aria-expanded={open} onClick={() => setOpen(!open)}>
              {folded.length} always idle
            </button>
          ),
        )}
      </div>
      <div class="strip" style={{ height: `${lines.length * TRACK}px` }} {...drag}>
        <canvas ref={canvas} aria-hidden="true" onPointerMove={hover} onPointerLeave={() => setTip(null)} />
      </div>
    </div>
  );
}

/** The name of a thread. A click selects the thread alone or, with a modifier key, in addition to others. */
function TrackLabel({ thread, share }: { thread: number; share: string }) {
  const { model, store, state } = useApp();
  const { threads } = state.selection;
  const chosen = threads?.has(thread) ?? false;
  const choose = (event: MouseEvent) => {
    const several = event.ctrlKey || event.metaKey || event.shiftKey;
    const next = new Set(several ? threads : chosen && threads!.size === 1 ? [] : [thread]);
    if (several && !next.delete(thread)) next.add(thread);
    store.select({ threads: next.size === 0 ? null : next });
  };
  const name = threadName(model.profile, thread);
  return (
    <button class="track-label" aria-pressed={chosen} title={`${name} (${model.profile.threads[thread]!.nativeId})`} onClick={choose}>
      <span>{name}</span>
      <small>{share}</small>
    </button>
  );
}

function trackTip({ model, sums, state }: App, track: Track, column: number, columns: number, span: number, event: PointerEvent): TipPlace {
  const { profile } = model;
  const type = profile.types[sums.clock(state.selection)]!;
  const rows: [string, string, string?][] = [];
  const [from, to] = [(column / columns) * span, ((column + 1) / columns) * span];
  profile.states.forEach((word, at) => {
    const weight = track.weights[at * columns + column] ?? 0;
    const value = type.unit === "nanoseconds" ? percent(weight, to - from) : amount(type, weight);
    if (weight > 0) rows.push([stateWord(word), value, theme().states[word]]);
  });
  for (const it of profile.markers) {
    if (it.thread === track.thread && it.start <= to && it.start + it.duration >= from && rows.length < 12) rows.push([brief(clean(it.name)), it.duration > 0 ? duration(it.duration) : "a moment", theme().marker]);
  }
  return { x: event.clientX, y: event.clientY, title: threadName(profile, track.thread), place: `at ${moment(from, span / columns)}`, rows };
}

/** Shades the time outside of any range. Two ranges that are compared are named. */
function Shade({ width, span }: { width: number; span: number }) {
  const { range, against } = useApp().state.selection;
  if (!range) return null;
  const ranges = [range, ...(against ? [against] : [])].sort((one, other) => one.from - other.from);
  const x = (time: number) => (time / span) * width;
  const ends = [0, ...ranges.flatMap((it) => [x(it.from), x(it.to)]), width];
  const dark = ranges.length === 2 && ranges[1]!.from < ranges[0]!.to ? [[0, ends[1]!], [Math.max(ends[2]!, ends[4]!), width]] : Array.from({ length: ends.length / 2 }, (_, at) => [ends[2 * at]!, ends[2 * at + 1]!]);
  return (
    <div class="shade" style={{ width: `${width}px` }} aria-hidden="true">
      {dark.map(([from, to], at) => (
        <div key={at} class={`shade-part${at > 0 ? " after-range" : ""}${at < dark.length - 1 ? " before-range" : ""}`} style={{ left: `${from!}px`, width: `${Math.max(0, to! - from!)}px` }} />
      ))}
      {against &&
        ranges.map((it, at) => (
          <span key={at} class="shade-name" style={{ left: `${x(it.from)}px` }}>
            {at === 0 ? "before" : "after"}
          </span>
        ))}
    </div>
  );
}
