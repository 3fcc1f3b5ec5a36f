// Objects by class and by the place that allocated them: allocated objects, and those that were live at the end. Memory from
// malloc has the library that allocated it in place of a class, and may have an owner.

import type { Profile } from "./profile";

export const CLASS = "class";
const LIBRARY = "library";
/** The labels that only live objects have. */
const OF_LIVE = { age: "age", owner: "owner" } as const;

/** The measures of objects, in the order of the sample types. */
export const TYPES = ["inuse_space", "inuse_objects", "alloc_space", "alloc_objects"] as const;

/** Objects with the same properties. */
export interface Objects {
  readonly key: string;
  readonly class: string;
  /** The function that a finding would name; -1 if it does not matter or is unknown. */
  readonly site: number;
  /** The age, or the owner. */
  readonly trait: string;
  /** The weights by column: in a table of one profile, in the order of `TYPES`. */
  readonly weights: Float64Array;
}

export type Grouping = "both" | "class" | "site" | keyof typeof OF_LIVE;

/** Returns the label of a grouping of live objects; null for other groupings. */
export function traitOf(by: Grouping): string | null {
  return by === "age" || by === "owner" ? OF_LIVE[by] : null;
}

/** Returns whether the profile has memory from malloc in place of objects. */
export function isOfMemory({ labelSets }: Profile): boolean {
  return labelSets.some((set) => set.some(([name]) => name === LIBRARY)) && !labelSets.some((set) => set.some(([name]) => name === CLASS));
}

/** Returns the label with the class of objects, or with the library that allocated memory. */
export function classLabel(profile: Profile): string {
  return isOfMemory(profile) ? LIBRARY : CLASS;
}

/** Returns the groupings that the profile has. */
export function groupings({ labelSets }: Profile): Grouping[] {
  const traits = (Object.keys(OF_LIVE) as (keyof typeof OF_LIVE)[]).filter((it) => labelSets.some((set) => set.some(([name]) => name === OF_LIVE[it])));
  return ["both", "class", "site", ...traits];
}

/** Groups objects by what they have in common. @param columns the weights by row, at most as many as `TYPES` has */
export function objects(profile: Profile, sites: Int32Array, columns: readonly (Float64Array | null)[], by: Grouping): Objects[] {
  const { rows, labelSets } = profile;
  const labelOf = (name: string) => labelSets.map((set) => set.find(([it]) => it === name)?.[1] ?? "");
  const label = traitOf(by);
  const [classes, traits] = [labelOf(classLabel(profile)), label === null ? null : labelOf(label)];
  const found = new Map<string, Objects>();
  for (let row = 0; row < rows.count; row++) {
    if (columns.every((it) => !it?.[row])) continue;
    const [set, own] = [rows.labels[row]!, sites[row]!];
    const [class_, site, trait] = [by === "class" || by === "both" ? classes[set]! : "", by === "site" || by === "both" ? own : -1, traits?.[set] ?? ""];
    const key = `${site} ${trait} ${class_}`;
    let sum = found.get(key);
    if (!sum) found.set(key, (sum = { key, class: class_, site, trait, weights: new Float64Array(TYPES.length) }));
    columns.forEach((column, at) => (sum.weights[at]! += column?.[row] ?? 0));
  }
  return [...found.values()];
}

/** Returns the first number of an age, such as `4 to 7`. */
export function youngest(age: string): number {
  return Number(/^\d+/.exec(age)?.[0] ?? Infinity);
}
