// The calls of threads as a Chrome trace, which Perfetto and speedscope open.

import { clean, type Names } from "./names";
import type { Profile } from "./profile";
import type { Call } from "./time";
import type { Tree } from "./tree";

/** The calls of one thread in chronological order. */
export interface ThreadCalls {
  readonly thread: number;
  readonly calls: readonly Call[];
}

const US = 1e3; // ns

/**
 * Returns the trace as JSON, in pieces. A call is what neighbouring samples have in common, so its begin and its end are those
 * of samples. Markers have a line of their own.
 */
export function trace(profile: Profile, names: Names, tree: Tree, threads: readonly ThreadCalls[]): string[] {
  const pieces = ['{"displayTimeUnit":"ms","traceEvents":[\n'];
  const add = (event: object) => pieces.push(`${pieces.length > 1 ? ",\n" : ""}${JSON.stringify({ pid: 1, ...event })}`);
  for (const { thread, calls } of threads) {
    const { name, nativeId } = profile.threads[thread]!;
    add({ ph: "M", name: "thread_name", tid: thread + 1, args: { name: clean(name) || `thread ${nativeId}` } });
    for (const { node, from, to } of calls) {
      const of = tree.functions[node]!;
      const place = names.place(of);
      add({ ph: "X", name: names.name(of), cat: names.isLeaf(of) ? "state" : names.package(of) || names.origin(of), tid: thread + 1, ts: from / US, dur: (to - from) / US, ...(place === "" ? {} : { args: { place } }) });
    }
  }
  const marked = Math.max(0, ...threads.map((it) => it.thread)) + 2;
  if (profile.markers.length > 0) add({ ph: "M", name: "thread_name", tid: marked, args: { name: "markers" } });
  for (const { name, start, duration } of profile.markers) {
    // Markers of several threads overlap, which complete events of one line must not.
    if (duration > 0) {
      const id = pieces.length;
      add({ ph: "b", id, name: clean(name), cat: "marker", tid: marked, ts: start / US });
      add({ ph: "e", id, name: clean(name), cat: "marker", tid: marked, ts: (start + duration) / US });
    } else add({ ph: "i", s: "t", name: clean(name), cat: "marker", tid: marked, ts: start / US });
  }
  pieces.push("\n]}\n");
  return pieces;
}
