// Two sides over the same stacks: what weighs more or less, what is new, and what is gone.

import type { Changes } from "./facts";
import type { Names } from "./names";
import { sum, type Selection } from "./selection";
import type { Tree, Weighed } from "./tree";

/** The side of a comparison. */
export type Side = "before" | "after";

/** What a side weighs: rows in a unit that both have in common, a share of a run or the weight of one. */
export interface SideWeights {
  /** By row. */
  readonly weights: Float64Array;
  /** By row, the number of its samples; `null` if they are not counted. */
  readonly samples: Float64Array | null;
}

const NOISE = 8; // samples that a change has to outweigh by far to have its full colour

export class Comparison {
  readonly before: Weighed;
  readonly after: Weighed;
  /** The sum of both, by which the boxes of a picture are wide. */
  readonly both: Weighed;
  readonly samples: { readonly before: Weighed; readonly after: Weighed } | null;
  readonly totals: { readonly before: number; readonly after: number };
  private readonly noise: number;

  constructor(
    readonly tree: Tree,
    before: SideWeights,
    after: SideWeights,
  ) {
    this.before = tree.weigh(before.weights);
    this.after = tree.weigh(after.weights);
    this.both = tree.weigh(before.weights.map((it, row) => it + after.weights[row]!));
    this.totals = { before: sum(before.weights), after: sum(after.weights) };
    this.samples = before.samples && after.samples && { before: tree.weigh(before.samples), after: tree.weigh(after.samples) };
    const taken = before.samples && after.samples ? sum(before.samples) + sum(after.samples) : 0;
    this.noise = taken > 0 ? ((this.totals.before + this.totals.after) * NOISE) / taken : 0;
  }

  /** From -1, gone, to 1, new. Changes that few samples show are nearer to 0. */
  change(node: number): number {
    const [before, after] = [this.before.total(node), this.after.total(node)];
    return before + after > 0 ? (after - before) / (before + after + this.noise) : 0;
  }

  isNew(node: number): boolean {
    return this.before.total(node) === 0 && this.after.total(node) > 0;
  }

  isGone(node: number): boolean {
    return this.after.total(node) === 0 && this.before.total(node) > 0;
  }
}

/** A function on both sides, in the unit of the comparison. */
export interface Change {
  readonly function: number;
  readonly before: number;
  readonly after: number;
  /** The probability that chance alone brings such a change to any function; `null` where it is not known. */
  readonly chance: number | null;
}

/** The chance at which `profiler diff` calls a change significant. */
export const LEVEL = 0.05;

export function isSignificant(change: Change): boolean {
  return change.chance !== null && change.chance < LEVEL;
}

/**
 * The functions of both sides in the order of `profiler diff`. A function that does not run has the weight of its state as its
 * own.
 *
 * @param chances of the core, for the whole; `null` for a part of it
 */
export function changes(comparison: Comparison, names: Names, total: boolean, chances: Changes | null): Change[] {
  const { tree } = comparison;
  const weights = [comparison.before, comparison.after].map((weighed) => {
    const by = new Float64Array(names.count);
    for (let node = 1; node < tree.count; node++) {
      const of = tree.functions[node]!;
      if (total && tree.outermost[node] && !names.isLeaf(of)) by[of]! += weighed.total(node);
      if (total) continue;
      const owner = names.isLeaf(of) ? tree.functions[tree.parent[node]!]! : of;
      if (owner >= 0) by[owner]! += weighed.self(node);
    }
    return by;
  });
  const known = chances && new Map(chances.chances);
  const found: Change[] = [];
  for (const of of names.ordered) {
    const [before, after] = [weights[0]![of]!, weights[1]![of]!];
    if (before + after > 0) found.push({ function: of, before, after, chance: known && (known.get(of) ?? 1) });
  }
  const rank = (it: Change) => (isSignificant(it) ? 0 : 1);
  // Sums of the same weights in another order differ in their last digits. Equal changes are in the order of names.
  const sizes = new Map(found.map((it) => [it, Number(Math.abs(it.after - it.before).toPrecision(10))]));
  const size = (it: Change) => sizes.get(it)!;
  return found.sort((one, other) => rank(one) - rank(other) || size(other) - size(one));
}

/** Whether all of a comparison is selected: only then its chances are known. */
export function isWhole({ threads, states, labels, transforms, range }: Selection): boolean {
  return threads === null && states === null && labels.size === 0 && transforms.length === 0 && range === null;
}
