// The context of every view: the model, the store, and the current selection.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Model } from "../model/model";
import type { Store } from "./store";
import type { Sums } from "./sums";
import type { Coloring } from "../pictures/coloring";
import type { Picture } from "../pictures/surface";
import type { State } from "./view";

/** The exports of the view that is shown. */
export interface Export {
  readonly text: () => string;
  /** The picture; `null` if the view has none. */
  readonly picture: () => Picture | null;
}

export interface App {
  readonly model: Model;
  readonly sums: Sums;
  readonly store: Store;
  readonly state: State;
  /** The colours of functions. */
  readonly coloring: Coloring;
  /** The packed bytes of the profile. */
  readonly file: Uint8Array<ArrayBuffer>;
  /** The exports of the view that is shown; each view sets its own. */
  readonly exported: { current: Export | null };
  /** Opens the menu of a function at a position in the window. */
  readonly openMenu: (target: MenuTarget) => void;
  /** Lets the user choose a file to compare with; `null` where that is not possible. */
  readonly compare: (() => void) | null;
  /** Shows a short sentence at the edge of the page. */
  readonly say: (text: string) => void;
}

/** The subject of a function's menu. */
export interface MenuTarget {
  readonly function: number;
  readonly x: number;
  readonly y: number;
  /** The functions of the stack, from the root on. */
  readonly stack: readonly number[];
  /** Shows this box over the full width, if that is possible. */
  readonly zoom: (() => void) | null;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  return useContext(AppContext)!;
}
