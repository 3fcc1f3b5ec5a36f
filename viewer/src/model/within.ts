// The events inside markers of one name: what a thread did during its requests, or during the longer ones of them.

import type { Marker, Profile } from "./profile";

/** The choice of markers: those of one name that are at least `least` long. */
export interface Within {
  readonly marker: string;
  /** The minimum duration, ns. */
  readonly least: number;
}

/** Returns whether each event ends inside such a marker of its thread. */
export function eventsWithin({ timeline, markers, rows, threads }: Profile, { marker, least }: Within): Uint8Array {
  const found = new Uint8Array(timeline?.count ?? 0);
  if (!timeline) return found;
  const spans = spansOf(markers.filter((it) => it.name === marker && it.duration >= least), threads.length);
  const next = new Uint32Array(threads.length); // the first span of each thread that has not ended
  for (let event = 0; event < timeline.count; event++) {
    const thread = rows.thread[timeline.row[event]!]!;
    const own = spans[thread]!;
    const time = timeline.time[event]!;
    let at = next[thread]!;
    while (at < own.length && own[at]!.to < time) at += 1;
    next[thread] = at;
    found[event] = Number(at < own.length && own[at]!.from < time);
  }
  return found;
}

/** Returns the times of each thread's markers, in order and without overlaps. */
function spansOf(markers: readonly Marker[], threads: number): { from: number; to: number }[][] {
  const spans = Array.from({ length: threads }, (): { from: number; to: number }[] => []);
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

/** Sums markers by name, those with the most time first. @param weights by event; `null` without a timeline */
export function markerSums({ timeline, rows, threads }: Profile, markers: readonly Marker[], weights: Float64Array | null): MarkerSum[] {
  const sums = new Map<string, MarkerSum>();
  const byThread = threads.map((): { from: number; to: number; sum: MarkerSum }[] => []);
  for (const { name, thread, start, duration } of [...markers].sort((one, other) => one.start - other.start)) {
    let sum = sums.get(name);
    if (!sum) sums.set(name, (sum = { name, count: 0, total: 0, largest: 0, weight: 0 }));
    sum.count += 1;
    sum.total += duration;
    sum.largest = Math.max(sum.largest, duration);
    byThread[thread]?.push({ from: start, to: start + duration, sum });
  }
  if (timeline && weights) {
    const next = new Uint32Array(threads.length);
    const open = threads.map((): { to: number; sum: MarkerSum }[] => []);
    for (let event = 0; event < timeline.count; event++) {
      const weight = weights[event]!;
      if (weight === 0) continue;
      const thread = rows.thread[timeline.row[event]!]!;
      const time = timeline.time[event]!;
      const own = byThread[thread]!;
      for (; next[thread]! < own.length && own[next[thread]!]!.from < time; next[thread]!++) open[thread]!.push(own[next[thread]!]!);
      open[thread] = open[thread]!.filter((it) => it.to >= time);
      // A marker inside another one of the same name counts once.
      for (const sum of new Set(open[thread]!.map((it) => it.sum))) sum.weight += weight;
    }
  }
  return [...sums.values()].sort((one, other) => other.total - one.total || (one.name < other.name ? -1 : 1));
}
