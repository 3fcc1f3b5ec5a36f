// The tab of the functions that weigh more or less than before.

import { useMemo, useState } from "preact/hooks";
import { isSignificant, type Change } from "../model/comparison";
import { exactly, expression, matches } from "../model/search";
import { CompareBar } from "./compare_bar";
import { Segments } from "../parts/segments";
import { useApp } from "../state/context";
import { delta, ratio, sureness, value } from "./difference_words";
import { matchStep, nextMatch } from "../words/matches";
import { menuPlace, nextPlace, reveal, topOf, useRows } from "../parts/table_parts";
import { useExport } from "../parts/export";
import { changesText } from "./difference_texts";
import { codeWord, brief } from "../words/words";
import { Dot } from "../parts/dot";

const COLUMNS = ["Before", "After", "Change", "", "Function", "Place"];

export function ChangesTab() {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { selection, view } = state;
  const { total, absolute } = view;
  const rows = sums.changes(selection, total, absolute);
  useExport(() => changesText(app, rows), () => null);
  const type = model.type(selection).name;
  const facts = model.facts.comparison?.changes.find((it) => it.type === type && it.total === total && it.absolute === absolute);
  const known = rows.some((it) => it.chance !== null);
  return (
    <>
      <CompareBar>
        <Segments
          label="Weight"
          choices={[
            ["Self", !total, () => store.show({ total: false })],
            ["Total", total, () => store.show({ total: true }), "With all that a function calls"],
          ]}
        />
        <span class="muted grow summary">{known ? [facts?.headline && `${facts.headline}.`, facts?.summary].filter(Boolean).join(" ") : "Of a part, and of two ranges, it is not known which changes are significant."}</span>
      </CompareBar>
      {rows.length === 0 ? <p class="empty">Nothing is selected here.</p> : <Table rows={rows} />}
    </>
  );
}

function Table({ rows }: { rows: readonly Change[] }) {
  const app = useApp();
  const { model, state } = app;
  const { selection } = state;
  const matched = useMemo(() => {
    const search = expression(selection.search);
    return search && matches(search, model.names);
  }, [selection.search]);
  const { scroller, height, first, end } = useRows(rows.length);
  const [at, setAt] = useState(0);
  const go = (to: number) => {
    setAt(to);
    reveal(scroller.current!, to);
  };
  /** Highlights the function in the differential flame graph. */
  const open = ({ function: of }: Change) => {
    const search = exactly(model.names.name(of));
    app.store.put({ selection: { ...selection, search }, view: { ...state.view, tab: "difference", zoom: [] } }, "");
  };
  const menu = (row: Change, x: number, y: number) => app.openMenu({ function: row.function, x, y, stack: [row.function], zoom: null });
  const keyed = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = nextPlace(event.key, at, rows.length, height);
    const row = rows[at];
    const step = matchStep(event.key);
    if (next !== null) go(next);
    else if (step !== 0) go(nextMatch(rows.length, at, step, (place) => matched?.[rows[place]!.function] === 1));
    else if (event.key === "Enter" && row) open(row);
    else if ((event.key === "m" || event.key === "ContextMenu") && row) menu(row, ...menuPlace(scroller.current!, at));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="scroller table changes" ref={scroller} tabIndex={0} role="grid" aria-label="Changes" aria-rowcount={rows.length + 1} aria-activedescendant={at >= first && at < end ? `change-${at}` : undefined} onKeyDown={keyed}>
      <div class="table-head" role="row" aria-rowindex={1}>
        {COLUMNS.map((it) => (
          <div key={it} role="columnheader" class={it === "Function" ? "cell-name" : it === "Place" ? "cell-place" : "cell-number"}>
            {it || <span class="hidden">Change of the number before</span>}
          </div>
        ))}
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
              onOpen={() => open(row)}
              onMenu={(event) => (event.preventDefault(), setAt(place), menu(row, event.clientX, event.clientY))}
            />
          );
        })}
      </div>
    </div>
  );
}

interface RowProps {
  readonly row: Change;
  readonly place: number;
  readonly lit: boolean;
  readonly active: boolean;
  readonly onOpen: () => void;
  readonly onMenu: (event: MouseEvent) => void;
}

function Row({ row, place, lit, active, onOpen, onMenu }: RowProps) {
  const { model, state } = useApp();
  const { names } = model;
  const type = model.type(state.selection);
  const { absolute } = state.view;
  const { function: of, before, after, chance } = row;
  const kind = !isSignificant(row) ? "same" : after > before ? "more" : "less";
  const number = (text: string, title = "") => (
    <div role="gridcell" class="cell-number" title={title}>
      {text}
    </div>
  );
  return (
    <div
      class={["table-row", `is-${kind}`, lit && "lit", active && "active"].filter(Boolean).join(" ")}
      id={`change-${place}`}
      role="row"
      aria-rowindex={place + 2}
      aria-selected={active}
      style={{ transform: `translateY(${topOf(place)}px)` }}
      onClick={onOpen}
      onContextMenu={onMenu}
    >
      {number(value(before, absolute, type))}
      {number(value(after, absolute, type))}
      {number(delta(before, after, absolute, type), sureness(chance))}
      {number(`${ratio(before, after)}${chance === null || isSignificant(row) ? "" : " ?"}`, sureness(chance))}
      <div role="gridcell" class="cell-name" title={`${brief(names.name(of))} (${codeWord(model, of)})`}>
        <Dot of={of} />
        {brief(names.name(of))}
      </div>
      <div role="gridcell" class="cell-place" title={brief(names.place(of))}>
        {brief(names.place(of))}
      </div>
    </div>
  );
}
