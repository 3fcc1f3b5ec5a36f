// The page of a directory: each cell is what `profiler report` says of the file, and opens it.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { grid } from "../src/model/days";
import { HEAP, kindsOf, layers, NONE, sumsOf } from "../src/model/over_time";
import { amount, percent } from "../src/model/units";
import { delta, ratio, value } from "../src/compare/difference_words";
import { launch, Opened } from "./browser";
import { by, diff, directory, recorded, report, versions, type TwoSided, said } from "./page";

const MINUTE = 60_000;
const CPU = { name: "cpu", unit: "nanoseconds" };

let browser: Browser;
let sides: TwoSided;
before(async () => {
  sides = await versions();
  browser = await launch();
});
after(() => browser.close());

describe("the grid of a process", () => {
  const utc = (ms: number) => ms;
  const process = (cells: readonly (readonly [number, number, number, number])[]) => ({ pid: 1, program: "", cells });

  it("has a file of a minute in one cell, and spreads a longer one", () => {
    const start = Date.UTC(2026, 10, 26, 3);
    const map = grid(process([[start + 3, start + MINUTE + 3, 500, 0], [start + MINUTE + 4, start + 2 * MINUTE + 1, 700, 1], [start + 10 * MINUTE, start + 20 * MINUTE, 1000, 2]]), utc);
    assert.deepEqual([map.rows, map.columns, map.first], [1, 20, start], "it ends with the data");
    assert.deepEqual([...map.cells.slice(0, 3)], [500, 700, -1]);
    assert.deepEqual([...map.cells.slice(10, 20)], Array.from({ length: 10 }, () => 100));
    assert.deepEqual([map.part[0], map.part[1], map.part[2], map.part[19]], [0, 1, -1, 2]);
    assert.equal(map.total, 2200);
  });

  it("has a row for each day, if it is more than two", () => {
    const start = Date.UTC(2026, 10, 26, 3);
    const map = grid(process(Array.from({ length: 80 }, (_, hour) => [start + hour * 60 * MINUTE, start + (hour * 60 + 1) * MINUTE, 1, hour])), utc);
    assert.deepEqual([map.rows, map.columns, map.cellMs], [4, 288, 5 * MINUTE]);
    assert.equal(map.cells.filter((it) => it > 0).length, 80);
  });

  it("opens the busiest of several periods in a cell, and counts them", () => {
    const start = Date.UTC(2026, 10, 26, 3);
    const seconds = [500, 900, 100].map((weight, at) => [start + at * 10_000, start + (at + 1) * 10_000, weight, at] as const);
    const minutes = [7, 7, 7, 7].map((weight, at) => [start + (at + 1) * MINUTE, start + (at + 2) * MINUTE, weight, at + 3] as const);
    const map = grid(process([...seconds, ...minutes]), utc);
    assert.deepEqual([map.cells[0], map.part[0], map.parts[0]], [1500, 1, 3]);
    assert.deepEqual([map.cells[1], map.part[1], map.parts[1], map.parts[5]], [7, 3, 1, 0]);
  });

  it("has cells of seconds for periods shorter than a minute, as far as there is room for them", () => {
    const start = Date.UTC(2026, 10, 26, 3);
    const ofSeconds = (seconds: number, files: number) => grid(process(Array.from({ length: files }, (_, at) => [start + at * seconds * 1000, start + (at + 1) * seconds * 1000, 1, at])), utc);
    const short = ofSeconds(5, 6);
    assert.deepEqual([short.cellMs, short.rows, [...short.part.slice(0, 6)]], [5_000, 1, [0, 1, 2, 3, 4, 5]]);
    assert.equal(ofSeconds(20, 9).cellMs, 15_000);
    const long = ofSeconds(5, 1440);
    assert.deepEqual([long.cellMs, long.columns, long.rows], [10_000, 360, 2]);
  });

  it("is empty without files", () => assert.equal(grid(process([]), utc).rows, 0));
});

describe("the page of a directory", () => {
  it("shows each period as the report does, opens it, and compares two", async () => {
    const { files, htmlPath } = directory(sides, 6);
    const opened = await Opened.at(browser, htmlPath, "", { timezoneId: "UTC" });
    const map = opened.tab.getByRole("application", { name: /arrow keys walk/ });
    const { width } = (await map.boundingBox())!;
    const at = (minute: number) => ({ x: 96 + ((width - 96) * (minute + 0.5)) / 10, y: 8 });
    for (const [minute, file] of files.entries()) {
      await map.hover({ position: at(minute) });
      const all = report(file).top.reduce((sum, it) => sum + it.self, 0);
      const text = (await opened.tab.locator(".tip").textContent())!;
      assert.ok(text.includes(`CPU time${amount(CPU, all)}`) && text.includes(`of a CPU${percent(all, 60e9)}`), text);
    }

    const { findings } = JSON.parse(said("report", files[5]!, "--json")) as { findings: { text: string; kind: string }[] };
    await opened.tab.locator(".tip-place").waitFor();
    assert.ok((await opened.tab.locator(".tip-place").textContent())!.endsWith(findings.find((it) => it.kind !== "trust")!.text));

    await map.click({ position: at(3) });
    await opened.tab.waitForSelector("[role=tablist]");
    await opened.show("Top");
    const { top } = report(files[3]!);
    const all = top.reduce((sum, it) => sum + it.self, 0);
    const cell = (weight: number) => `${amount(CPU, weight)} ${percent(weight, all)}`;
    assert.deepEqual((await opened.table("Functions")).map((it) => it.slice(0, 3).join(" | ")).sort(), top.filter((it) => it.total > 0).map((it) => [cell(it.self), cell(it.total), it.name].join(" | ")).sort());
    await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 400)));
    const words = new URLSearchParams(new URL(opened.tab.url()).hash.slice(1));
    assert.deepEqual([words.get("period"), words.get("view")], ["3", "top"]);
    await opened.tab.reload();
    await opened.tab.waitForSelector("[aria-label=Functions]");
    await opened.tab.getByRole("button", { name: "Earlier" }).click();
    await opened.tab.getByRole("heading", { name: "Nov 26 00:02 to 00:03" }).waitFor();

    await opened.tab.getByRole("button", { name: "All periods" }).click();
    await map.click({ position: at(0), modifiers: ["Control"] });
    await map.click({ position: at(5), modifiers: ["Control"] });
    await opened.tab.waitForSelector("[role=tablist]");
    await opened.show("Changes");
    const { changes } = diff({ before: [files[0]!], after: [files[5]!] });
    const rows = (await opened.table("Changes")).map((it) => it.slice(0, 5).join(" | "));
    assert.deepEqual(rows.sort(), changes.filter((it) => it.before + it.after > 0).map((it) => [value(it.before, false, CPU), value(it.after, false, CPU), delta(it.before, it.after, false, CPU), ratio(it.before, it.after), it.name].join(" | ")).sort());
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  });

  it("is walked with keys, and says what it shows", async () => {
    const { htmlPath } = directory(sides, 3);
    const opened = await Opened.at(browser, htmlPath, "", { timezoneId: "UTC" });
    assert.deepEqual(await opened.faults(), []);
    await opened.tab.getByRole("application", { name: /arrow keys walk/ }).focus();
    await opened.tab.keyboard.press("ArrowRight");
    await opened.tab.keyboard.press("ArrowRight");
    await opened.settle();
    assert.match((await opened.tab.locator("[aria-live]").first().textContent())!, /^Nov 26 00:01 to 00:02, CPU time /);
    await opened.tab.keyboard.press("Enter");
    await opened.tab.getByRole("heading", { name: "Nov 26 00:01 to 00:02" }).waitFor();
    await opened.tab.goBack();
    await opened.tab.getByRole("application", { name: /arrow keys walk/ }).waitFor();
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  });

  it("shows the live heap over all periods, by place, and opens one of them", async () => {
    const { files, htmlPath } = directory(await versions("growing.rb"), 6);
    const opened = await Opened.at(browser, htmlPath, "", { timezoneId: "UTC" });
    await opened.tab.evaluate(() => {
      const painted: string[] = [];
      const paint = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        painted.push(text);
        paint.call(this, text, ...place);
      };
      Object.assign(globalThis, { painted });
    });
    await opened.tab.getByRole("button", { name: "Live heap", exact: true }).click();
    await opened.tab.locator(".over-time canvas").waitFor();
    await opened.settle();
    const texts = await opened.tab.evaluate(() => (globalThis as unknown as { painted: string[] }).painted);
    const times = texts.filter((it) => /^\d\d:\d\d/.test(it));
    assert.ok(new Set(times).size > 6 && times.every((it) => it.length === 8), times.join());
    const stack = opened.tab.locator(".over-time canvas");
    const { width } = (await stack.boundingBox())!;
    const place = (at: number) => ({ x: 96 + ((width - 96) * (at + 0.5)) / files.length, y: 100 });
    const bytes = { name: "", unit: "bytes" };
    for (const [at, file] of files.entries()) {
      await stack.hover({ position: place(at) });
      const all = report(file, "--type", "inuse_space").top.reduce((sum, it) => sum + it.self, 0);
      const rows = await opened.tab.locator(".tip dl > div").evaluateAll((found) => found.map((it) => it.textContent!));
      assert.equal(rows[0], `in all${amount(bytes, all)}`);
      assert.ok(rows.some((it) => it.startsWith("Journal#note")), rows.join());
    }
    assert.deepEqual(await opened.faults(), []);
    await stack.click({ position: place(4) });
    await opened.tab.getByRole("heading", { name: "Nov 26 00:04 to 00:05" }).waitFor();
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  });
});

describe("weights over all periods", () => {
  it("are those of a label in the report", async () => {
    const page = await recorded("queries.rb");
    for (const label of kindsOf(page.model).filter((it) => it !== HEAP)) {
      const expected = new Map(by(page.file, label, "--type", "cpu").filter((it) => it.weight > 0).map((it) => [it.value ?? NONE, it.weight]));
      assert.ok(expected.size > 0);
      assert.deepEqual(new Map([...sumsOf(page.model, label)].sort()), new Map([...expected].sort()), label);
    }
  });

  it("have the largest names as layers, and the others in one", () => {
    const periods = [new Map([["a", 1], ["b", 5]]), new Map([["c", 4], ["d", 2], ["b", 1]]), new Map()];
    const { names, weights, totals } = layers(periods, 2);
    assert.deepEqual([names, weights.map((it) => [...it]), [...totals]], [["b", "c", "others"], [[5, 1, 0], [0, 4, 0], [1, 2, 0]], [6, 7, 0]]);
    assert.deepEqual(layers(periods, 4).names, ["b", "c", "d", "a"]);
  });
});
