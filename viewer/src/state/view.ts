// The way in which the selection is shown: the view, and the place in it.

import type { Model } from "../model/model";
import { oldRuby } from "../model/facts";
import type { Range, Selection } from "../model/selection";
import type { TopOrder } from "../model/top";

export const TABS = [
  "difference",
  "changes",
  "graph",
  "chart",
  "top",
  "tree",
  "sandwich",
  "gvl",
  "labels",
  "memory",
  "gc",
  "source",
] as const;
export type Tab = (typeof TABS)[number];

/** The views that show only one file. */
const ONE_FILE: readonly Tab[] = ["chart", "gvl", "labels", "gc", "source"];

export const TAB_NAMES: Readonly<Record<Tab, string>> = {
  difference: "Difference",
  changes: "Changes",
  graph: "Flame graph",
  chart: "Flame chart",
  top: "Top",
  tree: "Call tree",
  sandwich: "Sandwich",
  gvl: "GVL",
  labels: "Groups",
  memory: "Memory",
  gc: "GC",
  source: "Source",
};

/** Returns whether a view compares two sides; the others show one. */
export function isComparing(tab: Tab): boolean {
  return tab === "difference" || tab === "changes";
}

/** Returns the views of one side for which a profile has no data. */
function missing({ profile, facts, isTwoSided }: Model): ReadonlySet<Tab> {
  const has = (type: string) => (profile.rows.weights[profile.types.findIndex((it) => it.name === type)] ?? []).some((it) => it > 0);
  const none: Partial<Record<Tab, boolean>> = {
    gvl: oldRuby(facts) ? !has("wall") || profile.threads.length < 2 : !has("gvl_blame"), // it says from which Ruby on there are data
    gc: !profile.states.includes("gc"),
    source: !profile.frames.line.some((it) => it > 0),
    memory: !has("alloc_objects") && !has("inuse_objects") && (isTwoSided || profile.memory.length === 0),
  };
  return new Set(TABS.filter((it) => none[it] || (isTwoSided && ONE_FILE.includes(it))));
}

const MISSING = new WeakMap<Model, ReadonlySet<Tab>>();

/** Returns the views that have something to show, in their order. */
export function tabsOf(model: Model, selection: Selection): readonly Tab[] {
  const none = MISSING.get(model) ?? missing(model);
  MISSING.set(model, none);
  return TABS.filter((it) => (isComparing(it) ? model.compares(selection) : !none.has(it)));
}

/** Returns the view that is shown: the chosen one, if it has something to show. */
export function shownTab(model: Model, { selection, view }: State): Tab {
  const tabs = tabsOf(model, selection);
  return tabs.includes(view.tab) ? view.tab : FIRST_VIEW.tab;
}

/** Returns whether functions are coloured by gem: if that was chosen, or if the program has no code of an app. */
export function isByGem({ facts }: Model, { picks }: View): boolean {
  const isDefault = facts.tool !== null || !facts.classes.includes("a");
  return picks["colors"] ? picks["colors"] === "gem" : isDefault;
}

/** Returns the view of a new page. */
export function firstView(model: Model): View {
  return model.isTwoSided ? { ...FIRST_VIEW, tab: "difference" } : FIRST_VIEW;
}

/** The sides that can determine the width of boxes in a difference. */
export const WIDTHS = ["both", "before", "after"] as const;
export type Widths = (typeof WIDTHS)[number];

/** The shapes: callers above their callees, below them, or from the leaves on. */
export const SHAPES = ["icicle", "flame", "inverted"] as const;
export type Shape = (typeof SHAPES)[number];
export const SHAPE_NAMES: Readonly<Record<Shape, string>> = { icicle: "Icicle", flame: "Flame", inverted: "Inverted" };

export interface View {
  readonly tab: Tab;
  readonly shape: Shape;
  /** The functions from the root to the box that fills the flame graph. */
  readonly zoom: readonly number[];
  /** The function of the sandwich; -1 means the heaviest one. */
  readonly of: number;
  /** The functions from that one to the boxes that fill the graphs of its callers and of its callees. */
  readonly callers: readonly number[];
  readonly callees: readonly number[];
  readonly order: TopOrder;
  /** The part of the range that the flame chart shows. */
  readonly window: Range | null;
  /** The threads of the flame chart; `null` means the busiest one. */
  readonly lanes: ReadonlySet<number> | null;
  /** Whether sides are compared by weights instead of shares. */
  readonly absolute: boolean;
  /** Whether changes are those of total weights instead of self weights. */
  readonly total: boolean;
  readonly widths: Widths;
  /** The choices in tabs, by name: the grouping, or which row is open. */
  readonly picks: Readonly<Record<string, string>>;
}

export interface State {
  readonly selection: Selection;
  readonly view: View;
}

/** The value of the pick `markers` that orders markers by their number. */
export const BY_NUMBER = "number";

/** The paths to boxes, and their words in an address. */
const PATHS = [
  ["zoom", "viewZoom"],
  ["callers", "viewCallers"],
  ["callees", "viewCallees"],
] as const;

const PICK = "view.";

export const FIRST_VIEW: View = {
  tab: "graph",
  shape: "icicle",
  zoom: [],
  of: -1,
  callers: [],
  callees: [],
  order: "self",
  window: null,
  lanes: null,
  absolute: false,
  total: false,
  widths: "both",
  picks: {},
};

/** Returns the change of the view that shows the callers and the callees of a function. */
export function sandwichOf(of: number): Partial<View> {
  return { tab: "sandwich", of, callers: [], callees: [] };
}

/** Returns the view for the fragment of the address; defaults are left out. */
export function toWords(view: View, model: Model): Record<string, string> {
  const { profile, names } = model;
  const words: Record<string, string> = {};
  if (view.tab !== firstView(model).tab) words["view"] = view.tab;
  if (view.shape !== FIRST_VIEW.shape) words["viewShape"] = view.shape;
  if (view.order !== FIRST_VIEW.order) words["viewOrder"] = view.order;
  if (view.of >= 0) words["viewOf"] = names.key(view.of);
  for (const [name, word] of PATHS) if (view[name].length > 0) words[word] = view[name].map((of) => names.key(of)).join("\n");
  if (view.window) words["viewWindow"] = `${Math.round(view.window.from)} ${Math.round(view.window.to)}`;
  if (view.absolute) words["viewBy"] = "weight";
  if (view.total) words["viewTotal"] = "1";
  if (view.widths !== FIRST_VIEW.widths) words["viewWidths"] = view.widths;
  if (view.lanes) words["viewThreads"] = [...view.lanes].map((it) => profile.threads[it]!.nativeId).join(" ");
  for (const [name, value] of Object.entries(view.picks)) if (value !== "") words[`${PICK}${name}`] = value;
  return words;
}

/** Restores the view of a fragment. Anything that the profile lacks is left out. */
export function fromWords(words: Readonly<Record<string, string>>, model: Model): View {
  const { profile, names } = model;
  const keys = (word: string) => words[word]?.split("\n") ?? [];
  const found = names.withKeys(new Set([...PATHS.flatMap(([, word]) => keys(word)), ...keys("viewOf")]));
  const pathOf = (word: string) => (keys(word).every((it) => found.has(it)) ? keys(word).map((it) => found.get(it)!) : []);
  const [from, to] = (words["viewWindow"] ?? "").split(" ").map(Number);
  const lanes = words["viewThreads"]?.split(" ").map((id) => profile.threads.findIndex((it) => String(it.nativeId) === id)).filter((it) => it >= 0);
  return {
    tab: TABS.find((it) => it === words["view"]) ?? firstView(model).tab,
    shape: SHAPES.find((it) => it === words["viewShape"]) ?? FIRST_VIEW.shape,
    zoom: pathOf("viewZoom"),
    callers: pathOf("viewCallers"),
    callees: pathOf("viewCallees"),
    of: found.get(words["viewOf"] ?? "") ?? -1,
    order: (["self", "total", "name"] as const).find((it) => it === words["viewOrder"]) ?? FIRST_VIEW.order,
    window: from !== undefined && to !== undefined && from >= 0 && to > from ? { from, to } : null,
    lanes: lanes && lanes.length > 0 ? new Set(lanes) : null,
    absolute: words["viewBy"] === "weight",
    total: words["viewTotal"] === "1",
    widths: WIDTHS.find((it) => it === words["viewWidths"]) ?? FIRST_VIEW.widths,
    picks: Object.fromEntries(Object.entries(words).flatMap(([name, value]) => (name.startsWith(PICK) ? [[name.slice(PICK.length), value]] : []))),
  };
}
