// The tab of the GVL against the report of the same profile: who waited, and who held it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { waiterName, waitsOf } from "../src/model/gvl";
import { Model } from "../src/model/model";
import { oldRuby } from "../src/model/facts";
import { everything } from "../src/model/selection";
import { duration } from "../src/model/units";
import { launch, Opened } from "./browser";
import { by, kept, report, type Page } from "./page";

let browser: Browser;
let page: Page;
before(async () => {
  page = await kept("shop.pb.gz");
  browser = await launch();
});
after(() => browser.close());

const sum = (numbers: readonly number[]) => numbers.reduce((one, other) => one + other, 0);

describe("waits for the GVL, joined with what held it", () => {
  it("have the sums of both sides, row by row", () => {
    const { profile } = page.model;
    const waits = waitsOf(profile);
    for (const [side, type] of [["waited", "gvl_wait"], ["held", "gvl_blame"]] as const) {
      const weights = new Float64Array(profile.rows.count);
      for (let at = 0; at < waits.count; at++) weights[waits[side][at]!]! += waits.weight[at]!;
      assert.deepEqual(weights, profile.rows.weights[profile.types.findIndex((it) => it.name === type)], side);
    }
  });

  it("are those of the thread that waited", () => {
    const { profile } = page.model;
    const { count, waited, held } = waitsOf(profile);
    for (let at = 0; at < count; at++) {
      const waiter = profile.labelSets[profile.rows.labels[held[at]!]!]!.find(([name]) => name === "waiter")![1];
      assert.equal(waiterName(profile, profile.rows.thread[waited[at]!]!), waiter);
    }
  });

  it("without a timeline have threads alone, and the same sum", () => {
    const waits = waitsOf({ ...page.model.profile, timeline: null });
    assert.ok(waits.count > 0 && waits.waited.every((row) => row === -1));
    assert.equal(sum([...waits.weight]), sum(by(page.file, "waiter", "--type", "gvl_blame").map((it) => it.weight)));
  });
});

/** The sums of lines or of columns, by name. */
async function sums(opened: Opened, of: "lines" | "columns"): Promise<Map<string, string>> {
  return new Map(await opened.tab.locator(".matrix").evaluate((matrix, lines) => {
    const rows = [...matrix.querySelectorAll(".matrix-line:not(.matrix-head)")];
    const text = (it: Element | undefined) => it?.textContent ?? "";
    if (lines) return rows.slice(1).map((row): [string, string] => [text(row.querySelector("p")!), text(row.querySelector("button")!)]);
    const names = [...matrix.querySelectorAll(".matrix-column")];
    return names.map((name, at): [string, string] => [text(name), text(rows[0]!.querySelectorAll("button")[at + 1])]);
  }, of === "lines"));
}

describe("the tab of the GVL", () => {
  it("says what the report says, by functions, threads and labels", async () => {
    const opened = await Opened.at(browser, page.htmlPath, "view=gvl", { viewport: { width: 2400, height: 1200 } });
    const said = /of which (.*)$/.exec(page.facts.header.find((it) => it.startsWith("gvl: "))!)![1]!;
    const columns = await sums(opened, "columns");
    for (const [, ns, name] of said.matchAll(/([\d.]+ \w+) behind ([^,]+)/g)) assert.equal(columns.get(name!), ns, name);
    assert.equal(columns.get("Indexer#rebuild"), duration(2_210_000_000));

    const check = async (of: "lines" | "columns", label: string, type: string, nameOf: (value: string | null) => string) => {
      const found = await sums(opened, of);
      const expected = by(page.file, label, "--type", type).filter((it) => it.weight > 0);
      assert.ok(expected.length > 0);
      for (const it of expected) if (found.has(nameOf(it.value))) assert.equal(found.get(nameOf(it.value)), duration(it.weight), String(it.value));
      assert.ok(expected.filter((it) => found.has(nameOf(it.value))).length >= Math.min(3, expected.length), [...found.keys()].join());
    };
    await opened.tab.getByRole("button", { name: "Threads", exact: true }).last().click();
    await check("lines", "waiter", "gvl_blame", String);
    await check("lines", "thread", "gvl_wait", (it) => it!.replace(/ \(\d+\)$/, ""));
    await opened.tab.getByRole("button", { name: "Endpoint", exact: true }).last().click();
    await check("lines", "endpoint", "gvl_wait", (it) => it ?? "(none)");
    await check("columns", "endpoint", "gvl_blame", (it) => it ?? "(none)");
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  });

  it("selects what waited and what held the GVL in a cell", async () => {
    const opened = await Opened.at(browser, page.htmlPath, "view=gvl");
    assert.match((await opened.tab.locator(".cell.on").getAttribute("title"))!, /behind Indexer#rebuild$/, "the heaviest cell is open");
    assert.equal(await opened.tab.locator(".gvl-part b").last().textContent(), "Indexer#rebuild");
    await opened.tab.getByRole("button", { name: "Select these" }).last().click();
    const held = sum(report(page.file, "--type", "gvl_blame", "--focus", "^Indexer#rebuild$").top.map((it) => it.self));
    assert.match((await opened.tab.locator(".search output").textContent())!, new RegExp(`, ${duration(held)}$`));
    await opened.tab.keyboard.press("u");
    await opened.tab.locator(".cell").nth(1).focus();
    await opened.tab.keyboard.press("ArrowDown");
    await opened.tab.keyboard.press("Enter");
    const title = (await opened.tab.locator(".cell.on").getAttribute("title"))!;
    await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 500))); // the address is written a while later
    await opened.tab.reload();
    assert.equal(await opened.tab.locator(".cell.on").getAttribute("title"), title, "it is in the address");
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  });

  it("has no serious fault for readers, light and dark, and fits a phone", async () => {
    for (const options of [{ colorScheme: "light" }, { colorScheme: "dark" }, { viewport: { width: 390, height: 844 } }] as const) {
      const opened = await Opened.at(browser, page.htmlPath, "view=gvl", options);
      assert.deepEqual(await opened.faults(), []);
      assert.ok(await opened.tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
      await opened.close();
    }
  });

  it("says from which Ruby on it has data, where all of its weights are 0", async () => {
    const old = `${page.htmlPath}.old.html`;
    writeFileSync(old, page.html.replace(/ruby: ruby 3\.3\.\d+/, "ruby: ruby 3.1.2"));
    await Opened.using(browser, old, async (opened) => {
      assert.match((await opened.tab.locator(".empty").textContent())!, /known from Ruby 3\.3 on\. This profile is of Ruby 3\.1\./);
      assert.equal(await opened.tab.getByText("Nothing in the selection waited").count(), 0);
    }, "view=gvl");
  });

  it("is not there where nobody waited", async () => {
    const [store] = [page.model.profile.types.findIndex((it) => it.name === "gvl_blame")];
    assert.ok(store >= 0);
    const { tabsOf } = await import("../src/state/view");
    const without = { ...page.model.profile, types: page.model.profile.types.filter((it) => it.name !== "gvl_blame"), rows: { ...page.model.profile.rows, weights: page.model.profile.rows.weights.filter((_, at) => at !== store) } };
    const all = everything(page.model.profile);
    assert.ok(tabsOf(page.model, all).includes("gvl") && !tabsOf(new Model(without, page.model.facts), all).includes("gvl"));
    const header = page.model.facts.header.map((it) => it.replace(/^ruby: ruby [\d.]+/, "ruby: ruby 3.1.2"));
    assert.ok(tabsOf(new Model(without, { ...page.model.facts, header }), all).includes("gvl"), "and there it says from which Ruby on it has data");
    assert.equal(oldRuby({ ...page.model.facts, header }), "3.1");
    assert.equal(oldRuby(page.model.facts), null);
  });
});
