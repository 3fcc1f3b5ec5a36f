// The selection that shows a finding.

import type { Finding } from "../model/facts";
import type { Model } from "../model/model";
import { MARKERS } from "../model/groups";
import { exactly } from "../model/search";
import { everything, type Selection } from "../model/selection";
import type { Sums } from "./sums";
import { BY_NUMBER, type View } from "./view";

/** The words of the states that each kind of finding is about. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  waiting: ["waiting"],
  gvl: ["gvl"],
  gc: ["gc"],
  no_cpu: ["runnable"],
  blocked: ["blocked"],
};

/** Returns the selection of a finding; `null` for one that selects nothing by itself. */
export function selectionOf(finding: Finding, model: Model): Selection | null {
  const selection = found(finding, model);
  return selection && isShown(selection, everything(model.profile)) ? null : selection;
}

/** The selection of a finding, and the view that shows it. */
export interface FindingView {
  readonly selection: Selection;
  readonly view: Partial<View>;
}

/** Returns what a click on a finding shows; `null` for one that selects nothing by itself. */
export function viewOf(finding: Finding, model: Model, sums: Sums): FindingView | null {
  if (finding.kind === "queries") return queriesOf(finding, model);
  const selection = selectionOf(finding, model);
  return selection && { selection, view: { tab: "graph", shape: "icicle", zoom: boxOf(finding, selection, sums) } };
}

/** Returns the groups of markers, within the statement that a finding names if the profile says when it was sent. */
function queriesOf({ text }: Finding, { profile }: Model): FindingView {
  const numbers = new Map<string, number>();
  for (const { name } of profile.markers) numbers.set(name, (numbers.get(name) ?? 0) + 1);
  const named = [...numbers].filter(([name]) => text.endsWith(`: ${name.replace(/^SQL(?: cached)?:? (?:[^:]*: )?/, "")}`));
  const marker = named.sort((one, other) => other[1] - one[1])[0]?.[0];
  const within = profile.timeline && marker !== undefined ? { marker, least: 0 } : null;
  return { selection: { ...everything(profile), within }, view: { tab: "labels", zoom: [], picks: { label: MARKERS, markers: BY_NUMBER } } };
}

function found(finding: Finding, model: Model): Selection | null {
  const { profile } = model;
  const whole = everything(profile);
  const type = profile.types.findIndex((it) => it.name === finding.type);
  const selection = { ...whole, type: type < 0 ? whole.type : type };
  if (finding.kind === "idle") return { ...selection, idle: "only" };
  // What a server loaded before its requests is left out of all shares.
  if (finding.kind === "trust" || (finding.kind === "loading" && finding.share === null)) return null;
  if (finding.kind === "loading") return { ...selection, loading: true };
  const search = searchOf(finding, model);
  const blame = profile.types.findIndex((it) => it.name === "gvl_blame");
  // The finding names the function that held the GVL. It is not on the stacks of those that waited, but has their time as a
  // weight of its own.
  if (finding.kind === "gvl" && finding.name !== null && blame >= 0) return { ...whole, type: blame, search };
  const states = (STATES[finding.kind] ?? []).map((it) => profile.states.indexOf(it)).filter((it) => it >= 0);
  return { ...selection, states: states.length > 0 ? new Set(states) : null, search };
}

/** Returns the search for the weight of a finding: what ran, where the finding names its caller. */
function searchOf(finding: Finding, model: Model): string {
  const of = finding.kind === "running" ? shownBy(finding, model) : finding.function;
  return of === null ? "" : searchFor(of, model);
}

/** Returns the function that the command of a finding shows, if it is known by its name alone; else the one that the finding names. */
function shownBy({ command, function: named }: Finding, { profile }: Model): number | null {
  const pattern = / --method '(.*)'$/.exec(command)?.[1];
  if (pattern === undefined) return named;
  const name = pattern.replaceAll("'\\''", "'").replace(/^\^|\$$/g, "").replace(/\\(.)/g, "$1");
  const found = Array.from(profile.functions.name.keys()).filter((of) => profile.functions.name[of] === name);
  return found.length === 1 ? found[0]! : named;
}

/** Returns the functions from the root to the box that shows a finding; empty for one that is in many places. */
export function boxOf(finding: Finding, selection: Selection, sums: Sums): number[] {
  const node = heaviestCall(finding.function, selection, sums);
  const { tree, weighed } = sums.stacks(selection);
  const isOneOfMany = finding.kind === "loading" && weighed.total(node) < finding.weight / 2;
  return node === 0 || isOneOfMany ? [] : tree.path(node).map((it) => tree.functions[it]!);
}

/** Returns the search for one function: by its name, or by its place where several functions share the name. */
export function searchFor(of: number, { names }: Model): string {
  const name = names.name(of);
  const place = names.place(of);
  return exactly(names.isShared(of) && place !== "" && place !== "<cfunc>" ? place : name);
}

/** Returns the functions from the root to the heaviest call of a function; empty if it is on no stack. */
export function pathOf(of: number, selection: Selection, sums: Sums): number[] {
  const { tree } = sums.stacks(selection);
  const node = heaviestCall(of, selection, sums);
  return node === 0 ? [] : tree.path(node).map((it) => tree.functions[it]!);
}

/** Returns the node of the heaviest call of a function; 0 if it has none. */
function heaviestCall(of: number | null, selection: Selection, sums: Sums): number {
  const { tree, weighed } = sums.stacks(selection);
  let heaviest = 0;
  for (let node = 1; node < tree.count; node++) {
    if (tree.functions[node] !== of || tree.outermost[node] === 0) continue;
    if (heaviest === 0 || weighed.total(node) > weighed.total(heaviest)) heaviest = node;
  }
  return weighed.total(heaviest) > 0 ? heaviest : 0;
}

/** Returns whether a person selected a part of the profile by time, thread, label or marker. Findings do not follow that. */
export function isPart({ range, threads, labels, within }: Selection): boolean {
  return range !== null || threads !== null || labels.size > 0 || within !== null;
}

/** Returns whether a click on the finding led to this selection, and no part of it was selected since. */
export function isPressed(finding: Finding, model: Model, selection: Selection): boolean {
  const of = finding.kind === "queries" ? queriesOf(finding, model).selection : selectionOf(finding, model);
  return of !== null && isShown(selection, of) && !isPart({ ...selection, within: null });
}

/** Returns whether a selection is that of a finding. */
export function isShown(selection: Selection, of: Selection): boolean {
  const same = (one: ReadonlySet<number> | null, other: ReadonlySet<number> | null) => [...(one ?? [])].join() === [...(other ?? [])].join();
  return selection.type === of.type && selection.search === of.search && selection.idle === of.idle && selection.loading === of.loading && selection.within?.marker === of.within?.marker && same(selection.states, of.states) && same(selection.threads, of.threads);
}
