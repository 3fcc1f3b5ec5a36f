// The tab of the functions that weigh more or less than before.

import { isSignificant, type Change } from "../model/comparison";
import { exactly } from "../model/search";
import { CompareBar } from "./compare_bar";
import { Segments } from "../parts/segments";
import { useApp } from "../state/context";
import { delta, ratio, sureness, value } from "./difference_words";
import { Grid, TextCell, type Column } from "../parts/grid";
import { useExport } from "../parts/export";
import { changesText } from "./difference_texts";
import { codeWord, brief } from "../words/words";
import { Dot } from "../parts/dot";

const WIDTH = "min(92px, 20vw)";

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
        <span class="muted grow summary">{known ? [facts?.headline && `${facts.headline}.`, facts?.summary].filter(Boolean).join(" ") : "Significance is computed for whole profiles only."}</span>
      </CompareBar>
      {rows.length === 0 ? <p class="empty">Nothing is selected here.</p> : <Table rows={rows} />}
    </>
  );
}

function Table({ rows }: { rows: readonly Change[] }) {
  const app = useApp();
  const { model, sums, state } = app;
  const { names } = model;
  const { selection } = state;
  const { absolute } = state.view;
  const matched = sums.matches(selection);
  const type = model.type(selection);
  /** Highlights the function in the differential flame graph. */
  const open = ({ function: of }: Change) => {
    if (of < 0) return;
    app.store.put({ selection: { ...selection, search: exactly(names.name(of)) }, view: { ...state.view, tab: "difference", zoom: [] } }, "");
  };
  const number = (name: string, width: string, text: (row: Change) => string, title = (_: Change) => ""): Column<Change> => ({
    name,
    kind: "cell-number",
    width,
    cell: (row) => <TextCell kind="cell-number" text={text(row)} title={title(row)} />,
  });
  const columns: Column<Change>[] = [
    number("Before", WIDTH, (row) => value(row.before, absolute, type)),
    number("After", WIDTH, (row) => value(row.after, absolute, type)),
    number("Change", WIDTH, (row) => delta(row.before, row.after, absolute, type), (row) => sureness(row.chance)),
    {
      ...number("Ratio", "82px", (row) => `${ratio(row.before, row.after)}${row.chance === null || isSignificant(row) ? "" : " ?"}`, (row) => sureness(row.chance)),
      wide: true,
      head: <span class="hidden">Change of the number before</span>,
    },
    {
      name: "Function",
      kind: "cell-name",
      width: "minmax(0, 2fr)",
      cell: ({ function: of }) => (
        <div role="gridcell" class="cell-name" title={`${brief(names.name(of))} (${codeWord(model, of)})`}>
          <Dot of={of} />
          {brief(names.name(of))}
        </div>
      ),
    },
    { name: "Place", kind: "cell-place", width: "minmax(0, 1fr)", wide: true, cell: (row) => <TextCell kind="cell-place" text={brief(names.place(row.function))} /> },
  ];
  return (
    <Grid
      label="Changes"
      rows={rows}
      columns={columns}
      keyOf={(row) => String(row.function)}
      isLit={(row) => matched?.[row.function] === 1}
      attributes={(row) => ({ class: `is-${!isSignificant(row) ? "same" : row.after > row.before ? "more" : "less"}` })}
      onOpen={open}
      onMenu={(row, x, y) => row.function >= 0 && app.openMenu({ function: row.function, x, y, stack: [row.function], zoom: null })}
    />
  );
}
