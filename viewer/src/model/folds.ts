// Chains of calls that say little: each call takes nearly all the time of its caller, and none of them is code of the app.

import type { Names } from "./names";
import type { Tree, Weighed } from "./tree";

/** The share of the picture from which code of the app is folded too. */
const ALL = 0.98;
/** The share of a caller's weight from which a callee is its only one. */
const NEARLY_ALL = 0.95;
/** The share of a chain's weight that must come out of it. */
const THROUGH = 0.9;
/** The minimum number of calls in a chain. */
const LEAST = 3;

/** A chain that is folded, up to and including `last`. */
export interface Fold {
  readonly last: number;
  /** The node after the chain; 0 if everything below is folded too. */
  readonly next: number;
  /** The weight of what is to the left of `next` in the chain. */
  readonly shift: number;
}

/** The chains of a tree that are folded. */
export class Folding {
  private readonly tree: Tree;

  /**
   * Folds the chains of a tree. @param kept whether each function is always shown, such as those that a finding names
   * @param opened the first nodes of chains that are not folded
   */
  constructor(
    private readonly weighed: Weighed,
    private readonly names: Names,
    private readonly kept: ReadonlySet<number>,
    private readonly matched: Uint8Array | null,
    private readonly opened: ReadonlySet<number>,
  ) {
    this.tree = weighed.tree;
  }

  /** Returns the chain that begins at a node; `null` if the node is shown by itself. @param whole the weight of the picture */
  at(node: number, whole: number): Fold | null {
    if (this.opened.has(node)) return null;
    if (this.isProfilers(node)) return { last: node, next: 0, shift: 0 };
    const through = this.weighed.total(node) * THROUGH;
    let [last, next, shift, length] = [node, node, 0, 0];
    while (this.folds(next, whole)) {
      const [callee, before] = this.only(next);
      if (callee === 0 || this.weighed.total(callee) < through) break;
      [last, next, shift, length] = [next, callee, shift + before, length + 1];
    }
    return length < LEAST ? null : { last, next, shift };
  }

  /** Returns whether a node can be part of a chain. The app's code is folded only where it takes all of the picture. */
  private folds(node: number, whole: number): boolean {
    const of = this.tree.functions[node]!;
    if (this.names.isLeaf(of) || this.kept.has(of) || this.matched?.[node] === 1) return false;
    return !this.names.isApps(of) || this.weighed.total(node) >= whole * ALL;
  }

  /** Returns the only callee of a node, and the weight of what is to the left of it; 0 if there is none. */
  private only(node: number): [callee: number, before: number] {
    const { firstChild, nextSibling } = this.tree;
    const least = this.weighed.total(node) * NEARLY_ALL;
    let before = 0;
    for (let child = firstChild[node]!; child !== 0; child = nextSibling[child]!) {
      const weight = this.weighed.total(child);
      if (weight > 0 && weight >= least) return [child, before];
      before += weight;
    }
    return [0, 0];
  }

  /** Returns whether a node is the profiler's, and calls nothing of the app. */
  private isProfilers(node: number): boolean {
    const { functions, depth, count } = this.tree;
    if (!this.names.isProfilers(functions[node]!) || this.matched?.[node] === 1) return false;
    for (let it = node + 1; it < count && depth[it]! > depth[node]!; it++) {
      if (this.names.isOwn(functions[it]!) || this.matched?.[it] === 1) return false;
    }
    return true;
  }
}

/** Returns the nodes of a chain. */
export function chainOf(tree: Tree, node: number, last: number): number[] {
  const chain = [];
  for (let it = last; it !== node && it > 0; it = tree.parent[it]!) chain.push(it);
  return [...chain, node].reverse();
}

const MOST_NAMED = 2;

/** Describes a chain: `38 frames of puma, rack and others`. */
export function foldText(tree: Tree, names: Names, node: number, last: number, tool: string | null): string {
  if (node === last) return "the profiler itself";
  const chain = chainOf(tree, node, last).map((it) => tree.functions[it]!);
  const counts = new Map<string, number>();
  for (const of of chain) {
    const name = names.package(of) || (names.isOwn(of) ? (tool ?? "the app") : "");
    if (name !== "") counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const ordered = [...counts].sort((one, other) => other[1] - one[1]).map(([name]) => name);
  const named = ordered.slice(0, MOST_NAMED);
  if (ordered.length > MOST_NAMED) named.push("others");
  const owners = named.length < 2 ? named.join("") : `${named.slice(0, -1).join(", ")} and ${named.at(-1)}`;
  return `${chain.length} frames${owners === "" ? " of Ruby" : ` of ${owners}`}`;
}
