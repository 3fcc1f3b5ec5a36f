// Keys that work everywhere in the page. Views have additional ones.

import { toggled } from "../model/selection";
import type { App } from "../state/context";
import { copyText } from "./header";
import { FIRST_VIEW, SHAPES, tabsOf } from "../state/view";

/** Performs the action of a key; returns false if it has none. */
export function onKey(app: App, event: KeyboardEvent, help: () => void): boolean {
  const { model, store, state } = app;
  const { selection, view } = state;
  const command = event.ctrlKey || event.metaKey;
  const isText = event.target instanceof HTMLElement && event.target.matches("input:not([type=checkbox]), select, textarea");
  if (isText || event.altKey || document.querySelector("dialog[open]")) return false;
  if (command) {
    const key = event.key.toLowerCase();
    if (key === "z") event.shiftKey ? store.redo() : store.undo();
    else if (key === "y") store.redo();
    else return false;
    return true;
  }
  const tab = tabsOf(model, selection)[Number(event.key) - 1];
  if (tab) {
    store.show({ tab });
    return true;
  }
  switch (event.key) {
    case "/":
      document.querySelector<HTMLInputElement>("#search")?.select();
      return true;
    case "u":
      store.undo();
      return true;
    case "U":
      store.redo();
      return true;
    case "t":
      store.select({ type: nextType([...app.sums.types()], selection.type) });
      return true;
    case "a":
    case "g":
    case "r":
      store.select({ transforms: toggled(selection.transforms, ({ a: "app", g: "gems", r: "recursion" } as const)[event.key]) });
      return true;
    case "i":
      store.show({ shape: SHAPES[(SHAPES.indexOf(view.shape) + 1) % SHAPES.length]!, zoom: [] });
      return true;
    case "c":
      copyText(app);
      return true;
    case "0":
      store.reset();
      return true;
    case "?":
      help();
      return true;
    case "Escape":
      if (view.zoom.length > 0) store.show({ zoom: FIRST_VIEW.zoom });
      else if (selection.against) store.select({ against: null });
      else if (selection.range) store.select({ range: null });
      else if (selection.search) store.select({ search: "" });
      else return false;
      return true;
    default:
      return false;
  }
}

/** Returns the next sample type that has weight; after the last one, the first. */
function nextType(types: readonly number[], type: number): number {
  return types.find((it) => it > type) ?? types[0] ?? type;
}
