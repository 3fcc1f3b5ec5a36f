// The tabs of memory and of garbage collection against the report of the same profile.

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { everything } from "../src/model/selection";
import { amount, count, duration, percent } from "../src/model/units";
import { delta } from "../src/compare/difference_words";
import { tabsOf } from "../src/state/view";
import { launch, Opened } from "./browser";
import { by, converted, kept, recorded, report, versions, type Page } from "./page";

const [BYTES, NUMBER, NS] = [{ name: "", unit: "bytes" }, { name: "", unit: "count" }, { name: "", unit: "nanoseconds" }];

let browser: Browser;
let leak: Page;
let shop: Page;
before(async () => {
  [leak, shop] = [await recorded("leak.rb"), await kept("shop.pb.gz")];
  browser = await launch();
});
after(() => browser.close());

const open = (page: Page, fragment: string, use: (opened: Opened) => Promise<void>) => Opened.using(browser, page.htmlPath, use, fragment);

/** The weights of a label's values, and their sum. */
function weights(page: Page, label: string, type: string): { of: (value: string | null) => number; all: number; values: string[] } {
  const values = by(page.file, label, "--type", type).filter((it) => it.weight > 0);
  return { of: (value) => values.find((it) => it.value === value)?.weight ?? 0, all: values.reduce((sum, it) => sum + it.weight, 0), values: values.map((it) => it.value ?? "(none)") };
}

describe("the tab of memory", () => {
  it("has the classes of the report: live and allocated, in bytes and in number", async () => {
    const [liveBytes, live, bytes, objects] = ["inuse_space", "inuse_objects", "alloc_space", "alloc_objects"].map((type) => weights(leak, "class", type));
    await open(leak, "view=memory&view.objects=class", async (opened) => {
      const rows = await opened.table("Objects");
      assert.deepEqual(rows.map((it) => it.at(-1)).sort(), bytes!.values.sort());
      for (const row of rows) {
        const name = row.at(-1)!;
        const [inUse, all] = [liveBytes!.of(name), bytes!.of(name)];
        const expected = [`${amount(BYTES, inUse)} ${percent(inUse, liveBytes!.all)}`, count(live!.of(name)), `${amount(BYTES, all)} ${percent(all, bytes!.all)}`, amount(NUMBER, objects!.of(name)), percent(all - inUse, all), name];
        assert.deepEqual(row, expected);
      }
    });
  });

  it("has the ages of live objects as the report has them", async () => {
    const [bytes, live] = [weights(leak, "age", "inuse_space"), weights(leak, "age", "inuse_objects")];
    await open(leak, "view=memory&view.objects=age", async (opened) => {
      const rows = await opened.table("Objects");
      assert.deepEqual(rows.map((it) => it[2]).sort(), bytes.values.sort());
      for (const [space, number, age] of rows) assert.deepEqual([space, number], [`${amount(BYTES, bytes.of(age!))} ${percent(bytes.of(age!), bytes.all)}`, count(live.of(age!))], age);
    });
  });

  it("names the leak with one click, and what allocates most with one more", async () => {
    await open(leak, "", async (opened) => {
      await opened.show("Memory");
      assert.match((await opened.table("Objects"))[0]!.at(-1)!, /^Cart#fill/);
      await opened.tab.getByRole("button", { name: "Allocated first" }).click();
      const [first] = await opened.table("Objects");
      const finding = leak.facts.findings.find((it) => it.kind === "allocations")!;
      // "allocated: 6.87 MiB of String in Cart#total, 100.0% died"
      const [, bytes, name, site, died] = /^allocated: (.*) of (\S+) in (\S+), (.*) died/.exec(finding.text)!;
      assert.deepEqual([first![2]!.split(" ").slice(0, 2).join(" "), first!.at(-2), first!.at(-1)!.split(/(?=\/)/)[0], first![4]], [bytes, name, site, died]);
      await opened.tab.locator("[aria-label=Objects]").evaluate((it) => it.scrollTo(0, 0));
      await opened.settle();
      await opened.tab.locator("#Objects-0").click();
      assert.equal(await opened.total(), amount(BYTES, weights(leak, "class", "alloc_space").of(name!)), "a click selects the class");
      assert.match((await opened.tab.locator(".search output").textContent())!, new RegExp(`, ${bytes}$`), "and lights up the place");
    });
  });

  it("has the libraries and the owners of memory from malloc as the report has them", async () => {
    const malloc = await recorded("malloc.rb");
    for (const [grouping, label, place] of [["class", "library", -1], ["owner", "owner", 2]] as const) {
      const [bytes, live] = [weights(malloc, label, "inuse_space"), weights(malloc, label, "inuse_objects")];
      await open(malloc, `view=memory&view.objects=${grouping}`, async (opened) => {
        const rows = (await opened.table("Blocks")).filter((row) => bytes.of(row.at(place)!) > 0);
        assert.deepEqual(rows.map((row) => row.at(place)).sort(), bytes.values.filter((it) => it !== "(none)").sort());
        for (const row of rows) {
          const name = row.at(place)!;
          assert.deepEqual(row.slice(0, 2), [`${amount(BYTES, bytes.of(name))} ${percent(bytes.of(name), bytes.all)}`, count(live.of(name))], name);
        }
        if (label === "owner") assert.ok(rows.some((row) => row.at(place) === "(unreferenced)"), "what was lost has no owner");
        assert.ok(await opened.tab.getByRole("button", { name: "Library", exact: true }).isVisible());
      });
    }
  });

  it("is not there without objects, and says what tells of live ones", async () => {
    assert.ok(!tabsOf(shop.model, everything(shop.model.profile)).includes("memory"));
    const small = await recorded("small.rb");
    await open(small, "view=memory", async (opened) => {
      assert.match((await opened.tab.locator("[role=tabpanel] .part").textContent())!, /--mode heap/);
      const all = weights(small, "class", "alloc_space").all;
      assert.equal(await opened.tab.locator(".bar > .muted").textContent(), `${amount(BYTES, all)} allocated`);
    });
  });
});

describe("growth between two profiles", () => {
  it("has what both reports say of each class, the most first, and selects a row", async () => {
    const sides = await versions("growing.rb");
    const reported = (file: string, type: string) => new Map(by(file, "class", "--type", type).map((it) => [it.value ?? "", it.weight]));
    const [earlier, later, fewer, more] = ["inuse_space", "inuse_objects"].flatMap((type) => [reported(sides.before[0]!, type), reported(sides.after[0]!, type)]);
    await Opened.using(browser, sides.htmlPath, async (opened) => {
      await opened.show("Memory");
      assert.match((await opened.table("Growth"))[0]!.at(-1)!, /^Journal#note/, "the leak stands first");
      await opened.tab.getByRole("button", { name: "Class", exact: true }).click();
      const rows = await opened.table("Growth");
      const grown = rows.map((it) => later!.get(it.at(-1)!)! - (earlier!.get(it.at(-1)!) ?? 0));
      assert.deepEqual(grown, [...grown].sort((one, other) => other - one));
      for (const [before, now, growth, , objects, name] of rows) {
        const [one, other] = [earlier!.get(name!) ?? 0, later!.get(name!) ?? 0];
        assert.deepEqual([before, now, growth], [amount(BYTES, one), amount(BYTES, other), delta(one, other, true, BYTES)], name);
        assert.equal(objects, delta(fewer!.get(name!) ?? 0, more!.get(name!) ?? 0, true, NUMBER), name);
      }
      assert.deepEqual(rows.map((it) => it.at(-1)).sort(), [...new Set([...earlier!.keys(), ...later!.keys()])].sort());
      await opened.tab.locator("#Growth-0").click();
      assert.equal(await opened.tab.locator("#Growth-0").getAttribute("aria-selected"), "true");
      await opened.show("Difference");
      assert.deepEqual(await opened.faults(), []);
    });
  });
});

describe("the tab of garbage collection", () => {
  for (const name of ["shop", "leak"] as const) {
    it(`has kinds and reasons of the report (${name})`, async () => {
      const page = { shop, leak }[name];
      const [kinds, reasons] = [weights(page, "gc", "gc"), weights(page, "gc_reason", "gc")];
      await open(page, "view=gc", async (opened) => {
        const text = (await opened.tab.locator(".bar .grow").textContent())!;
        for (const kind of ["minor", "major"]) assert.ok(text.includes(`${kind} ${duration(kinds.of(kind))}`), text);
        const rows = await opened.table("Reasons");
        assert.equal(rows.length, reasons.values.length);
        for (const [time, , why] of rows) {
          const reason = why!.split(" ")[0]!;
          assert.equal(time, `${amount(NS, reasons.of(reason))} ${percent(reasons.of(reason), reasons.all)}`);
        }
        await opened.tab.locator("[aria-label=Reasons] .table-row").first().click();
        assert.equal(await opened.total(), duration(reasons.of(rows[0]![2]!.split(" ")[0]!)));
      });
    });
  }

  it("names what caused it, and selects that", async () => {
    await open(shop, "", async (opened) => {
      await opened.show("GC");
      const [first] = await opened.table("Causes");
      assert.match(first![2]!, /^Indexer#rebuild/);
      const caused = report(shop.file, "--type", "gc", "--focus", "^Indexer#rebuild$").top.reduce((sum, it) => sum + it.self, 0);
      await opened.tab.locator("[aria-label=Causes] .table-row").first().click();
      assert.match((await opened.tab.locator(".search output").textContent())!, new RegExp(`, ${duration(caused)}$`));
    });
  });

  it("is not there without garbage collection", async () => {
    const folded = `${shop.file.replace(/^.*\//, "/tmp/viewer-")}.folded`;
    (await import("node:fs")).writeFileSync(folded, "main;work 1000000\n");
    const { model } = await converted(folded);
    assert.deepEqual(tabsOf(model, everything(model.profile)), ["graph", "chart", "top", "tree", "sandwich", "labels"]);
  });
});
