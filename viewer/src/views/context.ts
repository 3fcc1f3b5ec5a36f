// What every view is given: the model, the store, and what is selected now.

import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Model } from "../model/model";
import type { Store } from "./store";
import type { Sums } from "./sums";
import type { Picture } from "./surface";
import type { State } from "./view";

/** What can be taken from the view that is shown. */
export interface Takeout {
  readonly text: () => string;
  /** `null` where the view has none. */
  readonly picture: () => Picture | null;
}

export interface App {
  readonly model: Model;
  readonly sums: Sums;
  readonly store: Store;
  readonly state: State;
  /** The packed bytes of the profile. */
  readonly file: Uint8Array<ArrayBuffer>;
  /** Of the view that is shown; each view puts its own here. */
  readonly takeout: { current: Takeout | null };
  /** Opens the menu of a function at a place of the window. */
  readonly openMenu: (target: MenuTarget) => void;
  /** Says a short sentence at the edge of the page. */
  readonly say: (text: string) => void;
}

/** What the menu of a function is about. */
export interface MenuTarget {
  readonly function: number;
  readonly x: number;
  readonly y: number;
  /** The functions of the stack, from the root on. */
  readonly stack: readonly number[];
  /** Shows this box over the full width, where that can be. */
  readonly zoom: (() => void) | null;
}

export const AppContext = createContext<App | null>(null);

export function useApp(): App {
  return useContext(AppContext)!;
}
