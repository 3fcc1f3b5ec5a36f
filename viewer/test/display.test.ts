// Names of what has none of its own: a block has its line and a template is its file, in the report and in the page alike.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { expression, matches } from "../src/model/search";
import { launch, Opened } from "./browser";
import { recorded, report, reportText, type Page } from "./page";

const HOT = "block in <class:App> blocks.rb:11";
const MILD = "block in <class:App> blocks.rb:12";
const INNERMOST = "block (2 levels) in <class:App> blocks.rb:11";
const TEMPLATE = "app/views/orders/index.html.erb";

let browser: Browser;
let page: Page;
before(async () => {
  page = await recorded("blocks.rb");
  browser = await launch();
});
after(() => browser.close());

describe("names for people", () => {
  it("are those of the report's table, in the rows of the page", async () => {
    const { model } = page;
    const names = new Set(Array.from({ length: model.profile.functions.count }, (_, of) => model.names.name(of)));
    for (const name of [HOT, MILD, TEMPLATE]) assert.ok(names.has(name), `${name} is not among ${[...names].join(", ")}`);
    const text = reportText(page.file);
    for (const { name } of report(page.file).top) {
      assert.ok(names.has(name), name);
      assert.ok(text.includes(`%   ${name}`), `${name} is not in\n${text}`);
    }
    await Opened.using(browser, page.htmlPath, async (opened) => {
      await opened.show("Top");
      const rows = (await opened.table("Functions")).map((it) => it[2]);
      for (const name of [HOT, MILD, TEMPLATE]) assert.ok(rows.includes(name), `${name} is not among ${rows.join(", ")}`);
    });
  });

  it("light up one block alone", async () => {
    const finding = page.facts.findings.find((it) => it.name !== null && it.name.includes("<class:App>"))!;
    assert.equal(finding.name, INNERMOST, JSON.stringify(page.facts.findings));
    await Opened.using(browser, page.htmlPath, async (opened) => {
      await opened.tab.locator(".finding", { hasText: finding.text }).click();
      await opened.settle();
      const search = expression(await opened.tab.locator("#search").inputValue())!;
      const lit = matches(search, page.model.names);
      assert.deepEqual(Array.from(lit.keys()).filter((of) => lit[of] === 1).map((of) => page.model.names.name(of)), [INNERMOST]);
    });
  });
});
