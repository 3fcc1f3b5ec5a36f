// The one selection of the page, which each view shows, and the weights of rows under it.

import { eachCrossing, partOf } from "./extent";
import type { Facts } from "./facts";
import type { Profile, Timeline } from "./profile";
import type { Within } from "./within";

/** A change to all stacks. Functions are indices into `Profile.functions`. */
export type Transform =
  /** Keeps only stacks with this function, from its outermost call on. */
  | { readonly kind: "focus"; readonly function: number }
  /** Keeps only stacks without this function. */
  | { readonly kind: "drop"; readonly function: number }
  /** Removes this function from stacks; its weight goes to its callers. */
  | { readonly kind: "merge"; readonly function: number }
  /** Merges a call of a function with an outer call of it on the same stack. */
  | { readonly kind: "recursion" }
  /** Makes consecutive calls within a gem one call of the gem. Functions in C belong to their caller. */
  | { readonly kind: "gems" }
  /** Removes functions of gems, of Ruby and in C from stacks. */
  | { readonly kind: "app" };

/** Returns the transforms with one more, or without it if it is among them. */
export function toggled(transforms: readonly Transform[], kind: "app" | "gems" | "recursion"): Transform[] {
  const others = transforms.filter((it) => it.kind !== kind);
  return others.length < transforms.length ? others : [...transforms, { kind }];
}

/** A range of time, ns since the start of the profile. Time that reaches beyond it counts as far as it lies in it. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** Whether wall clock time is without the waits of idle threads, with them, or only these. */
export type Idle = "without" | "with" | "only";

/** The selection that is shown. `null` selects everything. */
export interface Selection {
  /** The index into `Profile.types`. */
  readonly type: number;
  readonly range: Range | null;
  /** The range to compare with the first one. */
  readonly against: Range | null;
  /** The side that is shown alone, in a page of two sides. */
  readonly side: "before" | "after";
  /** The indices into `Profile.threads`. */
  readonly threads: ReadonlySet<number> | null;
  /** The indices into `Profile.states`. */
  readonly states: ReadonlySet<number> | null;
  /** The values by name of a label, of which a row has to have one; the empty value stands for a row without the label. */
  readonly labels: ReadonlyMap<string, ReadonlySet<string>>;
  /** The markers to which threads are limited. */
  readonly within: Within | null;
  /** Which waits of idle threads to include: wall clock time omits them by default. */
  readonly idle: Idle;
  /** Whether to keep only what loads code. */
  readonly loading: boolean;
  /** A regular expression that highlights matches and leaves nothing out. */
  readonly search: string;
  /** The transforms in the order in which they are applied. */
  readonly transforms: readonly Transform[];
}

/** Returns the selection of a whole profile, in its default sample type. */
export function everything(profile: Profile): Selection {
  return { type: profile.defaultType, range: null, against: null, side: "after", threads: null, states: null, labels: new Map(), within: null, idle: "without", loading: false, search: "", transforms: [] };
}

/** Returns whether each row is selected, regardless of time and transforms. */
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
  if (selection.idle !== "with" && profile.types[selection.type]?.name === "wall") {
    const idle = new Uint8Array(rows.count);
    for (const row of facts.idle.rows) idle[row] = 1;
    for (let row = 0; row < rows.count; row++) if (idle[row] !== Number(selection.idle === "only")) selected[row] = 0;
  }
  if (selection.loading) {
    const loading = new Set(facts.loading);
    for (let row = 0; row < rows.count; row++) if (!loading.has(row)) selected[row] = 0;
  }
  return selected;
}

/** Returns the weight of each row: of `selectedRows`, in the range of time, and only of these events. */
export function weigh(profile: Profile, selected: Uint8Array, type: number, range: Range | null, only: Float64Array | null = null): Float64Array {
  const { timeline } = profile;
  if ((range === null && only === null) || timeline === null) {
    const weights = new Float64Array(profile.rows.count);
    const column = profile.rows.weights[type]!;
    for (let row = 0; row < weights.length; row++) weights[row] = selected[row] ? column[row]! : 0;
    return weights;
  }
  const ended = weighed(profile, timeline, selected, type, range ? eventsIn(timeline, range) : { first: 0, end: timeline.count }, null, only);
  return range ? clipped(profile, ended, selected, type, range, only) : ended;
}

/**
 * Returns the weight of each row in a range. Of an event that crosses its start, the part before it is subtracted. Of one that
 * crosses its end, the part in it is added. @param ended the weights of all events that end in the range
 */
export function clipped(profile: Profile, ended: Float64Array, selected: Uint8Array, type: number, { from, to }: Range, only: Float64Array | null): Float64Array {
  const weights = ended.slice();
  for (const [at, sign] of [[from, -1], [to, 1]] as const) {
    eachCrossing(profile, type, at, (event, part) => {
      const row = profile.timeline!.row[event]!;
      if (selected[row]) weights[row]! += sign * (only ? partOf(profile.types[type]!, part, only[event]!) : part);
    });
  }
  return weights;
}

/** The events of a range: from `first` up to but excluding `end`. */
export interface Events {
  readonly first: number;
  readonly end: number;
}

export function eventsIn({ time }: Timeline, range: Range): Events {
  const first = firstAfter(time, range.from);
  return { first, end: Math.max(first, firstAfter(time, range.to)) };
}

/**
 * Returns the weight of each row's events among these. If the weights for other events are known, only the events that are in
 * one of the two ranges are added or subtracted. This is exact as long as all weights together are an exact integer.
 */
export function weighed(profile: Profile, timeline: Timeline, selected: Uint8Array, type: number, events: Events, before: { readonly events: Events; readonly weights: Float64Array } | null, only: Float64Array | null = null): Float64Array {
  const column = timeline.weights[type];
  const weights = before?.weights.slice() ?? new Float64Array(selected.length);
  if (!column) return weights;
  const { row } = timeline;
  const weightOf = (event: number) => (only ? partOf(profile.types[type]!, column[event]!, only[event]!) : column[event]!);
  const add = (first: number, end: number) => {
    for (let event = first; event < end; event++) if (selected[row[event]!]) weights[row[event]!]! += weightOf(event);
  };
  const take = (first: number, end: number) => {
    for (let event = first; event < end; event++) if (selected[row[event]!]) weights[row[event]!]! -= weightOf(event);
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

/** Returns the number of events that are in only one of two ranges. */
export function apart(one: Events, other: Events): number {
  const both = Math.max(0, Math.min(one.end, other.end) - Math.max(one.first, other.first));
  return one.end - one.first + other.end - other.first - 2 * both;
}

/** Returns the index of the first number that is greater. `times` never decreases. */
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
