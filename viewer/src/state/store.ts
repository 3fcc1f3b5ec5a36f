// The state of the page: the selection and how it is shown, its history, and the address that expresses it.

import { fromFragment, toFragment } from "../model/fragment";
import type { Model } from "../model/model";
import { everything, type Selection } from "../model/selection";
import { FIRST_VIEW, fromWords, toWords, type State, type View } from "./view";

const MOST_KEPT = 200;
const ONE_CHANGE_MS = 1500; // changes of the same thing within this time are undone as one
const ADDRESS_MS = 250; // browsers refuse more than a few changes of the address per second

export class Store {
  state: State;
  private past: State[] = [];
  private future: State[] = [];
  private last = { of: "", at: 0 };
  private timer = 0;
  private fragment = "";
  private readonly listeners = new Set<() => void>();

  /** Creates a store. @param prefix words of the address that stay as they are */
  constructor(
    private readonly model: Model,
    private readonly prefix = "",
  ) {
    this.state = this.ofAddress();
    addEventListener("hashchange", this.moved);
  }

  /** Stops listening and cancels the timer. */
  close(): void {
    removeEventListener("hashchange", this.moved);
    clearTimeout(this.timer);
  }

  private readonly moved = (): void => {
    const fragment = location.hash.slice(1);
    if (fragment === this.fragment || !fragment.startsWith(this.prefix)) return;
    this.fragment = fragment;
    this.put(this.ofAddress(), "");
  };

  /** Calls `listener` after each change; returns a function that stops it. */
  watch(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Changes the selection. Consecutive changes with the same `of` within a short time are undone together. */
  select(change: Partial<Selection>, of = ""): void {
    this.put({ ...this.state, selection: { ...this.state.selection, ...change } }, of);
  }

  show(change: Partial<View>, of = ""): void {
    this.put({ ...this.state, view: { ...this.state.view, ...change } }, of);
  }

  /** Notes a choice in a tab. */
  pick(name: string, value: string): void {
    this.show({ picks: { ...this.state.view.picks, [name]: value } });
  }

  put(state: State, of: string): void {
    const now = performance.now();
    const same = of !== "" && of === this.last.of && now - this.last.at < ONE_CHANGE_MS;
    this.last = { of, at: now };
    if (!same) this.past = [...this.past.slice(1 - MOST_KEPT), this.state];
    this.future = [];
    this.turnTo(state);
  }

  /** Resets everything, as in a new page. */
  reset(): void {
    this.put({ selection: everything(this.model.profile), view: { ...FIRST_VIEW, tab: this.state.view.tab } }, "");
  }

  get canUndo(): boolean {
    return this.past.length > 0;
  }

  get canRedo(): boolean {
    return this.future.length > 0;
  }

  undo(): void {
    this.step(this.past, this.future);
  }

  redo(): void {
    this.step(this.future, this.past);
  }

  /** Takes the last state of one list, and adds the current one to the other. */
  private step(from: State[], to: State[]): void {
    const state = from.pop();
    if (!state) return;
    to.push(this.state);
    this.last.of = "";
    this.turnTo(state);
  }

  /** Returns the address of what is shown. */
  address(): string {
    return `${location.href.split("#")[0]}#${this.words()}`;
  }

  private turnTo(state: State): void {
    this.state = state;
    for (const listener of this.listeners) listener();
    if (this.timer === 0) this.timer = window.setTimeout(() => this.write(), ADDRESS_MS);
  }

  private write(): void {
    this.timer = 0;
    this.fragment = this.words();
    try {
      history.replaceState(null, "", `#${this.fragment}`);
    } catch {
      // A frame without an origin has no address to write to.
    }
  }

  private words(): string {
    const { profile, names } = this.model;
    const words = toFragment(profile, names, this.state.selection, toWords(this.state.view, this.model));
    return [this.prefix, words].filter((it) => it !== "").join("&");
  }

  private ofAddress(): State {
    const { profile, names } = this.model;
    const { selection, view } = fromFragment(profile, names, location.hash.slice(1));
    return { selection, view: fromWords(view, this.model) };
  }
}
