// The facts on a box or a row: its weights, their precision, and where it is.

import type { Direction, Stacks } from "../model/model";
import type { SampleType } from "../model/profile";
import { interval } from "../model/share";
import { amount, count, percent } from "../model/units";
import type { App } from "../state/context";
import { theme } from "../pictures/theme";
import type { TipText } from "./tip";
import { codeWord, brief, stateWord } from "../words/words";

/** Formats the interval of a share: `11.2% to 13.9%`. */
export function sureness(app: App, part: number): string {
  const { selection } = app.state;
  const [low, high] = interval(part, app.sums.total(selection), app.sums.samples(selection));
  return `${percent(low, 1)} to ${percent(high, 1)}`;
}

/** Returns the text beside the pointer for a node of a tree. */
export function nodeTip(app: App, stacks: Stacks, direction: Direction, node: number): TipText {
  const { model, sums, state } = app;
  const type = model.type(state.selection);
  const [self, total, all] = [stacks.weighed.self(node), stacks.weighed.total(node), sums.total(state.selection)];
  const samples = sums.counts(state.selection, direction);
  const of = stacks.tree.functions[node]!;
  const rows: [string, string, string?][] = [
    ["total", `${amount(type, total)}, ${percent(total, all)}`],
    ["self", `${amount(type, self)}, ${percent(self, all)}`],
  ];
  if (samples) rows.push(["samples", count(samples.total(node))], ["95 % sure", sureness(app, total)]);
  return withPlace(app, of, node, rows);
}

/** Returns the same text for stacks with weights of their own. */
export function partTip(app: App, { tree, weighed }: Stacks, type: SampleType, node: number): TipText {
  const all = weighed.total(0);
  const weight = (it: number) => `${amount(type, it)}, ${percent(it, all)}`;
  return withPlace(app, tree.functions[node]!, node, [["total", weight(weighed.total(node))], ["self", weight(weighed.self(node))]]);
}

function withPlace({ model, coloring }: App, of: number, node: number, rows: [string, string, string?][]): TipText {
  if (of >= 0 && !model.names.isLeaf(of)) {
    rows.push(["code", codeWord(model, of), theme().kinds[coloring.kind(of)]![0]!]);
  }
  const state_ = model.names.stateOf(of);
  const title = node === 0 ? "all" : brief(model.names.name(of));
  const place = state_ >= 0 ? `state: ${stateWord(model.profile.states[state_]!)}` : node === 0 ? "" : brief(model.names.place(of));
  return place === "" ? { title, rows } : { title, place, rows };
}
