// The selection that shows a finding.

import type { Finding } from "../model/facts";
import type { Model } from "../model/model";
import { clean } from "../model/names";
import { exactly } from "../model/search";
import { everything, type Selection } from "../model/selection";
import type { Sums } from "./sums";

/** The words of the states that each kind of finding is about. */
const STATES: Readonly<Record<string, readonly string[]>> = {
  waiting: ["waiting"],
  gvl: ["gvl"],
  gc: ["gc"],
  no_cpu: ["runnable"],
  blocked: ["blocked"],
};

/** Returns the selection of a finding; `null` for a finding about the whole profile. */
export function selectionOf(finding: Finding, model: Model, sums: Sums): Selection | null {
  const { profile } = model;
  const whole = everything(profile);
  const type = profile.types.findIndex((it) => it.name === finding.type);
  const selection = { ...whole, type: type < 0 ? whole.type : type };
  if (finding.kind === "idle") {
    const threads = sums.idleThreads();
    return { ...selection, idle: true, threads: threads.size > 0 ? threads : null };
  }
  if (finding.kind === "trust") return null;
  const search = finding.name === null ? "" : exactly(clean(finding.name));
  const blame = profile.types.findIndex((it) => it.name === "gvl_blame");
  // The finding names the function that held the GVL. It is not on the stacks of those that waited, but has their time as a
  // weight of its own.
  if (finding.kind === "gvl" && finding.name !== null && blame >= 0) return { ...whole, type: blame, search };
  const states = (STATES[finding.kind] ?? []).map((it) => profile.states.indexOf(it)).filter((it) => it >= 0);
  return { ...selection, states: states.length > 0 ? new Set(states) : null, search };
}

/** Returns whether a selection is that of a finding. */
export function isShown(selection: Selection, of: Selection): boolean {
  const same = (one: ReadonlySet<number> | null, other: ReadonlySet<number> | null) => [...(one ?? [])].join() === [...(other ?? [])].join();
  return selection.type === of.type && selection.search === of.search && selection.idle === of.idle && same(selection.states, of.states) && same(selection.threads, of.threads);
}
