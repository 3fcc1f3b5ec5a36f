// The model against the report of the same profile: every number is the same, for every sample type and selection.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";

import { fromFragment, toFragment } from "../src/model/fragment";
import { everything, weigh, type Selection } from "../src/model/selection";
import { chart } from "../src/model/time";
import { recorded, report, type Page } from "./page";

let page: Page;
before(async () => void (page = await recorded()));

const select = (changes: Partial<Selection>): Selection => ({ ...everything(page.model.profile), ...changes });
const typeOf = (name: string) => page.model.profile.types.findIndex((it) => it.name === name);
const functionOf = (name: string) => page.model.profile.functions.name.indexOf(name);

/** Self and total by name and place, as the page has them. */
function rows(selection: Selection): Map<string, [number, number]> {
  const { names, profile } = page.model;
  return new Map(
    page.model.top(selection, "self").map((it) => {
      const path = it.function < 0 ? "" : profile.functions.path[it.function];
      const line = it.function < 0 ? 0 : profile.functions.firstLine[it.function];
      return [`${names.name(it.function)} ${path}:${line}`, [it.self, it.total]];
    }),
  );
}

function reported(...options: string[]): Map<string, [number, number]> {
  return new Map(report(page.file, ...options).top.map((it) => [`${it.name} ${it.path}:${it.first_line}`, [it.self, it.total]]));
}

/** Both have the same rows. What weighs nothing in the report is in no page. */
function same(selection: Selection, ...options: string[]): void {
  const expected = reported(...options);
  assert.ok(expected.size > 0, "the report is empty");
  assert.deepEqual(sorted(rows(selection)), sorted(expected));
}

const sorted = <Value>(map: Map<string, Value>) => [...map].sort(([one], [other]) => (one < other ? -1 : 1));

describe("sums", () => {
  it("are those of the report, for every sample type", () => {
    const types = page.model.profile.types.map((it) => it.name);
    assert.ok(types.length >= 6, types.join(" "));
    for (const [type, name] of types.entries()) {
      const selection = select({ type, idle: "with" });
      if (page.model.total(selection) > 0) same(selection, "--type", name, "--idle");
    }
  });

  it("leave out idle waits as the report does", () => {
    assert.ok(page.facts.idle.rows.length > 0);
    same(select({ type: typeOf("wall") }), "--type", "wall");
    assert.notDeepEqual(rows(select({ type: typeOf("wall") })), rows(select({ type: typeOf("wall"), idle: "with" })));
  });

  it("are those of the report for some threads", () => {
    const threads = new Set(page.model.profile.threads.flatMap((it, index) => (/^worker [02]$/.test(it.name) ? [index] : [])));
    assert.equal(threads.size, 2);
    same(select({ type: typeOf("wall"), threads, idle: "with" }), "--type", "wall", "--idle", "--thread", "^worker [02]$");
  });

  it("are those of the report after each transform", () => {
    const type = typeOf("wall");
    const parse = functionOf("Order#parse");
    assert.ok(parse >= 0);
    same(select({ type, idle: "with", transforms: [{ kind: "merge", function: parse }] }), "--type", "wall", "--idle", "--hide", "^Order#parse$");
    same(select({ type, idle: "with", transforms: [{ kind: "drop", function: parse }] }), "--type", "wall", "--idle", "--ignore", "^Order#parse$");
    same(select({ type, idle: "with", transforms: [{ kind: "app" }] }), "--type", "wall", "--idle", "--app-only");
  });

  it("of a focus are those of the function and of what it calls", () => {
    const of = functionOf("Order#parse");
    const focused = select({ type: typeOf("cpu"), transforms: [{ kind: "focus", function: of }] });
    const [, total] = reported("--type", "cpu", "--focus", "^Order#parse$").get(key(of))!;
    assert.equal(page.model.total(focused), total);
    assert.deepEqual(rows(focused).get(key(of)), reported("--type", "cpu").get(key(of)));
  });

  it("are the same from the root, from the leaves, and of disjoint ranges of time", () => {
    for (const name of ["cpu", "wall", "alloc_objects"]) {
      const whole = select({ type: typeOf(name), idle: "with" });
      const down = page.model.stacks(whole);
      const up = page.model.stacks(whole, "up");
      assert.equal(down.weighed.total(0), up.weighed.total(0));
      const span = page.model.profile.timeline!.time.at(-1)!;
      const cuts = [-1, span / 7, span / 3, span / 2, span];
      const parts = cuts.slice(1).map((to, index) => page.model.total({ ...whole, range: { from: cuts[index]!, to } }));
      assert.equal(parts.reduce((one, other) => one + other), down.weighed.total(0), name);
    }
  });

  it("of a range are no longer than the range on each thread", () => {
    const { model } = page;
    const whole = select({ type: typeOf("wall"), idle: "with" });
    const { duration, threads } = model.profile;
    for (const [from, to] of [[0.31, 0.34], [0.5, 0.9], [0.7, 0.70001]].map((ends) => ends.map((it) => it * duration))) {
      const range = { from: from!, to: to! };
      const totals = threads.map((_, thread) => model.total({ ...whole, threads: new Set([thread]), range }));
      assert.ok(totals.some((it) => it > (to! - from!) * 0.9), "a thread that waits is in the range for all of it");
      // The first events of a thread can have begun before the profile.
      for (const total of totals) assert.ok(total <= (to! - from!) * 1.01 + 1, `${total} ns in ${to! - from!} ns`);
      const events = model.eventWeights({ ...whole, range })!;
      assert.equal(events.reduce((one, other) => one + other), totals.reduce((one, other) => one + other));
    }
  });

  it("of a range that is drawn are those of the range alone", () => {
    const { model } = page;
    const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
    let state = seed;
    const random = () => (state = (state * 48_271 + 11) % 2_147_483_647) / 2_147_483_647;
    for (const name of ["wall", "cpu", "alloc_objects"]) {
      let range = { from: 0, to: model.profile.duration / 2 };
      for (let step = 0; step < 100; step++) {
        const selection = select({ type: typeOf(name), range });
        assert.deepEqual(model.rowWeights(selection), weigh(model.profile, model.rows(selection), selection.type, range), `seed ${seed}, step ${step}`);
        const jump = random() < 0.1 ? 1 : 0.03;
        const [one, other] = [range.from, range.to].map((it) => Math.min(model.profile.duration, Math.max(0, it + (random() - 0.5) * jump * model.profile.duration)));
        range = { from: Math.min(one!, other!), to: Math.max(one!, other!) + 1 };
      }
    }
  });

  it("of a sandwich are the function's, on both sides", () => {
    const of = functionOf("Order#parse");
    const whole = select({ type: typeOf("cpu") });
    const total = rows(whole).get(key(of))![1];
    for (const direction of [{ callees: of }, { callers: of }]) {
      const { tree, weighed } = page.model.stacks(whole, direction);
      assert.equal(tree.functions[tree.firstChild[0]!], of);
      assert.equal(weighed.total(0), total);
    }
  });

  it("of a search are those of all stacks with such a function", () => {
    const selection = select({ type: typeOf("wall"), idle: "with", search: "^Order#(parse|total)$" });
    const expected = report(page.file, "--type", "wall", "--idle", "--focus", "^Order#(parse|total)$").top.reduce((sum, it) => sum + it.self, 0);
    assert.equal(page.model.stacks(selection).found, expected);
  });

  it("by state and by label add up to the whole", () => {
    const { model } = page;
    const whole = select({ type: typeOf("wall"), idle: "with" });
    const byState = model.profile.states.map((_, state) => model.total({ ...whole, states: new Set([state]) }));
    assert.ok(byState.filter((it) => it > 0).length >= 2);
    assert.equal(byState.reduce((one, other) => one + other), model.total(whole));
    const byEndpoint = ["orders#show", "orders#index", ""].map((value) => model.total({ ...whole, labels: new Map([["endpoint", new Set([value])]]) }));
    assert.ok(byEndpoint.every((it) => it > 0));
    assert.equal(byEndpoint.reduce((one, other) => one + other), model.total(whole));
  });

  it("of activity and of tracks over all time are the whole, to a rounding", () => {
    const { model } = page;
    for (const name of ["wall", "cpu", "alloc_space"]) {
      const whole = select({ type: typeOf(name), idle: "with" });
      const close = (sum: number) => assert.ok(Math.abs(sum / model.total(whole) - 1) < 1e-9, `${name}: ${sum}`);
      close(model.heat(whole, 200)!.cells.reduce((one, other) => one + other));
      close(model.tracks(whole, 300).reduce((sum, it) => sum + it.total, 0));
    }
  });
});

describe("transforms", () => {
  it("keep the sum where they leave no stack out", () => {
    const whole = select({ type: typeOf("wall"), idle: "with" });
    for (const kind of ["recursion", "gems", "app"] as const) {
      assert.equal(page.model.total({ ...whole, transforms: [{ kind }] }), page.model.total(whole), kind);
    }
  });

  it("leave no function twice on a stack without recursion", () => {
    const { tree } = page.model.stacks(select({ transforms: [{ kind: "recursion" }] }));
    assert.ok(tree.outermost.subarray(1).every((it) => it === 1));
    const before = page.model.stacks(select({})).tree;
    assert.ok(before.outermost.subarray(1).some((it) => it === 0), "the program has recursion");
  });
});

describe("a flame chart", () => {
  it("has the calls of a thread in the order of time, within the range", () => {
    const { model } = page;
    const thread = model.profile.threads.findIndex((it) => it.name === "worker 1");
    const range = { from: model.profile.duration * 0.2, to: model.profile.duration * 0.7 };
    const selection = select({ type: typeOf("wall"), idle: "with" });
    const least = (range.to - range.from) / 10_000;
    const calls = chart(model.profile, model.stacks(selection).tree, model.rows(selection), selection.type, thread, range, least / 2, least);
    assert.ok(calls.length > 20, `${calls.length}`);
    for (let depth = 0; depth < 4; depth++) {
      const row = calls.filter((it) => it.depth === depth);
      row.forEach((it, index) => assert.ok(it.from < it.to && (index === 0 || row[index - 1]!.to <= it.from + 1), "calls overlap"));
    }
  });
});

describe("a fragment", () => {
  it("brings back the selection that it was made of", () => {
    const { profile, names } = page.model;
    const selection = select({
      type: typeOf("cpu"),
      range: { from: 1_000, to: 5_000_000 },
      threads: new Set([0, 2]),
      states: new Set([1]),
      labels: new Map([["endpoint", new Set(["orders#show", ""])], ["a&b=c", new Set(["ü #"])]]),
      idle: "with",
      search: "a|b&c#",
      transforms: [{ kind: "app" }, { kind: "focus", function: functionOf("Order#parse") }, { kind: "recursion" }],
    });
    const text = toFragment(profile, names, selection, { view: "top" });
    assert.deepEqual(fromFragment(profile, names, text), { selection, view: { view: "top" } });
    assert.equal(toFragment(profile, names, everything(profile), {}), "");
    assert.equal(toFragment(profile, names, select({ labels: new Map([["a", new Set(["long".repeat(250_000)])]]) }), { view: "x".repeat(30_000) }), "");
    assert.deepEqual(fromFragment(profile, names, "type=x&from=9&to=1&thread=no&do=focus nobody&do=x").selection, everything(profile));
  });
});

function key(of: number): string {
  const { functions } = page.model.profile;
  return `${page.model.names.name(of)} ${functions.path[of]}:${functions.firstLine[of]}`;
}
