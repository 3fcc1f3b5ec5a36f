// The time that each event of a timeline stands for, so that a range of time counts only as much of a wait as lies in it.

import type { Profile, SampleType, Timeline } from "./profile";
import { firstAfter } from "./selection";

const BLOCK = 512; // events whose earliest begin is known
const ROUNDING = 1e-6; // of a share, so that an integer times its own share of time stays one

/**
 * The times of events, ns since the start of the profile. An event is recorded some time after its end, and several can be
 * recorded together: an event ends at the latest when the next one of its thread begins.
 */
export interface Extents {
  readonly begin: Float64Array;
  readonly end: Float64Array;
  /** The earliest begin in each block of events. */
  readonly earliest: Float64Array;
}

const KNOWN = new WeakMap<object, Extents>();

/** Returns the times of events. @param without by row, 1 if its events are left out; `null` for none */
export function extentsOf(profile: Profile, timeline: Timeline, without: Uint8Array | null = null): Extents {
  const known = KNOWN.get(without ?? timeline);
  if (known) return known;
  const { rows, types, threads } = profile;
  const { time, row, count } = timeline;
  const columnOf = (name: string) => timeline.weights[types.findIndex((it) => it.name === name)] ?? null;
  const [wall, cpu] = [columnOf("wall"), columnOf("cpu")];
  const length = (event: number) => wall?.[event] || cpu?.[event] || 0;
  const [begin, end] = [new Float64Array(count), time.slice()];
  const next = new Float64Array(threads.length).fill(Infinity); // the begin of the event after, by thread
  for (let event = count - 1; event >= 0; event--) {
    const thread = rows.thread[row[event]!]!;
    const own = without?.[row[event]!] ? 0 : length(event);
    if (own > 0) end[event] = Math.min(time[event]!, next[thread]!);
    begin[event] = Math.max(0, end[event]! - own);
    if (own > 0) next[thread] = begin[event]!;
  }
  const earliest = Float64Array.from({ length: Math.ceil(count / BLOCK) }, (_, block) => begin.subarray(block * BLOCK, (block + 1) * BLOCK).reduce((one, other) => Math.min(one, other), Infinity));
  const extents = { begin, end, earliest };
  KNOWN.set(without ?? timeline, extents);
  return extents;
}

/** Returns whether the weight of a sample type is spread over the time of its events; samples are taken at its end. */
const isSpread = ({ name }: SampleType) => name !== "samples";

/** Returns the part of an event's weight that lies in a share of its time: an integer. */
export function partOf(type: SampleType, weight: number, share: number): number {
  if (share <= 0) return 0;
  return share >= 1 || !isSpread(type) ? weight : Math.floor(weight * share + ROUNDING);
}

/**
 * Calls `use` for each event that begins before an instant and was recorded after it, with the part of its weight before the
 * instant: an integer.
 */
export function eachCrossing(profile: Profile, type: number, at: number, use: (event: number, part: number) => void): void {
  const { timeline } = profile;
  const column = timeline?.weights[type];
  if (!timeline || !column || !isSpread(profile.types[type]!)) return;
  const { begin, end, earliest } = extentsOf(profile, timeline);
  const { time, count } = timeline;
  for (let event = firstAfter(time, at); event < count; event++) {
    if (event % BLOCK === 0 && earliest[event / BLOCK]! >= at) event += BLOCK - 1;
    else if (begin[event]! < at && column[event]! > 0) use(event, end[event]! <= at ? column[event]! : Math.floor((column[event]! * (at - begin[event]!)) / (end[event]! - begin[event]!)));
  }
}
