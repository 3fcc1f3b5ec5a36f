// The colours of the pictures, taken from the style sheet, so that they follow the system's light or dark mode.

import type { Origin } from "../model/facts";
import { GEMS } from "./coloring";

export interface Theme {
  readonly text: string;
  readonly muted: string;
  readonly background: string;
  readonly line: string;
  readonly accent: string;
  /** The colour of search matches. */
  readonly lit: string;
  readonly hatch: string;
  /** The colour of a box with a folded chain. */
  readonly folded: string;
  readonly boxText: string;
  /** The shades of each kind of code, so that neighbours differ. */
  readonly kinds: Readonly<Record<string, readonly string[]>>;
  /** The colour of each state, by its word. */
  readonly states: Readonly<Record<string, string>>;
  readonly marker: string;
  /** The colours of a difference: no change, more, less, new, and gone. */
  readonly same: string;
  readonly more: string;
  readonly less: string;
  readonly added: string;
  readonly gone: string;
  /** The colours from no activity to the most. */
  readonly heat: readonly string[];
  /** The same colours for search matches, and for everything else. */
  readonly litHeat: readonly string[];
  readonly dimHeat: readonly string[];
}

export const ORIGINS: readonly Origin[] = ["app", "rails", "gem", "ruby", "cfunc", "synthetic"];
export const STATES: readonly string[] = ["running", "waiting", "gvl", "blocked", "runnable", "gc"];
export const DARK = "(prefers-color-scheme: dark)";

const STEPS = 64; // of a ramp
let current: Theme | null = null;

/** Returns the current colours. */
export function theme(): Theme {
  return (current ??= read());
}

/** Calls `changed` when the system switches between light and dark; returns a function that stops it. */
export function watchTheme(changed: () => void): () => void {
  const query = matchMedia(DARK);
  const turned = () => {
    current = null;
    changed();
  };
  query.addEventListener("change", turned);
  return () => query.removeEventListener("change", turned);
}

/** Mixes two colours of the form `#rrggbb`. */
export function mix(one: string, other: string, share: number): string {
  const [from, to] = [parseInt(one.slice(1), 16), parseInt(other.slice(1), 16)];
  let mixed = 0;
  for (const shift of [16, 8, 0]) {
    const [low, high] = [(from >> shift) & 255, (to >> shift) & 255];
    mixed |= Math.round(low + (high - low) * share) << shift;
  }
  return `#${mixed.toString(16).padStart(6, "0")}`;
}

function read(): Theme {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const background = color("background");
  const empty = color("cell");
  const shades = (base: string) => [base, mix(base, background, 0.14), mix(base, background, 0.26)];
  return {
    text: color("text"),
    muted: color("muted"),
    background,
    line: color("line"),
    accent: color("accent"),
    lit: color("lit"),
    hatch: color("hatch"),
    folded: mix(background, color("line"), 0.55),
    boxText: color("box-text"),
    marker: color("marker"),
    same: color("same"),
    more: color("more"),
    less: color("less"),
    added: color("added"),
    gone: color("gone"),
    kinds: Object.fromEntries([...ORIGINS, ...Array.from({ length: GEMS }, (_, place) => `package-${place}`)].map((it) => [it, shades(color(it))])),
    states: Object.fromEntries(STATES.map((it) => [it, color(`state-${it}`)])),
    heat: ramp(empty, color("heat")),
    litHeat: ramp(mix(empty, color("lit"), 0.35), color("lit")),
    dimHeat: ramp(empty, mix(empty, color("heat"), 0.4)),
  };
}

function ramp(from: string, to: string): string[] {
  return Array.from({ length: STEPS }, (_, step) => mix(from, to, step / (STEPS - 1)));
}

/** Returns the colour of a part of the maximum, 0 to 1. Its square root is used, so that little activity is visible. */
export function onRamp(colors: readonly string[], part: number): string {
  return colors[Math.min(colors.length - 1, Math.ceil(Math.sqrt(part) * (colors.length - 1)))]!;
}
