// The numbers of a comparison, in the same form as in `profiler diff`.

import type { Comparison } from "../model/comparison";
import type { SampleType } from "../model/profile";
import { amount, count } from "../model/units";
import type { App } from "../state/context";
import { theme } from "../pictures/theme";
import type { TipText } from "../parts/tip";
import { codeWord, brief, stateWord } from "../words/words";

/** Formats a share or a weight: `12.34%`, `1.20 s`. */
export function value(number: number, absolute: boolean, type: SampleType): string {
  return absolute ? amount(type, Math.round(number)) : `${(number * 100).toFixed(2)}%`;
}

/** Formats the change from one number to the other: `+3.21%`. */
export function delta(before: number, after: number, absolute: boolean, type: SampleType): string {
  return `${after < before ? "-" : "+"}${value(Math.abs(after - before), absolute, type)}`;
}

/** Formats the change as a part of the number before: `+26%`, `new`, `gone`. */
export function ratio(before: number, after: number): string {
  if (before === 0) return "new";
  if (after === 0) return "gone";
  const change = (after / before - 1) * 100;
  return `${change < 0 ? "-" : "+"}${Math.abs(change).toFixed(0)}%`;
}

/** Describes how certain a change is: `significant (chance ...)`, `not significant`, or `only known for all of both`. */
export function sureness(chance: number | null): string {
  if (chance === null) return "only known for all of both";
  const percent = chance * 100;
  const text = percent < 0.01 ? "less than 0.01%" : `${percent.toPrecision(2)}%`;
  return chance < 0.05 ? `significant (chance ${text})` : "not significant";
}

/** Returns the text beside the pointer for a node of two sides. */
export function differenceTip({ model, coloring, state }: App, shares: Comparison, weights: Comparison, node: number): TipText {
  const { names } = model;
  const type = model.type(state.selection);
  const of = shares.tree.functions[node]!;
  const both = (side: "before" | "after") => `${value(shares[side].total(node), false, type)}, ${value(weights[side].total(node), true, type)}`;
  const [before, after] = [shares.before.total(node), shares.after.total(node)];
  const rows: [string, string, string?][] = [
    ["before", both("before")],
    ["after", both("after")],
    ["difference", `${delta(before, after, false, type)}, ${delta(weights.before.total(node), weights.after.total(node), true, type)}`],
    ["of before", ratio(before, after)],
  ];
  if (shares.samples) rows.push(["samples", `${count(shares.samples.before.total(node))}, then ${count(shares.samples.after.total(node))}`]);
  if (of >= 0 && !names.isLeaf(of)) rows.push(["code", codeWord(model, of), theme().kinds[coloring.kind(of)]![0]!]);
  const waits = names.stateOf(of);
  const title = node === 0 ? "all" : brief(names.name(of));
  const place = waits >= 0 ? `state: ${stateWord(model.profile.states[waits]!)}` : node === 0 ? "" : brief(names.place(of));
  return place === "" ? { title, rows } : { title, place, rows };
}
