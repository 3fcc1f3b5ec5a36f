// Pages of programs that others wrote: each view says what the command line says of the same profile.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { gcType } from "../src/model/gc";
import { clean } from "../src/model/names";
import { everything } from "../src/model/selection";
import type { SampleType } from "../src/model/profile";
import { amount, duration, percent } from "../src/model/units";
import { BOX } from "../src/pictures/flame_picture";
import { brief, stateWord, typeWord } from "../src/words/words";
import { launch, Opened } from "./browser";
import { by, kept, recorded, report, tree, type Call, type Page, type ReportRow } from "./page";

const TALL = { viewport: { width: 1280, height: 4_000 }, deviceScaleFactor: 0.25 }; // most rows are on screen at once, and few pixels
const MOST_FUNCTIONS = 3; // of a program, in the sandwich

let browser: Browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

const shown = (name: string) => brief(clean(name));

for (const program of ["rdoc", "rails", "sidekiq"]) {
  describe(`the page of ${program}`, () => {
    let page: Page;
    let opened: Opened;
    before(async () => {
      page = await recorded("real.rb", program);
      opened = await Opened.at(browser, page.htmlPath, "", TALL);
    });
    after(async () => {
      assert.deepEqual(opened.wrong, []);
      await opened.close();
    });

    /** Calls back for each sample type that has a weight, while it is selected in the page. */
    async function eachType(use: (type: SampleType, top: ReportRow[], all: number) => Promise<void>): Promise<void> {
      let types = 0;
      for (const type of page.model.profile.types) {
        const { top } = report(page.file, "--type", type.name);
        const all = top.reduce((sum, it) => sum + it.self, 0);
        if (all === 0) continue;
        await opened.tab.getByLabel("Sample type").selectOption({ label: typeWord(type) });
        await use(type, top, all);
        types++;
      }
      assert.ok(types >= 5, `${types} sample types`);
    }

    it("has the rows of the report, for every sample type", async () => {
      await opened.show("Top");
      await eachType(async (type, top, all) => {
        const weight = (it: number) => `${amount(type, it)} ${percent(it, all)}`;
        const expected = top.filter((it) => it.total > 0).map((it) => `${weight(it.self)} | ${weight(it.total)} | ${shown(it.name)}`);
        const rows = (await opened.table("Functions")).map(([self, total, name]) => `${self} | ${total} | ${name}`);
        assert.deepEqual(rows.sort(), expected.sort(), type.name);
      });
    });

    it("has the calls of the tree, for every sample type", async () => {
      await opened.show("Call tree");
      await eachType(async (type) => {
        const root = tree(page.file, "--type", type.name);
        const weight = (it: number) => `${amount(type, it)} ${percent(it, root.total)}`;
        const path: Call[] = [];
        const rows = await opened.rows("Call tree");
        assert.ok(rows.length > 1, `${rows.length} rows`);
        for (const { level, cells: [total, , name] } of rows) {
          path.length = level - 1;
          const caller = path.at(-1);
          // A state in which a thread does not run is a leaf here, and there a part of the function's own weight.
          if (caller && caller.self > 0 && /^\((waiting|no CPU)/.test(name!)) continue;
          const among = caller ? caller.children : [root];
          const call = among.find((it) => shown(it.name) === name && weight(it.total) === total);
          assert.ok(call, `${type.name}: ${name} with ${total} is not among ${among.map((it) => `${it.name} ${weight(it.total)}`).join(", ")}`);
          path.push(call);
        }
      });
    });

    it("has them in the boxes of the flame graph", async () => {
      await opened.show("Flame graph");
      await opened.tab.getByRole("button", { name: "Fold chains" }).click();
      await eachType(async (type) => {
        const root = tree(page.file, "--type", type.name);
        const tip = await opened.tip("Icicle", 8, 1.5 * BOX);
        const expected = root.children.filter((it) => shown(it.name) === tip.name).map((it) => `${amount(type, it.total)}, ${percent(it.total, root.total)}`);
        assert.ok(expected.includes(tip.total), `${type.name}: ${tip.name} ${tip.total} is not ${expected}`);
      });
    });

    it("has the gems, files and states of the report, for every sample type", async () => {
      await opened.show("Groups");
      for (const [grouping, button] of [["gem", "Gems"], ["file", "Files"], ["state", "States"]] as const) {
        await opened.tab.getByRole("group", { name: "By" }).getByRole("button", { name: button, exact: true }).click();
        await eachType(async (type, _, all) => {
          const name = (value: string | null) => (value === null ? "(none)" : grouping === "state" ? stateWord(value) : shown(value));
          const expected = by(page.file, grouping, "--type", type.name).map((it) => `${amount(type, it.weight)} ${percent(it.weight, all)} | ${name(it.value)}`);
          const rows = (await opened.table("Values")).map(([total, value]) => `${total} | ${value}`);
          assert.deepEqual(rows.sort(), expected.sort(), `${type.name} by ${grouping}`);
        });
      }
    });

    it("has the garbage collection of the report, in all and by kind and reason", async () => {
      const { types } = page.model.profile;
      const type = types[gcType(page.model.profile)]!;
      const { top } = report(page.file, "--type", type.name, "--idle", "--gc", "root");
      const all = top.find((it) => it.name === "(garbage collection)")!.self;
      const clock = types.find((it) => it.name === "wall") ?? types.find((it) => it.name === "cpu")!;
      const whole = report(page.file, "--type", clock.name).top.reduce((sum, it) => sum + it.self, 0);
      await opened.show("GC");
      const text = (await opened.tab.locator("[role=tabpanel] .bar .grow").textContent())!;
      assert.ok(text.startsWith(`${duration(all)} of garbage collection, ${percent(all, whole)} of `), `${text} is not ${duration(all)}, ${percent(all, whole)}`);
      const collected = (label: string) => by(page.file, label, "--type", type.name).filter((it) => it.value !== null && it.value !== "(none)" && it.weight > 0);
      for (const { value, weight } of collected("gc")) assert.ok(text.includes(`${value} ${duration(weight)}`), `${text}: ${value} ${weight}`);
      const reasons = (await opened.table("Reasons")).map((it) => it[2]!.split(" ")[0]!); // a reason of both kinds has two rows
      assert.deepEqual([...new Set(reasons)].sort(), collected("gc_reason").map((it) => it.value).sort());
    });

    it("has the heaviest functions in the sandwich", async () => {
      await opened.tab.setViewportSize({ width: 1280, height: 800 }); // where a deep stack has more callers than fit
      await opened.show("Sandwich");
      await eachType(async (type, top, all) => {
        for (const { name } of top.filter((it) => it.self > 0 && !it.name.startsWith("(")).slice(0, MOST_FUNCTIONS)) {
          await opened.choose(shown(name));
          const text = await opened.tab.locator(".sandwich-graphs .bar .muted").textContent();
          const expected = top.filter((it) => it.name === name).map((it) => `total ${amount(type, it.total)} (${percent(it.total, all)}), self ${amount(type, it.self)}`);
          assert.ok(expected.includes(text!), `${type.name}: ${name}: ${text} is not ${expected}`);
          assert.equal((await opened.tip("Callees", 8, BOX / 2)).name, shown(name));
        }
      });
    });
  });
}

// As docs/screenshots/shop.rb recorded it on Ruby 3.3: before that Ruby does not say who held the GVL.
describe("the page of a shop with a hog of the GVL and a slow query", () => {
  it("names both without a click, and shows what each finding says with one", async () => {
    const page = await kept("shop.pb.gz");
    const opened = await Opened.at(browser, page.htmlPath);
    const findings = opened.tab.locator("button.finding");
    const shows = async (text: string | RegExp, total: string, found: number) => {
      const finding = findings.filter({ hasText: text });
      await finding.click();
      assert.equal(await opened.total(), total);
      assert.match((await opened.tab.locator(".search output").textContent())!, new RegExp(`, ${amount({ name: "", unit: "nanoseconds" }, found)}$`));
      assert.equal(await finding.getAttribute("aria-pressed"), "true");
      await finding.click();
    };
    const held = report(page.file, "--type", "gvl_blame").top.reduce((sum, it) => sum + it.self, 0);
    const byIndexer = report(page.file, "--type", "gvl_blame", "--focus", "^Indexer#rebuild$").top.reduce((sum, it) => sum + it.self, 0);
    await shows(/waiting for the GVL, \d+\.\d% held by Indexer#rebuild/, amount({ name: "", unit: "nanoseconds" }, held), byIndexer);
    const query = page.facts.findings.find((it) => it.text.endsWith("called from Database#query"))!;
    const waiting = page.model.total({ ...everything(page.model.profile), states: new Set([page.model.profile.states.indexOf("waiting")]) });
    await shows(query.text, amount({ name: "", unit: "nanoseconds" }, waiting), query.weight);
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  });
});
