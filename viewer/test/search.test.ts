// The search: what it matches, in each view, and an address that keeps it.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { Names } from "../src/model/names";
import { BOX } from "../src/pictures/flame_picture";
import { launch, Opened } from "./browser";
import { converted, recorded, type Page } from "./page";

let browser: Browser;
let page: Page;
before(async () => {
  browser = await launch();
  page = await recorded();
});
after(() => browser.close());

const open = (use: (opened: Opened) => Promise<void>, html = page.htmlPath, fragment = "") => Opened.using(browser, html, use, fragment);

async function search({ tab }: Opened, text: string): Promise<void> {
  await tab.locator("#search").fill(text);
  await tab.waitForFunction(() => document.querySelector(".search output")!.textContent !== "");
}

describe("a search", () => {
  it("leaves the matching functions in the tables, and says how many there are", async () => {
    await open(async (opened) => {
      await search(opened, "^Order#(parse|total)$");
      for (const name of ["Top", "Sandwich"]) {
        await opened.show(name);
        const names = (await opened.table("Functions")).map((it) => it[2]!.trim());
        assert.deepEqual(names.sort(), ["Order#parse", "Order#total"], name);
      }
      assert.match((await opened.tab.locator(".search output").textContent())!, /^[\d.]+%, 2 functions, /);
      await opened.tab.locator("#search").fill("nothing of this name");
      await opened.tab.getByText("No function here matches the search.").waitFor();
    });
  });

  it("opens the call tree down to its matches, without the other branches", async () => {
    await open(async (opened) => {
      await opened.show("Call tree");
      await search(opened, "^Order#parse$");
      await opened.settle();
      const rows = await opened.tab.locator("[aria-label='Call tree'] .table-row").evaluateAll((found) => found.map((it) => ({ lit: it.classList.contains("lit"), level: Number(it.ariaLevel) })));
      assert.ok(rows.some((it) => it.lit));
      // Each branch ends with a match, or with what a match calls.
      rows.forEach((row, at) => assert.ok(row.lit || (rows[at + 1]?.level ?? 0) > row.level, `row ${at}`));
      assert.ok(await opened.tab.locator(".table-row.active.lit").isVisible());
    });
  });

  it("says why it is not an expression, and looks for the text", async () => {
    await open(async (opened) => {
      await search(opened, "(main");
      await opened.tab.getByRole("alert").waitFor();
      assert.match((await opened.tab.getByRole("alert").textContent())!, /^Not a regular expression: .*group\. It is searched as text\.$/);
      await opened.tab.locator("#search").fill("main");
      await opened.tab.getByRole("alert").waitFor({ state: "detached" });
      assert.deepEqual(await opened.faults(), []);
    });
  });
});

describe("an address", () => {
  it("leads to the box that was zoomed to, also among functions of one name, and in the sandwich", async () => {
    const file = `${page.file}.speedscope.json`;
    const frames = [1, 2, 3].map((line) => ({ name: "Order#save", file: "/app/order.rb", line })).concat({ name: "leaf", file: "/app/order.rb", line: 9 });
    const profile = { type: "sampled", name: "names", unit: "milliseconds", startValue: 0, endValue: 600, samples: [[0, 1, 3], [0, 2, 3], [0]], weights: [300, 200, 100] };
    writeFileSync(file, JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json", shared: { frames }, profiles: [profile] }));
    const names = await converted(file);
    assert.ok(names.model.names instanceof Names && names.model.names.isShared(0));
    await open(async (opened) => {
      const toggle = opened.tab.getByRole("button", { name: "Fold chains" });
      await toggle.click();
      const box = await opened.tip("Icicle", 700, 2.5 * BOX);
      const canvas = opened.tab.locator(".flame canvas");
      const { width } = (await canvas.boundingBox())!;
      await canvas.click({ position: { x: width * 0.7, y: 2.5 * BOX } });
      await opened.settle();
      const zoomed = await opened.tip("Icicle", 8, BOX / 2);
      assert.equal(zoomed.name, box.name);
      await opened.show("Sandwich");
      await opened.choose("leaf");
      await opened.tab.locator("[aria-label=Callers] canvas").click({ position: { x: width * 0.05, y: 3 } });
      await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 400)));
      const address = opened.tab.url();
      const callers = await opened.tip("Callers", 8, 8);
      await opened.tab.goto("about:blank");
      await opened.tab.goto(address);
      await opened.tab.waitForSelector("[aria-label=Callers] canvas");
      assert.deepEqual(await opened.tip("Callers", 8, 8), callers);
      await opened.show("Flame graph");
      assert.deepEqual(await opened.tip("Icicle", 8, BOX / 2), zoomed);
    }, names.htmlPath);
  });
});
