// The flame chart: the calls of threads, in chronological order.

import { useMemo, useRef, useState } from "preact/hooks";
import { clean } from "../model/names";
import type { Marker } from "../model/profile";
import type { Range } from "../model/selection";
import { spanOf, type Call } from "../model/time";
import { duration } from "../model/units";
import { moment, rangeText } from "../pictures/axis";
import { AXIS, ChartPicture, type CallPlace } from "../pictures/chart_picture";
import { Checks } from "../parts/checks";
import { useApp, type App } from "../state/context";
import { BOX } from "../pictures/flame_picture";
import { nodeTip } from "../parts/frame_facts";
import { usePaint, useScroll, useSize } from "../parts/hooks";
import { Legend } from "../parts/legend";
import { matchStep } from "../model/search";
import { useExport } from "../parts/export";
import { treeText } from "../parts/texts";
import { Tip, type TipPlace, type TipText } from "../parts/tip";
import { brief, threadName } from "../words/words";

const LEAST_NS = 20_000; // the shortest range that the chart shows
const MOST_LANES = 20;
const WALK = new Set(["ArrowUp", "ArrowDown", "PageUp", "PageDown"]);

export function ChartTab() {
  const { model, state } = useApp();
  if (!model.profile.timeline) return <p class="empty">The flame chart needs a timeline: record with --timeline, or with timeline: true.</p>;
  if (model.type(state.selection).unit !== "nanoseconds") return <p class="empty">The flame chart shows times: choose CPU or wall clock time above.</p>;
  return <Chart />;
}

function Chart() {
  const app = useApp();
  const { model, sums, store, state, openMenu } = app;
  const { selection } = state;
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const view = useSize(scroller);
  const top = useScroll(scroller);
  const [tip, setTip] = useState<TipPlace | null>(null);
  const [hovered, setHovered] = useState<CallPlace | null>(null);
  const [current, setCurrent] = useState<CallPlace | null>(null); // the call from which keys move
  const drag = useRef<{ x: number; y: number; range: Range; top: number; moved: boolean } | null>(null);
  const limits = selection.range ?? { from: 0, to: spanOf(model.profile) };
  const range = within(state.view.window ?? limits, limits);
  const lanes = lanesOf(app);
  const rows = model.rows(selection);
  const { tree, matched } = sums.stacks(selection);
  const picture = useMemo(() => {
    const found = view.width === 0 ? [] : lanes.map((thread) => ({
      thread,
      name: threadName(model.profile, thread),
      calls: sums.calls(selection, thread, range, view.width * devicePixelRatio),
      markers: model.profile.markers.filter((it) => it.thread === thread && it.start <= range.to && it.start + it.duration >= range.from),
    }));
    return new ChartPicture(found, tree, model.names, app.coloring, matched, range, view.width);
  }, [rows, tree, selection.search, lanes.join(), range.from, range.to, view.width, app.coloring]);
  usePaint(canvas, view, (surface) => picture.paint(surface, top, top + view.height), [picture, top, view]);
  useExport(() => treeText(app, "down", []), () => picture);

  const hover = (place: CallPlace | null, text: TipPlace | null) => {
    setHovered(place);
    setTip(text);
  };
  const show = (next: Range) => {
    hover(null, null);
    const fits = within(next, limits);
    store.show({ window: fits.from <= limits.from && fits.to >= limits.to ? null : fits }, "window");
  };
  const zoom = (factor: number, at: number) => {
    const length = Math.max(LEAST_NS, (range.to - range.from) * factor);
    const from = at - ((at - range.from) * length) / (range.to - range.from);
    show({ from, to: from + length });
  };
  const pan = (share: number) => {
    const by = (range.to - range.from) * share;
    show({ from: range.from + by, to: range.to + by });
  };
  const place = (event: MouseEvent) => {
    const own = canvas.current!.getBoundingClientRect();
    return { x: event.clientX - own.left, y: event.clientY - own.top };
  };
  const hit = (event: MouseEvent) => {
    const { x, y } = place(event);
    return y < AXIS ? null : picture.at(x, y + top);
  };
  const menu = (at: CallPlace, x: number, y: number) => {
    const { node, from, to } = picture.call(at)!;
    const stack = tree.path(node).map((it) => tree.functions[it]!);
    openMenu({ function: tree.functions[node]!, x, y, stack, zoom: () => show({ from, to }) });
  };
  const zoomTo = (at: CallPlace) => {
    const { from, to } = picture.call(at)!;
    show({ from, to });
  };
  const moved = (event: PointerEvent) => {
    const from = drag.current;
    if (from) {
      const shift = ((event.clientX - from.x) / view.width) * (from.range.to - from.range.from);
      from.moved ||= Math.abs(event.clientX - from.x) + Math.abs(event.clientY - from.y) > 3;
      if (!from.moved) return;
      show({ from: from.range.from - shift, to: from.range.to - shift });
      scroller.current!.scrollTop = from.top - (event.clientY - from.y);
      return;
    }
    const found = hit(event);
    const marker = found ? null : picture.markerAt(place(event).x, place(event).y + top);
    const text = found ? callTip(app, picture.call(found)!) : marker && markerTip(marker);
    hover(found, text && { ...text, x: event.clientX, y: event.clientY });
  };
  const go = (to: CallPlace | null) => {
    setCurrent(to);
    const call = to && picture.call(to);
    if (!call) return;
    const of = scroller.current!;
    const y = picture.boxOf(to, call).top;
    if (y < of.scrollTop + AXIS) of.scrollTop = y - AXIS;
    else if (y + BOX > of.scrollTop + of.clientHeight) of.scrollTop = y + BOX - of.clientHeight;
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = (range.from + range.to) / 2;
    const step = matchStep(event.key);
    const here = current && picture.call(current) ? current : null;
    if (WALK.has(event.key) || (event.shiftKey && event.key.startsWith("Arrow"))) go(picture.next(here, event.key));
    else if (step !== 0) go(picture.nextMatch(here, step));
    else if (event.key === "Enter" && here) zoomTo(here);
    else if ((event.key === "m" || event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) && here) {
      const [own, box] = [canvas.current!.getBoundingClientRect(), picture.boxOf(here, picture.call(here)!)];
      menu(here, own.left + box.left + 8, own.top + box.top - top + BOX);
    } else if (event.key === "+" || event.key === "=" || event.key === "w") zoom(0.7, middle);
    else if (event.key === "-" || event.key === "s") zoom(1.4, middle);
    else if (event.key === "ArrowLeft" || event.key === "a") pan(-0.15);
    else if (event.key === "ArrowRight" || event.key === "d") pan(0.15);
    else if (event.key === "0" || (event.key === "Escape" && state.view.window)) show(limits);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const known = current && picture.call(current);
  return (
    <>
      <div class="bar">
        <LaneMenu lanes={lanes} />
        <span class="muted grow nowrap">{rangeText(range)}</span>
        <div class="segments" role="group" aria-label="Zoom">
          <button title="Zoom in (+)" aria-label="Zoom in" onClick={() => zoom(0.5, (range.from + range.to) / 2)}>+</button>
          <button title="Zoom out (-)" aria-label="Zoom out" onClick={() => zoom(2, (range.from + range.to) / 2)}>−</button>
          <button disabled={!state.view.window} onClick={() => show(limits)}>All</button>
          <button disabled={!state.view.window} onClick={() => store.select({ range })}>Select this time</button>
        </div>
        <Legend />
      </div>
      <div class="scroller chart" ref={scroller} tabIndex={0} role="application" aria-roledescription="flame chart" aria-label="Flame chart: plus and minus zoom, left and right move, up and down walk through calls, M opens the menu" onKeyDown={keyed}>
        <div class="spacer" style={{ height: `${picture.height}px` }}>
          <canvas
            ref={canvas}
            aria-hidden="true"
            onWheel={(event) => {
              event.preventDefault();
              if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) pan((event.deltaX || event.deltaY) / Math.max(1, view.width));
              else zoom(Math.exp(Math.max(-100, Math.min(100, event.deltaY)) * 0.004), picture.timeAt(place(event).x));
            }}
            onPointerDown={(event) => {
              if (event.button !== 0) return;
              drag.current = { x: event.clientX, y: event.clientY, range, top, moved: false };
              (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
            }}
            onPointerMove={moved}
            onPointerUp={() => (drag.current = null)}
            onPointerCancel={() => (drag.current = null)}
            onPointerLeave={() => hover(null, null)}
            onDblClick={(event) => {
              const found = hit(event);
              if (found) zoomTo(found);
            }}
            onContextMenu={(event) => {
              const found = hit(event);
              if (found) (event.preventDefault(), setTip(null), menu(found, event.clientX, event.clientY));
            }}
          />
        </div>
        <Outline picture={picture} at={hovered} kind="hovered" />
        <Outline picture={picture} at={current} kind="current" />
        <p class="hidden" aria-live="polite">
          {known && `${model.names.name(tree.functions[known.node]!)}, ${duration(known.to - known.from)}`}
        </p>
        <Tip tip={tip} />
      </div>
    </>
  );
}

/** Returns the threads of the chart: those chosen for it, or else those of the selection, or else the one that worked most. */
function lanesOf({ sums, state }: App): number[] {
  const weights = sums.work(state.selection);
  const chosen = state.view.lanes ?? state.selection.threads;
  const order = Array.from(weights.keys()).sort((one, other) => weights[other]! - weights[one]! || one - other);
  return chosen ? order.filter((it) => chosen.has(it)).slice(0, MOST_LANES) : order.slice(0, 1);
}

function LaneMenu({ lanes }: { lanes: readonly number[] }) {
  const { model, sums, store, state } = useApp();
  const weights = sums.by(state.selection, "thread");
  const order = Array.from(weights.keys()).filter((it) => weights[it]! > 0).sort((one, other) => weights[other]! - weights[one]!);
  return (
    <Checks
      label={lanes.length === 1 ? threadName(model.profile, lanes[0]!) : `${lanes.length} threads`}
      name="Threads of the chart"
      choices={() => order.map((it) => ({ key: String(it), text: threadName(model.profile, it), weight: weights[it]! }))}
      chosen={new Set(lanes.map(String))}
      onChange={(keys) => store.show({ lanes: keys && keys.size > 0 ? new Set([...keys].map(Number)) : null })}
    />
  );
}

/** A frame around a call. */
function Outline({ picture, at, kind }: { picture: ChartPicture; at: CallPlace | null; kind: string }) {
  const call = at && picture.call(at);
  if (!call) return null;
  const { left, top, width } = picture.boxOf(at, call);
  return <div class={`outline ${kind}`} style={{ left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${BOX}px` }} />;
}

function markerTip({ name, start, duration: ns }: Marker): TipText {
  return { title: brief(clean(name)), rows: [["marker", ns > 0 ? duration(ns) : "a moment"], ["at", at(start, ns)]] };
}

function callTip(app: App, { node, from, to }: Call): TipText {
  const tip = nodeTip(app, app.sums.stacks(app.state.selection), "down", node);
  return { ...tip, rows: [["this call", `${duration(to - from)}, at ${at(from, to - from)}`], ...tip.rows] };
}

/** Formats the start of something that took a while, as precisely as its duration requires. */
function at(start: number, ns: number): string {
  const step = 10 ** Math.floor(Math.log10(Math.max(1, ns / 20)));
  return moment(Math.round(start / step) * step, step);
}

function within(range: Range, limits: Range): Range {
  const length = Math.min(range.to - range.from, limits.to - limits.from);
  const from = Math.max(limits.from, Math.min(limits.to - length, range.from));
  return { from, to: from + length };
}
