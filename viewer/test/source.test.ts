// The tab of source lines against the annotated source of the same profile.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { Lines } from "../src/model/lines";
import { everything } from "../src/model/selection";
import { amount, percent } from "../src/model/units";
import { launch, Opened } from "./browser";
import { annotated, converted, kept, recorded, report, type Page } from "./page";

let browser: Browser;
let shop: Page;
let small: Page;
before(async () => {
  [shop, small] = [await kept("shop.pb.gz"), await recorded("small.rb")];
  browser = await launch();
});
after(() => browser.close());

const open = (page: Page, fragment: string, use: (opened: Opened) => Promise<void>) => Opened.using(browser, page.htmlPath, use, fragment);

describe("the tab of source lines", () => {
  for (const [name, path] of [["shop", "docs/screenshots/shop.rb"], ["small", "small.rb"]] as const) {
    it(`has the lines of the annotated source, for every sample type (${name})`, async () => {
      const page = { shop, small }[name];
      await open(page, "view=source", async (opened) => {
        let types = 0;
        for (const [index, type] of page.model.profile.types.entries()) {
          const all = report(page.file, "--type", type.name).top.reduce((sum, it) => sum + it.self, 0);
          const whole = page.model.profile.rows.weights[index]!.some((weight) => weight > 0);
          if (!whole || all === 0 || type.name === "gc") continue; // on some Rubies a collection stands by itself
          const expected = [...annotated(page.file, path, "--type", type.name)]
            .filter(([, it]) => it.total > 0)
            .map(([line, it]) => `${line}: ${amount(type, it.total)} ${percent(it.total, all)}, ${it.self > 0 ? amount(type, it.self) : ""}`);
          if (expected.length === 0) continue;
          await opened.tab.getByLabel("Sample type").selectOption(String(index));
          await opened.tab.locator("[aria-label=Files] .table-row", { hasText: path.split("/").at(-1)! }).first().click();
          const rows = (await opened.table("Lines")).map(([total, self, line]) => `${line}: ${total}, ${self}`);
          assert.deepEqual(rows, expected.sort((one, other) => parseInt(one) - parseInt(other)), type.name);
          types++;
        }
        assert.ok(types >= 3, `${types} sample types`);
      });
    });
  }

  it("shows the text of files if the page has it, and says else what puts it in", async () => {
    const path = small.model.profile.functions.path.find((it) => it.endsWith("/small.rb"))!;
    const text = readFileSync(path, "utf8").replace(/\n$/, "").split("\n");
    const page = await converted(small.file, "--source");
    await open(page, `view=source&view.file=${encodeURIComponent(path)}`, async (opened) => {
      const rows = await opened.table("Lines");
      assert.deepEqual(rows.map((it) => it[2]), text.map((_, at) => String(at + 1)));
      const shown = await opened.tab.locator("[aria-label=Lines] .table-row.marked code").textContent();
      assert.ok(text.includes(shown!.trimEnd()), shown!);
    });
    await open(small, "view=source", async (opened) => assert.match((await opened.tab.locator(".source-file .bar").textContent())!, /--source/));
  });

  it("has the open file on screen in the list of files, which does not jump at a click", async () => {
    const real = await recorded("real.rb", "rdoc");
    let fragment = "";
    await open(real, "view=source", async (opened) => {
      const list = opened.tab.locator("[aria-label=Files]");
      await list.evaluate((it) => (it.scrollTop = it.scrollHeight));
      await opened.settle();
      assert.ok(await list.evaluate((it) => it.scrollTop > it.clientHeight), "the list is longer than the screen");
      await list.locator(".table-row").last().click();
      await opened.settle();
      await opened.tab.waitForURL(/file=/);
      fragment = new URL(opened.tab.url()).hash.slice(1);
    });
    await open(real, fragment, async (opened) => {
      const list = opened.tab.locator("[aria-label=Files]");
      const [frame, row] = [await list.boundingBox(), await list.locator(".marked").boundingBox()];
      assert.ok(row!.y >= frame!.y && row!.y + row!.height <= frame!.y + frame!.height + 1, JSON.stringify([frame, row]));
      const before = await list.evaluate((it) => it.scrollTop);
      await list.locator(".table-row").nth(-4).click();
      await opened.settle();
      assert.equal(await list.evaluate((it) => it.scrollTop), before);
    });
  });

  it("opens a caller and a callee of a line", async () => {
    await open(shop, "view=source", async (opened) => {
      await opened.tab.locator("[aria-label=Lines] .table-row", { hasText: "Shop#order" }).first().click();
      const callee = (await opened.table("Callees"))[0]!;
      assert.match(callee[1]!, /^Database#query/);
      await opened.tab.locator("[aria-label=Callees] .table-row").first().click();
      await opened.settle();
      const marked = opened.tab.locator("[aria-label=Lines] .table-row.marked");
      assert.match((await marked.textContent())!, /Database#query/);
      assert.match((await opened.table("Callers"))[0]![1]!, /^Shop#order/);
      await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 500)));
      await opened.tab.reload();
      assert.match((await marked.textContent())!, /Database#query/, "it is in the address");
    });
  });

  it("has callers and callees that add up to a line's weight", () => {
    const { model } = shop;
    const lines = new Lines(model.profile);
    const weights = model.rowWeights(everything(model.profile));
    const { self, total } = lines.sums(weights);
    for (let line = 0; line < lines.count; line++) {
      const { callers, callees } = lines.around(line, weights);
      const sum = (of: typeof callers) => of.reduce((one, other) => one + other.weight, 0);
      assert.ok(sum(callees) + self[line]! >= total[line]!, "a recursive line calls itself as well");
      for (const it of [...callers, ...callees]) assert.ok(it.weight <= total[line]!);
    }
  });
});
