// A table of functions, sorted, of which only the rows on screen are elements.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { expression, matches } from "../model/search";
import type { TopOrder, TopRow } from "../model/top";
import { amount, percent } from "../model/units";
import { useApp } from "./context";
import { useScroll, useSize } from "./hooks";
import { sureness } from "./frame_facts";
import { ORIGIN_WORDS } from "./words";

export const ROW = 24; // px, as in the style sheet

const ORDERS: readonly (readonly [order: TopOrder, name: string])[] = [
  ["self", "Self"],
  ["total", "Total"],
  ["name", "Function"],
];

export interface TopTableProps {
  /** The function whose row is marked. */
  readonly current: number;
  /** Without shares and places. */
  readonly narrow?: boolean;
  readonly onOpen: (of: number) => void;
}

export function TopTable({ current, narrow = false, onOpen }: TopTableProps) {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { selection, view } = state;
  const rows = sums.top(selection, view.order);
  const matched = useMemo(() => {
    const search = expression(selection.search);
    return search && matches(search, model.names);
  }, [selection.search]);
  const scroller = useRef<HTMLDivElement>(null);
  const top = useScroll(scroller);
  const size = useSize(scroller);
  const [at, setAt] = useState(0);
  const first = Math.max(0, Math.floor(top / ROW) - 4);
  const last = Math.min(rows.length, Math.ceil((top + size.height) / ROW) + 4);
  useLayoutEffect(() => setAt(Math.max(0, rows.findIndex((it) => it.function === current))), [rows, current]);

  const go = (to: number) => {
    const next = Math.max(0, Math.min(rows.length - 1, to));
    setAt(next);
    const of = scroller.current!;
    const head = of.querySelector<HTMLElement>(".table-head")!.offsetHeight;
    if (next * ROW < of.scrollTop) of.scrollTop = next * ROW;
    else if ((next + 1) * ROW + head > of.scrollTop + of.clientHeight) of.scrollTop = (next + 1) * ROW + head - of.clientHeight;
  };
  const page = Math.max(1, Math.floor(size.height / ROW) - 2);
  const keyed = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -rows.length, End: rows.length };
    const row = rows[at];
    if (event.key in steps) go(at + steps[event.key]!);
    else if (event.key === "n" || event.key === "N") go(nextMatch(rows, matched, at, event.key === "n" ? 1 : -1));
    else if (event.key === "Enter" && row) onOpen(row.function);
    else if ((event.key === "m" || event.key === "ContextMenu") && row) {
      const box = scroller.current!.getBoundingClientRect();
      menu(row, box.left + 40, box.top + (at + 2) * ROW - scroller.current!.scrollTop);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const menu = (row: TopRow, x: number, y: number) => {
    if (row.function >= 0) app.openMenu({ function: row.function, x, y, stack: [row.function], zoom: null });
  };
  return (
    <div
      class={narrow ? "scroller table narrow" : "scroller table"}
      ref={scroller}
      tabIndex={0}
      role="grid"
      aria-label="Functions"
      aria-rowcount={rows.length + 1}
      aria-activedescendant={rows.length > 0 ? `top-${at}` : undefined}
      onKeyDown={keyed}
    >
      <div class="table-head" role="row" aria-rowindex={1}>
        {ORDERS.map(([order, name]) => (
          <div key={order} role="columnheader" class={`cell-${order}`} aria-sort={view.order === order ? (order === "name" ? "ascending" : "descending") : "none"}>
            <button onClick={() => store.show({ order })}>{name}</button>
          </div>
        ))}
        {!narrow && (
          <div role="columnheader" class="cell-place">
            Place
          </div>
        )}
      </div>
      <div class="table-body" style={{ height: `${rows.length * ROW}px` }} role="rowgroup">
        {rows.slice(first, last).map((row, offset) => {
          const place = first + offset;
          return (
            <Row
              key={row.function}
              row={row}
              place={place}
              lit={matched?.[row.function] === 1}
              active={place === at}
              marked={current >= 0 && row.function === current}
              narrow={narrow}
              onOpen={() => (setAt(place), onOpen(row.function))}
              onMenu={(event) => (event.preventDefault(), setAt(place), menu(row, event.clientX, event.clientY))}
            />
          );
        })}
      </div>
      {rows.length === 0 && <p class="empty">Nothing is selected here.</p>}
    </div>
  );
}

interface RowProps {
  readonly row: TopRow;
  readonly place: number;
  readonly lit: boolean;
  readonly active: boolean;
  readonly marked: boolean;
  readonly narrow: boolean;
  readonly onOpen: () => void;
  readonly onMenu: (event: MouseEvent) => void;
}

function Row({ row, place, lit, active, marked, narrow, onOpen, onMenu }: RowProps) {
  const app = useApp();
  const { model, sums, state } = app;
  const { names } = model;
  const type = model.type(state.selection);
  const all = sums.total(state.selection);
  const origin = names.origin(row.function);
  const classes = ["table-row", lit && "lit", active && "active", marked && "marked"].filter(Boolean).join(" ");
  return (
    <div
      class={classes}
      id={`top-${place}`}
      role="row"
      aria-rowindex={place + 2}
      aria-selected={active}
      style={{ transform: `translateY(${place * ROW}px)` }}
      onClick={onOpen}
      onContextMenu={onMenu}
    >
      <Weight kind="self" text={amount(type, row.self)} weight={row.self} all={all} title={narrow ? "" : `95 % sure: ${sureness(app, row.self)}`} />
      <Weight kind="total" text={amount(type, row.total)} weight={row.total} all={all} title={narrow ? "" : `95 % sure: ${sureness(app, row.total)}`} />
      <div role="gridcell" class="cell-name" title={`${names.name(row.function)} (${ORIGIN_WORDS[origin]})`}>
        <i class={`dot origin-${origin}`} />
        {names.name(row.function)}
      </div>
      {!narrow && (
        <div role="gridcell" class="cell-place" title={names.place(row.function)}>
          {names.place(row.function)}
        </div>
      )}
    </div>
  );
}

/** A weight with its share, over a bar as long as the share. */
function Weight({ kind, text, weight, all, title }: { kind: string; text: string; weight: number; all: number; title: string }) {
  return (
    <div role="gridcell" class={`cell-${kind}`} title={title}>
      <i class={`weight-bar of-${kind}`} style={{ width: `${all > 0 ? (100 * weight) / all : 0}%` }} />
      <span>{text}</span>
      <small>{percent(weight, all)}</small>
    </div>
  );
}

function nextMatch(rows: readonly TopRow[], matched: Uint8Array | null, at: number, step: number): number {
  if (!matched) return at;
  for (let seen = 1; seen <= rows.length; seen++) {
    const place = (at + step * seen + rows.length * 2) % rows.length;
    if (matched[rows[place]!.function] === 1) return place;
  }
  return at;
}
