// Source by line: the files, the lines of one file with their heat, and the callers and callees of a line.

import { clean } from "../model/names";
import { Lines, type Related } from "../model/lines";
import { amount, percent } from "../model/units";
import { useApp, type App } from "../state/context";
import { Grid, TextCell, type Column } from "../parts/grid";
import { WeightCell } from "../parts/table_parts";
import { useExport } from "../parts/export";
import { sandwichOf } from "../state/view";
import { brief } from "../words/words";
import { Dot } from "../parts/dot";
import { FunctionName } from "../parts/function_name";

const HEAT = 0.5; // the opacity of the heaviest line

interface File {
  readonly path: string;
  self: number;
  /** The index of the file's heaviest line. */
  hottest: number;
  readonly lines: number[];
  readonly isApp: boolean;
}

/** A line of the open file. */
interface Line {
  readonly number: number;
  readonly self: number;
  readonly total: number;
}

export function SourceTab() {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { selection, view } = state;
  const lines = sums.once("lines", () => new Lines(model.profile));
  const { self, total } = sums.of(selection, "lines", () => lines.sums(model.rowWeights(selection)));
  const files = sums.of(selection, "files", () => filesOf(app, lines, self, total));
  const open = files.find((it) => it.path === view.picks["file"]) ?? files.find((it) => it.path === heaviestFile(app)) ?? files[0];
  useExport(() => (open ? textOf(app, lines, open, self, total) : ""), () => null);
  if (!open) return <p class="empty">Nothing that is selected has lines.</p>;
  const source = model.facts.sources?.[open.path];
  const type = model.type(selection);
  const all = sums.total(selection);
  const short = (path: string) => brief(clean(model.facts.paths[path] ?? path));
  const columns: Column<File>[] = [
    { name: "Self", kind: "cell-number", width: "84px", cell: (it) => <TextCell kind="cell-number" text={amount(type, it.self)} title={percent(it.self, all)} /> },
    { name: "File", kind: "cell-name", width: "minmax(0, 1fr)", cell: (it) => <PathCell path={short(it.path)} isApp={it.isApp} /> },
  ];
  return (
    <div class="source">
      <Grid label="Files" rows={files} columns={columns} keyOf={(it) => it.path} isMarked={(it) => it === open} onOpen={(it) => store.show({ picks: { ...view.picks, file: it.path, line: "" } })} start={files.indexOf(open)} />
      <div class="source-file">
        <div class="bar">
          <strong class="clip grow">{short(open.path)}</strong>
          {source === undefined && <span class="muted">profiler view --source shows its text</span>}
          {source?.changed && <span class="muted">changed since: lines may be others</span>}
        </div>
        <FileLines key={open.path} lines={lines} file={open} self={self} total={total} />
      </div>
    </div>
  );
}

/** A path that is cut at its beginning, as its end says most. */
function PathCell({ path, isApp }: { path: string; isApp: boolean }) {
  return (
    <div role="gridcell" class="cell-name cell-path" title={path}>
      <i class={isApp ? "dot origin-app" : "dot origin-gem"} />
      <bdi>{path}</bdi>
    </div>
  );
}

function FileLines({ lines, file, self, total }: { lines: Lines; file: File; self: Float64Array; total: Float64Array }) {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { selection, view } = state;
  const type = model.type(selection);
  const all = sums.total(selection);
  const text = model.facts.sources?.[file.path]?.text.replace(/\n$/, "").split("\n");
  const rows = sums.of(selection, `lines of ${file.path}`, () => rowsOf(lines, file, self, total, text?.length ?? 0));
  const number = Number(view.picks["line"]) || lines.number[file.hottest]!;
  const current = lines.indexOf(file.path, number);
  const largest = Math.max(...file.lines.map((it) => total[it]!));
  const functions = sums.once(`functions of ${file.path}`, () => functionsOf(app, file.path));
  const columns: Column<Line>[] = [
    { name: "Total", kind: "cell-total", width: "min(130px, 20vw)", cell: (it) => (it.total > 0 ? <WeightCell kind="total" type={type} weight={it.total} all={all} /> : <div role="gridcell" />) },
    { name: "Self", kind: "cell-number", width: "76px", cell: (it) => <TextCell kind="cell-number" text={it.self > 0 ? amount(type, it.self) : ""} /> },
    { name: "Line", kind: "cell-number", width: "58px", cell: (it) => <TextCell kind="cell-number" text={String(it.number)} /> },
    {
      name: text ? "Source" : "In",
      kind: "cell-name",
      width: "minmax(0, 1fr)",
      cell: (it) => (
        <div role="gridcell" class="cell-name cell-code">
          <i class="line-heat" style={{ opacity: (HEAT * Math.sqrt(it.total / Math.max(1, largest))).toFixed(3) }} />
          {text ? <code>{brief(clean(`.${text[it.number - 1] ?? ""}`).slice(1))}</code> : <span>{functions.get(it.number) ?? ""}</span>}
        </div>
      ),
    },
  ];
  return (
    <>
      <Grid
        label="Lines"
        rows={rows}
        columns={columns}
        keyOf={(it) => String(it.number)}
        isMarked={(it) => it.number === number}
        onOpen={(it) => store.pick("line", String(it.number))}
        start={Math.max(0, rows.findIndex((it) => it.number === number))}
      />
      {current >= 0 && total[current]! > 0 && <Around lines={lines} line={current} total={total[current]!} />}
    </>
  );
}

/** Returns the lines of the text, or only those that have weight. */
function rowsOf(lines: Lines, file: File, self: Float64Array, total: Float64Array, length: number): Line[] {
  const known = new Map(file.lines.map((it) => [lines.number[it]!, { number: lines.number[it]!, self: self[it]!, total: total[it]! }]));
  for (let number = 1; number <= length; number++) if (!known.has(number)) known.set(number, { number, self: 0, total: 0 });
  return [...known.values()].sort((one, other) => one.number - other.number);
}

/** The callers and callees of a line. */
function Around({ lines, line, total }: { lines: Lines; line: number; total: number }) {
  const { model, sums, state } = useApp();
  const { callers, callees } = sums.of(state.selection, `around ${line}`, () => lines.around(line, model.rowWeights(state.selection)));
  return (
    <div class="around">
      <Side label="Callers" related={callers} total={total} />
      <Side label="Callees" related={callees} total={total} />
    </div>
  );
}

function Side({ label, related, total }: { label: string; related: readonly Related[]; total: number }) {
  const { model, store, state } = useApp();
  const { profile, names } = model;
  const type = model.type(state.selection);
  const functionOf = (it: Related) => profile.frames.function[it.frame]!;
  const lineOf = (it: Related) => profile.frames.line[it.frame]!;
  const open = (it: Related) => {
    const path = profile.functions.path[functionOf(it)]!;
    if (path === "" || path === "<cfunc>") store.show(sandwichOf(functionOf(it)));
    else store.show({ picks: { ...state.view.picks, file: path, line: String(lineOf(it)) } });
  };
  const columns: Column<Related>[] = [
    { name: "Total", kind: "cell-total", width: "min(130px, 20vw)", cell: (it) => <WeightCell kind="total" type={type} weight={it.weight} all={total} /> },
    {
      name: label,
      kind: "cell-name",
      width: "minmax(0, 1fr)",
      cell: (it) => {
        const place = [names.path(functionOf(it)), lineOf(it) || ""].filter((part) => part !== "").join(":");
        return (
          <div role="gridcell" class="cell-name" title={`${brief(names.name(functionOf(it)))} ${brief(place)}`}>
            <Dot of={functionOf(it)} />
            <FunctionName name={names.name(functionOf(it))} />
            <span class="tree-place">{brief(place)}</span>
          </div>
        );
      },
    },
  ];
  return <Grid label={label} rows={related} columns={columns} keyOf={(it) => String(it.frame)} onOpen={open} />;
}

/** Returns the files with lines that have weight, the app's first, ordered by the weight of their own lines. */
function filesOf({ model }: App, lines: Lines, self: Float64Array, total: Float64Array): File[] {
  const isApp = new Set(model.profile.functions.path.filter((_, of) => model.names.isOwn(of)));
  const files = new Map<number, File>();
  for (let line = 0; line < lines.count; line++) {
    if (total[line] === 0) continue;
    const of = lines.path[line]!;
    let file = files.get(of);
    if (!file) files.set(of, (file = { path: lines.paths[of]!, self: 0, hottest: line, lines: [], isApp: isApp.has(lines.paths[of]!) }));
    file.self += self[line]!;
    file.lines.push(line);
    if (total[line]! > total[file.hottest]! || (total[line] === total[file.hottest] && self[line]! > self[file.hottest]!)) file.hottest = line;
  }
  return [...files.values()].sort((one, other) => Number(other.isApp) - Number(one.isApp) || other.self - one.self || (one.path < other.path ? -1 : 1));
}

/** Returns the names of the functions on each line of a file. */
function functionsOf({ model }: App, path: string): ReadonlyMap<number, string> {
  const { frames, functions } = model.profile;
  const found = new Map<number, Set<string>>();
  for (let frame = 0; frame < frames.count; frame++) {
    const of = frames.function[frame]!;
    if (functions.path[of] !== path) continue;
    const line = frames.line[frame]!;
    found.set(line, (found.get(line) ?? new Set()).add(model.names.name(of)));
  }
  return new Map(Array.from(found, ([line, names]) => [line, brief([...names].join(", "))]));
}

function textOf({ model, state }: App, lines: Lines, file: File, self: Float64Array, total: Float64Array): string {
  const type = model.type(state.selection);
  const text = rowsOf(lines, file, self, total, 0).map((it) => `${amount(type, it.total).padStart(10)} ${amount(type, it.self).padStart(10)} ${String(it.number).padStart(6)}`);
  return `${clean(file.path)}\n${text.join("\n")}\n`;
}

/** Returns the path of the file with most of the selection: that of the functions that a finding would name. */
function heaviestFile({ model, sums, state }: App): string | undefined {
  const weights = new Map<string, number>();
  for (const { function: of, weight } of sums.hottest(state.selection)) {
    const path = model.profile.functions.path[of] ?? "";
    weights.set(path, (weights.get(path) ?? 0) + weight);
  }
  return [...weights].sort((one, other) => other[1] - one[1])[0]?.[0];
}
