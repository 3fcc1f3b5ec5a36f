// Views as plain text, to paste into a message.

import type { Direction, Stacks } from "../model/model";
import { amount, percent } from "../model/units";
import type { App } from "../state/context";
import { nodeOf } from "./flame_graph";
import { typeWord } from "../words/words";

export const MOST_LINES = 2000;
export const LEAST = 0.005; // the minimum share of a call that has a line of its own

/** Formats the functions of a stack, leaf first, as Ruby prints it. */
export function stackText({ model }: App, stack: readonly number[]): string {
  const lines = [...stack].reverse().map((of) => [model.names.name(of), model.names.place(of)].filter((it) => it !== "").join("  "));
  return `${lines.join("\n")}\n`;
}

/** Formats the top table. */
export function topText(app: App): string {
  const { model, sums, state } = app;
  const type = model.type(state.selection);
  const all = sums.total(state.selection);
  const cell = (weight: number) => `${amount(type, weight).padStart(10)} ${percent(weight, all).padStart(6)}`;
  const lines = sums.top(state.selection, state.view.order).slice(0, MOST_LINES).map((it) => {
    const place = model.names.place(it.function);
    return `${cell(it.total)} ${cell(it.self)}   ${model.names.name(it.function)}${place === "" ? "" : `  ${place}`}`;
  });
  return [heading(app, all), `${"TOTAL".padStart(17)} ${"SELF".padStart(17)}   FUNCTION`, ...lines, ""].join("\n");
}

/** Formats the calls of a tree below a box, those with a visible share. */
export function treeText(app: App, direction: Direction, zoom: readonly number[]): string {
  const { sums, state } = app;
  const stacks = sums.stacks(state.selection, direction);
  const root = nodeOf(stacks.tree, zoom);
  const lines: string[] = [];
  const open = [root];
  for (let node = open.pop(); node !== undefined && lines.length < MOST_LINES; node = open.pop()) {
    lines.push(treeLine(app, stacks, node, stacks.tree.depth[node]! - stacks.tree.depth[root]!));
    open.push(...heaviestFirst(stacks, node).filter((it) => stacks.weighed.total(it) >= stacks.weighed.total(root) * LEAST).reverse());
  }
  return [heading(app, stacks.weighed.total(0)), `${"TOTAL".padStart(17)}   FUNCTION`, ...lines, ""].join("\n");
}

/** Formats one line of a tree. */
export function treeLine({ model, sums, state }: App, stacks: Stacks, node: number, depth: number): string {
  const total = stacks.weighed.total(node);
  const share = percent(total, sums.total(state.selection)).padStart(6);
  const name = node === 0 ? "all" : model.names.name(stacks.tree.functions[node]!);
  return `${amount(model.type(state.selection), total).padStart(10)} ${share}   ${"  ".repeat(depth)}${name}`;
}

/** Returns the callees of a node that have weight, the heaviest first. */
export function heaviestFirst({ tree, weighed }: Stacks, node: number): number[] {
  const found: number[] = [];
  for (let child = tree.firstChild[node]!; child !== 0; child = tree.nextSibling[child]!) if (weighed.total(child) > 0) found.push(child);
  return found.sort((one, other) => weighed.total(other) - weighed.total(one) || one - other);
}

/** Returns whether a node has a callee that has weight. */
export function callsSomething({ tree, weighed }: Stacks, node: number): boolean {
  for (let child = tree.firstChild[node]!; child !== 0; child = tree.nextSibling[child]!) if (weighed.total(child) > 0) return true;
  return false;
}

function heading({ model, state }: App, all: number): string {
  const type = model.type(state.selection);
  return `${typeWord(type)}: ${amount(type, all)} in all\n`;
}
