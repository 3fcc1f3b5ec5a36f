// The tab of labels against the report of the same profile: weights by value, requests, and markers.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { everything } from "../src/model/selection";
import { amount, count, duration, percent } from "../src/model/units";
import { labelWord } from "../src/words/words";
import { launch, Opened } from "./browser";
import { by, kept, recorded, report, type Page, type Value } from "./page";

const NS = { name: "", unit: "nanoseconds" };

let browser: Browser;
let jobs: Page;
let shop: Page;
before(async () => {
  [jobs, shop] = [await recorded("leak.rb"), await kept("shop.pb.gz")];
  browser = await launch();
});
after(() => browser.close());

const open = (page: Page, fragment: string, use: (opened: Opened) => Promise<void>) => Opened.using(browser, page.htmlPath, use, fragment);

/** The rows that a report by a label stands for. */
function lines(values: readonly Value[], type = NS, nameOf = (it: Value) => it.value ?? "(none)"): string[] {
  const all = values.reduce((sum, it) => sum + it.weight, 0);
  const requests = values.some((it) => it.count !== null);
  return values.map((it) => {
    const cells = [`${amount(type, it.weight)} ${percent(it.weight, all)}`, nameOf(it)];
    if (requests) cells.push(...(it.count === null ? ["", "", ""] : [count(it.count), duration(it.mean!), duration(it.largest!)]));
    return [...cells, it.heaviest ? percent(it.heaviest.self, it.weight) : ""].join(" | ");
  });
}

/** The rows on screen; of the last column the share alone, as two functions can have the same. */
const shown = async (opened: Opened) => (await opened.table("Values")).map((cells) => [...cells.slice(0, -1), cells.at(-1)!.split("  ")[0]].join(" | "));

describe("the tab of labels", () => {
  it("has the values of each label as the report has them, with their requests", async () => {
    await open(jobs, "view=labels", async (opened) => {
      for (const type of ["wall", "alloc_objects"]) {
        await opened.tab.getByLabel("Sample type").selectOption(String(jobs.model.profile.types.findIndex((it) => it.name === type)));
        for (const label of ["endpoint", "gc", "gc_reason", "class", "age"]) {
          await opened.tab.getByRole("group", { name: "By" }).getByRole("button", { name: labelWord(label), exact: true }).click();
          const unit = jobs.model.profile.types.find((it) => it.name === type)!;
          assert.deepEqual((await shown(opened)).sort(), lines(by(jobs.file, label, "--type", type), unit).sort(), `${type} by ${label}`);
        }
      }
    });
    assert.ok(by(jobs.file, "endpoint").some((it) => it.count === 20), "requests are counted");
  });

  it("has threads and states as the report has them", async () => {
    await open(shop, "view=labels", async (opened) => {
      await opened.tab.getByRole("group", { name: "By" }).getByRole("button", { name: "Threads" }).click();
      assert.deepEqual((await shown(opened)).sort(), lines(by(shop.file, "thread"), NS, (it) => it.value!.replace(/ \(\d+\)$/, "")).sort());
    });
  });

  it("selects a value with a click, and takes that back with another", async () => {
    await open(shop, "view=labels", async (opened) => {
      const whole = await opened.total();
      const row = opened.tab.locator("[aria-label=Values] .table-row", { hasText: "/order" });
      await row.click();
      assert.equal(await opened.total(), duration(by(shop.file, "endpoint").find((it) => it.value === "/order")!.weight));
      assert.equal(await opened.tab.locator(".chip", { hasText: "Endpoint: /order" }).count(), 1);
      await row.click();
      assert.equal(await opened.total(), whole);
    });
  });
});

describe("markers", () => {
  it("have the numbers and times of the header, and select what is inside of them", async () => {
    const said = shop.facts.header.find((it) => it.startsWith("markers: "))!;
    await open(shop, "view=labels", async (opened) => {
      await opened.tab.getByRole("button", { name: "Markers" }).click();
      const rows = await opened.table("Markers");
      assert.equal(rows.length, 2);
      for (const [time, name, number] of rows) assert.ok(said.includes(`${name} ${number} times, ${time}`), `${name} ${number} ${time}`);
      const inside = rows[0]!.at(-1)!;
      await opened.tab.locator("[aria-label=Markers] .table-row").first().click();
      assert.equal(await opened.total(), inside);

      await opened.tab.getByLabel("at least").fill("40");
      await opened.tab.keyboard.press("Enter");
      const [long] = await opened.table("Markers");
      const { markers } = shop.model.profile;
      assert.equal(long![2], count(markers.filter((it) => it.name === long![1] && it.duration >= 40e6).length));
      await opened.tab.locator("[aria-label=Markers] .table-row").first().click();
      assert.equal(await opened.total(), long!.at(-1));
      await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 500)));
      await opened.tab.reload();
      assert.equal(await opened.total(), long!.at(-1), "it is in the address");
    });
  });

  it("name a statement that is sent for each line, and who sends it, with four clicks", async () => {
    const queries = await recorded("queries.rb");
    await open(queries, "", async (opened) => {
      await opened.show("Groups");
      await opened.tab.getByRole("button", { name: "Markers" }).click();
      await opened.tab.getByRole("button", { name: "Most often first" }).click();
      const [first] = await opened.table("Markers");
      assert.deepEqual(first!.slice(1, 3), ["SQL Price Load: SELECT * FROM prices WHERE line_id = ?", "480"]);
      await opened.tab.locator("[aria-label=Markers] .table-row").first().click();
      await opened.show("Top");
      await opened.tab.getByRole("button", { name: "Total", exact: true }).click();
      assert.ok((await opened.table("Functions")).some((row) => row[2] === "Order#price"));
    });
  });

  it("count what their threads did in them, as the report does", () => {
    const { model } = shop;
    const selection = { ...everything(model.profile), within: { marker: "GET /order", least: 40e6 } };
    const expected = report(shop.file, "--during", "^GET /order$", "--over", "40ms").top.reduce((sum, it) => sum + it.self, 0);
    assert.ok(expected > 0);
    assert.ok(Math.abs(model.total(selection) / expected - 1) < 1e-6, `${model.total(selection)} ns, ${expected} ns in the report`);
    const cells = model.heat(selection, 100)!.cells.reduce((one, other) => one + other);
    assert.ok(Math.abs(cells / model.total(selection) - 1) < 1e-9);
  });
});
