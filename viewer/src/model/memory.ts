// Objects by class and by the place that allocated them: allocated objects, and those that were live at the end.

import type { Profile } from "./profile";

export const CLASS = "class";
export const AGE = "age";

/** The measures of objects, in the order of the sample types. */
export const TYPES = ["inuse_space", "inuse_objects", "alloc_space", "alloc_objects"] as const;

/** Objects with the same properties. */
export interface Objects {
  readonly key: string;
  readonly class: string;
  /** The function that a finding would name; -1 if it does not matter or is unknown. */
  readonly site: number;
  readonly age: string;
  /** The weights by column: in a table of one profile, in the order of `TYPES`. */
  readonly weights: Float64Array;
}

export type Grouping = "both" | "class" | "site" | "age";

/** Groups objects by what they have in common. @param columns the weights by row, at most as many as `TYPES` has */
export function objects(profile: Profile, sites: Int32Array, columns: readonly (Float64Array | null)[], by: Grouping): Objects[] {
  const { rows, labelSets } = profile;
  const labelOf = (name: string) => labelSets.map((set) => set.find(([it]) => it === name)?.[1] ?? "");
  const [classes, ages] = [labelOf(CLASS), labelOf(AGE)];
  const found = new Map<string, Objects>();
  for (let row = 0; row < rows.count; row++) {
    if (columns.every((it) => !it?.[row])) continue;
    const [set, own] = [rows.labels[row]!, sites[row]!];
    const [class_, site, age] = [by === "class" || by === "both" ? classes[set]! : "", by === "site" || by === "both" ? own : -1, by === "age" ? ages[set]! : ""];
    const key = `${site} ${age} ${class_}`;
    let sum = found.get(key);
    if (!sum) found.set(key, (sum = { key, class: class_, site, age, weights: new Float64Array(TYPES.length) }));
    columns.forEach((column, at) => (sum.weights[at]! += column?.[row] ?? 0));
  }
  return [...found.values()];
}

/** Returns the first number of an age, such as `4 to 7`. */
export function youngest(age: string): number {
  return Number(/^\d+/.exec(age)?.[0] ?? Infinity);
}
