// The one selection of the page, which each view shows, and the weights of rows under it.

import type { Facts } from "./facts";
import type { Profile, Timeline } from "./profile";
import type { Within } from "./within";

/** A change to all stacks. Functions are indices into `Profile.functions`. */
export type Transform =
  /** Only stacks with this function, from its outermost call on. */
  | { readonly kind: "focus"; readonly function: number }
  /** Only stacks without this function. */
  | { readonly kind: "drop"; readonly function: number }
  /** Stacks without this function: its weight goes to its callers. */
  | { readonly kind: "merge"; readonly function: number }
  /** A call of a function that is already on the stack counts as that one. */
  | { readonly kind: "recursion" }
  /** Of calls within gems, Ruby and C only the first is kept. */
  | { readonly kind: "gems" }
  /** Stacks without functions of gems, of Ruby and in C. */
  | { readonly kind: "app" };

/** A range of time, ns since the start of the profile. An event is in it if it ends after `from` and not after `to`. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** What is shown. `null` is all there is. */
export interface Selection {
  /** Index into `Profile.types`. */
  readonly type: number;
  readonly range: Range | null;
  /** The range that is compared with that one. */
  readonly against: Range | null;
  /** In a page of two sides, the one that is shown alone. */
  readonly side: "before" | "after";
  /** Indices into `Profile.threads`. */
  readonly threads: ReadonlySet<number> | null;
  /** Indices into `Profile.states`. */
  readonly states: ReadonlySet<number> | null;
  /** By name of a label, the values of which a row has to have one; the empty one stands for a row without the label. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>;
  /** Only what threads did inside of these markers. */
  readonly within: Within | null;
  /** Whether waits of idle threads are in it, which else are left out of wall clock time. */
  readonly idle: boolean;
  /** A regular expression; it lights up what it matches and leaves nothing out. */
  readonly search: string;
  /** In the order in which they are applied. */
  readonly transforms: readonly Transform[];
}

/** All of a profile, in its default sample type. */
export function everything(profile: Profile): Selection {
  return { type: profile.defaultType, range: null, against: null, side: "after", threads: null, states: null, labels: new Map(), within: null, idle: false, search: "", transforms: [] };
}

/** By row, whether it is selected: by all but time and transforms. */
export function selectedRows(profile: Profile, facts: Facts, selection: Selection): Uint8Array {
  const { rows, labelSets } = profile;
  const rightLabels = labelSets.map((set) =>
    [...selection.labels].every(([name, values]) => {
      const own = set.filter(([it]) => it === name);
      return own.length === 0 ? values.has("") : own.some(([, value]) => values.has(value));
    }),
  );
  const selected = new Uint8Array(rows.count);
  for (let row = 0; row < rows.count; row++) {
    const right = selection.threads?.has(rows.thread[row]!) ?? true;
    selected[row] = Number(right && (selection.states?.has(rows.state[row]!) ?? true) && rightLabels[rows.labels[row]!]!);
  }
  if (!selection.idle && profile.types[selection.type]?.name === "wall") {
    for (const row of facts.idle.rows) selected[row] = 0;
  }
  return selected;
}

/** By row, its weight: of `selectedRows`, in the range of time, and of these events alone. */
export function weigh(profile: Profile, selected: Uint8Array, type: number, range: Range | null, only: Uint8Array | null = null): Float64Array {
  const { timeline } = profile;
  if ((range === null && only === null) || timeline === null) {
    const weights = new Float64Array(profile.rows.count);
    const column = profile.rows.weights[type]!;
    for (let row = 0; row < weights.length; row++) weights[row] = selected[row] ? column[row]! : 0;
    return weights;
  }
  return weighed(timeline, selected, type, range ? eventsIn(timeline, range) : { first: 0, end: timeline.count }, null, only);
}

/** The events of a range: `first` and all before `end`. */
export interface Events {
  readonly first: number;
  readonly end: number;
}

export function eventsIn({ time }: Timeline, range: Range): Events {
  const first = firstAfter(time, range.from);
  return { first, end: Math.max(first, firstAfter(time, range.to)) };
}

/**
 * By row, the weight of its events among these; from what it is among others on, if that is known. Then only the events of one
 * range alone are added or taken away, which is exact as long as all weights together are a whole number without a rest.
 */
export function weighed(timeline: Timeline, selected: Uint8Array, type: number, events: Events, before: { readonly events: Events; readonly weights: Float64Array } | null, only: Uint8Array | null = null): Float64Array {
  const column = timeline.weights[type];
  const weights = before?.weights.slice() ?? new Float64Array(selected.length);
  if (!column) return weights;
  const { row } = timeline;
  const add = (first: number, end: number) => {
    for (let event = first; event < end; event++) if (selected[row[event]!] && (only === null || only[event])) weights[row[event]!]! += column[event]!;
  };
  const take = (first: number, end: number) => {
    for (let event = first; event < end; event++) if (selected[row[event]!] && (only === null || only[event])) weights[row[event]!]! -= column[event]!;
  };
  if (!before) add(events.first, events.end);
  else {
    const { first, end } = before.events;
    add(events.first, Math.min(events.end, first));
    add(Math.max(events.first, end), events.end);
    take(first, Math.min(end, events.first));
    take(Math.max(first, events.end), end);
  }
  return weights;
}

/** How many events are in one of two ranges alone. */
export function apart(one: Events, other: Events): number {
  const both = Math.max(0, Math.min(one.end, other.end) - Math.max(one.first, other.first));
  return one.end - one.first + other.end - other.first - 2 * both;
}

/** The index of the first number that is greater. `times` never falls. */
export function firstAfter(times: Float64Array, than: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (times[middle]! > than) high = middle;
    else low = middle + 1;
  }
  return low;
}

export function sum(weights: Float64Array): number {
  let all = 0;
  for (let at = 0; at < weights.length; at++) all += weights[at]!;
  return all;
}
