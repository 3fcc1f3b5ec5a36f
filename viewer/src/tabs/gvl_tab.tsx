// Which threads waited for the GVL behind which others, when, and on which stacks.

import { useState } from "preact/hooks";
import { duration } from "../model/units";
import { oldRuby } from "../model/facts";
import { useApp } from "../state/context";
import { FlameGraph } from "../parts/flame_graph";
import { GvlMatrix } from "./gvl_matrix";
import { FUNCTIONS, groupings, gvlView, overTime, selectionOf, stacksOf, THREADS, type Cell, type GvlView } from "../state/gvl_sums";
import { useExport } from "../parts/export";
import { TimeLines } from "../parts/time_lines";
import { brief, labelWord } from "../words/words";

const MOST_LINES = 6;
const NAMES: Readonly<Record<string, string>> = { [FUNCTIONS]: "Functions", [THREADS]: "Threads" };

export function GvlTab() {
  const { profile, facts } = useApp().model;
  const old = oldRuby(facts);
  // Before Ruby 3.3, the weights of the GVL can be in a profile, but they are all 0.
  const isKnown = !old && profile.types.some((it) => it.name === "gvl_blame");
  return isKnown ? <Gvl /> : <p class="empty">What held the GVL while threads waited is known from Ruby 3.3 on. This profile is of Ruby {old}.</p>;
}

function Gvl() {
  const app = useApp();
  const { model, store, state } = app;
  const all = groupings(model);
  const by = all.find((it) => it === state.view.picks["gvl"]) ?? FUNCTIONS;
  const view = gvlView(app, by);
  const { total } = view.matrix;
  const lines = view.matrix.columns.names.slice(0, MOST_LINES);
  const cell = cellOf(state.view.picks["gvlCell"], view);
  useExport(() => matrixText(view), () => null);
  return (
    <>
      <div class="bar">
        <div class="segments" role="group" aria-label="By">
          {all.map((it) => (
            <button key={it} aria-pressed={it === by} onClick={() => store.pick("gvl", it)}>
              {NAMES[it] ?? labelWord(it)}
            </button>
          ))}
        </div>
        <span class="grow muted">
          <strong>{duration(total)}</strong> waited for the GVL{view.chosen.side === "held" ? ", behind what is selected" : ""}
        </span>
      </div>
      {total === 0 ? (
        <p class="empty">Nothing in the selection waited for the GVL.</p>
      ) : (
        <div class="gvl">
          <div class="scroller gvl-left" tabIndex={0} role="group" aria-label="Waits">
            <GvlMatrix matrix={view.matrix} chosen={cell} choose={(it) => store.pick("gvlCell", `${it.line}\n${it.column}`)} />
            <TimeLines label="When threads waited behind them" names={lines} state="gvl" weights={(range, cells) => overTime(app, view, by, lines, range, cells)} />
            {!model.profile.timeline && by !== THREADS && <p class="muted part">The profile has no timeline, so only the threads that waited are known: record with --timeline.</p>}
          </div>
          <CellStacks view={view} by={by} cell={cell} />
        </div>
      )}
    </>
  );
}

/** Returns the chosen cell if it has weight, or else the heaviest one. */
function cellOf(pick: string | undefined, { matrix, keys }: GvlView): Cell {
  const { lines, columns, cells } = matrix;
  const width = columns.sums.length;
  const [line = "", column = ""] = pick?.split("\n") ?? [];
  const [lineAt, columnAt] = [lines.names.indexOf(line), columns.names.indexOf(column)];
  const isKnown = (name: string, names: readonly string[]) => name === "" || names.includes(name);
  const isEmpty = lineAt >= 0 && columnAt >= 0 && cells[lineAt * width + columnAt] === 0;
  if (pick !== undefined && isKnown(line, keys.lines) && isKnown(column, keys.columns) && !isEmpty) return { line, column };
  let heaviest = -1;
  cells.forEach((ns, at) => {
    const isApart = at % width < columns.names.length && at < lines.names.length * width;
    if (isApart && ns > (cells[heaviest] ?? 0)) heaviest = at;
  });
  return heaviest < 0 ? { line: "", column: "" } : { line: lines.names[Math.floor(heaviest / width)]!, column: columns.names[heaviest % width]! };
}

/** Both sides of a cell: the stacks that waited, and those that held the GVL meanwhile. */
function CellStacks({ view, by, cell }: { view: GvlView; by: string; cell: Cell }) {
  const app = useApp();
  const { store, state, model } = app;
  const { waited, held } = stacksOf(app, view, by, cell);
  const type = model.profile.types.find((it) => it.name === "gvl_blame")!;
  const graph = (side: "waited" | "held", title: string, name: string) => (
    <>
      <div class="part gvl-part">
        <span class="clip grow">
          {title} <b>{brief(name) || "all"}</b>
        </span>
        <button class="link" onClick={() => store.put({ selection: selectionOf(app, by, side, cell), view: { ...state.view, tab: "graph", zoom: [] } }, "")}>
          Select these
        </button>
      </div>
      <PartGraph key={`${side} ${by} ${cell.line} ${cell.column}`} label={title} part={{ stacks: side === "waited" ? waited : held, type }} />
    </>
  );
  return (
    <div class="gvl-stacks">
      {graph("waited", "Waited:", cell.line)}
      {graph("held", "Held the GVL during the wait:", cell.column)}
    </div>
  );
}

function PartGraph({ label, part }: { label: string; part: NonNullable<Parameters<typeof FlameGraph>[0]["part"]> }) {
  const [zoom, setZoom] = useState<readonly number[]>([]);
  return <FlameGraph label={`${label} arrow keys walk, Enter zooms, M opens the menu`} direction="down" up={false} zoom={zoom} onZoom={setZoom} onPicture={() => {}} part={part} />;
}

function matrixText({ matrix: { lines, columns, cells, total } }: GvlView): string {
  const width = columns.sums.length;
  const nameOf = (names: readonly string[], at: number) => names[at] ?? "others";
  const order = [...cells.keys()].filter((at) => cells[at]! > 0).sort((one, other) => cells[other]! - cells[one]!);
  const text = order.map((at) => `${duration(cells[at]!).padStart(10)}   ${nameOf(lines.names, Math.floor(at / width))}  behind  ${nameOf(columns.names, at % width)}`);
  return [`${duration(total)} of waits for the GVL\n`, ...text, ""].join("\n");
}
