// The calls of the flame chart: where they end, where they continue, and as a trace.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import type { Facts } from "../src/model/facts";
import { Model } from "../src/model/model";
import { Names } from "../src/model/names";
import type { Marker, Profile } from "../src/model/profile";
import { allStacks } from "../src/model/stacks";
import { everything } from "../src/model/selection";
import { chart } from "../src/model/time";
import { AXIS, ChartPicture } from "../src/pictures/chart_picture";
import { Sums } from "../src/state/sums";
import { launch, Opened } from "./browser";
import { kept, recorded } from "./page";

const MS = 1e6;

/** A thread that runs `Worker#work` in ticks of a millisecond: the end of each, and the endpoint that it belongs to. */
function profileOf(ticks: readonly (readonly [ms: number, endpoint: string])[], markers: readonly Marker[] = []): Profile {
  const endpoints = [...new Set(ticks.map(([, endpoint]) => endpoint))];
  const count = endpoints.length;
  return {
    types: [{ name: "cpu", unit: "nanoseconds" }],
    defaultType: 0,
    startMs: 0,
    duration: 100 * MS,
    functions: { count: 1, name: ["Worker#work"], path: ["/w.rb"], firstLine: Int32Array.of(1) },
    frames: { count: 1, function: Uint32Array.of(0), line: Int32Array.of(1) },
    rows: {
      count,
      start: Uint32Array.from({ length: count + 1 }, (_, row) => row),
      frames: new Uint32Array(count),
      thread: new Uint32Array(count),
      state: new Uint8Array(count),
      labels: Uint32Array.from({ length: count }, (_, row) => row),
      weights: [Float64Array.from(endpoints, (endpoint) => ticks.filter((it) => it[1] === endpoint).length * MS)],
    },
    threads: [{ nativeId: 1, name: "main" }],
    states: ["running"],
    labelSets: endpoints.map((endpoint) => [["endpoint", endpoint], ["gc", "minor"]] as const),
    timeline: {
      count: ticks.length,
      dropped: 0,
      time: Float64Array.from(ticks, ([ms]) => ms * MS),
      row: Uint32Array.from(ticks, ([, endpoint]) => endpoints.indexOf(endpoint)),
      weights: [new Float64Array(ticks.length).fill(MS)],
    },
    markers,
    requests: [],
    memory: [],
  };
}

const facts = { origins: ["app"], classes: "a", packages: { names: [], of: [-1] }, paths: {}, header: [], type: "cpu", findings: [], loading: [], idle: { rows: [], threads: 0 } } as unknown as Facts;

/** The calls of the thread, in milliseconds. */
function calls(profile: Profile, gapMs: number): [from: number, to: number][] {
  const names = new Names(profile, facts);
  const rows = new Uint8Array(profile.rows.count).fill(1);
  const found = chart(profile, allStacks(profile, names), rows, 0, 0, { from: 0, to: profile.duration }, 1, gapMs * MS);
  return found.map((it) => [it.from / MS, it.to / MS]);
}

describe("a call in the flame chart", () => {
  it("goes on over a short time without a CPU, and ends at a longer one", () => {
    assert.deepEqual(calls(profileOf([[1, "a"], [2, "a"], [5, "a"], [30, "a"]]), 4), [[0, 5], [29, 30]]);
  });

  it("goes on over a time that is hardly wider than a pixel, however long that is", () => {
    const profile = profileOf([[1, "a"], [2, "a"], [28, "a"], [90, "a"]]);
    const sums = new Sums(new Model(profile, facts));
    const found = (columns: number) => sums.calls(everything(profile), 0, { from: 0, to: profile.duration }, columns).map((it) => [it.from / MS, it.to / MS]);
    assert.deepEqual(found(10), [[0, 28], [89, 90]]);
    assert.deepEqual(found(100), [[0, 2], [27, 28], [89, 90]]);
  });

  it("ends where the request changes", () => {
    assert.deepEqual(calls(profileOf([[1, "a"], [2, "a"], [3, "b"], [4, "b"]]), 4), [[0, 2], [2, 4]]);
  });

  it("ends where a marker of its thread ends, also between two requests to the same endpoint", () => {
    const marker = (from: number, to: number, thread = 0): Marker => ({ name: "GET /a", thread, start: from * MS, duration: (to - from) * MS });
    const ticks = [[1, "a"], [2, "a"], [3, "a"], [4, "a"]] as const;
    assert.deepEqual(calls(profileOf(ticks, [marker(0, 2), marker(2, 4)]), 4), [[0, 2], [2, 4]]);
    assert.deepEqual(calls(profileOf(ticks, [marker(0, 2, -1)]), 4), [[0, 4]]);
    assert.deepEqual(calls(profileOf(ticks, [marker(1, 2), marker(0, 3)]), 4), [[0, 3], [3, 4]], "not where one inside it begins or ends");
  });
});

describe("markers above the calls", () => {
  const marker = (name: string, from: number, to: number): Marker => ({ name, thread: 0, start: from * MS, duration: (to - from) * MS });

  it("stand below those that they are inside of, so that each can be read", () => {
    const markers = [marker("outer", 0, 90), marker("query", 10, 30), marker("row", 12, 20), marker("query", 40, 60), marker("next", 90, 100)];
    const profile = profileOf([[1, "a"]], markers);
    const names = new Names(profile, facts);
    const picture = new ChartPicture([{ thread: 0, name: "main", calls: [], markers }], allStacks(profile, names), names, {} as never, null, { from: 0, to: 100 * MS }, 1_000);
    const at = (ms: number, row: number) => picture.markerAt(ms * 10, AXIS + 20 + row * 16 + 4)?.name;
    assert.deepEqual([15, 50, 95].map((ms) => [0, 1, 2].map((row) => at(ms, row))), [["outer", "query", "row"], ["outer", "query", undefined], ["next", undefined, undefined]]);
  });
});

describe("the thread that the chart begins with", () => {
  it("is the one that worked most, not one that waited", async () => {
    const browser = await launch();
    const page = await kept("shop.pb.gz");
    await Opened.using(browser, page.htmlPath, async (opened) => {
      await opened.show("Flame chart");
      assert.match((await opened.tab.getByTitle("Threads of the chart").textContent())!, /^indexer/);
    });
    await browser.close();
  });
});

describe("the trace for Perfetto", () => {
  let browser: Browser;
  before(async () => void (browser = await launch()));
  after(() => browser.close());

  it("has the time of each thread in calls that lie inside of their callers, and the markers", async () => {
    const page = await recorded();
    const opened = await Opened.at(browser, page.htmlPath);
    await opened.tab.getByLabel("Sample type").selectOption({ label: "wall clock time" });
    await opened.tab.getByRole("button", { name: "Save" }).click();
    const [download] = await Promise.all([opened.tab.waitForEvent("download"), opened.tab.getByText("Save as trace for Perfetto").click()]);
    assert.match(download.suggestedFilename(), /\.trace\.json$/);
    const { traceEvents } = JSON.parse(readFileSync((await download.path())!, "utf8")) as { traceEvents: { ph: string; tid: number; name: string; ts: number; dur: number; args?: { name: string } }[] };
    const { profile } = page.model;
    const selection = { ...everything(profile), type: profile.types.findIndex((it) => it.name === "wall") };
    const weights = page.model.rowWeights(selection);
    let [outermost, measured] = [0, 0];
    for (const { tid } of traceEvents.filter((it) => it.ph === "M" && it.args!.name !== "markers")) {
      const own = traceEvents.filter((it) => it.ph === "X" && it.tid === tid);
      const open: number[] = [];
      for (const { ts, dur, name } of own.sort((one, other) => one.ts - other.ts || other.dur - one.dur)) {
        while (open.length > 0 && open.at(-1)! <= ts + 1e-3) open.pop();
        assert.ok(open.length === 0 || ts + dur <= open.at(-1)! + 1e-3, `${name} ends after its caller`);
        if (open.length === 0) outermost += dur * 1e3;
        open.push(ts + dur);
      }
      measured += weights.reduce((sum, weight, row) => sum + (profile.rows.thread[row] === tid - 1 ? weight : 0), 0);
    }
    // Times that overlap at their ends are cut.
    assert.ok(Math.abs(outermost / measured - 1) < 0.1, `${outermost} of ${measured}`);
    assert.equal(traceEvents.filter((it) => it.ph === "b" || it.ph === "i").length, profile.markers.length);
    assert.deepEqual(opened.wrong, []);
  });
});
