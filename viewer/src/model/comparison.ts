// Two sides over the same stacks: which stacks weigh more or less, and which are new or gone.

import type { Changes } from "./facts";
import type { Names } from "./names";
import { sum, type Selection } from "./selection";
import type { Tree, Weighed } from "./tree";

/** The side of a comparison. */
export type Side = "before" | "after";

/** The weights of a side: rows in a unit that both sides have in common, the share of a run or the weight of one run. */
export interface SideWeights {
  /** The weight of each row. */
  readonly weights: Float64Array;
  /** The number of samples of each row; `null` if they are not counted. */
  readonly samples: Float64Array | null;
}

const NOISE = 8; // samples; a change needs far more than these to have its full colour

export class Comparison {
  readonly before: Weighed;
  readonly after: Weighed;
  /** The sum of both sides, which determines the width of boxes in a picture. */
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

  /** Returns the change of a node, from -1 (gone) to 1 (new). With few samples it is closer to 0. */
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
  /** The function; -1 for stacks whose functions were all removed by transforms. */
  readonly function: number;
  readonly before: number;
  readonly after: number;
  /** The probability that chance alone brings such a change to any function; `null` if it is unknown. */
  readonly chance: number | null;
}

/** The probability below which `profiler diff` calls a change significant. */
export const LEVEL = 0.05;

export function isSignificant(change: Change): boolean {
  return change.chance !== null && change.chance < LEVEL;
}

/**
 * Returns the functions of both sides in the order of `profiler diff`. If a function does not run, the weight of its state
 * counts as its own.
 *
 * @param chances from the core, for whole profiles; `null` for a part
 */
export function changes(comparison: Comparison, names: Names, total: boolean, chances: Changes | null): Change[] {
  const { tree } = comparison;
  const weights = [comparison.before, comparison.after].map((weighed) => {
    const by = new Float64Array(names.count + 1); // the last is that of stacks without functions
    by[names.count] = weighed.self(0);
    for (let node = 1; node < tree.count; node++) {
      const of = tree.functions[node]!;
      if (total && tree.outermost[node] && !names.isLeaf(of)) by[of]! += weighed.total(node);
      const owner = names.isLeaf(of) ? tree.functions[tree.parent[node]!]! : of;
      if (owner < 0) by[names.count]! += weighed.self(node);
      else if (!total) by[owner]! += weighed.self(node);
    }
    return by;
  });
  const known = chances && new Map(chances.chances);
  const found: Change[] = [];
  for (const of of [names.count, ...names.ordered]) {
    const [before, after] = [weights[0]![of]!, weights[1]![of]!];
    if (before + after > 0) found.push({ function: of < names.count ? of : -1, before, after, chance: known && (known.get(of) ?? 1) });
  }
  const rank = (it: Change) => (isSignificant(it) ? 0 : 1);
  // Sums of the same weights in another order differ in their last digits. Equal changes are ordered by name.
  const sizes = new Map(found.map((it) => [it, Number(Math.abs(it.after - it.before).toPrecision(10))]));
  const size = (it: Change) => sizes.get(it)!;
  return found.sort((one, other) => rank(one) - rank(other) || size(other) - size(one));
}

/** Returns whether all of a comparison is selected: only then its probabilities are known. */
export function isWhole({ threads, states, labels, transforms, range }: Selection): boolean {
  return threads === null && states === null && labels.size === 0 && transforms.length === 0 && range === null;
}
