// The bar at the top: the sample type, the search, the filters, and the exports of the page.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { labelsOf, OURS } from "../model/groups";
import { clean } from "../model/names";
import { faultOf } from "../model/search";
import { spanOf } from "../model/time";
import { trace } from "../model/trace";
import { amount, count, percent } from "../model/units";
import { Checks } from "../parts/checks";
import { Segments } from "../parts/segments";
import { useApp, type App } from "../state/context";
import { Popover } from "../parts/popover";
import { copy, fileName, pngOf, save, svgOf } from "../parts/export";
import { isComparing, shownTab } from "../state/view";
import { brief, labelWord, stateWord, threadName, typeWord } from "../words/words";

const SEARCH_MS = 120; // after the last key

export function Header({ onHelp }: { onHelp: () => void }) {
  const { model, sums, store, state } = useApp();
  const { types } = model.profile;
  const known = sums.types();
  const title = brief(clean(model.facts.title));
  return (
    <header class="header">
      <h1 title={title}>{title}</h1>
      <select aria-label="Sample type" value={state.selection.type} onChange={(event) => store.select({ type: Number(event.currentTarget.value) })}>
        {types.map((it, index) =>
          known.has(index) || index === state.selection.type ? (
            <option key={it.name} value={index}>
              {typeWord(it)}
            </option>
          ) : null,
        )}
      </select>
      {model.isTwoSided && !isComparing(shownTab(model, state)) && (
        <Segments label="Side" choices={(["before", "after"] as const).map((it) => [it === "before" ? "Before" : "After", state.selection.side === it, () => store.select({ side: it })])} />
      )}
      <Search />
      <Filters />
      <SaveMenu />
      <button class="opener" aria-label="Keys and help" title="Keys (?)" onClick={onHelp}>
        ?
      </button>
    </header>
  );
}

function Search() {
  const app = useApp();
  const { model, sums, store, state } = app;
  const { selection } = state;
  const fault = faultOf(selection.search);
  const input = useRef<HTMLInputElement>(null);
  const timer = useRef(0); // 0 while nothing is being typed
  useEffect(() => {
    // On a busy machine, the search of a part may be shown while the rest is being typed.
    if (timer.current === 0 && input.current!.value !== selection.search) input.current!.value = selection.search;
  }, [selection.search]);
  const typed = () => {
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      timer.current = 0;
      store.select({ search: input.current!.value }, "search");
    }, SEARCH_MS);
  };
  const isBoth = isComparing(shownTab(model, state));
  const sides = isBoth ? sums.foundOnSides(selection) : null;
  const found = sides ? sides.before + sides.after : selection.search === "" || isBoth ? null : sums.stacks(selection).found;
  return (
    <div class="search" role="search">
      <input
        ref={input}
        id="search"
        type="search"
        placeholder="Search functions"
        aria-label="Search functions with a regular expression"
        title="A regular expression (/)"
        autocomplete="off"
        aria-invalid={fault !== ""}
        spellcheck={false}
        onInput={typed}
        onKeyDown={(event) => {
          if (event.key !== "Escape") return;
          event.stopPropagation();
          event.preventDefault();
          if (input.current!.value === "") return input.current!.blur();
          input.current!.value = "";
          typed();
        }}
      />
      <output class={found === 0 ? "sum none" : "sum"} aria-live="polite">
        {found !== null && (sides && found > 0 ? `${percent(sides.before, 1)} before, ${percent(sides.after, 1)} after` : found > 0 ? foundText(app, found) : "no match")}
      </output>
      {fault !== "" && (
        <p class="fault" role="alert">
          Not a regular expression: {fault}. It is searched as text.
        </p>
      )}
    </div>
  );
}

/** Describes the matches of a search: `12.3%, 4 functions, 1.23 s`. */
function foundText({ model, sums, state: { selection, view } }: App, found: number): string {
  const functions = sums.found(selection, view.order).length;
  return `${percent(found, sums.total(selection))}, ${count(functions)} ${functions === 1 ? "function" : "functions"}, ${amount(model.type(selection), found)}`;
}

function Filters() {
  const { model, sums, store, state } = useApp();
  const { profile } = model;
  const { selection } = state;
  // The profiler's own labels are selected in the views of garbage collection and of memory, and in the groups.
  const labelNames = useMemo(() => labelsOf(profile).filter((it) => !OURS.has(it) || selection.labels.has(it)), [profile, selection.labels]);
  const weighed = (weights: Float64Array) => Array.from(weights.keys()).sort((one, other) => weights[other]! - weights[one]! || one - other);
  const asKeys = (chosen: ReadonlySet<number> | null) => chosen && new Set([...chosen].map(String));
  const asIndices = (keys: ReadonlySet<string> | null) => keys && new Set([...keys].map(Number));
  return (
    <div class="filters" role="group" aria-label="Filters">
      <Checks
        label="Threads"
        name="Threads"
        choices={() => weighed(sums.by(selection, "thread")).map((it) => ({ key: String(it), text: threadName(profile, it), weight: sums.by(selection, "thread")[it]! }))}
        chosen={asKeys(selection.threads)}
        onChange={(keys) => store.select({ threads: asIndices(keys) })}
      />
      {profile.states.length > 1 && (
        <Checks
          label="States"
          name="States"
          choices={() =>
            weighed(sums.by(selection, "state")).map((it) => ({
              key: String(it),
              text: stateWord(profile.states[it]!),
              weight: sums.by(selection, "state")[it]!,
              dot: `state-${profile.states[it]!}`,
            }))
          }
          chosen={asKeys(selection.states)}
          onChange={(keys) => store.select({ states: asIndices(keys) })}
        />
      )}
      {labelNames.map((name) => (
        <Checks
          key={name}
          label={labelWord(name)}
          name={labelWord(name)}
          choices={() => sums.byLabel(selection, name).map(([value, weight]) => ({ key: value, text: value === "" ? "(none)" : brief(clean(value)), weight }))}
          chosen={selection.labels.get(name) ?? null}
          onChange={(keys) => {
            const labels = new Map(selection.labels);
            if (keys) labels.set(name, keys);
            else labels.delete(name);
            store.select({ labels });
          }}
        />
      ))}
    </div>
  );
}

function SaveMenu() {
  const app = useApp();
  return (
    <Popover label="Save" name="Copy and save" kind="menu">
      {(close) =>
        actionsOf(app).map(({ text, run }) => (
          <button
            key={text}
            role="menuitem"
            onClick={() => {
              close();
              run();
            }}
          >
            {text}
          </button>
        ))
      }
    </Popover>
  );
}

/** Returns the actions that copy and save. */
function actionsOf(app: App): { text: string; run: () => void }[] {
  const { model, store, exported, file, say, compare } = app;
  const name = (extension: string) => fileName(model.facts.title, extension);
  const picture = exported.current?.picture() ?? null;
  const pictures = picture && [
    { text: "Save picture as SVG", run: () => save(svgOf(picture), name("svg")) },
    { text: "Save picture as PNG", run: () => void pngOf(picture).then((blob) => (blob ? save(blob, name("png")) : say("The picture is too large for a PNG."))) },
  ];
  return [
    { text: "Copy as text", run: () => copyText(app) },
    { text: "Copy address of this view", run: () => void copy(store.address()).then((done) => say(done ? "Copied the address." : "The browser did not allow it.")) },
    ...(pictures ?? []),
    ...(model.profile.timeline && model.type(app.state.selection).unit === "nanoseconds" ? [{ text: "Save as trace for Perfetto", run: () => saveTrace(app, name("trace.json")) }] : []),
    ...(compare ? [{ text: "Compare with a file…", run: compare }] : []),
    { text: "Save profile as .pb.gz", run: () => save(new Blob([file], { type: "application/gzip" }), name("pb.gz")) },
  ];
}

/** Saves the calls of the selected threads and time. */
function saveTrace({ model, sums, state }: App, name: string): void {
  const { selection } = state;
  const range = selection.range ?? { from: 0, to: spanOf(model.profile) };
  const weights = sums.by(selection, "thread");
  const threads = sums.threads(selection).filter((it) => weights[it]! > 0 && (selection.threads?.has(it) ?? true));
  const calls = threads.map((thread) => ({ thread, calls: sums.calls(selection, thread, range, range.to - range.from) }));
  save(new Blob(trace(model.profile, model.names, sums.stacks(selection).tree, calls), { type: "application/json" }), name);
}

/** Copies the view that is shown as text. */
export function copyText({ exported, say }: App): void {
  const text = exported.current?.text();
  if (text !== undefined) void copy(text).then((done) => say(done ? "Copied as text." : "The browser did not allow it."));
}
