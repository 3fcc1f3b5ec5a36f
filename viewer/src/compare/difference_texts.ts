// Comparisons as plain text, to paste into a message.

import { isSignificant, type Change, type Comparison } from "../model/comparison";
import type { SampleType } from "../model/profile";
import { nodeOf } from "../parts/flame_graph";
import { heaviestFirst, LEAST, MOST_LINES } from "../parts/texts";
import type { App } from "../state/context";
import { typeWord } from "../words/words";
import { delta, ratio, value } from "./difference_words";

/** Formats the changes of functions. */
export function changesText({ model, state }: App, rows: readonly Change[]): string {
  const type = model.type(state.selection);
  const { absolute } = state.view;
  const lines = rows.slice(0, MOST_LINES).map((it) => {
    const mark = it.chance !== null && !isSignificant(it) ? "?" : " ";
    return `${changeCells(it.before, it.after, absolute, type)} ${mark} ${model.names.name(it.function)}`;
  });
  return [`${typeWord(type)}\n`, CHANGE_HEAD, ...lines, ""].join("\n");
}

/** Formats the calls of two sides below a box, those with a visible share. */
export function differenceText({ model, state }: App, shown: Comparison, absolute: boolean, zoom: readonly number[]): string {
  const type = model.type(state.selection);
  const { tree, both, before, after } = shown;
  const root = nodeOf(tree, zoom);
  const lines: string[] = [];
  const open = [root];
  for (let node = open.pop(); node !== undefined && lines.length < MOST_LINES; node = open.pop()) {
    const name = node === 0 ? "all" : model.names.name(tree.functions[node]!);
    const depth = tree.depth[node]! - tree.depth[root]!;
    lines.push(`${changeCells(before.total(node), after.total(node), absolute, type)}   ${"  ".repeat(depth)}${name}`);
    const callees = heaviestFirst({ tree, weighed: both, matched: null, found: 0 }, node);
    open.push(...callees.filter((it) => both.total(it) >= both.total(root) * LEAST).reverse());
  }
  return [`${typeWord(type)}\n`, CHANGE_HEAD, ...lines, ""].join("\n");
}

const CHANGE_HEAD = `${"BEFORE".padStart(10)}  ${"AFTER".padStart(10)}  ${"CHANGE".padStart(18)}   FUNCTION`;

function changeCells(before: number, after: number, absolute: boolean, type: SampleType): string {
  const cells = [value(before, absolute, type), value(after, absolute, type), delta(before, after, absolute, type)];
  return `${cells.map((it) => it.padStart(10)).join("  ")} ${ratio(before, after).padStart(7)}`;
}
