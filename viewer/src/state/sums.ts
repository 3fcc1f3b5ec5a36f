// Data that several views need from the model for the same selection, computed once.

import { Cache } from "../model/cache";
import type { Change, Comparison } from "../model/comparison";
import type { Direction, Model, Stacks } from "../model/model";
import { expression, matches, weightUnder } from "../model/search";
import { everything, type Range, type Selection, type Transform } from "../model/selection";
import { chart, type Call, type Heat, type Lit, type Track } from "../model/time";
import type { TopOrder, TopRow } from "../model/top";
import type { Weighed } from "../model/tree";
import { Lanes } from "./lanes";

const IDLE_SHARE = 0.95; // of its wall clock time, from which a thread is idle

const JOINED = 3; // px; calls that are closer are drawn as one, or a chart of a long time would be of stripes
const NEAR_MS = 20; // the longest such time
const NEAR = 4; // ticks of a thread that had no CPU, between two samples of the same call

const MOST_KEPT = 6; // selections, as the sums of one can take many megabytes

/** Activity over time, and whether it omits waiting. */
export interface Activity extends Heat {
  readonly awake: boolean;
}

/** The sums of the last few selections. */
export class Sums {
  /** The sums by selection, or by the rows that it selects. */
  private readonly cache = new Cache(MOST_KEPT);
  private readonly lanes: Lanes;

  constructor(private readonly model: Model) {
    this.lanes = new Lanes(model.profile);
  }

  stacks(selection: Selection, direction: Direction = "down"): Stacks {
    return this.kept(selection, `stacks ${JSON.stringify(direction)}`, () => this.model.stacks(selection, direction));
  }

  /** Returns the two sides of the selection. */
  comparison(selection: Selection, absolute: boolean, direction: Direction = "down"): Comparison {
    return this.kept(selection, `comparison ${absolute} ${JSON.stringify(direction)}`, () => this.model.comparison(selection, absolute, direction));
  }

  /** Returns whether each function matches the search; `null` without a search. */
  matches(selection: Selection): Uint8Array | null {
    const search = expression(selection.search);
    return search && this.kept(selection, "matches", () => matches(search, this.model.names));
  }

  /** Returns the shares of the matches on both sides; `null` without a search. */
  foundOnSides(selection: Selection): { before: number; after: number } | null {
    const functions = this.matches(selection);
    return functions && this.kept(selection, "found on sides", () => {
      const { tree, before, after } = this.comparison(selection, false);
      const matched = Uint8Array.from({ length: tree.count }, (_, node) => (node === 0 ? 0 : functions[tree.functions[node]!]!));
      return { before: weightUnder(before, matched), after: weightUnder(after, matched) };
    });
  }

  /** Returns the functions of both sides. */
  changes(selection: Selection, total: boolean, absolute: boolean): Change[] {
    return this.kept(selection, `changes ${total} ${absolute}`, () => this.model.changes(selection, total, absolute));
  }

  /** Returns the numbers of samples in the nodes of the same tree; `null` if the profile does not count them. */
  counts(selection: Selection, direction: Direction = "down"): Weighed | null {
    return this.kept(selection, `counts ${JSON.stringify(direction)}`, () => this.model.counts(selection, direction));
  }

  total(selection: Selection): number {
    return this.kept(selection, "total", () => this.model.total(selection));
  }

  /** Returns everything that was measured in a sample type, without the waits of idle threads unless they are selected; of one side if there are two. */
  whole({ type, side, idle }: Selection): number {
    const included = idle === "without" ? idle : "with";
    return this.kept(this, `whole ${type} ${side} ${included}`, () => this.model.total({ ...everything(this.model.profile), type, side, idle: included }));
  }

  samples(selection: Selection): number {
    return this.kept(selection, "samples", () => this.model.samples(selection));
  }

  top(selection: Selection, order: TopOrder): TopRow[] {
    return this.kept(selection, `top ${order}`, () => this.model.top(selection, order));
  }

  /** Returns the functions that the search matches; all of them without a search. */
  found(selection: Selection, order: TopOrder): TopRow[] {
    const matched = this.matches(selection);
    const rows = this.top(selection, order);
    return matched ? this.kept(selection, `found ${order}`, () => rows.filter((it) => matched[it.function] === 1)) : rows;
  }

  /**
   * Returns the activity over all time, without waiting if there is any other. A change of the range alone does not affect it.
   */
  heat(selection: Selection, most: number): Activity | null {
    const chosen = { ...selection, search: "", transforms: leavingOut(selection.transforms) };
    const awake = { ...chosen, states: this.awake(selection) };
    return this.kept(this.model.rows(awake), `heat ${most} ${JSON.stringify(selection.within)}`, () => {
      const heat = this.model.heat(awake, most);
      if (heat && heat.largest > 0) return { ...heat, awake: awake.states !== selection.states };
      const all = this.model.heat(chosen, most);
      return all && { ...all, awake: false };
    });
  }

  /** Returns the cells of time with matches of the search, in the same form; `null` without a search. */
  lit(selection: Selection, most: number): Lit | null {
    if (selection.search === "") return null;
    return this.kept(this.model.rows(selection), `lit ${most} ${selection.search} ${JSON.stringify(selection.within)}`, () => {
      const cells = this.model.heat(selection, most)?.lit;
      return cells ? { cells, largest: cells.reduce((one, other) => Math.max(one, other), 0) } : null;
    });
  }

  /** Returns the states other than waiting, if wall clock time of all states is selected. */
  private awake(selection: Selection): ReadonlySet<number> | null {
    const { states } = this.model.profile;
    if (selection.states || this.model.type(selection).name !== "wall") return selection.states;
    return new Set(states.map((_, state) => state).filter((it) => states[it] !== "waiting"));
  }

  /** Returns all threads over time, chosen or not, in the sample type that shows most about their states. */
  tracks(selection: Selection, columns: number): Track[] {
    const all = { ...selection, threads: null, idle: "with" as const, type: this.clock(selection), transforms: leavingOut(selection.transforms) };
    return this.kept(this.model.rows(all), `tracks ${columns}`, () => this.model.tracks(all, columns));
  }

  /** Returns the calls of a thread in chronological order, for a picture with `columns` columns of one screen pixel each. */
  calls(selection: Selection, thread: number, range: Range, columns: number): Call[] {
    const { tree } = this.stacks(selection);
    const least = (range.to - range.from) / columns;
    const profile = this.lanes.part(thread, selection.type, range, this.model.only(selection));
    return chart(profile, tree, this.model.rows(selection), selection.type, thread, range, least, Math.max(JOINED * least, Math.min(NEAR_MS * 1e6, this.lanes.tick(thread, selection.type) * NEAR)));
  }

  /** Returns the sample types that have any weight: before Ruby 3.3, those of the GVL have none. */
  types(): ReadonlySet<number> {
    return this.kept(this, "types", () => new Set(this.model.profile.rows.weights.flatMap((it, type) => (it.some((weight) => weight > 0) ? [type] : []))));
  }

  /** Returns the sample type of tracks: wall clock time instead of CPU time, if it was measured. */
  clock(selection: Selection): number {
    const { types } = this.model.profile;
    const wall = types.findIndex((it) => it.name === "wall");
    return wall >= 0 && types[selection.type]!.unit === "nanoseconds" ? wall : selection.type;
  }

  /** Returns the threads with any weight, the heaviest first, whatever is selected of them. */
  threads(selection: Selection): number[] {
    const type = this.clock(selection);
    return this.kept(this, `order ${type}`, () => {
      const { rows, threads } = this.model.profile;
      const weights = new Float64Array(threads.length);
      rows.weights[type]!.forEach((weight, row) => (weights[rows.thread[row]!]! += weight));
      return [...weights.keys()].filter((it) => weights[it]! > 0).sort((one, other) => weights[other]! - weights[one]! || one - other);
    });
  }

  /** Returns the weight of each thread or state under the selection, including those that are not chosen. */
  by(selection: Selection, what: "thread" | "state"): Float64Array {
    return this.kept(selection, what, () => {
      const { rows, threads, states } = this.model.profile;
      const all = this.model.rowWeights({ ...selection, ...(what === "thread" ? { threads: null } : { states: null }) });
      const weights = new Float64Array((what === "thread" ? threads : states).length);
      for (let row = 0; row < all.length; row++) weights[rows[what][row]!]! += all[row]!;
      return weights;
    });
  }

  /** Returns the weight of each thread without its waits, if there is any other weight. */
  work(selection: Selection): Float64Array {
    return this.kept(selection, "work", () => {
      const { states, rows, threads } = this.model.profile;
      const waits = states.map((it) => it === "waiting" || it === "gvl");
      const weights = new Float64Array(threads.length);
      this.model.rowWeights({ ...selection, threads: null }).forEach((weight, row) => (weights[rows.thread[row]!]! += waits[rows.state[row]!] ? 0 : weight));
      return weights.some((it) => it > 0) ? weights : this.by(selection, "thread");
    });
  }

  /** Returns the values of a label with their weights, the largest first, including those that are not chosen. */
  byLabel(selection: Selection, name: string): [value: string, weight: number][] {
    return this.kept(selection, `label ${name}`, () => {
      const { profile } = this.model;
      const labels = new Map(selection.labels);
      labels.delete(name);
      const rows = this.model.rowWeights({ ...selection, labels });
      const sets = new Float64Array(profile.labelSets.length);
      for (let row = 0; row < rows.length; row++) sets[profile.rows.labels[row]!]! += rows[row]!;
      const values = new Map<string, number>();
      profile.labelSets.forEach((set, at) => {
        const own = set.filter(([it]) => it === name).map(([, value]) => value);
        for (const value of own.length > 0 ? own : [""]) values.set(value, (values.get(value) ?? 0) + sets[at]!);
      });
      return [...values].sort((one, other) => other[1] - one[1]);
    });
  }

  /** Returns the functions that findings would name, the app's before others, by their weight in the selection. */
  hottest(selection: Selection): { readonly function: number; readonly weight: number }[] {
    const { model } = this;
    return this.kept(selection, "hottest", () => {
      const transforms = selection.transforms;
      const sites = model.owners(transforms, "site");
      const weights = new Map<number, number>();
      model.rowWeights(selection).forEach((weight, row) => weight > 0 && sites[row]! >= 0 && weights.set(sites[row]!, (weights.get(sites[row]!) ?? 0) + weight));
      return Array.from(weights, ([of, weight]) => ({ function: of, weight })).sort((one, other) => other.weight - one.weight || one.function - other.function);
    });
  }

  /** Returns the gems and libraries in which most time was spent, the heaviest first, without those of the app. */
  gems(most: number): string[] {
    const { model } = this;
    const weights = new Map<string, number>();
    const sites = model.owners([], "code");
    model.rowWeights(everything(model.profile)).forEach((weight, row) => {
      const name = sites[row]! < 0 || model.names.isOwn(sites[row]!) ? "" : model.names.package(sites[row]!);
      if (weight > 0 && name !== "" && name !== model.facts.tool) weights.set(name, (weights.get(name) ?? 0) + weight);
    });
    return [...weights].sort((one, other) => other[1] - one[1]).slice(0, most).map(([name]) => name);
  }

  /** Returns the threads that were idle nearly all of their time. */
  idleThreads(): ReadonlySet<number> {
    return this.kept(this, "idle", () => this.findIdle());
  }

  private findIdle(): ReadonlySet<number> {
    const { profile, facts } = this.model;
    const wall = profile.types.findIndex((it) => it.name === "wall");
    if (wall < 0 || facts.idle.rows.length === 0) return new Set();
    const column = profile.rows.weights[wall]!;
    const all = new Float64Array(profile.threads.length);
    const idle = new Float64Array(profile.threads.length);
    column.forEach((weight, row) => (all[profile.rows.thread[row]!]! += weight));
    for (const row of facts.idle.rows) idle[profile.rows.thread[row]!]! += column[row]!;
    return new Set(profile.threads.map((_, thread) => thread).filter((it) => idle[it]! > 0 && idle[it]! >= all[it]! * IDLE_SHARE));
  }

  /** Returns any other data that a view needs for a selection, cached under a name of its own. */
  of<Value>(selection: Selection, name: string, compute: () => Value): Value {
    return this.kept(selection, `own ${name}`, compute);
  }

  /** Returns such data for the whole profile. */
  once<Value>(name: string, compute: () => Value): Value {
    return this.kept(this, `own ${name}`, compute);
  }

  private kept<Value>(of: object, name: string, compute: () => Value): Value {
    return this.cache.of(of, name, compute);
  }
}

/** Returns the transforms up to the last one that leaves stacks out: those after it select the same rows. */
function leavingOut(transforms: readonly Transform[]): readonly Transform[] {
  return transforms.slice(0, transforms.findLastIndex((it) => it.kind === "focus" || it.kind === "drop") + 1);
}
