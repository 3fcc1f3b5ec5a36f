// The resident memory over time: spans between rows, and several processes together.

import assert from "node:assert/strict";
import { test } from "node:test";
import { checkedMemory } from "../src/model/json_lists";
import { lastResident, resident } from "../src/model/resident";

const row = (at: number, pid: number, heap: number) => ({ at_ns: at * 1e6, pid, rss: heap + 5, kinds: { main_arena: heap, files: 5 }, classes: [{ name: "Order", objects: 2, bytes: 80 }] });
const read = (rows: unknown[]) => checkedMemory(JSON.stringify(rows));

test("rows of one process make a span each", () => {
  const rows = read([row(1_000, 7, 10), row(2_000, 7, 20), row(4_000, 7, 15)]);
  assert.deepEqual(rows[0]!.classes, new Map([["Order", 80]]));
  const { spans, sums } = resident(rows);
  assert.deepEqual(spans, [{ from: 1_000, to: 2_000 }, { from: 2_000, to: 4_000 }]);
  assert.deepEqual(sums.map((it) => it.get("malloc: main arena")), [20, 15]);
  assert.deepEqual(lastResident(rows), new Map([["malloc: main arena", 15], ["code and files", 5]]));
});

test("processes add up while they live", () => {
  const rows = read([row(0, 7, 10), row(10_000, 8, 100), row(50_000, 7, 20), row(100_000, 8, 100)]);
  const { spans, sums } = resident(rows);
  const at = (ms: number) => sums[spans.findIndex((it) => it.from <= ms && ms < it.to)]!.get("malloc: main arena");
  assert.deepEqual([at(5_000), at(30_000), at(49_900), at(80_000)], [10, 110, 120, 100]);
  assert.equal(lastResident(rows).get("malloc: main arena"), 120);
});

test("damaged rows are refused or read as zero", () => {
  assert.throws(() => checkedMemory("{}"), /rows of memory are not a list/);
  assert.deepEqual(read([null, { kinds: null, classes: 7, rss: -4 }]).map((it) => it.rss), [0, 0]);
  assert.deepEqual(resident(read([row(1, 2, 3)])), { spans: [], sums: [] });
});
