// The picture of a flame chart: the calls of threads in the order of time.

import type { Names } from "../model/names";
import type { Range } from "../model/selection";
import type { Call } from "../model/time";
import type { Tree } from "../model/tree";
import { paintAxis } from "./axis";
import { BOX, boxColor } from "./flame_picture";
import { fitted, widthOf } from "./lettering";
import type { Picture, Surface } from "./surface";
import { mix, theme, type Theme } from "./theme";

export const AXIS = 22; // px
const HEAD = 20; // px, the height of a thread's name
const ROOM = 8; // px, beneath a thread
const PAD = 4; // px, before the text
const TEXT_LEAST = 22; // px, a box with text in it

/** The calls of one thread. */
export interface Lane {
  readonly thread: number;
  readonly name: string;
  readonly calls: readonly Call[];
}

interface PlacedLane extends Lane {
  readonly top: number;
  /** By depth, its calls in the order of time. */
  readonly rows: readonly (readonly Call[])[];
}

/** Lanes of threads under each other, for a range of time. */
export class ChartPicture implements Picture {
  readonly height: number;
  private readonly lanes: readonly PlacedLane[];

  constructor(
    lanes: readonly Lane[],
    private readonly tree: Tree,
    private readonly names: Names,
    private readonly matched: Uint8Array | null,
    readonly range: Range,
    readonly width: number,
  ) {
    let top = AXIS;
    this.lanes = lanes.map((lane) => {
      const rows: Call[][] = [];
      for (const call of lane.calls) (rows[call.depth] ??= []).push(call);
      const placed = { ...lane, rows, top };
      top += HEAD + Math.max(1, rows.length) * BOX + ROOM;
      return placed;
    });
    this.height = top;
  }

  timeAt(x: number): number {
    return this.range.from + (x / this.width) * (this.range.to - this.range.from);
  }

  /** The call at a point, and its box. */
  at(x: number, y: number): { call: Call; lane: Lane; top: number; left: number; width: number } | null {
    const lane = this.lanes.findLast((it) => it.top <= y);
    const depth = lane ? Math.floor((y - lane.top - HEAD) / BOX) : -1;
    const row = lane?.rows[depth];
    if (!lane || !row) return null;
    const time = this.timeAt(x);
    let [low, high] = [0, row.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (row[middle]!.from > time) high = middle;
      else low = middle + 1;
    }
    const call = row[low - 1];
    if (!call || this.xOf(call.to) + 1 < x) return null;
    const left = Math.max(0, this.xOf(call.from));
    return { call, lane, top: lane.top + HEAD + depth * BOX, left, width: Math.max(1, Math.min(this.width, this.xOf(call.to)) - left) };
  }

  /** What is between two heights; the axis stays at the top. */
  paint(surface: Surface, from = 0, to = this.height): void {
    const colors = theme();
    for (const lane of this.lanes) {
      const top = lane.top - from;
      if (top > to - from || top + HEAD + lane.rows.length * BOX < 0) continue;
      surface.text(0, top + HEAD / 2, lane.name, colors.text);
      if (lane.rows.length === 0) surface.text(widthOf(lane.name) + 12, top + HEAD / 2, "nothing in this time", colors.muted);
      lane.rows.forEach((row, depth) => {
        const y = top + HEAD + depth * BOX;
        if (y + BOX <= 0 || y >= to - from) return;
        for (const call of row) this.paintCall(surface, colors, call, y);
      });
    }
    surface.rect(0, 0, this.width, AXIS, colors.background);
    paintAxis(surface, colors, this.range, this.width, 0, AXIS);
  }

  private paintCall(surface: Surface, colors: Theme, call: Call, y: number): void {
    const left = Math.max(0, this.xOf(call.from));
    const right = Math.min(this.width, this.xOf(call.to));
    const width = right - left;
    const gap = width > 3 ? 1 : 0;
    const of = this.tree.functions[call.node]!;
    const lit = this.matched?.[call.node] === 1;
    let color = lit ? colors.lit : boxColor(colors, this.names, of);
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
