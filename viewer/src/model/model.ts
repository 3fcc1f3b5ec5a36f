// A profile under selections, with the data of each view. The model keeps the data of the last selections, so a change computes
// only what depends on it: time changes the weights, a transform the stacks.

import { changes, Comparison, isWhole, type Change, type Side, type SideWeights } from "./comparison";
import { Cache } from "./cache";
import { eachCrossing, partOf } from "./extent";
import { isNative, type Facts } from "./facts";
import { boxes, type Boxes } from "./flame";
import { Folding } from "./folds";
import { Names } from "./names";
import { isRuby, owners } from "./owners";
import type { Profile, SampleType } from "./profile";
import { expression, matches, under } from "./search";
import { eventsIn, selectedRows, sum, type Range, type Selection, type Transform } from "./selection";
import { interval } from "./share";
import { allStacks, inverted, sandwich, transformed } from "./stacks";
import { heat, tracks, type Heat, type Track } from "./time";
import { Top, type TopOrder, type TopRow } from "./top";
import type { Tree, Weighed } from "./tree";
import { Weights } from "./weights";
import { sharesWithin } from "./within";

/** A tree with its weights, and the matches of a search in it. */
export interface Stacks {
  readonly tree: Tree;
  readonly weighed: Weighed;
  /** Whether each node's own function matches the search; `null` without a search. */
  readonly matched: Uint8Array | null;
  /** The weight of all stacks with a matching function. */
  readonly found: number;
}

/** The matches of a search by node: its own function, and its own or that of a caller. */
interface Matched {
  readonly own: Uint8Array;
  readonly inside: Uint8Array;
}

/** The direction of a tree: from the root, from the leaves, or the callees or callers of one function. */
export type Direction = "down" | "up" | { readonly callees: number } | { readonly callers: number };

export class Model {
  readonly names: Names;
  private readonly trees = new Cache(12);
  private readonly tops = new Cache(1);
  private readonly weights: Weights;
  private readonly selected = new Cache(16);
  private readonly searched = new Cache(4);
  private readonly inMarkers = new Cache(4);
  private readonly owned = new Cache(4);
  /** The functions that findings name. */
  private readonly named: ReadonlySet<number>;

  /** By row, whether it is an idle wait. */
  private readonly idle: Uint8Array;

  readonly profile: Profile;

  /** Creates a model. @param runOf in a page of two sides: by row, the index of its run */
  constructor(
    profile: Profile,
    readonly facts: Facts,
    private readonly runOf: Uint16Array | null = null,
  ) {
    const type = profile.types.findIndex((it) => it.name === facts.type);
    const types = isNative(facts) ? profile.types.map((it) => (/^(alloc|inuse)_/.test(it.name) ? { ...it, isNative: true } : it)) : profile.types;
    this.profile = { ...profile, types, defaultType: type < 0 ? profile.defaultType : type };
    this.names = new Names(this.profile, facts);
    this.weights = new Weights(this.profile);
    this.idle = new Uint8Array(profile.rows.count);
    for (const row of facts.idle.rows) this.idle[row] = 1;
    this.named = new Set(facts.findings.flatMap((it) => (it.function === null ? [] : [it.function])));
  }

  type(selection: Selection): SampleType {
    return this.profile.types[selection.type]!;
  }

  /** Returns whether each row is selected, regardless of time; stacks that a transform leaves out are not. */
  rows(selection: Selection): Uint8Array {
    const { threads, states, labels, idle, loading, type, transforms, side } = selection;
    const key = JSON.stringify([side, threads && [...threads], states && [...states], [...labels].map(([name, values]) => [name, ...values]), idle, loading, type, transforms]);
    return this.selected.of(key, "", () => {
      const rows = selectedRows(this.profile, this.facts, selection);
      const { rowNode } = this.tree(transforms);
      const runs = this.facts.comparison?.runs;
      const isOther = runs && Array.from(runs, (it) => it.side !== side);
      return rows.map((it, row) => (rowNode[row]! < 0 || isOther?.[this.runOf![row]!] ? 0 : it));
    });
  }

  /** Returns the share of each event that is in a selected marker; `null` if no marker is selected. */
  only(selection: Selection): Float64Array | null {
    const { within } = selection;
    if (!within || !this.profile.timeline) return null;
    const without = this.leftOut(selection);
    return this.inMarkers.of(JSON.stringify([within, without !== null]), "", () => sharesWithin(this.profile, within, without));
  }

  /** Returns by row whether idle waits leave it out; `null` if they are not left out. */
  leftOut({ idle, type }: Selection): Uint8Array | null {
    return idle === "without" && this.profile.types[type]?.name === "wall" ? this.idle : null;
  }

  /** Returns the weight of each row under the selection. */
  rowWeights(selection: Selection): Float64Array {
    return this.weights.of(this.rows(selection), selection.type, selection.range, this.only(selection));
  }

  /** Returns the weight of each event under the selection; `null` without a timeline. */
  eventWeights(selection: Selection): Float64Array | null {
    const { timeline } = this.profile;
    const column = timeline?.weights[selection.type];
    if (!timeline || !column) return null;
    const rows = this.rows(selection);
    const only = this.only(selection);
    const { first, end } = selection.range ? eventsIn(timeline, selection.range) : { first: 0, end: timeline.count };
    const type = this.type(selection);
    const part = (event: number, weight: number) => (!rows[timeline.row[event]!] ? 0 : only ? partOf(type, weight, only[event]!) : weight);
    const weights = column.map((weight, event) => (event >= first && event < end ? part(event, weight) : 0));
    for (const [at, sign] of selection.range ? ([[selection.range.from, -1], [selection.range.to, 1]] as const) : []) {
      eachCrossing(this.profile, selection.type, at, (event, weight) => (weights[event]! += sign * part(event, weight)));
    }
    return weights;
  }

  total(selection: Selection): number {
    return sum(this.rowWeights(selection));
  }

  stacks(selection: Selection, direction: Direction = "down"): Stacks {
    const tree = this.tree(selection.transforms, direction);
    const weights = this.rowWeights(selection);
    const weighed = tree.weigh(weights);
    const matched = this.matched(selection, tree, direction);
    if (!matched) return { tree, weighed, matched: null, found: 0 };
    let found = 0;
    for (let row = 0; row < weights.length; row++) if (tree.rowNode[row]! > 0 && matched.inside[tree.rowNode[row]!]) found += weights[row]!;
    return { tree, weighed, matched: matched.own, found };
  }

  /** Returns the stacks of rows with other weights. */
  stacksOf(transforms: readonly Transform[], weights: Float64Array): Stacks {
    const tree = this.tree(transforms);
    return { tree, weighed: tree.weigh(weights), matched: null, found: 0 };
  }

  /**
   * Returns the function that each row counts for: the leaf, the innermost Ruby function, the innermost one that is not part of
   * Ruby's core, or the one that a finding names, such as the app's.
   */
  owners(transforms: readonly Transform[], of: "leaf" | "ruby" | "code" | "site"): Int32Array {
    const { profile, names } = this;
    const kinds = {
      leaf: [],
      ruby: [(it: number) => isRuby(profile, it)],
      site: [(it: number) => names.isOwn(it), (it: number) => names.isSite(it)],
      code: [(it: number) => names.isSite(it)],
    };
    return this.owned.of(JSON.stringify([of, transforms]), "", () => owners(this.tree(transforms), names, kinds[of]));
  }

  top(selection: Selection, order: TopOrder): TopRow[] {
    const { tree, weighed } = this.stacks(selection);
    return this.tops.of(tree, "", () => new Top(tree, this.names)).rows(weighed, order);
  }

  /** Returns the boxes of a flame graph. @param opened the first nodes of chains that are not folded; `null` folds none */
  boxes({ weighed, matched }: Stacks, root: number, least: number, opened: ReadonlySet<number> | null = null): Boxes {
    return boxes(weighed, root, least, opened && new Folding(weighed, this.names, this.named, matched, opened));
  }

  /** Returns the weight of the selection over all time, and the matching part of it. `null` without a timeline. */
  heat(selection: Selection, most: number): Heat | null {
    if (!this.profile.timeline) return null;
    return heat(this.profile, selection.type, this.rows(selection), this.lit(selection), most, this.only(selection));
  }

  tracks(selection: Selection, columns: number): Track[] {
    return tracks(this.profile, selection.type, this.rows(selection), columns);
  }

  /** Returns the 95 % interval of the share of `part` in the selection. */
  interval(selection: Selection, part: number): [low: number, high: number] {
    return interval(part, this.total(selection), this.samples(selection));
  }

  /** Returns the number of samples in the selection. */
  samples(selection: Selection): number {
    const type = this.profile.types.findIndex((it) => it.name === "samples");
    return type < 0 ? 0 : sum(this.weights.of(this.rows(selection), type, selection.range, this.only(selection)));
  }

  /** Returns the numbers of samples in the nodes of the tree of `stacks`; `null` if the profile does not count them. */
  counts(selection: Selection, direction: Direction = "down"): Weighed | null {
    const type = this.profile.types.findIndex((it) => it.name === "samples");
    if (type < 0) return null;
    return this.tree(selection.transforms, direction).weigh(this.weights.of(this.rows(selection), type, selection.range, this.only(selection)));
  }

  /** Returns whether the page has two sides. */
  get isTwoSided(): boolean {
    return this.facts.comparison !== undefined && this.runOf !== null;
  }

  /** Returns whether there is something to compare. */
  compares(selection: Selection): boolean {
    return this.isTwoSided || (selection.range !== null && selection.against !== null);
  }

  /**
   * Compares both sides of the selection: by shares of each run, or by the weight of a run. Of two ranges, the earlier is the
   * one before.
   */
  comparison(selection: Selection, absolute: boolean, direction: Direction = "down"): Comparison {
    return new Comparison(this.tree(selection.transforms, direction), this.side(selection, "before", absolute), this.side(selection, "after", absolute));
  }

  /** Returns the functions of both sides. */
  changes(selection: Selection, total: boolean, absolute: boolean): Change[] {
    const type = this.type(selection).name;
    const known = this.facts.comparison?.changes.find((it) => it.type === type && it.total === total && it.absolute === absolute);
    return changes(this.comparison(selection, absolute), this.names, total, known && isWhole(selection) ? known : null);
  }

  /** Returns the weight of each row in one run of a side, as the mean of its runs. */
  weightsOf(selection: Selection, side: Side): Float64Array {
    return this.side(selection, side, true).weights;
  }

  private side(selection: Selection, side: Side, absolute: boolean): SideWeights {
    const [rows, range] = this.isTwoSided ? [this.rows({ ...selection, side }), null] : [this.rows(selection), rangeOf(selection, side)];
    const samples = this.profile.types.findIndex((it) => it.name === "samples");
    const only = this.only(selection);
    const weights = this.weights.of(rows, selection.type, range, only);
    return { weights: this.scaled(weights, side, absolute), samples: samples < 0 ? null : this.weights.of(rows, samples, range, only) };
  }

  /** Scales weights to shares of their runs, or to the weights of one run; the mean of the runs of a side. */
  private scaled(weights: Float64Array, side: Side, absolute: boolean): Float64Array {
    const runs = this.facts.comparison?.runs;
    const number = runs?.filter((it) => it.side === side).length ?? 1;
    const all = new Float64Array(runs?.length ?? 1);
    const run = (row: number) => this.runOf?.[row] ?? 0;
    for (let row = 0; row < weights.length; row++) all[run(row)]! += weights[row]!;
    return weights.map((it, row) => (it === 0 ? 0 : absolute ? it / number : it / all[run(row)]! / number));
  }

  private tree(transforms: readonly Transform[], direction: Direction = "down"): Tree {
    return this.trees.of(JSON.stringify([transforms, direction]), "", (): Tree => {
      if (direction === "up") return inverted(this.tree(transforms), this.names);
      if (direction !== "down") {
        const of = "callees" in direction ? direction.callees : direction.callers;
        return sandwich(this.tree(transforms), of, this.names)["callees" in direction ? "callees" : "callers"];
      }
      const last = transforms.at(-1);
      return last ? transformed(this.tree(transforms.slice(0, -1)), last, this.names) : allStacks(this.profile, this.names);
    });
  }

  /** Returns whether the stack of each row has a function that matches the search. */
  private lit(selection: Selection): Uint8Array | null {
    const tree = this.tree(selection.transforms);
    const matched = this.matched(selection, tree, "down");
    return matched && Uint8Array.from(tree.rowNode, (node) => (node < 0 ? 0 : matched.inside[node]!));
  }

  private matched({ search: text, transforms }: Selection, tree: Tree, direction: Direction): Matched | null {
    const search = expression(text);
    if (!search) return null;
    return this.searched.of(JSON.stringify([text, transforms, direction]), "", (): Matched => {
      const functions = matches(search, this.names);
      const own = new Uint8Array(tree.count);
      for (let node = 1; node < tree.count; node++) own[node] = functions[tree.functions[node]!]!;
      return { own, inside: under(tree, own) };
    });
  }
}

/** Returns the range of a side. */
function rangeOf({ range, against }: Selection, side: Side): Range {
  const [earlier, later] = range!.from <= against!.from ? [range!, against!] : [against!, range!];
  return side === "before" ? earlier : later;
}
