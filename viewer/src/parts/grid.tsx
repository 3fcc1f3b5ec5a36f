// A table of any rows, of which only those on screen are elements.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { useNarrow } from "./hooks";
import { menuPlace, nextPlace, reveal, topOf, useRows } from "./table_parts";

export interface Column<Row> {
  readonly name: string;
  /** The class of the column's cells. */
  readonly kind: string;
  /** The width, as in a grid of the style sheet. */
  readonly width: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Whether the column needs a wide screen. */
  readonly wide?: boolean;
}

export interface GridProps<Row> {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => string;
  /** Returns whether a row is open or chosen. */
  readonly isMarked?: (row: Row) => boolean;
  readonly onOpen?: (row: Row, several: boolean) => void;
  readonly onMenu?: (row: Row, x: number, y: number) => void;
  /** The place of the first row to show. */
  readonly start?: number;
}

export function Grid<Row>({ label, rows, columns: all, keyOf, isMarked, onOpen, onMenu, start = 0 }: GridProps<Row>) {
  const { scroller, height, first, end } = useRows(rows.length);
  const [at, setAt] = useState(start);
  useLayoutEffect(() => {
    setAt(start);
    if (scroller.current && start > 0) scroller.current.scrollTop = Math.max(0, topOf(start) - height / 3);
  }, [start, label, height > 0]);
  const narrow = useNarrow();
  const columns = narrow ? all.filter((it) => !it.wide) : all;
  const id = label.replace(/\W+/g, "-");
  const template = { gridTemplateColumns: columns.map((it) => it.width).join(" ") };
  const keyed = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextPlace(event.key, at, rows.length, height);
    const row = rows[at];
    if (next !== null) {
      setAt(next);
      reveal(scroller.current!, next);
    } else if (event.key === "Enter" && row && onOpen) onOpen(row, event.shiftKey);
    else if ((event.key === "m" || event.key === "ContextMenu") && row && onMenu) onMenu(row, ...menuPlace(scroller.current!, at));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="scroller table" ref={scroller} tabIndex={0} role="grid" aria-label={label} aria-rowcount={rows.length + 1} aria-activedescendant={at >= first && at < end ? `${id}-${at}` : undefined} onKeyDown={keyed}>
      <div class="table-head" role="row" aria-rowindex={1} style={template}>
        {columns.map((it) => (
          <div key={it.name} role="columnheader" class={it.kind}>
            {it.name}
          </div>
        ))}
      </div>
      <div class="table-body" style={{ height: `${topOf(rows.length)}px` }} role="rowgroup">
        {rows.slice(first, end).map((row, offset) => {
          const place = first + offset;
          return (
            <div
              key={keyOf(row)}
              id={`${id}-${place}`}
              class={["table-row", isMarked?.(row) && "marked", place === at && "active", onOpen && "opens"].filter(Boolean).join(" ")}
              role="row"
              aria-rowindex={place + 2}
              aria-selected={isMarked?.(row) ?? place === at}
              style={{ ...template, transform: `translateY(${topOf(place)}px)` }}
              onClick={(event) => (setAt(place), onOpen?.(row, event.ctrlKey || event.metaKey || event.shiftKey))}
              onContextMenu={onMenu && ((event) => (event.preventDefault(), setAt(place), onMenu(row, event.clientX, event.clientY)))}
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
