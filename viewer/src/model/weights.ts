// The weights of rows under the last few selections. While a range is being dragged, each is computed from the one before.

import type { Profile, Timeline } from "./profile";
import { apart, clipped, eventsIn, sum, weigh, weighed, type Events, type Range } from "./selection";

const MOST_KEPT = 6;

interface Kept {
  readonly rows: Uint8Array;
  readonly type: number;
  readonly only: Float64Array | null;
  readonly range: Range | null;
  readonly events: Events | null;
  /** The weights of the events that end in the range. */
  readonly ended: Float64Array;
  readonly weights: Float64Array;
}

export class Weights {
  /** The kept weights; the most recently used one is last. */
  private kept: readonly Kept[] = [];
  private readonly exact = new Map<number, boolean>();

  constructor(private readonly profile: Profile) {}

  /** Returns the weight of each row: of the selected ones, in the range, and only of the events in `only`. */
  of(rows: Uint8Array, type: number, range: Range | null, only: Float64Array | null = null): Float64Array {
    const same = (it: Kept) => it.rows === rows && it.type === type && it.only === only;
    const known = this.kept.find((it) => same(it) && (it.range === range || (it.range?.from === range?.from && it.range?.to === range?.to)));
    const found = known ?? this.compute(rows, type, range, only, this.kept.findLast((it) => same(it) && it.events !== null));
    this.kept = [...this.kept.filter((it) => it !== known).slice(1 - MOST_KEPT), found];
    return found.weights;
  }

  private compute(rows: Uint8Array, type: number, range: Range | null, only: Float64Array | null, last: Kept | undefined): Kept {
    const { timeline } = this.profile;
    if (range === null || timeline === null) {
      const weights = weigh(this.profile, rows, type, range, only);
      return { rows, type, only, range, events: null, ended: weights, weights };
    }
    const events = eventsIn(timeline, range);
    const near = last?.events && apart(events, last.events) < events.end - events.first && this.isExact(timeline, type);
    const before = near ? { events: last.events!, weights: last.ended } : null;
    const ended = weighed(this.profile, timeline, rows, type, events, before, only);
    return { rows, type, only, range, events, ended, weights: clipped(this.profile, ended, rows, type, range, only) };
  }

  /** Returns whether sums of these weights are exact, in whatever order they are added. */
  private isExact(timeline: Timeline, type: number): boolean {
    const known = this.exact.get(type) ?? sum(timeline.weights[type] ?? new Float64Array()) <= Number.MAX_SAFE_INTEGER;
    this.exact.set(type, known);
    return known;
  }
}
