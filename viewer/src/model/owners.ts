// The function in a stack that a person looks for: C code works for its caller, and a gem for the app.

import type { Names } from "./names";
import type { Profile } from "./profile";
import type { Tree } from "./tree";

/** Returns whether a function is one to look for. */
export type Predicate = (of: number) => boolean;

/**
 * Returns for each row the innermost function of its stack that is looked for, the first kind before the next, or else the
 * leaf; -1 for a row that is not in the tree.
 */
export function owners(tree: Tree, names: Names, predicates: readonly Predicate[]): Int32Array {
  const found = tree.rowNode.map((node) => (node <= 0 ? -1 : leafOf(tree, names, node)));
  for (const isWanted of [...predicates].reverse()) {
    const byNode = new Int32Array(tree.count).fill(-1);
    for (let node = 1; node < tree.count; node++) {
      const of = tree.functions[node]!;
      byNode[node] = !names.isLeaf(of) && isWanted(of) ? of : byNode[tree.parent[node]!]!;
    }
    for (let row = 0; row < found.length; row++) if (tree.rowNode[row]! > 0 && byNode[tree.rowNode[row]!]! >= 0) found[row] = byNode[tree.rowNode[row]!]!;
  }
  return found;
}

/** Returns the function of a leaf. A state's leaf is not a function. */
function leafOf(tree: Tree, names: Names, node: number): number {
  const of = tree.functions[node]!;
  return names.isLeaf(of) ? tree.functions[tree.parent[node]!]! : of;
}

/** Returns whether a function is written in Ruby. */
export function isRuby({ functions }: Profile, of: number): boolean {
  const path = functions.path[of];
  return path !== undefined && path !== "" && path !== "<cfunc>";
}
