// The values of a label, with the heaviest function in each, and the requests that ended with it.

import type { Facts } from "./facts";
import type { Names } from "./names";
import type { LabelSet, Profile, Requests } from "./profile";

/** Groupings that every row has. */
export const THREAD = "thread";
export const STATE = "state";
/** Groupings with names that no label has. */
export const MARKERS = "\nmarkers";
export const GEM = "\ngem";
export const FILE = "\nfile";
/** Labels that the profiler puts on rows. */
export const OURS = new Set(["class", "library", "age", "gc", "gc_reason", "waiter"]);

/** A value of a label. */
export interface Group {
  /** The value; empty for rows without the label. */
  readonly value: string;
  weight: number;
  /** The function with the most self weight in the group; -1 for none. */
  heaviest: number;
  own: number;
  readonly requests: Tally | null;
}

/** The number of requests, and their durations in ns. */
export interface Tally {
  count: number;
  total: number;
  largest: number;
}

/** Returns the values of one label in each label set. */
export function valuesOf({ labelSets }: Profile, label: string): readonly (readonly string[])[] {
  return labelSets.map((set) => {
    const own = set.filter(([name]) => name === label).map(([, value]) => value);
    return own.length > 0 ? own : [""];
  });
}

/**
 * Groups rows by the values of a label, ordered by weight.
 *
 * @param weights by row
 * @param leaves by row, the function whose self weight the weight of the row is
 * @param keysOf by row, the values that the row counts for
 */
export function groups(weights: Float64Array, leaves: Int32Array, keysOf: (row: number) => readonly string[], requests: ReadonlyMap<string, Tally>): Group[] {
  const sums = new Map<string, { weight: number; own: Map<number, number> }>();
  for (const value of requests.keys()) sums.set(value, { weight: 0, own: new Map() });
  for (let row = 0; row < weights.length; row++) {
    const weight = weights[row]!;
    if (weight === 0) continue;
    for (const key of keysOf(row)) {
      let sum = sums.get(key);
      if (!sum) sums.set(key, (sum = { weight: 0, own: new Map() }));
      sum.weight += weight;
      sum.own.set(leaves[row]!, (sum.own.get(leaves[row]!) ?? 0) + weight);
    }
  }
  const found = Array.from(sums, ([value, { weight, own }]) => {
    let [heaviest, most] = [-1, 0];
    for (const [of, sum] of own) if (sum > most) [heaviest, most] = [of, sum];
    return { value, weight, heaviest, own: most, requests: requests.get(value) ?? null };
  });
  return found.sort((one, other) => other.weight - one.weight || (one.value < other.value ? -1 : 1));
}

/** Returns the requests that ended with each value of a label. */
export function tallies(requests: readonly Requests[], label: string): Map<string, Tally> {
  const found = new Map<string, Tally>();
  for (const { labels, count, total, largest } of requests) {
    const value = labels.find(([name]) => name === label)?.[1];
    if (value === undefined) continue;
    const sum = found.get(value) ?? { count: 0, total: 0, largest: 0 };
    found.set(value, { count: sum.count + count, total: sum.total + total, largest: Math.max(sum.largest, largest) });
  }
  return found;
}

/** Returns the names of labels that samples have, those of the app first. */
export function labelsOf({ labelSets }: Profile): string[] {
  return appsFirst(labelSets);
}

/** Returns the possible groupings: labels of the app first, then markers, then those that each row has. */
export function groupings(profile: Profile): string[] {
  // As on the command line, a label that is called `thread` or `state` is not a grouping.
  const labels = appsFirst([...profile.labelSets, ...profile.requests.map((it) => it.labels)]).filter((it) => it !== THREAD && it !== STATE);
  const [own, ours] = [labels.filter((it) => !OURS.has(it)), labels.filter((it) => OURS.has(it))];
  return [...own, ...(profile.markers.length > 0 ? [MARKERS] : []), GEM, FILE, THREAD, STATE, ...ours];
}

function appsFirst(sets: readonly LabelSet[]): string[] {
  const labels = [...new Set(sets.flatMap((set) => set.map(([name]) => name)))];
  return [...labels.filter((it) => !OURS.has(it)), ...labels.filter((it) => OURS.has(it))];
}

/** Returns the gem or the file of each function, as `profiler report --by` names them. */
export function valuesOfFunctions({ functions }: Profile, names: Names, { paths }: Facts, by: typeof GEM | typeof FILE): string[] {
  return functions.path.map((path, of) => {
    if (by === FILE) return paths[path] ?? path;
    if (names.origin(of) === "app") return "(app)";
    const name = names.package(of);
    return name !== "" && names.origin(of) === "ruby" ? "(ruby)" : name;
  });
}
