// A sorted table of functions.

import { useLayoutEffect, useState } from "preact/hooks";
import type { TopOrder, TopRow } from "../model/top";
import { useApp } from "../state/context";
import { sureness } from "./frame_facts";
import { Grid, TextCell, type Column } from "./grid";
import { WeightCell } from "./table_parts";
import { codeWord, brief } from "../words/words";
import { Dot } from "./dot";
import { FunctionName } from "./function_name";

export interface TopTableProps {
  /** The function whose row is marked. */
  readonly current: number;
  /** Whether to omit shares and places. */
  readonly narrow?: boolean;
  readonly onOpen: (of: number) => void;
}

export function TopTable(props: TopTableProps) {
  const { sums, state } = useApp();
  const rows = sums.found(state.selection, state.view.order);
  if (rows.length > 0) return <Table {...props} rows={rows} />;
  return <p class="empty">{state.selection.search === "" ? "Nothing is selected here." : "No function here matches the search."}</p>;
}

function Table({ rows, current, narrow = false, onOpen }: TopTableProps & { rows: readonly TopRow[] }) {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { names } = model;
  const matched = sums.matches(state.selection);
  const [at, setAt] = useState(0);
  useLayoutEffect(() => setAt(Math.max(0, rows.findIndex((it) => it.function === current))), [rows, current]);
  const type = model.type(state.selection);
  const all = sums.total(state.selection);
  const column = (order: TopOrder, name: string, width: string, cell: Column<TopRow>["cell"]): Column<TopRow> => ({
    name,
    kind: `cell-${order}`,
    width,
    cell,
    head: <button onClick={() => store.show({ order })}>{name}</button>,
    sort: state.view.order !== order ? "none" : order === "name" ? "ascending" : "descending",
  });
  const weight = (order: "self" | "total", name: string) =>
    column(order, name, narrow ? "116px" : "min(150px, 20vw)", (row) => <WeightCell kind={order} type={type} weight={row[order]} all={all} title={narrow ? "" : `95 % sure: ${sureness(app, row[order])}`} />);
  const columns: Column<TopRow>[] = [
    weight("self", "Self"),
    weight("total", "Total"),
    column("name", "Function", "minmax(0, 2fr)", ({ function: of }) => (
      <div role="gridcell" class="cell-name" title={`${brief(names.name(of))} (${codeWord(model, of)})`}>
        <Dot of={of} />
        <FunctionName name={names.name(of)} />
      </div>
    )),
    ...(narrow ? [] : [{ name: "Place", kind: "cell-place", width: "minmax(0, 1fr)", wide: true, cell: (row: TopRow) => <TextCell kind="cell-place" text={brief(names.place(row.function))} /> }]),
  ];
  return (
    <Grid
      label="Functions"
      rows={rows}
      columns={columns}
      keyOf={(row) => String(row.function)}
      isMarked={(row) => current >= 0 && row.function === current}
      isLit={(row) => matched?.[row.function] === 1}
      attributes={() => (matched ? { class: "found" } : {})}
      onOpen={(row) => onOpen(row.function)}
      onMenu={(row, x, y) => row.function >= 0 && app.openMenu({ function: row.function, x, y, stack: [row.function], zoom: null })}
      at={at}
      onAt={setAt}
    />
  );
}
