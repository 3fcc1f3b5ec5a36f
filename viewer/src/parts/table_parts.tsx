// The parts that tables share.

import { useRef } from "preact/hooks";
import type { SampleType } from "../model/profile";
import { amount, percent } from "../model/units";
import { useScroll, useSize } from "./hooks";

const ROW = 24; // px, as in the style sheet
const AROUND = 4; // rows that exist besides those on screen

/**
 * Returns the scrolling element of a table, its height in px, and the range of rows that should be elements: from `first` up to
 * but excluding `end`.
 */
export function useRows(count: number) {
  const scroller = useRef<HTMLDivElement>(null);
  const top = useScroll(scroller);
  const { height } = useSize(scroller);
  const first = Math.max(0, Math.floor(top / ROW) - AROUND);
  return { scroller, height, first, end: Math.min(count, Math.ceil((top + height) / ROW) + AROUND) };
}

/** Returns the distance of a row's top from the top of the table, px. */
export const topOf = (row: number) => row * ROW;

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

/** Returns the row that a key leads to from row `at`; `null` for any other key. */
export function nextPlace(key: string, at: number, rows: number, height: number): number | null {
  const page = Math.max(1, Math.floor(height / ROW) - 2);
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows, End: rows };
  const step = Object.hasOwn(steps, key) ? steps[key]! : null;
  return step === null ? null : Math.max(0, Math.min(rows - 1, at + step));
}

/** Returns whether the whole row is in the part of the table that is on screen. */
export function isOnScreen(scroller: HTMLElement, row: number): boolean {
  return topOf(row) >= scroller.scrollTop && topOf(row + 1) + headHeight(scroller) <= scroller.scrollTop + scroller.clientHeight;
}

const headHeight = (scroller: HTMLElement) => scroller.querySelector<HTMLElement>(".table-head")?.offsetHeight ?? 0;

/** Scrolls a table so that a row is on screen. */
export function reveal(scroller: HTMLElement, row: number): void {
  const head = headHeight(scroller);
  if (topOf(row) < scroller.scrollTop) scroller.scrollTop = topOf(row);
  else if (topOf(row + 1) + head > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = topOf(row + 1) + head - scroller.clientHeight;
}

/** Returns where the menu of a row opens when requested by a key: the position in the window, px. */
export function menuPlace(scroller: HTMLElement, row: number): [x: number, y: number] {
  const box = scroller.getBoundingClientRect();
  return [box.left + 40, box.top + topOf(row + 2) - scroller.scrollTop];
}
