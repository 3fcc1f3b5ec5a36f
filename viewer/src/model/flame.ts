// The boxes of a flame graph: the visible part of a tree. Chains of calls can be folded into one box.

import type { Folding } from "./folds";
import type { Weighed } from "./tree";

/** The boxes, with a column for each property. */
export interface Boxes {
  readonly count: number;
  readonly node: Int32Array;
  /** The last node of a chain that is folded into the box; the node itself for any other box. */
  readonly last: Int32Array;
  /** Whether something is folded into the box. */
  readonly folded: Uint8Array;
  /** The distance from the root of the picture, which has depth 0. */
  readonly depth: Int32Array;
  /** The left edge and the width, 0 to 1. */
  readonly left: Float64Array;
  readonly width: Float64Array;
  /** The number of rows of boxes. */
  readonly depths: number;
}

/** Returns the boxes of `root` and all its callees that have at least the share `least` of its width. */
export function boxes(weighed: Weighed, root: number, least: number, folding: Folding | null = null): Boxes {
  const found = { node: [] as number[], last: [] as number[], folded: [] as number[], depth: [] as number[], left: [] as number[], width: [] as number[] };
  const { firstChild, nextSibling } = weighed.tree;
  const whole = weighed.total(root);
  const narrow = least * whole;
  let depths = 0;
  // Nodes that still have to be placed, with their left edges.
  const open: [node: number, left: number, depth: number][] = whole > 0 ? [[root, 0, 0]] : [];
  for (let it = open.pop(); it; it = open.pop()) {
    const [node, left, depth] = it;
    const fold = node === root ? null : (folding?.at(node, whole) ?? null);
    found.node.push(node);
    found.last.push(fold?.last ?? node);
    found.folded.push(Number(fold !== null));
    found.depth.push(depth);
    found.left.push(left);
    found.width.push(weighed.total(node) / whole);
    depths = Math.max(depths, depth + 1);
    if (fold) {
      if (fold.next > 0) open.push([fold.next, left + fold.shift / whole, depth + 1]);
      continue;
    }
    let at = left;
    for (let child = firstChild[node]!; child !== 0; child = nextSibling[child]!) {
      const weight = weighed.total(child);
      if (weight === 0) continue;
      if (weight >= narrow) open.push([child, at, depth + 1]);
      at += weight / whole;
    }
  }
  return {
    count: found.node.length,
    node: Int32Array.from(found.node),
    last: Int32Array.from(found.last),
    folded: Uint8Array.from(found.folded),
    depth: Int32Array.from(found.depth),
    left: Float64Array.from(found.left),
    width: Float64Array.from(found.width),
    depths,
  };
}
