// The matches of a search: functions and, with them, nodes of a tree and rows; and the steps from one to the next.

import type { Names } from "./names";
import type { Tree, Weighed } from "./tree";

/**
 * Returns the expression of a search, which ignores case; `null` for none. A text that is not an expression is searched
 * literally.
 */
export function expression(text: string): RegExp | null {
  if (text === "") return null;
  try {
    return new RegExp(text, "iu");
  } catch {
    return new RegExp(text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"), "iu");
  }
}

/** Returns the browser's reason why a search is not an expression; empty if it is one. */
export function faultOf(text: string): string {
  try {
    new RegExp(text, "iu");
    return "";
  } catch (error) {
    return (error as Error).message.replace(/^.*\/iu: |^Invalid regular expression: /s, "").toLowerCase();
  }
}

/** Returns whether the name or the place (`path:line`) of each function matches. */
export function matches(search: RegExp, names: Names): Uint8Array {
  return Uint8Array.from({ length: names.count }, (_, of) => Number(search.test(names.name(of)) || search.test(names.place(of))));
}

/** Returns whether each node or one of its callers is `matched`. */
export function under(tree: Tree, matched: Uint8Array): Uint8Array {
  const found = new Uint8Array(tree.count);
  for (let node = 1; node < tree.count; node++) found[node] = found[tree.parent[node]!]! | matched[node]!;
  return found;
}

/** Returns whether each node is `matched`, calls one that is, or is called by one. */
export function around(tree: Tree, matched: Uint8Array): Uint8Array {
  const found = under(tree, matched);
  for (let node = tree.count - 1; node > 0; node--) if (found[node]) found[tree.parent[node]!] = 1;
  return found;
}

/** Returns the weight of the nodes that are `matched`, with all their callees. */
export function weightUnder(weighed: Weighed, matched: Uint8Array): number {
  const { tree } = weighed;
  const inside = under(tree, matched);
  let found = 0;
  for (let node = 1; node < tree.count; node++) if (matched[node] && !inside[tree.parent[node]!]) found += weighed.total(node);
  return found;
}

/** Returns the search for functions with exactly this name. */
export function exactly(name: string): string {
  return `^${name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}$`;
}

/** Returns 1 for the key of the next match, -1 for that of the previous one, 0 for any other key. */
export function matchStep(key: string): 1 | -1 | 0 {
  return key === "n" ? 1 : key === "N" ? -1 : 0;
}

/** Returns the first match among `count` places after `at`, or before it, wrapping around; `at` if there is none. */
export function nextMatch(count: number, at: number, step: 1 | -1, isMatch: (place: number) => boolean): number {
  const start = at < 0 && step < 0 ? 0 : at;
  for (let seen = 1; seen <= count; seen++) {
    const place = (start + step * seen + count * 2) % count;
    if (isMatch(place)) return place;
  }
  return at;
}
