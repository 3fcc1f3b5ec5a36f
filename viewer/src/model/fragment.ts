// The selection as the fragment of the page's address, so that a view can be shared. It contains names, not indices, which also
// hold for another profile of the same program.

import type { Names } from "./names";
import type { Profile } from "./profile";
import type { Within } from "./within";
import { everything, type Idle, type Selection, type Transform } from "./selection";

const SIMPLE = ["recursion", "gems", "app"] as const;
const OF_FUNCTION = ["focus", "drop", "merge"] as const;

/** The maximum number of characters of a name in an address: longer names are left out. */
export const MOST_LETTERS = 20_000;

/** Returns `#type=wall&from=100&to=200&thread=main&...`, without the `#`. Defaults are left out. */
export function toFragment(profile: Profile, names: Names, selection: Selection, view: Readonly<Record<string, string>>): string {
  const text = new URLSearchParams();
  const add = (name: string, value: string) => value.length <= MOST_LETTERS && text.append(name, value);
  for (const [name, value] of Object.entries(view)) add(name, value);
  if (selection.type !== profile.defaultType) add("type", profile.types[selection.type]!.name);
  if (selection.range) {
    add("from", String(Math.round(selection.range.from)));
    add("to", String(Math.round(selection.range.to)));
  }
  if (selection.against) add("against", `${Math.round(selection.against.from)} ${Math.round(selection.against.to)}`);
  if (selection.side !== "after") add("side", selection.side);
  for (const it of selection.threads ?? []) add("thread", `${profile.threads[it]!.nativeId} ${profile.threads[it]!.name}`);
  for (const it of selection.states ?? []) add("state", profile.states[it]!);
  for (const [name, values] of selection.labels) for (const value of values) add(`label.${name}`, value);
  if (selection.within) add("within", `${Math.round(selection.within.least)} ${selection.within.marker}`);
  if (selection.idle !== "without") add("idle", selection.idle === "only" ? "only" : "1");
  if (selection.loading) add("loading", "1");
  if (selection.search) add("search", selection.search);
  for (const it of selection.transforms) add("do", "function" in it ? `${it.kind} ${names.key(it.function)}` : it.kind);
  return text.toString();
}

/** Restores the selection and the view of a fragment. Anything that the profile lacks is left out. */
export function fromFragment(profile: Profile, names: Names, fragment: string): { selection: Selection; view: Record<string, string> } {
  const text = new URLSearchParams(fragment);
  const whole = everything(profile);
  const type = profile.types.findIndex((it) => it.name === text.get("type"));
  const rangeOf = (from = NaN, to = NaN) => (from >= 0 && to > from && profile.timeline ? { from, to } : null);
  const range = rangeOf(Number(text.get("from") ?? NaN), Number(text.get("to") ?? NaN));
  const threads = indices(text.getAll("thread"), profile.threads.map((it) => `${it.nativeId} ${it.name}`));
  const states = indices(text.getAll("state"), profile.states);
  const labels = new Map<string, Set<string>>();
  const view: Record<string, string> = {};
  for (const [name, value] of text) {
    if (name.startsWith("label.")) labels.set(name.slice(6), (labels.get(name.slice(6)) ?? new Set()).add(value));
    else if (name.startsWith("view")) view[name] = value;
  }
  const selection = {
    ...whole,
    type: type < 0 ? whole.type : type,
    range,
    against: range && rangeOf(...(text.get("against") ?? "").split(" ").map(Number)),
    side: text.get("side") === "before" ? ("before" as const) : ("after" as const),
    threads,
    states,
    labels,
    within: withinOf(text.get("within"), profile),
    idle: idleOf(text.get("idle")),
    loading: text.get("loading") === "1",
    search: text.get("search") ?? "",
    transforms: text.getAll("do").flatMap((it) => transformOf(it, names)),
  };
  return { selection, view };
}

function idleOf(text: string | null): Idle {
  return text === "1" ? "with" : text === "only" ? "only" : "without";
}

function transformOf(text: string, names: Names): Transform[] {
  const simple = SIMPLE.find((it) => it === text);
  if (simple) return [{ kind: simple }];
  const kind = OF_FUNCTION.find((it) => text.startsWith(`${it} `));
  if (!kind) return [];
  const key = text.slice(kind.length + 1);
  const of = names.withKeys(new Set([key])).get(key);
  return of === undefined ? [] : [{ kind, function: of }];
}

function withinOf(text: string | null, { timeline, markers }: Profile): Within | null {
  const [, least, marker] = /^(\d+) ([^]*)$/.exec(text ?? "") ?? [];
  return marker !== undefined && timeline && markers.some((it) => it.name === marker) ? { marker, least: Number(least) } : null;
}

function indices(wanted: string[], all: readonly string[]): Set<number> | null {
  const found = wanted.map((it) => all.indexOf(it)).filter((it) => it >= 0);
  return found.length === 0 ? null : new Set(found);
}
