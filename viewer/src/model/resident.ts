// The resident memory over time, by kind: what a continuous session or a recording has noted.

import type { MemoryRow } from "./profile";

const WORDS: Readonly<Record<string, string>> = {
  main_arena: "malloc: main arena",
  thread_arenas: "malloc: arenas of threads",
  blocks: "malloc: large blocks",
  ruby_pages: "Ruby heap",
  main_stack: "stack of the main thread",
  thread_stacks: "stacks of threads",
  fiber_stacks: "stacks of fibers",
  jit: "code of a JIT",
  transient_heap: "Ruby's transient heap",
  library_data: "data of libraries",
  files: "code and files",
  shared: "shared memory",
  unnamed: "without a name",
};
const COLUMNS = 200;

/** Resident memory by the words for its kind, in spans of time. */
export interface Resident {
  readonly spans: readonly { readonly from: number; readonly to: number }[];
  readonly sums: readonly ReadonlyMap<string, number>[];
}

/** Returns the memory in spans of time: from one row to the next, or if there are many, or of several processes, equally long ones. */
export function resident(rows: readonly MemoryRow[]): Resident {
  const processes = new Map<number, MemoryRow[]>();
  for (const row of rows) processes.set(row.pid, [...(processes.get(row.pid) ?? []), row]);
  if (rows.length < 2) return { spans: [], sums: [] };
  const [begin, end] = [rows[0]!.atMs, rows.at(-1)!.atMs];
  const isPlain = processes.size === 1 && rows.length <= COLUMNS;
  const ends = isPlain ? rows.slice(1).map((it) => it.atMs) : Array.from({ length: COLUMNS }, (_, at) => begin + ((end - begin) * (at + 1)) / COLUMNS);
  const spans = ends.map((to, at) => ({ from: at === 0 ? begin : ends[at - 1]!, to }));
  const sums = spans.map(({ from, to }) => {
    const sum = new Map<string, number>();
    for (const own of processes.values()) {
      const row = own.filter((it) => it.atMs <= to).at(-1);
      if (row && own.at(-1)!.atMs >= from) add(sum, row);
    }
    return sum;
  });
  return { spans, sums };
}

/** Returns the memory of all processes at their last rows. */
export function lastResident(rows: readonly MemoryRow[]): Map<string, number> {
  const last = new Map(rows.map((it) => [it.pid, it]));
  const sum = new Map<string, number>();
  for (const row of last.values()) add(sum, row);
  return sum;
}

function add(sum: Map<string, number>, row: MemoryRow): void {
  for (const [kind, bytes] of row.kinds) {
    const word = Object.hasOwn(WORDS, kind) ? WORDS[kind]! : kind;
    if (bytes > 0) sum.set(word, (sum.get(word) ?? 0) + bytes);
  }
}
