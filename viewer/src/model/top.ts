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
  for (let node = 1; node < tree.count; node++) {
    const of = tree.functions[node]!;
    if (names.isLeaf(of)) {
      const waits = tree.functions[tree.parent[node]!]!;
      if (waits < 0) hidden += weighed.self[node]!;
      else self[waits]! += weighed.self[node]!;
      continue;
    }
    self[of]! += weighed.self[node]!;
    if (tree.outermost[node]) total[of]! += weighed.total[node]!;
  }
  const rows: TopRow[] = hidden > 0 ? [{ function: -1, self: hidden, total: hidden }] : [];
  for (let of = 0; of < names.count; of++) {
    if (total[of]! > 0) rows.push({ function: of, self: self[of]!, total: total[of]! });
  }
  const by = { self: (it: TopRow) => -it.self, total: (it: TopRow) => -it.total, name: () => 0 }[order];
  const other = order === "total" ? (it: TopRow) => -it.self : (it: TopRow) => -it.total;
  const rank = (it: TopRow) => (it.function < 0 ? -1 : names.rank[it.function]!);
  return rows.sort((one, two) => by(one) - by(two) || (order === "name" ? 0 : other(one) - other(two)) || rank(one) - rank(two));
}
