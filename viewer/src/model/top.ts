// Functions by weight, as `profiler report` has them.

import type { Names } from "./names";
import type { Tree, Weighed } from "./tree";

export interface TopRow {
  /** -1 for what transforms took all functions of. */
  readonly function: number;
  /** Weight of the stacks that end in it. */
  readonly self: number;
  /** Weight of the stacks that it is in; recursion does not count twice. */
  readonly total: number;
}

export type TopOrder = "self" | "total" | "name";

/** Every function that weighs something. A state's leaf is no function: what it weighs belongs to the function that waits. */
export function top(tree: Tree, weighed: Weighed, names: Names, order: TopOrder): TopRow[] {
  const self = new Float64Array(names.count);
  const total = new Float64Array(names.count);
  let hidden = weighed.self[0]!;
  const { functions, parent, outermost } = tree;
  const [own, all] = [weighed.self, weighed.total];
  const leaves = names.firstLeaf;
  for (let node = 1; node < tree.count; node++) {
    if (all[node] === 0) continue;
    const of = functions[node]!;
    if (of >= leaves) {
      const waits = functions[parent[node]!]!;
      if (waits < 0) hidden += own[node]!;
      else self[waits]! += own[node]!;
      continue;
    }
    self[of]! += own[node]!;
    if (outermost[node]) total[of]! += all[node]!;
  }
  const rows: TopRow[] = hidden > 0 ? [{ function: -1, self: hidden, total: hidden }] : [];
  // In the order of names; sorting leaves those that are equal as they are.
  for (const of of names.ordered) {
    if (total[of]! > 0) rows.push({ function: of, self: self[of]!, total: total[of]! });
  }
  if (order === "name") return rows;
  return rows.sort(order === "self" ? (one, two) => two.self - one.self || two.total - one.total : (one, two) => two.total - one.total || two.self - one.self);
}
