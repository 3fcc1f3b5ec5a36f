// A table of any rows, of which only those on screen are elements.

import type { ComponentChildren, HTMLAttributes } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { matchStep, nextMatch } from "../model/search";
import { useNarrow } from "./hooks";
import { isOnScreen, menuPlace, nextPlace, reveal, topOf, useRows } from "./table_parts";

export interface Column<Row> {
  readonly name: string;
  /** The class of the column's cells. */
  readonly kind: string;
  /** The width, as in a grid of the style sheet. */
  readonly width: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Whether the column needs a wide screen. */
  readonly wide?: boolean;
  /** The content of the heading, in place of the name. */
  readonly head?: ComponentChildren;
  /** The order of the rows, if they can be sorted by the column. */
  readonly sort?: "ascending" | "descending" | "none";
}

export interface GridProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  readonly role?: "grid" | "treegrid";
  /** Returns whether a row is open or chosen. */
  readonly isMarked?: (row: Row) => boolean;
  /** Returns whether the search matches a row. The keys n and N step through these, or call `onMatch`. */
  readonly isLit?: (row: Row) => boolean;
  readonly onMatch?: (step: 1 | -1) => void;
  /** Returns further attributes of a row. */
  readonly attributes?: (row: Row) => HTMLAttributes<HTMLDivElement>;
  readonly onOpen?: (row: Row, several: boolean) => void;
  readonly onMenu?: (row: Row, x: number, y: number) => void;
  /** Performs the action of another key; returns false if it has none. */
  readonly onKey?: (key: string, row: Row, place: number) => boolean;
  /** The place of a row to scroll to, unless it is on screen. */
  readonly start?: number;
  /** The place from which keys move, if the owner of the table keeps it; it stays on screen. */
  readonly at?: number;
  readonly onAt?: (place: number) => void;
}

export function Grid<Row>({ label, rows, columns: all, keyOf, role = "grid", isMarked, isLit, onMatch, attributes, onOpen, onMenu, onKey, start = 0, at: kept, onAt }: GridProps<Row>) {
  const { scroller, height, first, end } = useRows(rows.length);
  const [own, setOwn] = useState(start);
  const [at, setAt] = [kept ?? own, onAt ?? setOwn];
  useLayoutEffect(() => {
    setOwn(start);
    if (scroller.current && height > 0 && !isOnScreen(scroller.current, start)) scroller.current.scrollTop = Math.max(0, topOf(start) - height / 3);
  }, [start, label, height > 0]);
  useLayoutEffect(() => {
    if (kept !== undefined) reveal(scroller.current!, kept);
  }, [kept]);
  const narrow = useNarrow();
  const columns = narrow ? all.filter((it) => !it.wide) : all;
  const id = label.replace(/\W+/g, "-");
  const template = { gridTemplateColumns: columns.map((it) => it.width).join(" ") };
  const go = (place: number) => {
    setAt(place);
    reveal(scroller.current!, place);
  };
  const keyed = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextPlace(event.key, at, rows.length, height);
    const row = rows[at];
    const step = isLit ? matchStep(event.key) : 0;
    if (next !== null) go(next);
    else if (step !== 0) onMatch ? onMatch(step) : go(nextMatch(rows.length, at, step, (place) => isLit!(rows[place]!)));
    else if (row && onKey?.(event.key, row, at)) true;
    else if (event.key === "Enter" && row && onOpen) onOpen(row, event.shiftKey);
    else if ((event.key === "m" || event.key === "ContextMenu") && row && onMenu) onMenu(row, ...menuPlace(scroller.current!, at));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="scroller table" ref={scroller} tabIndex={0} role={role} aria-label={label} aria-rowcount={rows.length + 1} aria-activedescendant={at >= first && at < end ? `${id}-${at}` : undefined} onKeyDown={keyed}>
      <div class="table-head" role="row" aria-rowindex={1} style={template}>
        {columns.map((it) => (
          <div key={it.name} role="columnheader" class={it.kind} {...(it.sort && { "aria-sort": it.sort })}>
            {it.head ?? it.name}
          </div>
        ))}
      </div>
      <div class="table-body" style={{ height: `${topOf(rows.length)}px` }} role="rowgroup">
        {rows.slice(first, end).map((row, offset) => {
          const place = first + offset;
          const { class: more, ...others } = attributes?.(row) ?? {};
          return (
            <div
              key={keyOf(row)}
              id={`${id}-${place}`}
              class={["table-row", isLit?.(row) && "lit", isMarked?.(row) && "marked", place === at && "active", onOpen && "opens", more].filter(Boolean).join(" ")}
              role="row"
              aria-rowindex={place + 2}
              aria-selected={isMarked?.(row) ?? place === at}
              style={{ ...template, transform: `translateY(${topOf(place)}px)` }}
              onClick={(event) => (setAt(place), onOpen?.(row, event.ctrlKey || event.metaKey || event.shiftKey))}
              onContextMenu={onMenu && ((event) => (event.preventDefault(), setAt(place), onMenu(row, event.clientX, event.clientY)))}
              {...others}
            >
              {columns.map((it) => it.cell(row))}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** A cell with a text. */
export function TextCell({ kind, text, title = text }: { kind: string; text: string; title?: string }) {
  return (
    <div role="gridcell" class={kind} title={title}>
      {text}
    </div>
  );
}
