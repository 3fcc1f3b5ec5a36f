// Functions by weight, as in `profiler report`.

import type { Names } from "./names";
import type { Tree, Weighed } from "./tree";

export interface TopRow {
  /** The function; -1 for stacks whose functions were all removed by transforms. */
  readonly function: number;
  /** The weight of the stacks that end in the function. */
  readonly self: number;
  /** The weight of the stacks that contain the function; recursion does not count twice. */
  readonly total: number;
}

export type TopOrder = "self" | "total" | "name";

/**
 * The functions of one tree. Data that does not depend on weights is computed once, because dragging a range queries it
 * repeatedly.
 */
export class Top {
  /** The function whose self weight each row has, in the order of the tree's rows; `names.count` for none. */
  private readonly owner: Uint32Array;
  /**
   * The function whose total includes the total of each node; `names.count` for none, such as where a caller is the same
   * function.
   */
  private readonly counted: Uint32Array;
  /** The first nodes of chains. All nodes of a chain have the same rows, and therefore the same weight. */
  private readonly chains: Uint32Array;

  constructor(
    tree: Tree,
    private readonly names: Names,
  ) {
    const { count, begin, end, functions, parent, outermost } = tree;
    this.owner = new Uint32Array(tree.end[0]!).fill(names.count);
    this.counted = new Uint32Array(count).fill(names.count);
    const chains = new Uint32Array(count + 1);
    let found = 0;
    for (let node = 1; node < count; node++) {
      const of = functions[node]!;
      const isLeaf = names.isLeaf(of);
      // A state's leaf is not a function: its weight belongs to the function that waits.
      const owner = isLeaf ? functions[parent[node]!]! : of;
      if (owner >= 0) this.owner.fill(owner, begin[node], begin[node + 1]);
      if (!isLeaf && outermost[node]) this.counted[node] = of;
      if (begin[node] !== begin[node - 1] || end[node] !== end[node - 1] || node === 1) chains[found++] = node;
    }
    chains[found] = count;
    this.chains = chains.slice(0, found + 1);
  }

  /** Returns all functions that have weight. */
  rows(weighed: Weighed, order: TopOrder): TopRow[] {
    const { names, owner, counted, chains } = this;
    const self = new Float64Array(names.count + 1);
    const total = new Float64Array(names.count + 1);
    for (let place = 0; place < owner.length; place++) self[owner[place]!]! += weighed.row(place);
    for (let chain = 0; chain + 1 < chains.length; chain++) {
      const first = chains[chain]!;
      const weight = weighed.total(first);
      if (weight === 0) continue;
      for (let node = first; node < chains[chain + 1]!; node++) total[counted[node]!]! += weight;
    }
    const hidden = self[names.count]!;
    const rows: TopRow[] = hidden > 0 ? [{ function: -1, self: hidden, total: hidden }] : [];
    // The rows are in the order of names; sorting keeps equal ones in that order.
    for (const of of names.ordered) {
      if (total[of]! > 0) rows.push({ function: of, self: self[of]!, total: total[of]! });
    }
    if (order === "name") return rows;
    return rows.sort(order === "self" ? (one, two) => two.self - one.self || two.total - one.total : (one, two) => two.total - one.total || two.self - one.self);
  }
}
