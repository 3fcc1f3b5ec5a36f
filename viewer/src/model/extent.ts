// The time that each event of a timeline stands for, so that a range of time counts only as much of a wait as lies in it.

import type { Profile, SampleType, Timeline } from "./profile";
import { firstAfter } from "./selection";

const BLOCK = 512; // events whose earliest start is known

/** The starts of events, ns since the start of the profile. Events are in the order of their ends. */
interface Extents {
  readonly start: Float64Array;
  /** The earliest start in each block of events. */
  readonly earliest: Float64Array;
}

const KNOWN = new WeakMap<Timeline, Extents>();

function extentsOf({ types }: Profile, timeline: Timeline): Extents {
  const known = KNOWN.get(timeline);
  if (known) return known;
  const columnOf = (name: string) => timeline.weights[types.findIndex((it) => it.name === name)] ?? null;
  const [wall, cpu] = [columnOf("wall"), columnOf("cpu")];
  const start = timeline.time.map((end, event) => Math.max(0, end - (wall?.[event] || cpu?.[event] || 0)));
  const earliest = Float64Array.from({ length: Math.ceil(start.length / BLOCK) }, (_, block) => start.subarray(block * BLOCK, (block + 1) * BLOCK).reduce((one, other) => Math.min(one, other), Infinity));
  const extents = { start, earliest };
  KNOWN.set(timeline, extents);
  return extents;
}

/** Returns whether the weight of a sample type is spread over the time of its events; samples are taken at its end. */
const isSpread = ({ name }: SampleType) => name !== "samples";

/**
 * Calls `use` for each event that begins before an instant and ends after it, with the part of its weight before the instant:
 * an integer.
 */
export function eachCrossing(profile: Profile, type: number, at: number, use: (event: number, part: number) => void): void {
  const { timeline } = profile;
  const column = timeline?.weights[type];
  if (!timeline || !column || !isSpread(profile.types[type]!)) return;
  const { start, earliest } = extentsOf(profile, timeline);
  const { time, count } = timeline;
  for (let event = firstAfter(time, at); event < count; event++) {
    if (event % BLOCK === 0 && earliest[event / BLOCK]! >= at) event += BLOCK - 1;
    else if (start[event]! < at && column[event]! > 0) use(event, Math.floor((column[event]! * (at - start[event]!)) / (time[event]! - start[event]!)));
  }
}
