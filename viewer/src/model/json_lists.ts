// The lists that a file stores as JSON besides its samples.

import type { MemoryRow, Requests } from "./profile";
import { FormatError } from "./protobuf";

export function checkedRequests(text: string): Requests[] {
  return listOf("requests", text).map((it: Partial<{ labels: Record<string, unknown>; count: number; total_ns: number; largest_ns: number }> | null) => ({
    labels: Object.entries(it?.labels ?? {}).map(([name, value]) => [name, String(value)] as const),
    count: Math.max(0, Number(it?.count) || 0),
    total: Math.max(0, Number(it?.total_ns) || 0),
    largest: Math.max(0, Number(it?.largest_ns) || 0),
  }));
}

interface StoredRow {
  at_ns: number;
  pid: number;
  rss: number;
  kinds: Record<string, unknown>;
  classes: ({ name?: unknown; bytes?: unknown } | null)[];
}

export function checkedMemory(text: string): MemoryRow[] {
  const number = (it: unknown) => Math.max(0, Number(it) || 0);
  return listOf("rows of memory", text).map((it: Partial<StoredRow> | null) => ({
    atMs: number(it?.at_ns) / 1e6,
    pid: number(it?.pid),
    rss: number(it?.rss),
    kinds: new Map(Object.entries(it?.kinds ?? {}).map(([kind, bytes]) => [kind, number(bytes)])),
    classes: new Map((Array.isArray(it?.classes) ? it.classes : []).map((row) => [String(row?.name), number(row?.bytes)])),
  }));
}

/** Parses a list in JSON; empty if there is no text. */
export function listOf(what: string, text: string): any[] {
  if (text === "") return [];
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    throw new FormatError(`the ${what} are not JSON`);
  }
  if (!Array.isArray(list)) throw new FormatError(`the ${what} are not a list`);
  return list;
}
