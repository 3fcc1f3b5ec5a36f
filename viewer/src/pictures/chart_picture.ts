// The picture of a flame chart: the calls of threads in chronological order.

import { clean, type Names } from "../model/names";
import type { Marker } from "../model/profile";
import type { Range } from "../model/selection";
import type { Call } from "../model/time";
import type { Tree } from "../model/tree";
import { paintAxis } from "./axis";
import type { Coloring } from "./coloring";
import { BOX } from "./flame_picture";
import { fitted, widthOf } from "./lettering";
import { nextMatch } from "../model/search";
import type { Picture, Surface } from "./surface";
import { mix, theme, type Theme } from "./theme";

export const AXIS = 22; // px
const HEAD = 20; // px, the height of a thread's name
const MARKS = 16; // px, the height of a row of its markers
const MOST_MARKER_ROWS = 4;
const ROOM = 8; // px, beneath a thread
const PAD = 4; // px, before the text
const TEXT_LEAST = 22; // px, the minimum width of a box with text

/** The calls and markers of one thread. */
export interface Lane {
  readonly thread: number;
  readonly name: string;
  readonly calls: readonly Call[];
  readonly markers: readonly Marker[];
}

interface PlacedLane extends Lane {
  readonly top: number;
  /** The row of each marker. */
  readonly markerRows: readonly number[];
  /** The top of the calls, px. */
  readonly callsTop: number;
  /** The calls by depth, in chronological order. */
  readonly rows: readonly (readonly Call[])[];
}

/** A box, in px. */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly width: number;
}

/** The place of a call, whatever range the picture shows: its lane, its depth, and an instant inside it. */
export interface CallPlace {
  readonly thread: number;
  readonly depth: number;
  readonly time: number;
}

/** The lanes of threads below each other, for a range of time. */
export class ChartPicture implements Picture {
  readonly height: number;
  private readonly lanes: readonly PlacedLane[];

  constructor(
    lanes: readonly Lane[],
    private readonly tree: Tree,
    private readonly names: Names,
    private readonly coloring: Coloring,
    private readonly matched: Uint8Array | null,
    readonly range: Range,
    readonly width: number,
  ) {
    let top = AXIS;
    this.lanes = lanes.map((lane) => {
      const rows: Call[][] = [];
      for (const call of lane.calls) (rows[call.depth] ??= []).push(call);
      const markerRows = rowsOf(lane.markers);
      const callsTop = top + HEAD + MARKS * markerRows.reduce((most, row) => Math.max(most, row + 1), 0);
      const placed = { ...lane, rows, top, markerRows, callsTop };
      top = callsTop + Math.max(1, rows.length) * BOX + ROOM;
      return placed;
    });
    this.height = top;
  }

  timeAt(x: number): number {
    return this.range.from + (x / this.width) * (this.range.to - this.range.from);
  }

  /** Returns the call at a point. */
  at(x: number, y: number): CallPlace | null {
    const lane = this.lanes.findLast((it) => it.top <= y);
    if (!lane) return null;
    const place = { thread: lane.thread, depth: Math.floor((y - lane.callsTop) / BOX), time: this.timeAt(x) };
    const call = this.last(place);
    return call && this.xOf(call.to) + 1 >= x ? place : null;
  }

  /** Returns the marker at a point: the last one that was painted there. */
  markerAt(x: number, y: number): Marker | null {
    const lane = this.lanes.findLast((it) => it.top <= y);
    if (!lane || y < lane.top + HEAD || y >= lane.callsTop) return null;
    const row = Math.floor((y - lane.top - HEAD) / MARKS);
    return lane.markers.findLast((it, at) => lane.markerRows[at] === row && this.xOf(it.start) <= x && Math.max(this.xOf(it.start) + 3, this.xOf(it.start + it.duration)) >= x) ?? null;
  }

  /** Returns the call at a place; `null` if the picture does not have it. */
  call(place: CallPlace): Call | null {
    const call = this.last(place);
    return call && this.xOf(call.to) + 1 >= this.xOf(place.time) ? call : null;
  }

  boxOf({ thread, depth }: CallPlace, call: Call): Box {
    const left = Math.max(0, this.xOf(call.from));
    return { top: this.laneOf(thread)!.callsTop + depth * BOX, left, width: Math.max(1, Math.min(this.width, this.xOf(call.to)) - left) };
  }

  /** Returns the target of a key: the caller, the longest callee, the call before or after, or the lane above or below. */
  next(from: CallPlace | null, key: string): CallPlace | null {
    const at = from && this.call(from);
    if (!from || !at) return this.first(0);
    const lane = this.lanes.findIndex((it) => it.thread === from.thread);
    const row = this.lanes[lane]!.rows[from.depth]!;
    switch (key) {
      case "ArrowUp":
        return from.depth > 0 ? { ...from, depth: from.depth - 1, time: middle(at) } : from;
      case "ArrowDown": {
        const callees = (this.lanes[lane]!.rows[from.depth + 1] ?? []).filter((it) => it.from >= at.from && it.to <= at.to);
        const longest = callees.reduce<Call | null>((one, other) => (one && length(one) >= length(other) ? one : other), null);
        return longest ? placeOf(from.thread, longest) : from;
      }
      case "ArrowLeft":
      case "ArrowRight": {
        const next = row[row.indexOf(at) + (key === "ArrowLeft" ? -1 : 1)];
        return next ? placeOf(from.thread, next) : from;
      }
      default:
        return this.first(lane + (key === "PageUp" ? -1 : 1)) ?? from;
    }
  }

  /**
   * Returns the next or the previous call that matches the search, lane by lane in chronological order; the same one if there
   * is no other.
   */
  nextMatch(from: CallPlace | null, step: 1 | -1): CallPlace | null {
    const calls = this.lanes.flatMap((lane) => lane.calls.map((call) => ({ thread: lane.thread, call })).sort((one, other) => one.call.from - other.call.from || one.call.depth - other.call.depth));
    const at = from && this.call(from);
    const next = calls[nextMatch(calls.length, calls.findIndex((it) => it.call === at), step, (place) => this.matched?.[calls[place]!.call.node] === 1)];
    return next ? placeOf(next.thread, next.call) : from;
  }

  /** Returns the longest of the first calls of a lane; `null` if there are none. */
  private first(lane: number): CallPlace | null {
    const row = this.lanes[lane]?.rows[0] ?? [];
    const longest = row.reduce<Call | null>((one, other) => (one && length(one) >= length(other) ? one : other), null);
    return longest && placeOf(this.lanes[lane]!.thread, longest);
  }

  private laneOf(thread: number): PlacedLane | undefined {
    return this.lanes.find((it) => it.thread === thread);
  }

  /** Returns the last call at its depth that begins at or before the instant. */
  private last({ thread, depth, time }: CallPlace): Call | null {
    const row = this.laneOf(thread)?.rows[depth];
    if (!row) return null;
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (row[middle]!.from > time) high = middle;
      else low = middle + 1;
    }
    return row[low - 1] ?? null;
  }

  /** Paints the part between two heights; the axis stays at the top. */
  paint(surface: Surface, from = 0, to = this.height): void {
    const colors = theme();
    for (const lane of this.lanes) {
      const top = lane.top - from;
      const callsTop = lane.callsTop - from;
      if (top > to - from || callsTop + lane.rows.length * BOX < 0) continue;
      surface.text(0, top + HEAD / 2, lane.name, colors.text);
      if (lane.rows.length === 0) surface.text(widthOf(lane.name) + 12, top + HEAD / 2, "nothing in this time", colors.muted);
      lane.markers.forEach((it, at) => this.paintMarker(surface, colors, it, top + HEAD + lane.markerRows[at]! * MARKS));
      lane.rows.forEach((row, depth) => {
        const y = callsTop + depth * BOX;
        if (y + BOX <= 0 || y >= to - from) return;
        for (const call of row) this.paintCall(surface, colors, call, y);
      });
    }
    surface.rect(0, 0, this.width, AXIS, colors.background);
    paintAxis(surface, colors, this.range, this.width, 0, AXIS);
  }

  private paintMarker(surface: Surface, colors: Theme, { name, start, duration }: Marker, y: number): void {
    const left = Math.max(0, this.xOf(start));
    const width = Math.max(2, Math.min(this.width, this.xOf(start + duration)) - left);
    surface.rect(left, y, width - (width > 3 ? 1 : 0), MARKS - 3, colors.marker);
    const text = width < TEXT_LEAST ? "" : fitted(clean(name), width - 2 * PAD);
    if (text) surface.text(left + PAD, y + (MARKS - 3) / 2, text, colors.background);
  }

  private paintCall(surface: Surface, colors: Theme, call: Call, y: number): void {
    const left = Math.max(0, this.xOf(call.from));
    const right = Math.min(this.width, this.xOf(call.to));
    const width = right - left;
    const gap = width > 3 ? 1 : 0;
    const of = this.tree.functions[call.node]!;
    const lit = this.matched?.[call.node] === 1;
    let color = lit ? colors.lit : this.coloring.box(colors, of);
    if (this.matched && !lit) color = mix(color, colors.background, 0.62);
    surface.rect(left, y, Math.max(0.5, width - gap), BOX - 1, color);
    if (this.names.isLeaf(of) && width > 1) surface.hatch(left, y, width - gap, BOX - 1);
    if (width < TEXT_LEAST) return;
    const text = fitted(this.names.name(of), width - gap - 2 * PAD);
    if (text) surface.text(left + PAD, y + BOX / 2, text, lit ? colors.background : colors.boxText);
  }

  private xOf(time: number): number {
    return ((time - this.range.from) / (this.range.to - this.range.from)) * this.width;
  }
}

/** Returns the row of each marker: one that begins inside another is below it. */
function rowsOf(markers: readonly Marker[]): number[] {
  const rows = new Array<number>(markers.length).fill(0);
  const ends: number[] = []; // by row
  const order = [...markers.keys()].sort((one, other) => markers[one]!.start - markers[other]!.start || markers[other]!.duration - markers[one]!.duration);
  for (const at of order) {
    const { start, duration } = markers[at]!;
    const free = ends.findIndex((end) => end <= start);
    const row = Math.min(MOST_MARKER_ROWS - 1, free < 0 ? ends.length : free);
    rows[at] = row;
    ends[row] = Math.max(ends[row] ?? 0, start + duration);
  }
  return rows;
}

const length = (call: Call) => call.to - call.from;
const middle = (call: Call) => (call.from + call.to) / 2;
const placeOf = (thread: number, call: Call): CallPlace => ({ thread, depth: call.depth, time: middle(call) });
