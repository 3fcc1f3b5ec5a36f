// The timeline in pictures: activity as cells of time, threads as tracks, and one thread's stacks in their order.

import type { Profile, Timeline } from "./profile";
import type { Range } from "./selection";
import { firstAfter } from "./selection";
import type { Tree } from "./tree";

/** Lengths of a column of cells that can be read off an axis, ns. */
const COLUMNS_NS = [1, 2, 5].flatMap((digit) => Array.from({ length: 12 }, (_, power) => digit * 10 ** (power + 6))).sort((one, other) => one - other);
const CELLS = 25; // of a column

/** Activity by time: columns go across, and the time within a column down. */
export interface Heat {
  readonly columnNs: number;
  readonly columns: number;
  /** The cells of a column. */
  readonly rows: number;
  /** Weight by cell, column after column. */
  readonly cells: Float64Array;
  /** The part of it that `lit` rows have. */
  readonly lit: Float64Array;
  readonly largest: number;
}

/** The weight of `rows` by time, and the part of it that is `lit`, with at most `most` columns. */
export function heat(profile: Profile, type: number, rows: Uint8Array, lit: Uint8Array | null, most: number): Heat {
  const span = spanOf(profile);
  const columnNs = COLUMNS_NS.find((it) => span / it <= most) ?? span / most;
  const columns = Math.max(1, Math.ceil(span / columnNs));
  const cells = new Float64Array(columns * CELLS);
  const litCells = new Float64Array(columns * CELLS);
  spread(profile, type, columnNs / CELLS, cells.length, (row, cell, weight) => {
    if (!rows[row]) return;
    cells[cell]! += weight;
    if (lit?.[row]) litCells[cell]! += weight;
  });
  return { columnNs, columns, rows: CELLS, cells, lit: litCells, largest: cells.reduce((one, other) => Math.max(one, other), 0) };
}

/** A thread's weight by time and state: `weights[state * columns + column]`. */
export interface Track {
  readonly thread: number;
  readonly weights: Float64Array;
  readonly total: number;
}

/** The tracks of all threads, the one with most weight first. */
export function tracks(profile: Profile, type: number, rows: Uint8Array, columns: number): Track[] {
  const { thread, state } = profile.rows;
  const size = profile.states.length * columns;
  const all = profile.threads.map(() => null as Float64Array | null);
  spread(profile, type, spanOf(profile) / columns, columns, (row, column, weight) => {
    if (!rows[row]) return;
    const of = (all[thread[row]!] ??= new Float64Array(size));
    of[state[row]! * columns + column]! += weight;
  });
  const found = all.flatMap((weights, index) => (weights ? [{ thread: index, weights, total: weights.reduce((one, other) => one + other, 0) }] : []));
  return found.sort((one, other) => other.total - one.total || one.thread - other.thread);
}

/** The time that the picture shows, ns. Events can end a little after the profile. */
export function spanOf(profile: Profile): number {
  const time = profile.timeline?.time;
  return Math.max(profile.duration, time?.[time.length - 1] ?? 0, 1);
}

/** Spreads each event over the time that it weighs, in cells of `cellNs`. Weights that are no time stay where they end. */
function spread(profile: Profile, type: number, cellNs: number, cells: number, add: (row: number, cell: number, weight: number) => void): void {
  const { timeline } = profile;
  const column = timeline?.weights[type];
  if (!timeline || !column) return;
  const isTime = profile.types[type]!.unit === "nanoseconds";
  const last = cells - 1;
  for (let event = 0; event < timeline.count; event++) {
    const weight = column[event]!;
    if (weight === 0) continue;
    const end = timeline.time[event]!;
    const to = Math.min(last, Math.max(0, Math.ceil(end / cellNs) - 1));
    const start = isTime ? Math.max(0, end - weight) : end;
    const from = Math.min(to, Math.floor(start / cellNs));
    if (from === to) {
      add(timeline.row[event]!, to, weight);
      continue;
    }
    const each = weight / (end - start); // more than 1 where it began before the profile
    for (let cell = from; cell <= to; cell++) {
      const part = Math.min(end, cell === to ? end : (cell + 1) * cellNs) - Math.max(start, cell * cellNs);
      if (part > 0) add(timeline.row[event]!, cell, part * each);
    }
  }
}

/** A call on a thread, ns since the start. */
export interface Call {
  readonly node: number;
  readonly depth: number;
  readonly from: number;
  to: number;
}

/**
 * The calls of one thread in the order of time, at most one in `least` ns at each depth. Neighbours with the same callers are one
 * call, if no more than `gap` ns lie between them.
 */
export function chart(profile: Profile, tree: Tree, rows: Uint8Array, type: number, thread: number, range: Range, least: number, gap: number): Call[] {
  const timeline = profile.timeline;
  const column = timeline?.weights[type];
  if (!timeline || !column) return [];
  const calls: Call[] = [];
  const open: Call[] = []; // by depth, the last call
  let drawn = -Infinity;
  for (const { row, from, to } of spans(profile, timeline, column, rows, thread, range)) {
    if (to - drawn < least) continue; // narrower than what can be drawn
    drawn = to;
    const path = tree.path(tree.rowNode[row]!);
    let same = true;
    path.forEach((node, depth) => {
      const last = open[depth];
      same &&= last !== undefined && last.node === node && from - last.to <= gap;
      if (same) last!.to = to;
      else {
        open.length = depth;
        open.push({ node, depth, from, to });
        calls.push(open[depth]!);
      }
    });
    open.length = path.length;
  }
  return calls;
}

/** The events of a thread one after the other: those that end together, as the parts of one record do, stand in their order. */
function* spans(profile: Profile, timeline: Timeline, column: Float64Array, rows: Uint8Array, thread: number, range: Range): Generator<{ row: number; from: number; to: number }> {
  let [last, event] = [-Infinity, firstAfter(timeline.time, range.from)];
  const ours = (at: number) => profile.rows.thread[timeline.row[at]!] === thread;
  while (event < timeline.count) {
    const end = timeline.time[event]!;
    const first = event;
    let together = 0;
    for (; event < timeline.count && timeline.time[event] === end; event++) if (ours(event)) together += column[event]!;
    let from = end - together;
    if (together > 0 && from >= range.to) return;
    for (let at = first; at < event; at++) {
      if (!ours(at) || column[at] === 0) continue;
      const to = from + column[at]!;
      const begin = Math.max(from, last);
      if (to > begin && rows[timeline.row[at]!]) yield { row: timeline.row[at]!, from: begin, to };
      [from, last] = [to, Math.max(last, to)];
    }
  }
}
