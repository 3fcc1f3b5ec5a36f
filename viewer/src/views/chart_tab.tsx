// The flame chart: what threads called, in the order of time.

import { useMemo, useRef, useState } from "preact/hooks";
import type { Range } from "../model/selection";
import { spanOf } from "../model/time";
import { duration } from "../model/units";
import { moment, rangeText } from "./axis";
import { AXIS, ChartPicture } from "./chart_picture";
import { Checks } from "./checks";
import { useApp, type App } from "./context";
import { BOX } from "./flame_picture";
import { nodeTip } from "./frame_facts";
import { usePaint, useScroll, useSize } from "./hooks";
import { Legend } from "./legend";
import { useTakeout } from "./takeout";
import { treeText } from "./texts";
import { Tip, type TipPlace } from "./tip";
import { threadName } from "./words";

const LEAST_NS = 20_000; // that the chart shows
const MOST_LANES = 20;

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
  const [box, setBox] = useState<{ left: number; top: number; width: number } | null>(null);
  const drag = useRef<{ x: number; y: number; range: Range; top: number; moved: boolean } | null>(null);
  const limits = selection.range ?? { from: 0, to: spanOf(model.profile) };
  const range = within(state.view.window ?? limits, limits);
  const lanes = lanesOf(app);
  const rows = model.rows(selection);
  const { tree, matched } = sums.stacks(selection);
  const picture = useMemo(() => {
    const found = view.width === 0 ? [] : lanes.map((thread) => ({ thread, name: threadName(model.profile, thread), calls: sums.calls(selection, thread, range, view.width * devicePixelRatio) }));
    return new ChartPicture(found, tree, model.names, matched, range, view.width);
  }, [rows, tree, selection.search, lanes.join(), range.from, range.to, view.width]);
  usePaint(canvas, view, (surface) => picture.paint(surface, top, top + view.height), [picture, top, view]);
  useTakeout(() => treeText(app, "down", []), () => picture);

  const show = (next: Range) => {
    setTip(null);
    setBox(null);
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
    setBox(found);
    setTip(found && { ...callTip(app, found.call.node, found.call.from, found.call.to), x: event.clientX, y: event.clientY });
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const middle = (range.from + range.to) / 2;
    if (event.key === "+" || event.key === "=" || event.key === "w") zoom(0.7, middle);
    else if (event.key === "-" || event.key === "s") zoom(1.4, middle);
    else if (event.key === "ArrowLeft" || event.key === "a") pan(-0.15);
    else if (event.key === "ArrowRight" || event.key === "d") pan(0.15);
    else if (event.key === "0" || (event.key === "Escape" && state.view.window)) show(limits);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <>
      <div class="bar">
        <LaneMenu lanes={lanes} />
        <span class="muted grow">{rangeText(range)}</span>
        <div class="segments" role="group" aria-label="Zoom">
          <button title="Zoom in (+)" aria-label="Zoom in" onClick={() => zoom(0.5, (range.from + range.to) / 2)}>+</button>
          <button title="Zoom out (-)" aria-label="Zoom out" onClick={() => zoom(2, (range.from + range.to) / 2)}>−</button>
          <button disabled={!state.view.window} onClick={() => show(limits)}>All</button>
          <button disabled={!state.view.window} onClick={() => store.select({ range })}>Select this time</button>
        </div>
        <Legend />
      </div>
      <div class="scroller chart" ref={scroller} tabIndex={0} role="application" aria-roledescription="flame chart" aria-label="Flame chart: plus and minus zoom, arrow keys move" onKeyDown={keyed}>
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
            onPointerLeave={() => (setTip(null), setBox(null))}
            onDblClick={(event) => {
              const found = hit(event);
              if (found) show({ from: found.call.from, to: found.call.to });
            }}
            onContextMenu={(event) => {
              const found = hit(event);
              if (!found) return;
              event.preventDefault();
              setTip(null);
              const stack = tree.path(found.call.node).map((it) => tree.functions[it]!);
              const { from, to } = found.call;
              openMenu({ function: tree.functions[found.call.node]!, x: event.clientX, y: event.clientY, stack, zoom: () => show({ from, to }) });
            }}
          />
        </div>
        {box && <div class="outline hovered" style={{ left: `${box.left}px`, top: `${box.top}px`, width: `${box.width}px`, height: `${BOX}px` }} />}
        <Tip tip={tip} />
      </div>
    </>
  );
}

/** The threads of the chart: those that were chosen for it, else those of the selection, else the busiest. */
function lanesOf({ sums, state }: App): number[] {
  const weights = sums.by(state.selection, "thread");
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

function callTip(app: App, node: number, from: number, to: number) {
  const tip = nodeTip(app, app.sums.stacks(app.state.selection), "down", node);
  const step = 10 ** Math.floor(Math.log10(Math.max(1, (to - from) / 20)));
  const own: [string, string] = ["this call", `${duration(to - from)}, at ${moment(Math.round(from / step) * step, step)}`];
  return { ...tip, rows: [own, ...tip.rows] };
}

function within(range: Range, limits: Range): Range {
  const length = Math.min(range.to - range.from, limits.to - limits.from);
  const from = Math.max(limits.from, Math.min(limits.to - length, range.from));
  return { from, to: from + length };
}
