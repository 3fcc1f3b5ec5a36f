// The events inside markers of one name: what a thread did during its requests, or during the longer ones of them.

import { extentsOf, partOf, type Extents } from "./extent";
import type { Marker, Profile, SampleType } from "./profile";

/** The choice of markers: those of one name that are at least `least` long. */
export interface Within {
  readonly marker: string;
  /** The minimum duration, ns. */
  readonly least: number;
}

/**
 * Returns the share of each event's time that lies inside such markers of its thread, as `profiler report --during` counts it.
 *
 * @param without by row, 1 if it is left out; `null` for none
 */
export function sharesWithin(profile: Profile, { marker, least }: Within, without: Uint8Array | null): Float64Array {
  const { timeline, markers, rows, threads } = profile;
  const found = new Float64Array(timeline?.count ?? 0);
  if (!timeline) return found;
  const spans = spansOf(markers.filter((it) => it.name === marker && it.duration >= least), threads.length);
  const extents = extentsOf(profile, timeline, without);
  for (let event = 0; event < timeline.count; event++) {
    const own = spans[rows.thread[timeline.row[event]!]!]!;
    const [begin, end] = [extents.begin[event]!, extents.end[event]!];
    let inside = 0;
    let touches = false;
    for (let at = firstEndingFrom(own, begin); at < own.length && own[at]!.from <= end; at++) {
      touches = true;
      inside += Math.max(0, Math.min(end, own[at]!.to) - Math.max(begin, own[at]!.from));
    }
    found[event] = end > begin ? inside / (end - begin) : Number(touches);
  }
  return found;
}

/** A time of a thread, ns since the start of the profile. */
interface Span {
  readonly from: number;
  to: number;
}

/** Returns the index of the first of these spans, which are in order and apart, that ends at a time or later. */
function firstEndingFrom(spans: readonly Span[], time: number): number {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans[middle]!.to < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the times of each thread's markers, in order and without overlaps. */
function spansOf(markers: readonly Marker[], threads: number): Span[][] {
  const spans = Array.from({ length: threads }, (): Span[] => []);
  for (const { thread, start, duration } of [...markers].sort((one, other) => one.start - other.start)) {
    const own = spans[thread];
    const last = own?.at(-1);
    if (last && start <= last.to) last.to = Math.max(last.to, start + duration);
    else own?.push({ from: start, to: start + duration });
  }
  return spans;
}

/** The markers of one name. */
export interface MarkerSum {
  readonly name: string;
  count: number;
  /** The durations of all of them together and of the longest, ns. */
  total: number;
  largest: number;
  /** The weight that was measured inside them. */
  weight: number;
}

/**
 * Sums markers by name, those with the most time first. @param weights by event; `null` without a timeline
 * @param without by row, 1 if it is left out; `null` for none
 */
export function markerSums(profile: Profile, type: SampleType, markers: readonly Marker[], weights: Float64Array | null, without: Uint8Array | null): MarkerSum[] {
  const sums = new Map<string, MarkerSum>();
  const named = new Map<string, Marker[]>();
  for (const marker of markers) {
    const { name, duration } = marker;
    const sum = sums.get(name) ?? { name, count: 0, total: 0, largest: 0, weight: 0 };
    sums.set(name, sum);
    sum.count += 1;
    sum.total += duration;
    sum.largest = Math.max(sum.largest, duration);
    const own = named.get(name);
    if (own) own.push(marker);
    else named.set(name, [marker]);
  }
  if (weights && profile.timeline) weighMarkers(profile, extentsOf(profile, profile.timeline, without), type, sums, named, weights);
  return [...sums.values()].sort((one, other) => other.total - one.total || (one.name < other.name ? -1 : 1));
}

/** The events of a thread with their weights, in the order of their ends. */
interface Life {
  readonly events: number[];
  /** For each of these, the earliest begin from it on. */
  readonly earliest: Float64Array;
}

function livesOf({ rows, threads, timeline }: Profile, { begin }: Extents, weights: Float64Array): Life[] {
  const events = threads.map((): number[] => []);
  weights.forEach((weight, event) => weight > 0 && events[rows.thread[timeline!.row[event]!]!]!.push(event));
  return events.map((own) => {
    const earliest = new Float64Array(own.length);
    let least = Infinity;
    for (let at = own.length - 1; at >= 0; at--) earliest[at] = least = Math.min(least, begin[own[at]!]!);
    return { events: own, earliest };
  });
}

/** Adds the weight of the events inside the markers of each name. */
function weighMarkers(profile: Profile, extents: Extents, type: SampleType, sums: ReadonlyMap<string, MarkerSum>, named: ReadonlyMap<string, readonly Marker[]>, weights: Float64Array): void {
  const { begin, end } = extents;
  const lives = livesOf(profile, extents, weights);
  for (const [name, markers] of named) {
    const inside = new Map<number, number>(); // ns of each event
    spansOf(markers, profile.threads.length).forEach((spans, thread) => {
      const { events, earliest } = lives[thread]!;
      let first = 0;
      for (const { from, to } of spans) {
        while (first < events.length && end[events[first]!]! < from) first += 1;
        for (let at = first; at < events.length && earliest[at]! <= to; at++) {
          const event = events[at]!;
          if (begin[event]! <= to && end[event]! >= from) inside.set(event, (inside.get(event) ?? 0) + Math.min(end[event]!, to) - Math.max(begin[event]!, from));
        }
      }
    });
    for (const [event, ns] of inside) {
      const length = end[event]! - begin[event]!;
      sums.get(name)!.weight += partOf(type, weights[event]!, length > 0 ? ns / length : 1);
    }
  }
}
