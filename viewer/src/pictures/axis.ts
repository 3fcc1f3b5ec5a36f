// A time axis for people.

import type { Range } from "../model/selection";
import { widthOf } from "./lettering";
import type { Surface } from "./surface";
import type { Theme } from "./theme";

const SECOND = 1e9;
const ROOM = 78; // px from one tick to the next
const STEPS = [
  ...[1, 2, 5].flatMap((digit) => Array.from({ length: 9 }, (_, power) => digit * 10 ** power)),
  ...[1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 21_600, 43_200, 86_400, 604_800].map((it) => it * SECOND),
].sort((one, other) => one - other);

/** A point of the axis, ns since the start, and its label. */
export interface Tick {
  readonly at: number;
  readonly label: string;
}

export function ticks(range: Range, width: number): Tick[] {
  const least = ((range.to - range.from) * ROOM) / Math.max(1, width);
  const step = STEPS.find((it) => it >= least) ?? STEPS.at(-1)!;
  const found: Tick[] = [];
  for (let at = Math.ceil(range.from / step) * step; at <= range.to && found.length < 200; at += step) found.push({ at, label: moment(at, step) });
  return found;
}

/** Formats an instant, as precisely as `step` requires: `120 ms`, `1.25 s`, `3:20`, `1:03:20`. */
export function moment(at: number, step: number): string {
  if (at === 0) return "0";
  if (at < 1e6 && step < 1e6) return `${trimmed(at / 1e3, step / 1e3)} us`;
  if (at < SECOND && step < SECOND) return `${trimmed(at / 1e6, step / 1e6)} ms`;
  if (at < 60 * SECOND || step < SECOND) return `${trimmed(at / SECOND, step / SECOND)} s`;
  const seconds = Math.round(at / SECOND);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.slice(seconds < 3600 ? 1 : 0).map((it, place) => (place === 0 ? String(it) : String(it).padStart(2, "0"))).join(":");
}

/** Formats a range: `1.20 s to 1.45 s`. */
export function rangeText({ from, to }: Range): string {
  const step = 10 ** Math.floor(Math.log10(Math.max(1, (to - from) / 50)));
  return `${moment(Math.round(from / step) * step, step)} to ${moment(Math.round(to / step) * step, step)}`;
}

function trimmed(value: number, step: number): string {
  return value.toFixed(Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))));
}

/** Paints ticks with their labels on a line of `height` px. */
export function paintAxis(surface: Surface, theme: Theme, range: Range, width: number, top: number, height: number): void {
  for (const { at, label } of ticks(range, width)) {
    const x = Math.round(((at - range.from) / (range.to - range.from)) * width);
    surface.rect(x, top, 1, 4, theme.line);
    const room = widthOf(label);
    const left = Math.max(0, Math.min(width - room, x - room / 2));
    surface.text(x === 0 ? 0 : left, top + height / 2 + 2, label, theme.muted);
  }
}
