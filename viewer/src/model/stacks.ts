// The stacks of a profile as trees: as recorded, changed by transforms, and from the leaf on.

import type { Names } from "./names";
import type { Profile } from "./profile";
import type { Transform } from "./selection";
import { Tree, TreeBuilder } from "./tree";

/** The place of nodes that a transform left out. */
const OUT = -1;

/** Returns the tree of all rows. A row that does not run ends in the leaf of its state. */
export function allStacks(profile: Profile, names: Names): Tree {
  const { rows, frames } = profile;
  const builder = new TreeBuilder(Math.max(rows.count * 2, rows.frames.length / 2));
  const rowNode = new Int32Array(rows.count);
  const leaves = Int32Array.from(profile.states, (_, state) => names.leaf(state));
  // The stack of the previous row and its nodes, from the root on: neighbours have most of it in common.
  const functions: number[] = [];
  const nodes: number[] = [];
  for (let row = 0; row < rows.count; row++) {
    const start = rows.start[row]!;
    const end = rows.start[row + 1]!;
    const known = Math.min(functions.length, end - start);
    let node = 0;
    let depth = 0;
    for (; depth < known && functions[depth] === frames.function[rows.frames[end - 1 - depth]!]!; depth++) node = nodes[depth]!;
    functions.length = nodes.length = depth;
    for (let at = end - 1 - depth; at >= start; at--) {
      const of = frames.function[rows.frames[at]!]!;
      node = builder.call(node, of);
      functions.push(of);
      nodes.push(node);
    }
    const leaf = leaves[rows.state[row]!]!;
    rowNode[row] = leaf < 0 ? node : builder.call(node, leaf);
  }
  return builder.tree(rowNode, names.rank);
}

/** Returns the tree after one transform. */
export function transformed(tree: Tree, transform: Transform, names: Names): Tree {
  const builder = new TreeBuilder();
  const to = new Int32Array(tree.count);
  const step = stepOf(transform, builder, names);
  for (let node = 1; node < tree.count; node++) {
    const caller = tree.parent[node]!;
    // The root stands for itself, and for nodes that are not in a focus yet.
    to[node] = to[caller] === OUT ? OUT : step(to[caller]!, tree.functions[node]!);
  }
  const keeps = transform.kind !== "focus";
  const rowNode = tree.rowNode.map((node) => (node < 0 || (!keeps && to[node] === 0) ? OUT : to[node]!));
  return builder.tree(rowNode, names.rank);
}

/** Returns a function that maps a call of `of` by a node of the new tree. */
function stepOf(transform: Transform, builder: TreeBuilder, names: Names): (caller: number, of: number) => number {
  const isForeign = (of: number) => of >= 0 && !names.isLeaf(of) && !names.isOwn(of) && !["app", "synthetic"].includes(names.origin(of));
  switch (transform.kind) {
    case "focus":
      return (caller, of) => (caller !== 0 || of === transform.function ? builder.call(caller, of) : 0);
    case "drop":
      return (caller, of) => (of === transform.function ? OUT : builder.call(caller, of));
    case "merge":
      return (caller, of) => (of === transform.function ? caller : builder.call(caller, of));
    case "recursion":
      return (caller, of) => {
        for (let node = caller; node > 0; node = builder.parentOf(node)) if (builder.functionOf(node) === of) return node;
        return builder.call(caller, of);
      };
    case "gems":
      return (caller, of) => {
        if (!isForeign(of)) return builder.call(caller, of);
        const gem = names.isSite(of) ? names.packageNode(of) : -1;
        if (gem < 0) return caller === 0 ? builder.call(caller, of) : caller;
        return builder.functionOf(caller) === gem ? caller : builder.call(caller, gem);
      };
    case "app":
      return (caller, of) => (isForeign(of) ? caller : builder.call(caller, of));
  }
}

/** Returns the tree from the leaves on, which shows their callers. States are at its roots. */
export function inverted(tree: Tree, names: Names): Tree {
  const builder = new TreeBuilder();
  const ends = new Map<number, number>();
  const end = (leaf: number) => {
    let node = 0;
    for (let it = leaf; it > 0; it = tree.parent[it]!) node = builder.call(node, tree.functions[it]!);
    return node;
  };
  const rowNode = tree.rowNode.map((leaf) => {
    if (leaf < 0) return OUT;
    let node = ends.get(leaf);
    if (node === undefined) ends.set(leaf, (node = end(leaf)));
    return node;
  });
  return builder.tree(rowNode, names.rank);
}

/**
 * Returns the calls of one function as two trees: its callees, with itself as the root's callee, and its callers, from it
 * outwards.
 */
export function sandwich(tree: Tree, of: number, names: Names): { callees: Tree; callers: Tree } {
  const callees = new TreeBuilder();
  const callers = new TreeBuilder();
  const within = new Int32Array(tree.count); // by node under a call, its place in the tree of callees
  const inner = new Int32Array(tree.rowNode.length).fill(OUT);
  const outer = new Int32Array(tree.rowNode.length).fill(OUT);
  for (let call = 1; call < tree.count; call++) {
    if (tree.functions[call] !== of) continue;
    let callersEnd = 0;
    for (let it = call; it > 0; it = tree.parent[it]!) callersEnd = callers.call(callersEnd, tree.functions[it]!);
    const depth = tree.depth[call]!;
    let node = call;
    do {
      within[node] = callees.call(node === call ? 0 : within[tree.parent[node]!]!, tree.functions[node]!);
      for (let place = tree.begin[node]!; place < tree.begin[node + 1]!; place++) {
        inner[tree.rows[place]!] = within[node]!;
        outer[tree.rows[place]!] = callersEnd;
      }
      node += 1;
    } while (node < tree.count && tree.depth[node]! > depth);
    call = node - 1;
  }
  return { callees: callees.tree(inner, names.rank), callers: callers.tree(outer, names.rank) };
}
