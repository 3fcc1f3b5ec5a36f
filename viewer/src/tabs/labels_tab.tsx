// Weight by the values of a label, such as endpoints and jobs, by gem and file, and by markers: their number, their mean, and
// the longest. A click selects.

import { FILE, GEM, groupings, groups, MARKERS, STATE, tallies, THREAD, valuesOf, valuesOfFunctions, type Group } from "../model/groups";
import { clean } from "../model/names";
import { amount, count, duration, percent } from "../model/units";
import { markerSums, type MarkerSum } from "../model/within";
import { useApp, type App } from "../state/context";
import { Grid, TextCell, type Column } from "../parts/grid";
import { WeightCell } from "../parts/table_parts";
import { useExport } from "../parts/export";
import { BY_NUMBER, type State } from "../state/view";
import { brief, capital, labelWord, stateWord, threadName } from "../words/words";

const MS = 1e6;
const WORDS: Readonly<Record<string, string>> = { [MARKERS]: "Markers", [GEM]: "Gems", [FILE]: "Files", [THREAD]: "Threads", [STATE]: "States" };

const COLUMNS: Readonly<Record<string, string>> = { [THREAD]: "Thread", [STATE]: "State", [GEM]: "Gem", [FILE]: "File" };

export function LabelsTab() {
  const { model, sums, store, state } = useApp();
  const all = sums.once("groupings", () => groupings(model.profile));
  const by = all.find((it) => it === state.view.picks["label"]) ?? all[0]!;
  return (
    <>
      <div class="bar">
        <div class="segments" role="group" aria-label="By">
          {all.map((it) => (
            <button key={it} aria-pressed={it === by} onClick={() => store.pick("label", it)}>
              {WORDS[it] ?? labelWord(it)}
            </button>
          ))}
        </div>
        {by === MARKERS && (
          <>
            <div class="segments" role="group" aria-label="Order">
              <button aria-pressed={!isByNumber(state)} onClick={() => store.pick("markers", "")}>
                Longest first
              </button>
              <button aria-pressed={isByNumber(state)} onClick={() => store.pick("markers", BY_NUMBER)}>
                Most often first
              </button>
            </div>
            <Least />
          </>
        )}
      </div>
      {by === MARKERS ? <Markers /> : <Values label={by} />}
    </>
  );
}

const isByNumber = ({ view }: State) => view.picks["markers"] === BY_NUMBER;

function Values({ label }: { label: string }) {
  const app = useApp();
  const { model, store, state } = app;
  const { names } = model;
  const rows = valuesUnder(app, label);
  const type = model.type(state.selection);
  const all = rows.reduce((sum, it) => sum + it.weight, 0);
  const text = (value: string) => textOf(app, label, value);
  useExport(() => valuesText(app, label, rows), () => null);
  const hasRequests = rows.some((it) => it.requests);
  const noun = OF_JOBS.has(label) ? "jobs" : "requests";
  const columns: Column<Group>[] = [
    { name: "Total", kind: "cell-total", width: "min(150px, 24vw)", cell: (it) => <WeightCell kind="total" type={type} weight={it.weight} all={all} /> },
    { name: COLUMNS[label] ?? labelWord(label), kind: "cell-name", width: "minmax(0, 3fr)", cell: (it) => <TextCell kind="cell-name" text={text(it.value)} /> },
    ...(hasRequests ? requestColumns(noun) : []),
    { name: "Mostly in", kind: "cell-place", width: "minmax(0, 3fr)", wide: true, cell: (it) => <TextCell kind="cell-place" text={it.heaviest < 0 ? "" : `${percent(it.own, it.weight)}  ${brief(names.name(it.heaviest))}`} /> },
  ];
  const { selection } = state;
  const indexOf = (value: string) => Number(value);
  const chosen = (value: string) => {
    if (label === THREAD) return selection.threads?.has(indexOf(value)) ?? false;
    if (label === STATE) return selection.states?.has(indexOf(value)) ?? false;
    if (label === GEM || label === FILE) return selection.search !== "" && selection.search === searchFor(label, value);
    return selection.labels.get(label)?.has(value) ?? false;
  };
  const open = ({ value }: Group, several: boolean) => {
    if (label === GEM || label === FILE) return store.select({ search: chosen(value) ? "" : searchFor(label, value) });
    const next = new Set(several || chosen(value) ? rows.filter((it) => chosen(it.value)).map((it) => it.value) : []);
    if (!next.delete(value)) next.add(value);
    if (label === THREAD) return store.select({ threads: next.size === 0 ? null : new Set([...next].map(indexOf)) });
    if (label === STATE) return store.select({ states: next.size === 0 ? null : new Set([...next].map(indexOf)) });
    const labels = new Map(selection.labels);
    if (next.size === 0) labels.delete(label);
    else labels.set(label, next);
    store.select({ labels });
  };
  if (rows.length === 0) return <p class="empty">Nothing is selected here.</p>;
  return (
    <>
      <Grid label="Values" rows={rows} columns={columns} keyOf={(it) => it.value} isMarked={(it) => chosen(it.value)} onOpen={open} />
      {hasRequests && <p class="muted part">All {noun} of the profile that ended are counted{selection.range ? ", not only those of the selected time" : ""}.</p>}
    </>
  );
}

/** The labels whose values are those of jobs, not of requests. */
const OF_JOBS = new Set(["job", "queue"]);

const requestColumns = (noun: string): readonly Column<Group>[] => [
  { name: capital(noun), kind: "cell-number", width: "min(84px, 18vw)", cell: (it) => <TextCell kind="cell-number" text={it.requests ? count(it.requests.count) : ""} /> },
  { name: "Mean", kind: "cell-number", width: "min(84px, 18vw)", cell: (it) => <TextCell kind="cell-number" text={it.requests ? duration(Math.floor(it.requests.total / it.requests.count)) : ""} /> },
  { name: "Largest", kind: "cell-number", width: "min(84px, 18vw)", cell: (it) => <TextCell kind="cell-number" text={it.requests ? duration(it.requests.largest) : ""} /> },
];

/** Returns the search for the functions of a gem or a file; empty if there is none. */
function searchFor(by: string, value: string): string {
  const literal = clean(value).replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
  if (value === "" || value === "(app)") return "";
  if (by === FILE) return `^${literal}:\\d+$`;
  return value === "(ruby)" ? "^ruby:" : `^(gem|ruby):${literal}[/.]`;
}

/** Returns the values of a label under the selection, including those that are not chosen. */
function valuesUnder({ model, sums, state }: App, label: string): Group[] {
  const { selection } = state;
  return sums.of(selection, `values ${label}`, () => {
    const { profile } = model;
    const labels = new Map(selection.labels);
    labels.delete(label);
    const open = label === THREAD ? { threads: null } : label === STATE ? { states: null } : { labels };
    const weights = model.rowWeights({ ...selection, ...open });
    const leaves = model.owners(selection.transforms, "leaf");
    if (label === THREAD) return groups(weights, leaves, (row) => [String(profile.rows.thread[row])], new Map());
    if (label === STATE) return groups(weights, leaves, (row) => [String(profile.rows.state[row])], new Map());
    if (label === GEM || label === FILE) {
      const named = sums.once(`values ${label}`, () => valuesOfFunctions(profile, model.names, model.facts, label));
      const sites = model.owners(selection.transforms.filter((it) => it.kind === "focus" || it.kind === "drop"), "code");
      return groups(weights, leaves, (row) => [model.names.isSite(sites[row]!) ? named[sites[row]!]! : ""], new Map());
    }
    const values = valuesOf(profile, label);
    return groups(weights, leaves, (row) => values[profile.rows.labels[row]!]!, tallies(profile.requests, label));
  });
}

function textOf({ model }: App, label: string, value: string): string {
  if (label === THREAD) return threadName(model.profile, Number(value));
  if (label === STATE) return stateWord(model.profile.states[Number(value)]!);
  return value === "" ? "(none)" : brief(clean(value));
}

function valuesText(app: App, label: string, rows: readonly Group[]): string {
  const type = app.model.type(app.state.selection);
  const all = rows.reduce((sum, it) => sum + it.weight, 0);
  return `${rows.map((it) => `${amount(type, it.weight).padStart(10)} ${percent(it.weight, all).padStart(6)}   ${textOf(app, label, it.value)}`).join("\n")}\n`;
}

function Markers() {
  const app = useApp();
  const { model, store, state } = app;
  const { selection } = state;
  const { profile } = model;
  const least = leastOf(app);
  const rows = markersUnder(app, least);
  const type = model.type(selection);
  useExport(() => `${rows.map((it) => `${duration(it.total).padStart(10)} ${count(it.count).padStart(8)}   ${clean(it.name)}`).join("\n")}\n`, () => null);
  const all = rows.reduce((sum, it) => Math.max(sum, it.total), 0);
  const time = { name: "", unit: "nanoseconds" };
  const columns: Column<MarkerSum>[] = [
    { name: "Time", kind: "cell-total", width: "110px", cell: (it) => <TimeCell ns={it.total} of={all} /> },
    { name: "Marker", kind: "cell-name", width: "minmax(0, 3fr)", cell: (it) => <TextCell kind="cell-name" text={brief(clean(it.name))} /> },
    { name: "Number", kind: "cell-number", width: "min(84px, 18vw)", cell: (it) => <TextCell kind="cell-number" text={count(it.count)} /> },
    { name: "Mean", kind: "cell-number", width: "min(84px, 18vw)", cell: (it) => <TextCell kind="cell-number" text={amount(time, it.total / it.count)} /> },
    { name: "Largest", kind: "cell-number", width: "min(84px, 18vw)", cell: (it) => <TextCell kind="cell-number" text={amount(time, it.largest)} /> },
    ...(profile.timeline ? [{ name: "Measured inside", kind: "cell-number", width: "130px", wide: true, cell: (it: MarkerSum) => <TextCell kind="cell-number" text={amount(type, it.weight)} /> }] : []),
  ];
  const isChosen = (it: MarkerSum) => selection.within?.marker === it.name;
  const open = (it: MarkerSum) => store.select({ within: isChosen(it) && selection.within!.least === least ? null : { marker: it.name, least } });
  if (rows.length === 0) return <p class="empty">No marker is as long as that here.</p>;
  return (
    <>
      <Grid label="Markers" rows={rows} columns={columns} keyOf={(it) => it.name} isMarked={isChosen} {...(profile.timeline ? { onOpen: open } : {})} />
      <p class="muted part">{profile.timeline ? "A click selects what threads did inside of these markers." : "What was measured inside of markers needs a timeline: record with --timeline."}</p>
    </>
  );
}

function TimeCell({ ns, of }: { ns: number; of: number }) {
  return (
    <div role="gridcell" class="cell-total">
      <i class="weight-bar of-total" style={{ width: `${of > 0 ? (100 * ns) / of : 0}%` }} />
      <span>{duration(ns)}</span>
    </div>
  );
}

/** Returns the duration from which markers count, ns. */
function leastOf({ state }: App): number {
  const ms = Number(state.view.picks["least"]);
  return ms > 0 ? ms * MS : 0;
}

function Least() {
  const { store, state } = useApp();
  return (
    <label class="least">
      at least
      <input type="number" min={0} step="any" value={state.view.picks["least"] ?? ""} placeholder="0" onChange={(event) => store.pick("least", event.currentTarget.value)} />
      ms long
    </label>
  );
}

/** Returns the markers in the selected threads and time. */
function markersUnder({ model, sums, state }: App, least: number): MarkerSum[] {
  const { selection } = state;
  const { profile } = model;
  const byNumber = isByNumber(state);
  return sums.of(selection, `markers ${least} ${byNumber}`, () => {
    const { range, threads } = selection;
    const markers = profile.markers.filter((it) => it.duration >= least && (!threads || threads.has(it.thread)) && (!range || (it.start <= range.to && it.start + it.duration >= range.from)));
    const found = markerSums(profile, model.type(selection), markers, model.eventWeights({ ...selection, within: null }), model.leftOut(selection));
    return byNumber ? found.sort((one, other) => other.count - one.count) : found;
  });
}
