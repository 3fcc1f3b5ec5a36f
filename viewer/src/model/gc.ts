// Garbage collection: how long it took, its kinds and reasons, and the code that caused it.

import { partOf } from "./extent";
import type { Names } from "./names";
import type { Profile } from "./profile";
import { eventsIn, type Range } from "./selection";

export const KIND = "gc";
export const REASON = "gc_reason";
const COLLECTING = "(garbage collection)";

/** Returns whether each row collects garbage, including rows of a collecting thread without a CPU. */
export function collecting({ rows, frames, functions, states }: Profile): Uint8Array {
  const isGc = states.map((it) => it === "gc");
  return Uint8Array.from({ length: rows.count }, (_, row) => Number(isGc[rows.state[row]!]! || functions.name[frames.function[rows.frames[rows.start[row]!]!]!] === COLLECTING));
}

/** Returns the sample type with the time of collections: the dedicated one, or else the clock. */
export function gcType({ types, rows }: Profile): number {
  const typeOf = (name: string) => types.findIndex((it) => it.name === name && rows.weights[types.indexOf(it)]!.some((weight) => weight > 0));
  return ["gc", "wall", "cpu"].map(typeOf).find((it) => it >= 0) ?? -1;
}

/** The collections of one kind for one reason; both are empty if they are unknown. */
export interface Reason {
  readonly kind: string;
  readonly reason: string;
  weight: number;
}

/** Code that caused collections. */
export interface Cause {
  /** The function that a finding would name; -1 if it is unknown. */
  readonly site: number;
  weight: number;
  minor: number;
  major: number;
}

export interface Collections {
  readonly total: number;
  readonly reasons: readonly Reason[];
  readonly causes: readonly Cause[];
}

/**
 * Sums the collections. @param weights by row, only of rows that collect garbage @param sites by row, the function that a
 * finding would name
 */
export function collections(profile: Profile, names: Names, weights: Float64Array, sites: Int32Array): Collections {
  const [kinds, reasonsOf] = [labelOf(profile, KIND), labelOf(profile, REASON)];
  const reasons = new Map<string, Reason>();
  const causes = new Map<number, Cause>();
  let total = 0;
  for (let row = 0; row < weights.length; row++) {
    const weight = weights[row]!;
    if (weight === 0) continue;
    total += weight;
    const [kind, reason] = [kinds[profile.rows.labels[row]!]!, reasonsOf[profile.rows.labels[row]!]!];
    const known = reasons.get(`${kind} ${reason}`) ?? { kind, reason, weight: 0 };
    known.weight += weight;
    reasons.set(`${kind} ${reason}`, known);
    const site = sites[row]! >= 0 && names.origin(sites[row]!) !== "synthetic" ? sites[row]! : -1;
    const cause = causes.get(site) ?? { site, weight: 0, minor: 0, major: 0 };
    cause.weight += weight;
    if (kind === "minor" || kind === "major") cause[kind] += weight;
    causes.set(site, cause);
  }
  const heaviest = (one: { weight: number }, other: { weight: number }) => other.weight - one.weight;
  return { total, reasons: [...reasons.values()].sort(heaviest), causes: [...causes.values()].sort(heaviest) };
}

/**
 * Returns the weight of each kind over time, in `cells` cells. @param counts by row, whether it counts @param only the share
 * of each event that counts, if not all of it does
 */
export function kindsOverTime(profile: Profile, type: number, counts: Uint8Array, range: Range, cells: number, only: Float64Array | null): Map<string, Float64Array> {
  const { timeline, rows } = profile;
  const column = timeline?.weights[type];
  const found = new Map<string, Float64Array>();
  if (!timeline || !column) return found;
  const kinds = labelOf(profile, KIND).map((kind) => {
    const own = found.get(kind) ?? new Float64Array(cells);
    found.set(kind, own);
    return own;
  });
  const { first, end } = eventsIn(timeline, range);
  const perNs = cells / (range.to - range.from);
  for (let event = first; event < end; event++) {
    const row = timeline.row[event]!;
    if (column[event] === 0 || !counts[row] ) continue;
    const cell = Math.floor((timeline.time[event]! - range.from) * perNs);
    kinds[rows.labels[row]!]![Math.max(0, Math.min(cells - 1, cell))]! += only ? partOf(profile.types[type]!, column[event]!, only[event]!) : column[event]!;
  }
  return found;
}

function labelOf({ labelSets }: Profile, name: string): string[] {
  return labelSets.map((set) => set.find(([it]) => it === name)?.[1] ?? "");
}
