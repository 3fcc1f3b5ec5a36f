// The data of the GVL tab for a selection: the waits, their grouping, and the stacks of a cell.

import { eachWait, keysOf, matrix, UNKNOWN, WAITER, waiterName, waiters, waitsOf, type Chosen, type Keys, type Matrix, type Waits } from "../model/gvl";
import { OURS } from "../model/groups";
import type { Stacks } from "../model/model";
import { clean } from "../model/names";
import { exactly } from "../model/search";
import type { Range, Selection, Transform } from "../model/selection";
import type { App } from "./context";

export const FUNCTIONS = "functions";
export const THREADS = "threads";
const NOT_KNOWN = "(not known)";
const NOBODY = "(nobody)";
const NONE = "(none)";

/** The waits of a selection as a matrix, with their names. */
export interface GvlView {
  readonly waits: Waits;
  readonly chosen: Chosen;
  readonly keys: Keys;
  readonly matrix: Matrix;
}

/** A cell; an empty key means a whole line or a whole column. */
export interface Cell {
  readonly line: string;
  readonly column: string;
}

/** Returns the possible groupings of waits: functions, threads, and the labels of the app. */
export function groupings({ profile }: App["model"]): string[] {
  const names = new Set(profile.labelSets.flatMap((set) => set.map(([name]) => name)));
  return [FUNCTIONS, THREADS, ...[...names].filter((it) => !OURS.has(it))];
}

export function gvlView(app: App, by: string): GvlView {
  const { model, sums, state } = app;
  return sums.of(state.selection, `gvl ${by}`, () => {
    const waits = sums.once("waits", () => waitsOf(model.profile));
    const chosen = chosenOf(app, state.selection);
    const keys = sums.once(`gvl keys ${by} ${chosen.side} ${JSON.stringify(state.selection.transforms)}`, () => namesOf(app, waits, chosen, by));
    return { waits, chosen, keys, matrix: matrix(waits, chosen, keys) };
  });
}

/** Returns the chosen waits. A selection of blame is about what held the GVL, any other one about what waited. */
function chosenOf({ model }: App, selection: Selection): Chosen {
  const { types } = model.profile;
  const typeOf = (name: string) => types.findIndex((it) => it.name === name);
  const side = selection.type === typeOf("gvl_blame") || selection.labels.has(WAITER) ? "held" : "waited";
  const rows = model.rows({ ...selection, states: null, type: typeOf(side === "held" ? "gvl_blame" : "gvl_wait") });
  return { side, rows, range: selection.range, only: model.only(selection) };
}

function namesOf({ model, state }: App, waits: Waits, { side }: Chosen, by: string): Keys {
  const { profile, names } = model;
  const { rows, labelSets } = profile;
  if (by !== FUNCTIONS && by !== THREADS) {
    const values = labelSets.map((set) => clean(set.find(([name]) => name === by)?.[1] ?? "") || NONE);
    const valueOf = (row: number) => (row === UNKNOWN ? NOT_KNOWN : values[rows.labels[row]!]!);
    return keysOf(waits, (at) => valueOf(waits.waited[at]!), (at) => valueOf(waits.held[at]!));
  }
  const functions = (of: Chosen["side"]) => {
    const owners = model.owners(of === side ? state.selection.transforms : keepingAll(state.selection.transforms), "ruby");
    return (row: number) => (row === UNKNOWN || owners[row]! < 0 ? NOT_KNOWN : names.name(owners[row]!));
  };
  const held = functions("held");
  if (by === FUNCTIONS) {
    const waited = functions("waited");
    return keysOf(waits, (at) => waited(waits.waited[at]!), (at) => held(waits.held[at]!));
  }
  const byWaiter = waiters(profile).map((it) => clean(it) || NOT_KNOWN);
  const threads = profile.threads.map((_, at) => clean(waiterName(profile, at)));
  // If nobody held the GVL, the row has the thread that waited.
  const holder = (row: number) => (held(row) === NOBODY ? NOBODY : threads[rows.thread[row]!]!);
  return keysOf(waits, (at) => byWaiter[rows.labels[waits.held[at]!]!]!, (at) => holder(waits.held[at]!));
}

function keepingAll(transforms: readonly Transform[]): readonly Transform[] {
  return transforms.filter((it) => it.kind !== "focus" && it.kind !== "drop");
}

/** Returns the stacks that waited in a cell, and those that held the GVL meanwhile, both with the time of these waits. */
export function stacksOf(app: App, view: GvlView, by: string, cell: Cell): { waited: Stacks; held: Stacks } {
  const { model, sums, state } = app;
  return sums.of(state.selection, `gvl stacks ${by} ${cell.line}\n${cell.column}`, () => {
    const { waits, chosen, keys } = view;
    const [waited, held] = [new Float64Array(model.profile.rows.count), new Float64Array(model.profile.rows.count)];
    const [line, column] = [keys.lines.indexOf(cell.line), keys.columns.indexOf(cell.column)];
    eachWait(waits, chosen, (at) => {
      if ((cell.line !== "" && keys.line[at] !== line) || (cell.column !== "" && keys.column[at] !== column)) return;
      if (waits.waited[at] !== UNKNOWN) waited[waits.waited[at]!]! += waits.weight[at]!;
      held[waits.held[at]!]! += waits.weight[at]!;
    });
    const transforms = (side: Chosen["side"]) => (side === chosen.side ? state.selection.transforms : keepingAll(state.selection.transforms));
    return { waited: model.stacksOf(transforms("waited"), waited), held: model.stacksOf(transforms("held"), held) };
  });
}

/** Returns the weights of some columns over time, in `cells` cells. */
export function overTime(app: App, view: GvlView, by: string, columns: readonly string[], range: Range, cells: number): ReadonlyMap<string, Float64Array> {
  return app.sums.of(app.state.selection, `gvl time ${by} ${cells}`, () => {
    const { waits, chosen, keys } = view;
    const found = new Map(columns.map((it) => [it, new Float64Array(cells)]));
    const byColumn = keys.columns.map((it) => found.get(it));
    eachWait(waits, chosen, (at) => {
      const place = Math.floor(((waits.time[at]! - range.from) / (range.to - range.from)) * cells);
      const own = byColumn[keys.column[at]!];
      if (own && place >= 0) own[Math.min(cells - 1, place)]! += waits.weight[at]!;
    });
    return found;
  });
}

/** Returns the selection of one side of a cell. */
export function selectionOf(app: App, by: string, side: Chosen["side"], { line, column }: Cell): Selection {
  const { profile } = app.model;
  const { selection } = app.state;
  const type = profile.types.findIndex((it) => it.name === (side === "held" ? "gvl_blame" : "gvl_wait"));
  const base = { ...selection, type, states: null, search: "" };
  const key = side === "held" ? column : line;
  const labels = new Map(selection.labels);
  if (by === THREADS && side === "held" && line !== "") labels.set(WAITER, new Set([line]));
  if (key === "") return { ...base, labels };
  if (by === FUNCTIONS) return { ...base, labels, search: exactly(key) };
  if (by === THREADS) {
    const threads = profile.threads.flatMap((_, at) => (clean(waiterName(profile, at)) === key ? [at] : []));
    return { ...base, labels, threads: threads.length > 0 ? new Set(threads) : selection.threads };
  }
  return { ...base, labels: labels.set(by, new Set([key === NONE ? "" : key])) };
}
