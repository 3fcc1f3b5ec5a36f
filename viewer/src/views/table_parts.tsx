// What the tables have in common.

import type { SampleType } from "../model/profile";
import { amount, percent } from "../model/units";

export const ROW = 24; // px, as in the style sheet

/** A weight with its share, over a bar as long as the share. */
export function WeightCell({ kind, type, weight, all, title = "" }: { kind: "self" | "total"; type: SampleType; weight: number; all: number; title?: string }) {
  return (
    <div role="gridcell" class={`cell-${kind}`} title={title}>
      <i class={`weight-bar of-${kind}`} style={{ width: `${all > 0 ? (100 * weight) / all : 0}%` }} />
      <span>{amount(type, weight)}</span>
      <small>{percent(weight, all)}</small>
    </div>
  );
}

/** The row that a key leads to from row `at`; `null` for any other key. */
export function nextPlace(key: string, at: number, rows: number, height: number): number | null {
  const page = Math.max(1, Math.floor(height / ROW) - 2);
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows, End: rows };
  const step = Object.hasOwn(steps, key) ? steps[key]! : null;
  return step === null ? null : Math.max(0, Math.min(rows - 1, at + step));
}

/** Scrolls a table so that a row is on screen. */
export function reveal(scroller: HTMLElement, row: number): void {
  const head = scroller.querySelector<HTMLElement>(".table-head")?.offsetHeight ?? 0;
  if (row * ROW < scroller.scrollTop) scroller.scrollTop = row * ROW;
  else if ((row + 1) * ROW + head > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = (row + 1) * ROW + head - scroller.clientHeight;
}
