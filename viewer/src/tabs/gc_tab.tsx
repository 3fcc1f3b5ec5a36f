// Garbage collection: when, why, how long, and by what it was caused.

import { collecting, collections, gcType, KIND, kindsOverTime, REASON, type Cause, type Reason } from "../model/gc";
import { clean } from "../model/names";
import { oldRuby } from "../model/facts";
import { CLASS } from "../model/memory";
import { exactly } from "../model/search";
import { duration, percent } from "../model/units";
import { useApp, type App } from "../state/context";
import { Grid, TextCell, type Column } from "../parts/grid";
import { WeightCell } from "../parts/table_parts";
import { useExport } from "../parts/export";
import { TimeLines } from "../parts/time_lines";
import { brief } from "../words/words";
import { Dot } from "../parts/dot";

const NS = { name: "", unit: "nanoseconds" };

/** The names of the reasons for collections in `GC.latest_gc_info`. */
const REASONS: Readonly<Record<string, string>> = {
  newobj: "no free slot",
  malloc: "malloc had grown",
  method: "GC.start",
  capi: "C code requested it",
  stress: "GC.stress",
  nofree: "no free slot",
  oldgen: "more old objects",
  shady: "more objects without write barriers",
  oldmalloc: "malloc of old objects had grown",
  force: "GC.start, or alike",
};

export function GcTab() {
  const app = useApp();
  const { model, sums, state } = app;
  const { profile } = model;
  const { selection } = state;
  const type = sums.once("gc type", () => gcType(profile));
  const isGc = sums.once("gc rows", () => collecting(profile));
  const own = { ...selection, type, idle: "with" as const, states: null };
  const { total, reasons, causes } = sums.of(selection, "gc", () => {
    const weights = model.rowWeights(own).map((weight, row) => (isGc[row] ? weight : 0));
    return collections(profile, model.names, weights, model.owners(selection.transforms, "site"));
  });
  const clock = profile.types[type]!.name === "cpu" ? "cpu" : "wall";
  const clockType = profile.types.findIndex((it) => it.name === clock);
  const clockAll = clockType < 0 ? 0 : sums.of(selection, "gc clock", () => model.total({ ...selection, type: clockType, states: null }));
  const kinds = [...new Set(reasons.map((it) => it.kind))].sort().reverse();
  const sumOf = (kind: string) => reasons.reduce((sum, it) => sum + (it.kind === kind ? it.weight : 0), 0);
  useExport(() => textOf(app, reasons, causes), () => null);
  return (
    <>
      <div class="bar">
        <span class="grow muted">
          <strong>{duration(total)}</strong> of garbage collection{clockAll > 0 && `, ${percent(total, clockAll)} of ${clock === "cpu" ? "CPU" : "wall clock"} time`}
          {kinds.filter((it) => it !== "").map((it) => `, ${it} ${duration(sumOf(it))}`)}
        </span>
      </div>
      {total === 0 ? (
        <p class="empty">Nothing in the selection collected garbage.</p>
      ) : (
        <div class="gc">
          <TimeLines
            label="When garbage was collected"
            names={kinds.map((it) => it || "(not known)")}
            state="gc"
            weights={(range, cells) =>
              sums.of(selection, `gc time ${cells}`, () => {
                const counts = model.rows(own).map((it, row) => it & isGc[row]!);
                const found = kindsOverTime(profile, type, counts, range, cells, model.only(selection));
                return new Map([...found].map(([kind, weights]) => [kind || "(not known)", weights]));
              })
            }
          />
          <div class="gc-tables">
            <Reasons reasons={reasons} total={total} type={type} />
            <Causes causes={causes} total={total} type={type} />
          </div>
        </div>
      )}
    </>
  );
}

function Reasons({ reasons, total, type }: { reasons: readonly Reason[]; total: number; type: number }) {
  const { store, state } = useApp();
  const { selection } = state;
  const isChosen = (it: Reason) => selection.labels.get(KIND)?.has(it.kind) === true && selection.labels.get(REASON)?.has(it.reason) === true;
  const open = (it: Reason) => {
    const labels = new Map(selection.labels);
    if (isChosen(it)) [KIND, REASON].forEach((name) => labels.delete(name));
    else labels.set(KIND, new Set([it.kind])).set(REASON, new Set([it.reason]));
    store.select({ labels, type: selection.type === type || isChosen(it) ? selection.type : type });
  };
  const columns: Column<Reason>[] = [
    { name: "Time", kind: "cell-total", width: "136px", cell: (it) => <WeightCell kind="total" type={NS} weight={it.weight} all={total} /> },
    { name: "Kind", kind: "cell-name", width: "70px", cell: (it) => <TextCell kind="cell-name" text={brief(clean(it.kind)) || "(not known)"} /> },
    { name: "Why", kind: "cell-name", width: "minmax(0, 1fr)", cell: (it) => <TextCell kind="cell-name" text={`${brief(clean(it.reason))}${REASONS[it.reason] ? ` (${REASONS[it.reason]})` : ""}`} /> },
  ];
  return <Grid label="Reasons" rows={reasons} columns={columns} keyOf={(it) => `${it.kind} ${it.reason}`} isMarked={isChosen} onOpen={open} />;
}

function Causes({ causes, total, type }: { causes: readonly Cause[]; total: number; type: number }) {
  const app = useApp();
  const { model, store, state } = app;
  const { names } = model;
  const { selection } = state;
  const unknown = oldRuby(model.facts) ? "(known from Ruby 3.3 on)" : "(not known)";
  const classes = allocatedClasses(app);
  const searchOf = (it: Cause) => exactly(names.name(it.site));
  const isChosen = (it: Cause) => it.site >= 0 && selection.type === type && selection.search === searchOf(it);
  const open = (it: Cause) => it.site >= 0 && store.select(isChosen(it) ? { search: "" } : { type, search: searchOf(it) });
  const columns: Column<Cause>[] = [
    { name: "Time", kind: "cell-total", width: "136px", cell: (it) => <WeightCell kind="total" type={NS} weight={it.weight} all={total} /> },
    { name: "Major", kind: "cell-number", width: "80px", cell: (it) => <TextCell kind="cell-number" text={it.major > 0 ? duration(it.major) : ""} /> },
    {
      name: "Caused by",
      kind: "cell-name",
      width: "minmax(0, 2fr)",
      cell: (it) => (
        <div role="gridcell" class="cell-name" title={it.site < 0 ? unknown : `${brief(names.name(it.site))} ${brief(names.place(it.site))}`}>
          {it.site >= 0 && <Dot of={it.site} />}
          {it.site < 0 ? unknown : brief(names.name(it.site))}
          <span class="tree-place">{it.site < 0 ? "" : brief(names.place(it.site))}</span>
        </div>
      ),
    },
    ...(classes.size > 0 ? [{ name: "Allocates mostly", kind: "cell-place", width: "minmax(0, 1fr)", cell: (it: Cause) => <TextCell kind="cell-place" text={brief(clean(classes.get(it.site) ?? ""))} /> }] : []),
  ];
  return (
    <Grid
      label="Causes"
      rows={causes}
      columns={columns}
      keyOf={(it) => String(it.site)}
      isMarked={isChosen}
      onOpen={open}
      onMenu={(it, x, y) => it.site >= 0 && app.openMenu({ function: it.site, x, y, stack: [it.site], zoom: null })}
    />
  );
}

/** Returns, for each function, the class with the most bytes among the objects that it allocated. */
function allocatedClasses({ model, sums, state }: App): ReadonlyMap<number, string> {
  const { profile } = model;
  return sums.of(state.selection, "gc classes", () => {
    const type = profile.types.findIndex((it) => it.name === "alloc_space");
    const bytes = new Map<number, Map<string, number>>();
    if (type < 0) return new Map<number, string>();
    const classes = profile.labelSets.map((set) => set.find(([name]) => name === CLASS)?.[1] ?? "");
    const sites = model.owners(state.selection.transforms, "site");
    profile.rows.weights[type]!.forEach((weight, row) => {
      if (weight === 0) return;
      const own = bytes.get(sites[row]!) ?? new Map<string, number>();
      const class_ = classes[profile.rows.labels[row]!]!;
      bytes.set(sites[row]!, own.set(class_, (own.get(class_) ?? 0) + weight));
    });
    return new Map(Array.from(bytes, ([site, own]) => [site, [...own].reduce((one, other) => (other[1] > one[1] ? other : one))[0]]));
  });
}

function textOf({ model }: App, reasons: readonly Reason[], causes: readonly Cause[]): string {
  const lines = [
    ...reasons.map((it) => `${duration(it.weight).padStart(10)}   ${it.kind} ${it.reason}`),
    "",
    ...causes.map((it) => `${duration(it.weight).padStart(10)}   ${it.site < 0 ? "(not known)" : model.names.name(it.site)}`),
  ];
  return `${lines.join("\n")}\n`;
}
