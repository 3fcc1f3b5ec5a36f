// What fits on a small screen: names keep what tells them apart, and nothing is broken over lines that need not be.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { launch, Opened } from "./browser";
import { recorded, type Page } from "./page";

const PHONE = { viewport: { width: 390, height: 844 } };
const MODULES = "Warehouse::Templates::Helpers::Html::";

let browser: Browser;
let page: Page;
before(async () => {
  browser = await launch();
  page = await recorded();
});
after(() => browser.close());

const onPhone = (use: (opened: Opened) => Promise<void>) => Opened.using(browser, page.htmlPath, use, "", PHONE);

describe("on a small screen, a name", () => {
  for (const [tab, table] of [["Top", "Functions"], ["Call tree", "Call tree"]] as const) {
    it(`keeps its end, without its modules, in ${tab}`, async () => {
      await onPhone(async (opened) => {
        await opened.show(tab);
        const rows = opened.tab.locator(`[aria-label="${table}"] .table-row`);
        assert.ok((await rows.count()) > 3);
        for (const name of await rows.locator(".function-name").all()) {
          const isCut = await name.evaluate((it, text) => {
            it.innerHTML = "";
            for (const [kind, part] of [["modules", text], ["", "Row#draw"]] as const) {
              const span = document.createElement("span");
              span.className = kind;
              span.textContent = part;
              it.append(span);
            }
            const [cell, end] = [it.parentElement!.getBoundingClientRect(), it.lastElementChild!];
            const box = end.getBoundingClientRect();
            return end.scrollWidth > end.clientWidth || box.right > cell.right || box.top < cell.top - 1 || box.bottom > cell.bottom + 1;
          }, MODULES);
          assert.equal(isCut, false);
        }
      });
    });
  }

  it("has its modules apart, and is read as one", async () => {
    await onPhone(async (opened) => {
      await opened.show("Top");
      const names = (await opened.table("Functions")).map((it) => it[2]!);
      const own = new Set(Array.from({ length: page.model.profile.functions.count }, (_, of) => page.model.names.name(of)));
      for (const name of names) assert.ok(own.has(name), name);
    });
  });
});

describe("on a small screen, source", () => {
  it("has room for the names of lines, of callers and of callees", async () => {
    await onPhone(async (opened) => {
      await opened.show("Source");
      for (const table of ["Lines", "Callers", "Callees"]) {
        const cell = (await opened.tab.locator(`[aria-label="${table}"] .table-row .cell-name`).first().boundingBox())!;
        assert.ok(cell.width > 140, `${table}: ${cell.width} px`);
      }
    });
  });
});

describe("the range of the flame chart", () => {
  it("stands on one line, at any width", async () => {
    for (const width of [390, 600, 1_280]) {
      await Opened.using(browser, page.htmlPath, async (opened) => {
        await opened.show("Flame chart");
        const range = opened.tab.locator("[role=tabpanel] .bar > .muted");
        const box = (await range.boundingBox())!;
        assert.ok(box.height < 30, `${await range.textContent()}: ${box.height} px high at ${width}`);
        assert.ok(await range.evaluate((it) => it.scrollWidth <= it.clientWidth), `${width}`);
      }, "", { viewport: { width, height: 844 } });
    }
  });
});
