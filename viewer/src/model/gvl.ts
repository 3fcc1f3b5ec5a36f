// Which threads waited for the GVL, and which held it meanwhile. A wait is on the stack of the thread that waited. The same
// time is on the stacks of the threads that held the GVL, as blame, with the name of the waiting thread as a label.

import type { Profile, Timeline } from "./profile";
import type { Range } from "./selection";

/** The label of blame with the name of the thread that waited. */
export const WAITER = "waiter";
/** The time of weights that are missing in the timeline. */
const NO_TIME = -Infinity;
export const UNKNOWN = -1;

/** Parts of waits, with a column for each property: a row waited for as long as the other one held the GVL. */
export interface Waits {
  readonly count: number;
  /** The row that waited; -1 if only its thread is known. */
  readonly waited: Int32Array;
  readonly held: Uint32Array;
  readonly weight: Float64Array;
  /** The time, ns since the start of the profile. */
  readonly time: Float64Array;
  /** The events of both rows; -1 for none. */
  readonly events: { readonly waited: Int32Array; readonly held: Int32Array };
}

/** Shares of one thread's clock of waiting, in chronological order. */
interface Shares {
  readonly event: number[];
  readonly weight: number[];
}

/** Returns the name under which a thread waits. */
export function waiterName({ threads }: Profile, thread: number): string {
  return threads[thread]!.name || `thread ${threads[thread]!.nativeId}`;
}

/** Returns the thread that waited for each label set; empty if the set is not that of blame. */
export function waiters({ labelSets }: Profile): string[] {
  return labelSets.map((set) => set.find(([name]) => name === WAITER)?.[1] ?? "");
}

/**
 * Joins waits with blame. Both are shares of the same clock, that of a thread's waiting: they belong together where they have
 * reached the same time on it. The sums equal those of the profile, to the nanosecond.
 */
export function waitsOf(profile: Profile): Waits {
  const { rows, timeline } = profile;
  const [waitType, blameType] = ["gvl_wait", "gvl_blame"].map((name) => profile.types.findIndex((it) => it.name === name));
  const found = { waited: [] as number[], held: [] as number[], weight: [] as number[], row: [] as number[] };
  const add = (waited: number, held: number, row: number, weight: number) => {
    found.waited.push(waited);
    found.held.push(held);
    found.row.push(row);
    found.weight.push(weight);
  };
  const rest = rows.weights[blameType!]?.slice() ?? new Float64Array();
  if (timeline) {
    const byWaiter = waiters(profile);
    const waits = shares(timeline, waitType!, (row) => waiterName(profile, rows.thread[row]!));
    const blame = shares(timeline, blameType!, (row) => byWaiter[rows.labels[row]!]!);
    for (const [waiter, held] of blame) {
      join(waits.get(waiter) ?? { event: [], weight: [] }, held, (waited, event, weight) => {
        const row = timeline.row[event]!;
        add(waited, event, row, weight);
        rest[row]! -= weight;
      });
    }
  }
  rest.forEach((weight, row) => weight > 0 && add(UNKNOWN, UNKNOWN, row, weight));
  return {
    count: found.held.length,
    waited: Int32Array.from(found.waited, (event) => timeline?.row[event] ?? UNKNOWN),
    held: Uint32Array.from(found.row),
    weight: Float64Array.from(found.weight),
    time: Float64Array.from(found.held, (event) => timeline?.time[event] ?? NO_TIME),
    events: { waited: Int32Array.from(found.waited), held: Int32Array.from(found.held) },
  };
}

function shares({ count, row, weights }: Timeline, type: number, waiterOf: (row: number) => string): Map<string, Shares> {
  const found = new Map<string, Shares>();
  const column = weights[type];
  for (let event = 0; column && event < count; event++) {
    if (column[event]! <= 0) continue;
    const waiter = waiterOf(row[event]!);
    let own = found.get(waiter);
    if (!own) found.set(waiter, (own = { event: [], weight: [] }));
    own.event.push(event);
    own.weight.push(column[event]!);
  }
  return found;
}

/** Joins from the end on, because a timeline that has dropped events lacks the oldest ones. */
function join(waits: Shares, held: Shares, add: (waited: number, held: number, weight: number) => void): void {
  let wait = waits.event.length - 1;
  let left = waits.weight[wait] ?? 0;
  for (let at = held.event.length - 1; at >= 0; at--) {
    let weight = held.weight[at]!;
    while (weight > 0 && wait >= 0) {
      const part = Math.min(weight, left);
      add(waits.event[wait]!, held.event[at]!, part);
      weight -= part;
      left -= part;
      if (left <= 0) left = waits.weight[--wait] ?? 0;
    }
    if (weight > 0) add(UNKNOWN, held.event[at]!, weight);
  }
}

/** The choice of waits, on one of the two sides. */
export interface Chosen {
  readonly side: "waited" | "held";
  readonly rows: Uint8Array;
  readonly range: Range | null;
  /** The share of each event that counts; `null` if all of it does. */
  readonly only: Float64Array | null;
}

/** Calls `use` for each chosen part of a wait. */
export function eachWait(waits: Waits, { side, rows, range, only }: Chosen, use: (at: number) => void): void {
  const of = waits[side];
  const whole = !rows.includes(0);
  for (let at = 0; at < waits.count; at++) {
    const row = of[at]!;
    // A wait with an unknown stack counts only if nothing is left out.
    if (row === UNKNOWN ? !whole : !rows[row]) continue;
    if (only && !only[waits.events[side][at]!]) continue;
    if (range && !(waits.time[at]! > range.from && waits.time[at]! <= range.to)) continue;
    use(at);
  }
}

/** The line and the column in a matrix for each part of a wait, as indices of their names. */
export interface Keys {
  readonly line: Int32Array;
  readonly column: Int32Array;
  readonly lines: readonly string[];
  readonly columns: readonly string[];
}

/** Assigns names to each part of a wait. */
export function keysOf({ count }: Waits, line: (at: number) => string, column: (at: number) => string): Keys {
  const [lines, columns] = [new Map<string, number>(), new Map<string, number>()];
  const indices = (known: Map<string, number>, of: (at: number) => string) =>
    Int32Array.from({ length: count }, (_, at) => {
      const name = of(at);
      const index = known.get(name) ?? known.size;
      known.set(name, index);
      return index;
    });
  return { line: indices(lines, line), column: indices(columns, column), lines: [...lines.keys()], columns: [...columns.keys()] };
}

const MOST = 40; // lines and columns that are shown separately

/** A side of a matrix: the heaviest entries, followed by one for all others. */
export interface Side {
  readonly names: readonly string[];
  /** The number of the others. */
  readonly others: number;
  /** The sums by place; the last one is that of the others. */
  readonly sums: Float64Array;
}

/** A matrix in which lines wait behind columns. */
export interface Matrix {
  readonly lines: Side;
  readonly columns: Side;
  /** The cells line by line, each line with a cell for the other columns; the last line is that of the others. */
  readonly cells: Float64Array;
  readonly total: number;
}

/** Returns the matrix of the chosen parts of waits. */
export function matrix(waits: Waits, chosen: Chosen, keys: Keys): Matrix {
  const [lineSums, columnSums] = [new Float64Array(keys.lines.length), new Float64Array(keys.columns.length)];
  let total = 0;
  eachWait(waits, chosen, (at) => {
    const weight = waits.weight[at]!;
    lineSums[keys.line[at]!]! += weight;
    columnSums[keys.column[at]!]! += weight;
    total += weight;
  });
  const [lines, columns] = [sideOf(keys.lines, lineSums), sideOf(keys.columns, columnSums)];
  const width = columns.sums.length;
  const cells = new Float64Array(lines.sums.length * width);
  eachWait(waits, chosen, (at) => (cells[lines.place[keys.line[at]!]! * width + columns.place[keys.column[at]!]!]! += waits.weight[at]!));
  return { lines, columns, cells, total };
}

function sideOf(names: readonly string[], sums: Float64Array): Side & { place: Int32Array } {
  const order = [...sums.keys()].filter((it) => sums[it]! > 0).sort((one, other) => sums[other]! - sums[one]! || (names[one]! < names[other]! ? -1 : 1));
  const apart = order.slice(0, MOST);
  const place = new Int32Array(names.length).fill(apart.length);
  apart.forEach((it, at) => (place[it] = at));
  const own = new Float64Array(apart.length + 1);
  order.forEach((it) => (own[place[it]!]! += sums[it]!));
  return { names: apart.map((it) => names[it]!), others: order.length - apart.length, sums: own, place };
}
