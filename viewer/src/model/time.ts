// The timeline in pictures: activity as cells of time, threads as tracks, and one thread's stacks in order.

import { partOf } from "./extent";
import { OURS } from "./groups";
import type { Profile } from "./profile";
import type { Range } from "./selection";
import { firstAfter } from "./selection";
import type { Tree } from "./tree";

/** The lengths of a column of cells that can be read off an axis, ns. */
const COLUMNS_NS = [1, 2, 5].flatMap((digit) => Array.from({ length: 12 }, (_, power) => digit * 10 ** (power + 6))).sort((one, other) => one - other);
const CELLS = 25; // of a column

/** Activity over time: columns go across, and the time within a column goes down. */
export interface Heat {
  readonly columnNs: number;
  readonly columns: number;
  /** The number of cells in a column. */
  readonly rows: number;
  /** The weight of each cell, column by column. */
  readonly cells: Float64Array;
  /** The part of the weight that belongs to `lit` rows. */
  readonly lit: Float64Array;
  readonly largest: number;
}

/** The weight of the matches of a search, by cell of time. */
export interface Lit {
  readonly cells: Float64Array;
  readonly largest: number;
}

/**
 * Returns the weight of `rows` over time, and the part of it that is `lit`, with at most `most` columns; of each event
 * only the share in `only`.
 */
export function heat(profile: Profile, type: number, rows: Uint8Array, lit: Uint8Array | null, most: number, only: Float64Array | null = null): Heat {
  const span = spanOf(profile);
  const columnNs = COLUMNS_NS.find((it) => span / it <= most) ?? span / most;
  const columns = Math.max(1, Math.ceil(span / columnNs));
  const cells = new Float64Array(columns * CELLS);
  const litCells = new Float64Array(columns * CELLS);
  spread(profile, type, rows, columnNs / CELLS, cells.length, (row, cell, weight) => {
    cells[cell]! += weight;
    if (lit?.[row]) litCells[cell]! += weight;
  }, only);
  return { columnNs, columns, rows: CELLS, cells, lit: litCells, largest: cells.reduce((one, other) => Math.max(one, other), 0) };
}

/** A thread's weight by time and state: `weights[state * columns + column]`. */
export interface Track {
  readonly thread: number;
  readonly weights: Float64Array;
  readonly total: number;
}

/** Returns the tracks of all threads, the heaviest first. */
export function tracks(profile: Profile, type: number, rows: Uint8Array, columns: number): Track[] {
  const { thread, state } = profile.rows;
  const size = profile.states.length * columns;
  const all = profile.threads.map(() => null as Float64Array | null);
  spread(profile, type, rows, spanOf(profile) / columns, columns, (row, column, weight) => {
    const of = (all[thread[row]!] ??= new Float64Array(size));
    of[state[row]! * columns + column]! += weight;
  });
  const found = all.flatMap((weights, index) => (weights ? [{ thread: index, weights, total: weights.reduce((one, other) => one + other, 0) }] : []));
  return found.sort((one, other) => other.total - one.total || one.thread - other.thread);
}

/** Returns the time that the picture shows, ns. Events can end slightly after the profile. */
export function spanOf(profile: Profile): number {
  const time = profile.timeline?.time;
  return Math.max(profile.duration, time?.[time.length - 1] ?? 0, 1);
}

/**
 * Spreads each event of `rows` over the time that it stands for, in cells of `cellNs`. Weights that are not time stay where
 * they end.
 */
function spread(profile: Profile, type: number, rows: Uint8Array, cellNs: number, cells: number, add: (row: number, cell: number, weight: number) => void, only: Float64Array | null = null): void {
  const { timeline } = profile;
  const column = timeline?.weights[type];
  if (!timeline || !column) return;
  const isTime = profile.types[type]!.unit === "nanoseconds";
  const last = cells - 1;
  const { count, row, time } = timeline;
  for (let event = 0; event < count; event++) {
    const weight = only ? partOf(profile.types[type]!, column[event]!, only[event]!) : column[event]!;
    const of = row[event]!;
    if (weight === 0 || !rows[of]) continue;
    const end = time[event]!;
    const to = Math.min(last, Math.max(0, Math.ceil(end / cellNs) - 1));
    const start = isTime ? Math.max(0, end - column[event]!) : end;
    const from = Math.min(to, Math.floor(start / cellNs));
    if (from === to) {
      add(of, to, weight);
      continue;
    }
    const each = weight / (end - start); // more than 1 if the event began before the profile
    for (let cell = from; cell <= to; cell++) {
      const part = Math.min(end, cell === to ? end : (cell + 1) * cellNs) - Math.max(start, cell * cellNs);
      if (part > 0) add(of, cell, part * each);
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
 * Returns the calls of one thread in chronological order, at most one in `least` ns at each depth. Neighbours with the same
 * callers are merged if no more than `gap` ns lie between them, and no request or job begins or ends there.
 */
export function chart(profile: Profile, tree: Tree, rows: Uint8Array, type: number, thread: number, range: Range, least: number, gap: number): Call[] {
  const timeline = profile.timeline;
  const column = timeline?.weights[type];
  if (!timeline || !column) return [];
  const { time, row, count } = timeline;
  const { rowNode, parent, depth: depths } = tree;
  const calls: Call[] = [];
  const open: Call[] = []; // by depth, the last call
  const path: number[] = [];
  const isBetween = turns(profile, thread);
  const requests = requestsOf(profile);
  let request = -1;
  const draw = (node: number, from: number, to: number, of: number) => {
    // A sample is taken at the end of its time.
    if (requests[of] !== request || isBetween(open[0]?.to ?? to, to)) open.length = 0;
    request = requests[of]!;
    const length = path.length = depths[node]!;
    for (let it = node, depth = length - 1; it > 0; it = parent[it]!, depth--) path[depth] = it;
    let same = true;
    for (let depth = 0; depth < length; depth++) {
      const last = open[depth];
      same &&= last !== undefined && last.node === path[depth] && from - last.to <= gap;
      if (same) last!.to = to;
      else {
        open.length = depth;
        open.push({ node: path[depth]!, depth, from, to });
        calls.push(open[depth]!);
      }
    }
    open.length = length;
  };
  // The events of the thread one after the other. Those that end together, such as the parts of one record, keep their order.
  const ours = (event: number) => profile.rows.thread[row[event]!] === thread && column[event]! > 0;
  let [drawn, last, event] = [-Infinity, -Infinity, firstAfter(time, range.from)];
  while (event < count) {
    // An event that ends before that is too narrow to be drawn.
    const next = firstFrom(time, drawn + least, event);
    for (let at = next - 1; at >= event; at--) {
      if (!ours(at)) continue;
      last = Math.max(last, time[at]!);
      break;
    }
    if (next >= count) break;
    event = next;
    const end = time[event]!;
    const first = event;
    let together = 0;
    for (; event < count && time[event] === end; event++) if (ours(event)) together += column[event]!;
    let from = end - together;
    if (together > 0 && from >= range.to) break;
    for (let at = first; at < event; at++) {
      if (!ours(at)) continue;
      const to = from + column[at]!;
      const begin = Math.max(from, last);
      if (to > begin && rows[row[at]!] && to - drawn >= least) {
        drawn = to;
        draw(rowNode[row[at]!]!, begin, to, profile.rows.labels[row[at]!]!);
      }
      [from, last] = [to, Math.max(last, to)];
    }
  }
  return calls;
}

/** Returns for each label set the index of the first one with the same labels of the app, such as those of a request. */
function requestsOf({ labelSets }: Profile): number[] {
  const first = new Map<string, number>();
  return labelSets.map((set, at) => {
    const key = JSON.stringify(set.filter(([name]) => !OURS.has(name)));
    if (!first.has(key)) first.set(key, at);
    return first.get(key)!;
  });
}

/**
 * Returns a function that says whether a marker of the thread begins or ends from one instant on and before another. A marker
 * inside another, such as a query of a request, does not count.
 */
function turns({ markers }: Profile, thread: number): (from: number, to: number) => boolean {
  let end = -Infinity;
  const all = markers.filter((it) => it.thread === thread && it.duration > 0).sort((one, other) => one.start - other.start || other.duration - one.duration);
  const own = all.filter((it) => {
    const isInside = it.start < end;
    end = Math.max(end, it.start + it.duration);
    return !isInside;
  });
  const times = Float64Array.from(own.flatMap((it) => [it.start, it.start + it.duration])).sort();
  return (from, to) => times[firstFrom(times, from, 0)]! < to;
}

/**
 * Returns the index of the first number from `begin` on that is not less. `times` never decreases. The number is more often
 * near than far.
 */
function firstFrom(times: Float64Array, than: number, begin: number): number {
  let step = 1;
  let low = begin;
  while (low + step <= times.length && times[low + step - 1]! < than) {
    low += step;
    step *= 2;
  }
  let high = Math.min(times.length, low + step - 1);
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! >= than) high = middle;
    else low = middle + 1;
  }
  return low;
}
