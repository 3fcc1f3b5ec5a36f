// The boxes of a flame graph: the visible part of a tree.

import type { Weighed } from "./tree";

/** The boxes, with a column for each property. */
export interface Boxes {
  readonly count: number;
  readonly node: Int32Array;
  /** The distance from the root of the picture, which has depth 0. */
  readonly depth: Int32Array;
  /** The left edge and the width, 0 to 1. */
  readonly left: Float64Array;
  readonly width: Float64Array;
  /** The number of rows of boxes. */
  readonly depths: number;
}

/** Returns the boxes of `root` and all its callees that have at least the share `least` of its width. */
export function boxes(weighed: Weighed, root: number, least: number): Boxes {
  const found = { node: [] as number[], depth: [] as number[], left: [] as number[], width: [] as number[] };
  const { firstChild, nextSibling } = weighed.tree;
  const whole = weighed.total(root);
  const narrow = least * whole;
  let depths = 0;
  // Nodes that still have to be placed, with their left edges.
  const open: [node: number, left: number, depth: number][] = whole > 0 ? [[root, 0, 0]] : [];
  for (let it = open.pop(); it; it = open.pop()) {
    const [node, left, depth] = it;
    found.node.push(node);
    found.depth.push(depth);
    found.left.push(left);
    found.width.push(weighed.total(node) / whole);
    depths = Math.max(depths, depth + 1);
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
    depth: Int32Array.from(found.depth),
    left: Float64Array.from(found.left),
    width: Float64Array.from(found.width),
    depths,
  };
}
