// How the selection is shown: which view, and where in it.

import type { Names } from "../model/names";
import type { Profile } from "../model/profile";
import type { Range, Selection } from "../model/selection";
import type { TopOrder } from "../model/top";

export const TABS = ["graph", "chart", "top", "tree", "sandwich"] as const;
export type Tab = (typeof TABS)[number];

export const TAB_NAMES: Readonly<Record<Tab, string>> = {
  graph: "Flame graph",
  chart: "Flame chart",
  top: "Top",
  tree: "Call tree",
  sandwich: "Sandwich",
};

/** Callers above their callees, below them, or from the leaves on. */
export const SHAPES = ["icicle", "flame", "inverted"] as const;
export type Shape = (typeof SHAPES)[number];

export interface View {
  readonly tab: Tab;
  readonly shape: Shape;
  /** The functions from the root to the box that fills the flame graph. */
  readonly zoom: readonly number[];
  /** The function of the sandwich; -1 is the one with most weight. */
  readonly of: number;
  readonly order: TopOrder;
  /** What the flame chart shows of the range. */
  readonly window: Range | null;
  /** The threads of the flame chart; `null` is the busiest one. */
  readonly lanes: ReadonlySet<number> | null;
}

export interface State {
  readonly selection: Selection;
  readonly view: View;
}

export const FIRST_VIEW: View = { tab: "graph", shape: "icicle", zoom: [], of: -1, order: "self", window: null, lanes: null };

/** The view for the fragment of the address; what is as in a new page is left out. */
export function toWords(view: View, profile: Profile, names: Names): Record<string, string> {
  const words: Record<string, string> = {};
  if (view.tab !== FIRST_VIEW.tab) words["view"] = view.tab;
  if (view.shape !== FIRST_VIEW.shape) words["viewShape"] = view.shape;
  if (view.order !== FIRST_VIEW.order) words["viewOrder"] = view.order;
  if (view.of >= 0) words["viewOf"] = names.name(view.of);
  if (view.zoom.length > 0) words["viewZoom"] = view.zoom.map((of) => names.name(of)).join("\n");
  if (view.window) words["viewWindow"] = `${Math.round(view.window.from)} ${Math.round(view.window.to)}`;
  if (view.lanes) words["viewThreads"] = [...view.lanes].map((it) => profile.threads[it]!.nativeId).join(" ");
  return words;
}

/** The view of a fragment. What the profile does not have is left out. */
export function fromWords(words: Readonly<Record<string, string>>, profile: Profile, names: Names): View {
  const zoom = words["viewZoom"]?.split("\n") ?? [];
  const wanted = new Set([...zoom, words["viewOf"] ?? ""]);
  const found = new Map<string, number>();
  if (zoom.length > 0 || words["viewOf"]) {
    for (let of = names.count - 1; of >= 0; of--) if (wanted.has(names.name(of))) found.set(names.name(of), of);
  }
  const [from, to] = (words["viewWindow"] ?? "").split(" ").map(Number);
  const lanes = words["viewThreads"]?.split(" ").map((id) => profile.threads.findIndex((it) => String(it.nativeId) === id)).filter((it) => it >= 0);
  return {
    tab: TABS.find((it) => it === words["view"]) ?? FIRST_VIEW.tab,
    shape: SHAPES.find((it) => it === words["viewShape"]) ?? FIRST_VIEW.shape,
    zoom: zoom.every((it) => found.has(it)) ? zoom.map((it) => found.get(it)!) : [],
    of: found.get(words["viewOf"] ?? "") ?? -1,
    order: (["self", "total", "name"] as const).find((it) => it === words["viewOrder"]) ?? FIRST_VIEW.order,
    window: from !== undefined && to !== undefined && from >= 0 && to > from ? { from, to } : null,
    lanes: lanes && lanes.length > 0 ? new Set(lanes) : null,
  };
}
