// Two sides: what the model and the page say is what `profiler diff` says.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser } from "playwright-core";

import { isSignificant } from "../src/model/comparison";
import { fromFragment } from "../src/model/fragment";
import { everything, type Selection } from "../src/model/selection";
import { amount } from "../src/model/units";
import { delta, ratio, value } from "../src/compare/difference_words";
import { launch, Opened } from "./browser";
import { compared, converted, diff, recorded, said, versions, type DiffRow, type TwoSided } from "./page";

let browser: Browser;
let sides: TwoSided;
before(async () => {
  sides = await versions();
  browser = await launch();
});
after(() => browser.close());

const typeOf = (name: string) => sides.model.profile.types.find((it) => it.name === name)!;

/** The cells of the rows of `profiler diff`. */
function cellsOf(rows: readonly DiffRow[], absolute: boolean, type = typeOf("cpu")): string[] {
  const mark = (it: DiffRow) => (it.significant ? "" : " ?");
  return rows.map((it) => [value(it.before, absolute, type), value(it.after, absolute, type), delta(it.before, it.after, absolute, type), `${ratio(it.before, it.after)}${mark(it)}`, it.name].join(" | "));
}

/** Self, before and after, of the model for a selection. */
function changesOf({ model }: TwoSided, change: Partial<Selection>, total: boolean, absolute: boolean): string[] {
  const rows = model.changes({ ...everything(model.profile), ...change }, total, absolute);
  return rows.map((it) => `${model.names.name(it.function)} ${it.before.toPrecision(6)} ${it.after.toPrecision(6)}`).sort();
}

const expected = (rows: readonly DiffRow[]) => rows.filter((it) => it.before + it.after > 0).map((it) => `${it.name} ${it.before.toPrecision(6)} ${it.after.toPrecision(6)}`).sort();

describe("the changes of functions", () => {
  it("are those of diff --json, for every sample type, self and total, by share and absolute", () => {
    for (const [index, type] of sides.model.profile.types.entries()) {
      for (const [total, absolute] of [[false, false], [true, false], [false, true], [true, true]] as const) {
        const { changes } = diff(sides, "--type", type.name, ...(total ? ["--sort-total"] : []), ...(absolute ? ["--absolute"] : []));
        assert.deepEqual(changesOf(sides, { type: index }, total, absolute), expected(changes), `${type.name} ${total} ${absolute}`);
        const own = sides.model.changes({ ...everything(sides.model.profile), type: index }, total, absolute);
        const names = (rows: readonly { name: string }[]) => rows.map((it) => it.name);
        assert.deepEqual(own.filter(isSignificant).map((it) => sides.model.names.name(it.function)), names(changes.filter((it) => it.significant)), type.name);
      }
    }
  });

  it("are those of a thread, and of the app only", () => {
    const { model } = sides;
    const thread = model.profile.threads.findIndex((it) => it.name === "invoices");
    assert.deepEqual(changesOf(sides, { threads: new Set([thread]) }, false, false), expected(diff(sides, "--thread", "^invoices$").changes));
    assert.deepEqual(changesOf(sides, { transforms: [{ kind: "app" }] }, false, false), expected(diff(sides, "--app-only").changes));
  });

  it("have what is left of stacks without code of the app", async () => {
    const frames = [{ name: "Shop#call", file: "/app/shop.rb", line: 1 }, { name: "Puma#run", file: "/g/gems/puma-6.0/lib/puma.rb", line: 2 }];
    const profile = (weights: readonly number[]) => ({ type: "sampled", name: "", unit: "milliseconds", startValue: 0, endValue: 900, samples: [[1, 0], [1]], weights });
    const directory = mkdtempSync(join(tmpdir(), "viewer-"));
    const [before, after] = [[500, 400], [800, 100]].map((weights, at) => {
      const [json, file] = [join(directory, `${at}.speedscope.json`), join(directory, `${at}.pb.gz`)];
      writeFileSync(json, JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json", shared: { frames }, profiles: [profile(weights)] }));
      said("convert", json, file);
      return file;
    });
    const both = await compared([before!], [after!]);
    for (const total of [false, true]) {
      const { changes } = diff(both, "--app-only", ...(total ? ["--sort-total"] : []));
      assert.ok(changes.some((it) => it.name === "(hidden)"), changes.map((it) => it.name).join());
      assert.deepEqual(changesOf(both, { transforms: [{ kind: "app" }] }, total, false), expected(changes), `${total}`);
    }
  });

  it("are the means of several runs of a side", async () => {
    const [one, other] = [await recorded(), await recorded()];
    const several = await compared([one.file, other.file], [other.file]);
    for (const [index, type] of several.model.profile.types.entries()) {
      for (const absolute of [false, true]) {
        const { changes } = diff(several, "--type", type.name, ...(absolute ? ["--absolute"] : []));
        assert.deepEqual(changesOf(several, { type: index }, false, absolute), expected(changes), `${type.name} ${absolute}`);
      }
    }
  });
});

describe("a second file", () => {
  const open = (html: string, use: (opened: Opened) => Promise<void>) => Opened.using(browser, html, use);

  /** The changes on screen in the weights of functions: before, after and the name. */
  const rows = async (opened: Opened) => {
    await opened.show("Changes");
    await opened.tab.getByRole("button", { name: "Weights" }).click();
    return (await opened.table("Changes")).map((it) => [it[0], it[1], it[4]].join(" | ")).sort();
  };

  for (const kind of ["profile", "page"] as const) {
    it(`that is a ${kind} is compared with the page's own, in the numbers of diff`, async () => {
      const [before, after] = [await converted(sides.before[0]!), await converted(sides.after[0]!)];
      const cpu = typeOf("cpu");
      const weight = (it: number) => amount(cpu, Math.round(it));
      const changes = diff(sides, "--absolute", "--type", "cpu").changes.filter((it) => it.before + it.after > 0);
      await open(after.htmlPath, async (opened) => {
        await opened.tab.getByLabel("File to compare with").setInputFiles(kind === "page" ? before.htmlPath : before.file);
        await opened.tab.waitForSelector(".sides");
        assert.match((await opened.tab.locator(".headline").textContent())!, / -> /);
        assert.deepEqual((await rows(opened)).map((it) => it.replace(/:\d+$/, "")), changes.map((it) => `${weight(it.before)} | ${weight(it.after)} | ${it.name}`.replace(/:\d+$/, "")).sort());
        assert.deepEqual(await opened.faults(), []);
        await opened.tab.getByRole("button", { name: /^Back to/ }).click();
        await opened.tab.waitForSelector("#tab-chart");
      });
    });
  }

  it("can be dropped, and is refused with a reason if it is something else", async () => {
    const page = await converted(sides.after[0]!);
    await open(page.htmlPath, async (opened) => {
      await opened.tab.evaluate(() => {
        const data = new DataTransfer();
        data.items.add(new File(["hello"], "notes.txt"));
        dispatchEvent(new DragEvent("dragover", { dataTransfer: data, cancelable: true }));
        dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
      });
      assert.equal(await opened.tab.getByRole("alert").textContent(), "The file notes.txt is neither a .pb.gz of profiler nor a page with one profile.");
    });
  });
});

describe("the page of two sides", () => {
  const open = (use: (opened: Opened) => Promise<void>, fragment = "", options = {}) => Opened.using(browser, sides.htmlPath, use, fragment, options);

  it("has the rows of diff --json in its table", async () => {
    await open(async (opened) => {
      await opened.show("Changes");
      const rows = async () => (await opened.table("Changes")).map((it) => it.slice(0, 5).join(" | "));
      assert.deepEqual(await rows(), cellsOf(diff(sides).changes, false));
      await opened.tab.getByRole("button", { name: "Weights" }).click();
      await opened.tab.getByRole("button", { name: "Total", exact: true }).click();
      assert.deepEqual(await rows(), cellsOf(diff(sides, "--absolute", "--sort-total").changes, true));
      await opened.tab.getByLabel("Sample type").selectOption({ label: "allocated bytes" });
      assert.deepEqual(await rows(), cellsOf(diff(sides, "--absolute", "--sort-total", "--type", "alloc_space").changes, true, typeOf("alloc_space")));
    });
  });

  it("names the culprit at once, and lights it up after a click", async () => {
    const { changes } = diff(sides);
    await open(async (opened) => {
      const first = opened.tab.locator(".finding").first();
      assert.match((await first.textContent())!, new RegExp(`^\\+${((changes[0]!.after - changes[0]!.before) * 100).toFixed(2)}%${changes[0]!.name}`));
      await first.click();
      await opened.settle();
      assert.equal(await first.getAttribute("aria-pressed"), "true");
      assert.equal(await opened.tab.locator("#search").inputValue(), `^${changes[0]!.name}$`);
    });
  });

  it("has before, after and their difference beside the pointer", async () => {
    const cpu = typeOf("cpu");
    const row = diff(sides, "--sort-total").changes.find((it) => it.name === "Customers#check")!;
    const weights = diff(sides, "--sort-total", "--absolute").changes.find((it) => it.name === "Customers#check")!;
    await open(async (opened) => {
      const graph = opened.tab.locator(".flame");
      const { width } = (await graph.locator("canvas").boundingBox())!;
      const names = new Map<string, string>();
      for (let x = 2; x < width; x += 5) {
        for (const y of [63, 81, 99]) {
          await graph.locator("canvas").hover({ position: { x, y } });
          const tip = opened.tab.locator(".tip");
          if ((await tip.count()) > 0) names.set((await tip.locator("strong").textContent())!, (await tip.locator("dl").textContent())!);
        }
        if (names.has("Customers#check")) break;
      }
      const text = names.get("Customers#check") ?? "";
      const both = (side: "before" | "after") => `${value(row[side], false, cpu)}, ${amount(cpu, Math.round(weights[side]))}`;
      assert.ok(text.includes(`before${both("before")}`) && text.includes(`after${both("after")}`), text);
      assert.ok(text.includes(`difference${delta(row.before, row.after, false, cpu)}, ${delta(weights.before, weights.after, true, cpu)}`), text);
    });
  });

  it("keeps what is shown in the address, and shows one side in the other views", async () => {
    await open(async (opened) => {
      await opened.tab.getByRole("button", { name: "Weights" }).click();
      await opened.show("Top");
      const after = await opened.total();
      await opened.tab.getByRole("button", { name: "Before", exact: true }).click();
      const beforeTotal = await opened.total();
      const { before, after: all } = diff(sides);
      assert.deepEqual([beforeTotal, after], [amount(typeOf("cpu"), before), amount(typeOf("cpu"), all)]);
      await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 400)));
      const words = new URLSearchParams(new URL(opened.tab.url()).hash.slice(1));
      assert.deepEqual([words.get("side"), words.get("view"), words.get("viewBy")], ["before", "top", "weight"]);
      await opened.tab.reload();
      await opened.tab.waitForSelector("[role=tablist]");
      assert.equal(await opened.total(), beforeTotal);
    });
  });

  it("has no serious fault for readers, light and dark", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      await open(async (opened) => {
        for (const name of ["Difference", "Changes", "Top"]) {
          await opened.show(name);
          assert.deepEqual(await opened.faults(), [], `${name}, ${colorScheme}`);
        }
      }, "", { colorScheme });
    }
  });

  it("fits a phone", async () => {
    await open(async (opened) => {
      for (const name of ["Difference", "Changes", "Top"]) {
        await opened.show(name);
        assert.ok(await opened.tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), name);
      }
    }, "", { viewport: { width: 390, height: 844 } });
  });
});

describe("a page of two sides", () => {
  it("shows hostile names as text", async () => {
    const directory = mkdtempSync(join(tmpdir(), "viewer-"));
    const folded = (name: string, file: string) => {
      writeFileSync(join(directory, file), `main;${name} 1000000\nmain;other 500000`);
      return join(directory, file);
    };
    const hostile = await compared([folded("<img src=x onerror=alert(1)>", "<b>one.folded")], [folded("</script><script>alert(2)</script>", "two.folded")]);
    const opened = await Opened.at(browser, hostile.htmlPath);
    for (const name of ["Changes", "Top", "Difference"]) await opened.show(name);
    await opened.show("Changes");
    const names = (await opened.table("Changes")).map((it) => it[4]!);
    assert.ok(names.includes("<img src=x onerror=alert(1)>") && names.includes("</script><script>alert(2)</script>"), names.join("\n"));
    assert.match((await opened.tab.locator(".sides").textContent())!, /<b>one\.folded/);
    assert.equal(await opened.tab.locator("img, main script, main b:not(.share)").count(), 0);
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  });
});

describe("two ranges of time", () => {
  it("are drawn with Ctrl, compared as the model has them, in the address, and gone with Escape", async () => {
    const page = await recorded();
    const { model } = page;
    const opened = await Opened.at(browser, page.htmlPath);
    const { mouse, keyboard } = opened.tab;
    const strip = (await opened.tab.getByRole("slider", { name: "Range of time" }).boundingBox())!;
    const drag = async (from: number, to: number) => {
      await mouse.move(strip.x + strip.width * from, strip.y + 20);
      await mouse.down();
      await mouse.move(strip.x + strip.width * to, strip.y + 20, { steps: 4 });
      await mouse.up();
    };
    await drag(0.6, 0.9);
    const alone = await opened.total();
    await keyboard.down("Control");
    await drag(0.1, 0.4);
    await keyboard.up("Control");
    assert.equal(await opened.tab.getByRole("tab", { name: "Difference" }).getAttribute("aria-selected"), "true");
    await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 400)));
    const { selection } = fromFragment(model.profile, model.names, new URL(opened.tab.url()).hash.slice(1));
    assert.ok(selection.range && selection.against && selection.against.to < selection.range.from, "the later one was drawn first");
    const type = model.type(selection);
    const totals = [selection.against, selection.range].map((range) => amount(type, model.total({ ...selection, range, against: null })));
    assert.deepEqual(await opened.tab.locator(".selected strong").allTextContents(), totals);
    assert.equal(totals[1], alone);

    await opened.show("Changes");
    const rows = (await opened.table("Changes")).map((it) => it.slice(0, 5).join(" | "));
    const changes = model.changes(selection, false, false);
    assert.deepEqual(rows, changes.map((it) => [value(it.before, false, type), value(it.after, false, type), delta(it.before, it.after, false, type), ratio(it.before, it.after), model.names.name(it.function)].join(" | ")));
    await opened.tab.reload();
    await opened.tab.waitForSelector("[role=tablist]");
    assert.deepEqual(await opened.tab.locator(".selected strong").allTextContents(), totals);
    await keyboard.press("Escape");
    assert.equal(await opened.total(), alone);
    assert.equal(await opened.tab.getByRole("tab", { name: "Difference" }).count(), 0);
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  });

  it("have the sums of each range alone at every node", async () => {
    const { model } = await recorded();
    const span = model.profile.timeline!.time.at(-1)!;
    const [first, second] = [{ from: 0, to: span / 3 }, { from: span / 2, to: span }];
    const whole = everything(model.profile);
    const both = model.comparison({ ...whole, range: second, against: first }, true);
    const [one, other] = [first, second].map((range) => model.stacks({ ...whole, range }).weighed);
    for (let node = 0; node < both.tree.count; node++) {
      assert.deepEqual([both.before.total(node), both.after.total(node)], [one!.total(node), other!.total(node)]);
      assert.equal(both.isNew(node), one!.total(node) === 0 && other!.total(node) > 0);
    }
  });
});
