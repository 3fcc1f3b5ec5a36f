// The events of single threads, so that the chart of one thread need not search the events of all.

import type { Profile, Timeline } from "../model/profile";
import { firstAfter, type Range } from "../model/selection";

const MOST_KEPT = 20;
const TICKS = 2_001; // events from which the length of a tick is known

interface Lane {
  readonly time: Float64Array;
  readonly row: Uint32Array;
  readonly weights: Float64Array;
  /** The largest weight of an event. */
  readonly longest: number;
  /** The median weight of an event. */
  readonly tick: number;
}

export class Lanes {
  private readonly known = new Map<string, Lane>();
  private only: Float64Array | null = null;

  constructor(private readonly profile: Profile) {}

  /**
   * Returns the profile with only the events of a thread in a range, of those in `only` or of all. Includes some that begin
   * after the range.
   */
  part(thread: number, type: number, range: Range, only: Float64Array | null): Profile {
    const { timeline, types } = this.profile;
    if (!timeline?.weights[type]) return this.profile;
    const { time, row, weights, longest } = this.lane(timeline, thread, type, only);
    const [begin, end] = [firstAfter(time, range.from), firstAfter(time, range.to + longest)];
    const columns = types.map((_, index) => (index === type ? weights.subarray(begin, end) : null));
    const part = { count: end - begin, dropped: timeline.dropped, time: time.subarray(begin, end), row: row.subarray(begin, end), weights: columns };
    return { ...this.profile, timeline: part };
  }

  /** Returns the median weight of the events of a thread whose lane is known, ns; 0 if it is not time. */
  tick(thread: number, type: number): number {
    const lane = this.known.get(`${thread} ${type}`);
    return lane && this.profile.types[type]!.unit === "nanoseconds" ? lane.tick : 0;
  }

  private lane(timeline: Timeline, thread: number, type: number, only: Float64Array | null): Lane {
    const key = `${thread} ${type}`;
    if (only !== this.only) this.known.clear();
    this.only = only;
    const lane = this.known.get(key) ?? laneOf(this.profile, timeline, thread, type, only);
    this.known.delete(key);
    this.known.set(key, lane);
    if (this.known.size > MOST_KEPT) this.known.delete(this.known.keys().next().value!);
    return lane;
  }
}

function laneOf(profile: Profile, { count, time, row, weights }: Timeline, thread: number, type: number, only: Float64Array | null): Lane {
  const column = weights[type]!;
  const own = profile.rows.thread;
  const events = new Uint32Array(count);
  let found = 0;
  let longest = 0;
  for (let event = 0; event < count; event++) {
    if (own[row[event]!] !== thread || column[event]! <= 0 || (only !== null && !only[event])) continue;
    events[found++] = event;
    longest = Math.max(longest, column[event]!);
  }
  const lane = { time: new Float64Array(found), row: new Uint32Array(found), weights: new Float64Array(found), longest, tick: 0 };
  for (let at = 0; at < found; at++) {
    const event = events[at]!;
    lane.time[at] = time[event]!;
    lane.row[at] = row[event]!;
    lane.weights[at] = column[event]!;
  }
  const sorted = lane.weights.slice(0, TICKS).sort();
  return { ...lane, tick: sorted[sorted.length >> 1] ?? 0 };
}
