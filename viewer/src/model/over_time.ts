// Weights in all periods of a process: the live heap by the place that allocated it, and time by the values of a label.

import { OURS, valuesOf } from "./groups";
import type { Model } from "./model";
import { clean } from "./names";
import type { SampleType } from "./profile";
import { lastResident } from "./resident";
import { everything } from "./selection";

/** The live heap, among the names of labels. */
export const HEAP = "\nheap";
/** The resident memory, among them. */
export const RESIDENT = "\nresident";
/** A number of bytes. */
export const BYTES: SampleType = { name: "", unit: "bytes" };
/** The value of rows without the label. */
export const NONE = "(none)";
const OTHERS = "others";

/** Returns what a profile can show over time: its memory, its live heap, and the labels of the app. */
export function kindsOf({ profile }: Model): string[] {
  const labels = [...new Set(profile.labelSets.flatMap((set) => set.map(([name]) => name)))].filter((it) => !OURS.has(it));
  return [...(profile.memory.length > 0 ? [RESIDENT] : []), ...(typeOf(profile.types, HEAP) < 0 ? [] : [HEAP]), ...labels];
}

/** Returns the index of the sample type that is shown over time; -1 for none. */
export function typeOf(types: readonly SampleType[], kind: string): number {
  if (kind === HEAP) return types.findIndex((it) => it.name === "inuse_space");
  const cpu = types.findIndex((it) => it.name === "cpu");
  return cpu >= 0 ? cpu : types.findIndex((it) => it.name === "wall");
}

/** Returns the weight of each place or value in a profile. Wall-clock time is that of idle threads left out. */
export function sumsOf(model: Model, kind: string): Map<string, number> {
  const { profile, names } = model;
  if (kind === RESIDENT) return lastResident(profile.memory);
  const sums = new Map<string, number>();
  const type = typeOf(profile.types, kind);
  if (type < 0) return sums;
  const add = (name: string, weight: number) => weight > 0 && sums.set(name, (sums.get(name) ?? 0) + weight);
  const weights = model.rowWeights({ ...everything(profile), type });
  if (kind === HEAP) {
    const sites = model.owners([], "site");
    weights.forEach((weight, row) => add(sites[row]! < 0 ? "(not known)" : names.name(sites[row]!), weight));
  } else {
    const values = valuesOf(profile, kind);
    weights.forEach((weight, row) => values[profile.rows.labels[row]!]!.forEach((value) => add(clean(value) || NONE, weight)));
  }
  return sums;
}

/** Layers of a stack, the largest first, with a weight for each period. */
export interface Layers {
  readonly names: readonly string[];
  readonly weights: readonly Float64Array[];
  /** The sum of each period. */
  readonly totals: Float64Array;
}

/** Returns the names with the largest sum of a period as layers, and the others as the last one. @param most the number of names */
export function layers(periods: readonly ReadonlyMap<string, number>[], most: number): Layers {
  const largest = new Map<string, number>();
  for (const sums of periods) for (const [name, weight] of sums) largest.set(name, Math.max(weight, largest.get(name) ?? 0));
  const ordered = [...largest].sort((one, other) => other[1] - one[1] || (one[0] < other[0] ? -1 : 1)).map(([name]) => name);
  const names = ordered.slice(0, most);
  const totals = Float64Array.from(periods, (sums) => [...sums.values()].reduce((one, other) => one + other, 0));
  const weights = names.map((name) => Float64Array.from(periods, (sums) => sums.get(name) ?? 0));
  if (ordered.length <= most) return { names, weights, totals };
  const others = totals.map((total, at) => total - weights.reduce((sum, it) => sum + it[at]!, 0));
  return { names: [...names, OTHERS], weights: [...weights, others], totals };
}
