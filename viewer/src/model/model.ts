// A profile under selections: what each view shows. It keeps what the last selections needed, so a change computes only what it
// changes: time the weights, a transform the stacks.

import type { Facts } from "./facts";
import { boxes, type Boxes } from "./flame";
import { Names } from "./names";
import type { Profile, SampleType } from "./profile";
import { expression, matches, under } from "./search";
import { selectedRows, sum, type Selection, type Transform } from "./selection";
import { interval } from "./share";
import { allStacks, inverted, sandwich, transformed } from "./stacks";
import { heat, tracks, type Heat, type Track } from "./time";
import { Top, type TopOrder, type TopRow } from "./top";
import type { Tree, Weighed } from "./tree";
import { Weights } from "./weights";

/** A tree with its weights, and what a search lights up in it. */
export interface Stacks {
  readonly tree: Tree;
  readonly weighed: Weighed;
  /** By node, whether its own function is searched for; `null` without a search. */
  readonly matched: Uint8Array | null;
  /** The weight of all stacks that have such a function. */
  readonly found: number;
}

/** What a search matches, by node: its own function, and its own or one of its callers'. */
interface Matched {
  readonly own: Uint8Array;
  readonly inside: Uint8Array;
}

/** Which tree: from the root, from the leaves, or what one function calls and who calls it. */
export type Direction = "down" | "up" | { readonly callees: number } | { readonly callers: number };

export class Model {
  readonly names: Names;
  private readonly trees = new Memory<Tree>(12);
  private readonly tops = new Memory<Top>(1);
  private readonly weights: Weights;
  private readonly selected = new Memory<Uint8Array>(16);
  private readonly searched = new Memory<Matched>(4);

  readonly profile: Profile;

  constructor(
    profile: Profile,
    readonly facts: Facts,
  ) {
    const type = profile.types.findIndex((it) => it.name === facts.type);
    this.profile = type < 0 ? profile : { ...profile, defaultType: type };
    this.names = new Names(this.profile, facts);
    this.weights = new Weights(this.profile);
  }

  type(selection: Selection): SampleType {
    return this.profile.types[selection.type]!;
  }

  /** By row, whether it is selected by all but time; stacks that a transform leaves out are not. */
  rows(selection: Selection): Uint8Array {
    const { threads, states, labels, idle, type, transforms } = selection;
    const key = JSON.stringify([threads && [...threads], states && [...states], [...labels].map(([name, values]) => [name, ...values]), idle, type, transforms]);
    return this.selected.of(key, () => {
      const rows = selectedRows(this.profile, this.facts, selection);
      const { rowNode } = this.tree(transforms);
      return rows.map((it, row) => (rowNode[row]! < 0 ? 0 : it));
    });
  }

  /** The weight of each row under the selection. */
  rowWeights(selection: Selection): Float64Array {
    return this.weights.of(this.rows(selection), selection.type, selection.range);
  }

  total(selection: Selection): number {
    return sum(this.rowWeights(selection));
  }

  stacks(selection: Selection, direction: Direction = "down"): Stacks {
    const tree = this.tree(selection.transforms, direction);
    const weights = this.rowWeights(selection);
    const weighed = tree.weigh(weights);
    const matched = this.matched(selection.search, tree);
    if (!matched) return { tree, weighed, matched: null, found: 0 };
    let found = 0;
    for (let row = 0; row < weights.length; row++) if (tree.rowNode[row]! > 0 && matched.inside[tree.rowNode[row]!]) found += weights[row]!;
    return { tree, weighed, matched: matched.own, found };
  }

  top(selection: Selection, order: TopOrder): TopRow[] {
    const { tree, weighed } = this.stacks(selection);
    return this.tops.of("", () => new Top(tree, this.names), tree).rows(weighed, order);
  }

  boxes(stacks: Stacks, root: number, least: number): Boxes {
    return boxes(stacks.weighed, root, least);
  }

  /** The weight of the selection over all time, and of what is searched for in it. `null` without a timeline. */
  heat(selection: Selection, most: number): Heat | null {
    if (!this.profile.timeline) return null;
    return heat(this.profile, selection.type, this.rows(selection), this.lit(selection), most);
  }

  tracks(selection: Selection, columns: number): Track[] {
    return tracks(this.profile, selection.type, this.rows(selection), columns);
  }

  /** The 95 % interval of the share of `part` in what is selected. */
  interval(selection: Selection, part: number): [low: number, high: number] {
    return interval(part, this.total(selection), this.samples(selection));
  }

  /** The number of samples that were taken of what is selected. */
  samples(selection: Selection): number {
    const type = this.profile.types.findIndex((it) => it.name === "samples");
    return type < 0 ? 0 : sum(this.weights.of(this.rows(selection), type, selection.range));
  }

  /** The numbers of samples in the nodes of the tree of `stacks`; `null` if the profile does not count them. */
  counts(selection: Selection, direction: Direction = "down"): Weighed | null {
    const type = this.profile.types.findIndex((it) => it.name === "samples");
    if (type < 0) return null;
    return this.tree(selection.transforms, direction).weigh(this.weights.of(this.rows(selection), type, selection.range));
  }

  private tree(transforms: readonly Transform[], direction: Direction = "down"): Tree {
    return this.trees.of(JSON.stringify([transforms, direction]), () => {
      if (direction === "up") return inverted(this.tree(transforms), this.names);
      if (direction !== "down") {
        const of = "callees" in direction ? direction.callees : direction.callers;
        return sandwich(this.tree(transforms), of, this.names)["callees" in direction ? "callees" : "callers"];
      }
      const last = transforms.at(-1);
      return last ? transformed(this.tree(transforms.slice(0, -1)), last, this.names) : allStacks(this.profile, this.names);
    });
  }

  /** By row, whether its stack has a function that is searched for. */
  private lit(selection: Selection): Uint8Array | null {
    const tree = this.tree(selection.transforms);
    const matched = this.matched(selection.search, tree);
    return matched && Uint8Array.from(tree.rowNode, (node) => (node < 0 ? 0 : matched.inside[node]!));
  }

  private matched(text: string, tree: Tree): Matched | null {
    const search = expression(text);
    if (!search) return null;
    return this.searched.of(text, () => {
      const functions = matches(search, this.names);
      const own = new Uint8Array(tree.count);
      for (let node = 1; node < tree.count; node++) own[node] = functions[tree.functions[node]!]!;
      return { own, inside: under(tree, own) };
    }, tree);
  }
}

/** The last values that were computed, by key; for as long as `basis` is the same object. */
class Memory<Value> {
  private readonly kept = new Map<string, { value: Value; basis: unknown }>();

  constructor(private readonly most: number) {}

  of(key: string, compute: () => Value, basis: unknown = null): Value {
    const known = this.kept.get(key);
    const value = known && known.basis === basis ? known.value : compute();
    this.kept.delete(key);
    this.kept.set(key, { value, basis });
    if (this.kept.size > this.most) this.kept.delete(this.kept.keys().next().value!);
    return value;
  }
}
