// The cards beside the view: they say what they are of, and a click shows what they count.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import type { Finding } from "../src/model/facts";
import { amount } from "../src/model/units";
import { typeWord } from "../src/words/words";
import { launch, Opened } from "./browser";
import { recorded, reportText, said, versions, type Page } from "./page";

let browser: Browser;
let page: Page;
before(async () => {
  browser = await launch();
  page = await recorded();
});
after(() => browser.close());

const open = (use: (opened: Opened) => Promise<void>, html = page.htmlPath, options = {}) => Opened.using(browser, html, use, "", options);

/** Draws a range of time, from one part of the strip to another; with Ctrl, one to compare with. */
async function draw({ tab }: Opened, from: number, to: number, key?: "Control"): Promise<void> {
  const strip = (await tab.getByRole("slider", { name: "Range of time" }).boundingBox())!;
  if (key) await tab.keyboard.down(key);
  await tab.mouse.move(strip.x + strip.width * from, strip.y + 20);
  await tab.mouse.down();
  await tab.mouse.move(strip.x + strip.width * to, strip.y + 20, { steps: 4 });
  await tab.mouse.up();
  if (key) await tab.keyboard.up(key);
}

describe("what is said of a profile", () => {
  it("is what the report says of it, without idle waits", () => {
    const { findings } = JSON.parse(said("report", page.file, "--json")) as { findings: Finding[] };
    assert.ok(page.facts.idle.rows.length > 0 && page.facts.type === "wall");
    assert.deepEqual(page.facts.findings.map((it) => [it.kind, it.text, it.weight]), findings.map((it) => [it.kind, it.text, it.weight]));
    const report = reportText(page.file).replace(/\s+/g, " ");
    for (const sentence of page.facts.header) assert.ok(report.includes(sentence.replace(/^\w+: /, "").replace(/\s+/g, " ")), sentence);
  });
});

describe("a card", () => {
  it("of idle threads shows the waits that it counts", async () => {
    const idle = page.facts.findings.find((it) => it.kind === "idle")!;
    const threads = Number(/^\d+/.exec(idle.text)![0]);
    await open(async (opened) => {
      await opened.tab.locator("button.finding", { hasText: idle.text }).click();
      assert.equal(await opened.total(), amount({ name: "wall", unit: "nanoseconds" }, idle.weight));
      assert.match((await opened.tab.locator(".chip").textContent())!, new RegExp(`^only idle waits of ${threads} threads?`));
      await opened.show("Groups");
      await opened.tab.getByRole("button", { name: "Threads", exact: true }).last().click();
      assert.equal((await opened.table("Values")).length, threads);
    });
  });

  it("says of which sample type it is, where another one is shown", async () => {
    await open(async (opened) => {
      const sidebar = opened.tab.locator(".sidebar");
      await opened.tab.getByLabel("Sample type").selectOption({ label: "allocated objects" });
      await opened.settle();
      assert.deepEqual((await sidebar.locator("h2").allTextContents()).slice(0, 2), ["Most in allocated objects", "What stands out in wall clock time"]);
      const timed = page.facts.findings.filter((it) => it.type === "wall" && it.share !== null);
      assert.equal(await sidebar.locator(".card", { hasText: "of wall clock time" }).count(), timed.length);
      assert.ok(timed.length > 0);
    });
  });

  it("is a button only if it selects something", async () => {
    await open(async (opened) => {
      const plain = opened.tab.locator(".card.plain");
      assert.equal(await plain.count(), await opened.tab.locator(".card").count() - (await opened.tab.locator(".card button.finding").count()));
      for (const card of await plain.all()) assert.equal(await card.evaluate((it) => getComputedStyle(it).backgroundColor), "rgba(0, 0, 0, 0)");
    }, (await recorded("real.rb", "rails")).htmlPath);
  });

  it("of statements leads to their markers", async () => {
    const queries = await recorded("queries.rb");
    const finding = queries.facts.findings.find((it) => it.kind === "queries")!;
    assert.match(finding.text, /^prices queried 480 times.* under orders#show, /);
    await open(async (opened) => {
      await opened.tab.locator("button.finding", { hasText: finding.text }).click();
      await opened.settle();
      assert.equal(await opened.tab.locator("[aria-label=Markers] .table-row.marked .cell-name").textContent(), "SQL Price Load: SELECT * FROM prices WHERE line_id = ?");
    }, queries.htmlPath);
  });

  it("stays where it was clicked, so that a second click takes it back", async () => {
    const queries = await recorded("queries.rb");
    const finding = queries.facts.findings.find((it) => it.kind === "queries")!;
    await open(async (opened) => {
      const card = opened.tab.locator("button.finding", { hasText: finding.text });
      const before = (await card.boundingBox())!;
      await card.click();
      await opened.settle();
      assert.deepEqual((await opened.tab.locator(".sidebar h2").allTextContents()).slice(0, 2), ["What stands out in the whole profile", "Most in the selection"]);
      assert.equal((await card.boundingBox())!.x, before.x);
      await opened.tab.mouse.click(before.x + 40, before.y + 20);
      await opened.settle();
      assert.equal(await opened.tab.locator("button.finding[aria-pressed=true]").count(), 0);
      const share = opened.tab.locator(".finding .share").first();
      await share.evaluate((it) => (it.textContent = "100.0%"));
      assert.ok(await share.evaluate((it) => it.scrollWidth <= it.clientWidth), "100.0% has no room");
    }, queries.htmlPath);
  });

  it("of a change has room for its number, at any width", async () => {
    const { htmlPath } = await versions();
    for (const viewport of [{ width: 1280, height: 800 }, { width: 390, height: 844 }]) {
      await open(async (opened) => {
        const share = opened.tab.locator(".change .share").first();
        await share.evaluate((it) => (it.textContent = "+100.00%"));
        const [number, name] = [await share.evaluate((it) => it.getBoundingClientRect().left + it.scrollWidth), (await opened.tab.locator(".change > span").first().boundingBox())!.x];
        assert.ok(number <= name + 1, `${number} px, then ${name} px`);
        const cell = opened.tab.locator("[aria-label=Changes] .table-row .cell-number").nth(2);
        await opened.show("Changes");
        await cell.evaluate((it) => (it.textContent = "+100.00%"));
        assert.ok(await cell.evaluate((it) => it.scrollWidth <= it.clientWidth), `the number is cut at ${viewport.width} px`);
      }, htmlPath, { viewport });
    }
  });
});

describe("two ranges that are compared", () => {
  it("have their largest changes on cards, with both sides", async () => {
    await open(async (opened) => {
      await draw(opened, 0.1, 0.4);
      await draw(opened, 0.5, 0.9, "Control");
      await opened.settle();
      assert.deepEqual((await opened.tab.locator(".sidebar h2").allTextContents()).slice(0, 2), ["What changed", "What stands out in the whole profile"]);
      await opened.show("Changes");
      const rows = (await opened.table("Changes")).slice(0, 3);
      const cards = opened.tab.locator(".finding.change");
      for (const [at, [from, to, change]] of rows.entries()) {
        assert.equal(await cards.nth(at).locator("b").textContent(), change);
        assert.equal(await cards.nth(at).locator("small").first().textContent(), `${from} before, ${to} after`);
      }
    });
  });
});

describe("the fold of idle threads", () => {
  it("shows what it opens", async () => {
    await open(async (opened) => {
      await opened.tab.locator(".fold").click();
      await opened.settle();
      const [scroller, first] = [(await opened.tab.locator(".tracks").boundingBox())!, (await opened.tab.locator(".fold + .track-label").boundingBox())!];
      assert.ok(first.y >= scroller.y && first.y + first.height <= scroller.y + scroller.height + 1);
    }, page.htmlPath, { viewport: { width: 1280, height: 560 } });
  });
});

describe("memory from malloc", () => {
  it("is not called objects", () => {
    const space = { name: "inuse_space", unit: "bytes" };
    assert.deepEqual([typeWord(space), typeWord({ ...space, isNative: true })], ["live bytes", "live native bytes"]);
  });
});
