// A sorted table of functions, of which only the rows on screen are elements.

import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { expression, matches } from "../model/search";
import type { TopOrder, TopRow } from "../model/top";
import { useApp } from "../state/context";
import { sureness } from "./frame_facts";
import { matchStep, nextMatch } from "../words/matches";
import { menuPlace, nextPlace, reveal, topOf, useRows, WeightCell } from "./table_parts";
import { codeWord, brief } from "../words/words";
import { Dot } from "./dot";

const ORDERS: readonly (readonly [order: TopOrder, name: string])[] = [
  ["self", "Self"],
  ["total", "Total"],
  ["name", "Function"],
];

export interface TopTableProps {
  /** The function whose row is marked. */
  readonly current: number;
  /** Whether to omit shares and places. */
  readonly narrow?: boolean;
  readonly onOpen: (of: number) => void;
}

export function TopTable(props: TopTableProps) {
  const { sums, state } = useApp();
  const rows = sums.top(state.selection, state.view.order);
  return rows.length === 0 ? <p class="empty">Nothing is selected here.</p> : <Table {...props} rows={rows} />;
}

function Table({ rows, current, narrow = false, onOpen }: TopTableProps & { rows: readonly TopRow[] }) {
  const app = useApp();
  const { model, store, state } = app;
  const { selection, view } = state;
  const matched = useMemo(() => {
    const search = expression(selection.search);
    return search && matches(search, model.names);
  }, [selection.search]);
  const { scroller, height, first, end } = useRows(rows.length);
  const [at, setAt] = useState(0);
  useLayoutEffect(() => setAt(Math.max(0, rows.findIndex((it) => it.function === current))), [rows, current]);

  const go = (to: number) => {
    setAt(to);
    reveal(scroller.current!, to);
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextPlace(event.key, at, rows.length, height);
    const row = rows[at];
    const step = matchStep(event.key);
    if (next !== null) go(next);
    else if (step !== 0) go(nextMatch(rows.length, at, step, (place) => matched?.[rows[place]!.function] === 1));
    else if (event.key === "Enter" && row) onOpen(row.function);
    else if ((event.key === "m" || event.key === "ContextMenu") && row) menu(row, ...menuPlace(scroller.current!, at));
    else return;
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
      aria-activedescendant={at >= first && at < end ? `top-${at}` : undefined}
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
      <div class="table-body" style={{ height: `${topOf(rows.length)}px` }} role="rowgroup">
        {rows.slice(first, end).map((row, offset) => {
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
  const classes = ["table-row", lit && "lit", active && "active", marked && "marked"].filter(Boolean).join(" ");
  return (
    <div
      class={classes}
      id={`top-${place}`}
      role="row"
      aria-rowindex={place + 2}
      aria-selected={active}
      style={{ transform: `translateY(${topOf(place)}px)` }}
      onClick={onOpen}
      onContextMenu={onMenu}
    >
      <WeightCell kind="self" type={type} weight={row.self} all={all} title={narrow ? "" : `95 % sure: ${sureness(app, row.self)}`} />
      <WeightCell kind="total" type={type} weight={row.total} all={all} title={narrow ? "" : `95 % sure: ${sureness(app, row.total)}`} />
      <div role="gridcell" class="cell-name" title={`${brief(names.name(row.function))} (${codeWord(model, row.function)})`}>
        <Dot of={row.function} />
        {brief(names.name(row.function))}
      </div>
      {!narrow && (
        <div role="gridcell" class="cell-place" title={brief(names.place(row.function))}>
          {brief(names.place(row.function))}
        </div>
      )}
    </div>
  );
}
