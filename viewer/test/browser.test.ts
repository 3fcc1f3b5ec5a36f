// The page in Chromium: what it shows is what the report says, nothing leaves it, and it can be used by keys and by readers.

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { fromFragment } from "../src/model/fragment";
import type { SampleType } from "../src/model/profile";
import { spanOf } from "../src/model/time";
import { amount, percent } from "../src/model/units";
import { launch, Opened } from "./browser";
import { converted, recorded, report, type Page } from "./page";

let browser: Browser;
let page: Page;
before(async () => {
  page = await recorded();
  browser = await launch();
});
after(() => browser.close());

const typeOf = (name: string) => page.model.profile.types.find((it) => it.name === name)!;

/** Self, total and name of each row, as the report has them. */
function reported(type: SampleType, ...options: string[]): string[] {
  const { top } = report(page.file, "--type", type.name, ...options);
  const all = top.reduce((sum, it) => sum + it.self, 0);
  const weight = (it: number) => `${amount(type, it)} ${percent(it, all)}`;
  return top.filter((it) => it.total > 0).map((it) => `${weight(it.self)} | ${weight(it.total)} | ${it.name}`).sort();
}

async function shown(opened: Opened): Promise<string[]> {
  return (await opened.table("Functions")).map(([self, total, name]) => `${self} | ${total} | ${name}`).sort();
}

/** Opens the page, and closes it if nothing went wrong in it. */
const open = (use: (opened: Opened) => Promise<void>, html = page.htmlPath, fragment = "", options = {}) => Opened.using(browser, html, use, fragment, options);

describe("the table of functions", () => {
  it("has the rows of the report, for every sample type", async () => {
    await open(async (opened) => {
      await opened.show("Top");
      for (const [index, type] of page.model.profile.types.entries()) {
        const expected = reported(type);
        // A type without weight, as those of the GVL before Ruby 3.3, is no choice.
        const option = opened.tab.getByLabel("Sample type").locator(`option[value="${index}"]`);
        assert.equal(await option.count(), Number(expected.length > 0), type.name);
        if (expected.length === 0) continue;
        await opened.tab.getByLabel("Sample type").selectOption(String(index));
        assert.deepEqual(await shown(opened), expected, type.name);
      }
    });
  });

  it("has them for a thread, with idle threads, for the app only, and for a state", async () => {
    const wall = typeOf("wall");
    await open(async (opened) => {
      await opened.show("Top");
      await opened.tab.getByLabel("Sample type").selectOption({ label: "wall clock time" });
      await opened.tab.getByRole("button", { name: "App only" }).click();
      assert.deepEqual(await shown(opened), reported(wall, "--app-only"));
      await opened.tab.keyboard.press("u");
      assert.deepEqual(await shown(opened), reported(wall));
      await opened.tab.getByRole("button", { name: "Remove without idle waits" }).click();
      assert.deepEqual(await shown(opened), reported(wall, "--idle"));
      await opened.tab.locator(".track-label", { hasText: "worker 1" }).click();
      assert.deepEqual(await shown(opened), reported(wall, "--idle", "--thread", "^worker 1$"));
    });
  });

  it("is sorted by the column that is pressed", async () => {
    await open(async (opened) => {
      await opened.show("Top");
      await opened.tab.getByRole("button", { name: "Total", exact: true }).click();
      const { top } = report(page.file, "--sort-total");
      assert.equal((await opened.table("Functions"))[0]![2], top[0]!.name);
      assert.equal(await opened.tab.locator("[role=columnheader].cell-total").getAttribute("aria-sort"), "descending");
    });
  });
});

describe("the other views", () => {
  it("have the function's numbers in the sandwich and in the call tree", async () => {
    const wall = typeOf("wall");
    const { top } = report(page.file, "--type", "wall");
    const all = top.reduce((sum, it) => sum + it.self, 0);
    const row = top.find((it) => it.name === "Order#parse")!;
    await open(async (opened) => {
      await opened.tab.getByLabel("Sample type").selectOption({ label: "wall clock time" });
      await opened.show("Sandwich");
      await opened.choose("Order#parse");
      assert.equal(await opened.tab.locator(".sandwich-graphs .bar .muted").textContent(), `total ${amount(wall, row.total)} (${percent(row.total, all)}), self ${amount(wall, row.self)}`);
      await opened.show("Call tree");
      assert.deepEqual((await opened.table("Call tree"))[0]!.slice(0, 2), [`${amount(wall, all)} 100.0%`, "0 0.0%"]);
    });
  });

  it("show a picture of the flame graph and of the flame chart", async () => {
    await open(async (opened) => {
      for (const name of ["Flame graph", "Flame chart", "Sandwich"]) {
        await opened.show(name);
        const colors = await opened.tab.locator("[role=tabpanel] canvas").first().evaluate((canvas: HTMLCanvasElement) => {
          const { data } = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height);
          return new Set(new Uint32Array(data.buffer)).size;
        });
        assert.ok(colors > 4, `${name} has ${colors} colours`);
      }
    });
  });
});

describe("a selection", () => {
  it("is a range that is drawn, is in the address, and goes with Escape", async () => {
    await open(async (opened) => {
      const whole = await opened.total();
      const strip = (await opened.tab.getByRole("slider", { name: "Range of time" }).boundingBox())!;
      await opened.tab.mouse.move(strip.x + strip.width * 0.2, strip.y + 20);
      await opened.tab.mouse.down();
      await opened.tab.mouse.move(strip.x + strip.width * 0.5, strip.y + 20, { steps: 8 });
      await opened.tab.mouse.up();
      const part = await opened.total();
      assert.notEqual(part, whole);
      await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 500))); // the address is written after the drag
      const { selection } = fromFragment(page.model.profile, page.model.names, new URL(opened.tab.url()).hash.slice(1));
      assert.ok(selection.range && selection.range.from > 0);
      assert.equal(part, amount(page.model.profile.types[selection.type]!, page.model.total(selection)));

      await opened.tab.reload();
      await opened.tab.waitForSelector("[role=tablist]");
      assert.equal(await opened.total(), part);
      await opened.tab.keyboard.press("Escape");
      assert.equal(await opened.total(), whole);
    });
  });

  it("follows an edge that is dragged, and moves as a whole with Shift", async () => {
    await open(async (opened) => {
      const { mouse, keyboard } = opened.tab;
      const strip = (await opened.tab.getByRole("slider", { name: "Range of time" }).boundingBox())!;
      const drag = async (from: number, to: number) => {
        await mouse.move(strip.x + strip.width * from, strip.y + 20);
        await mouse.down();
        await mouse.move(strip.x + strip.width * to, strip.y + 20, { steps: 4 });
        await mouse.up();
        await opened.tab.evaluate(() => new Promise((done) => setTimeout(done, 300)));
        const { range } = fromFragment(page.model.profile, page.model.names, new URL(opened.tab.url()).hash.slice(1)).selection;
        return [range!.from, range!.to].map((it) => Math.round((20 * it) / spanOf(page.model.profile)));
      };
      assert.deepEqual(await drag(0.2, 0.5), [4, 10]);
      assert.deepEqual(await drag(0.5, 0.7), [4, 14]);
      assert.deepEqual(await drag(0.2, 0.3), [6, 14]);
      await keyboard.down("Shift");
      assert.deepEqual(await drag(0.5, 0.6), [8, 16]);
      await keyboard.up("Shift");
    });
  });

  it("is made by each finding", async () => {
    await open(async (opened) => {
      const findings = opened.tab.locator("button.finding:not(.in-selection)");
      const count = await findings.count();
      assert.ok(count > 0);
      for (let at = 0; at < count; at++) {
        await findings.nth(at).click();
        await opened.settle();
        assert.equal(await findings.nth(at).getAttribute("aria-pressed"), "true");
        assert.notEqual(await opened.total(), "0");
        await findings.nth(at).click();
      }
    });
  });

  it("lights up what a search finds, and says its sum", async () => {
    const expected = report(page.file, "--type", "wall", "--focus", "^Order#(parse|total)$").top.reduce((sum, it) => sum + it.self, 0);
    await open(async (opened) => {
      await opened.tab.getByLabel("Sample type").selectOption({ label: "wall clock time" });
      await opened.tab.keyboard.press("/");
      await opened.tab.keyboard.type("^Order#(parse|total)$");
      // The report counts idle threads under a focus; none of them is in these functions. A busy machine searches for a part first.
      const end = `, ${amount(typeOf("wall"), expected)}`;
      await opened.tab.waitForFunction((end) => document.querySelector(".search output")!.textContent!.endsWith(end), end);
    });
  });
});

describe("keys", () => {
  it("lead from match to match of a search, in each view", async () => {
    await open(async (opened) => {
      const { keyboard } = opened.tab;
      await keyboard.press("/");
      await keyboard.type("^Order#(parse|total)$");
      await opened.tab.waitForFunction(() => document.querySelector(".search output")!.textContent !== "");
      const names = async (view: string, focus: string, shown: string) => {
        await opened.show(view);
        await opened.tab.locator(focus).focus();
        const found: string[] = [];
        for (const key of ["n", "n", "N"]) {
          await keyboard.press(key);
          await opened.settle();
          found.push((await opened.tab.locator(shown).textContent())!.replace(/[▸▾]/, "").trim());
        }
        for (const name of found) assert.match(name, /^Order#(parse|total)/, view);
        assert.equal(found[0], found[2], view);
      };
      await names("Flame graph", ".flame", ".flame [aria-live]");
      await opened.tab.locator(".track-label", { hasText: "worker 0" }).click();
      await names("Flame chart", ".chart", ".chart [aria-live]");
      await names("Top", "[aria-label=Functions]", ".table-row.active .cell-name");
      await names("Call tree", "[aria-label='Call tree']", ".table-row.active .cell-name");
    });
  });

  it("walk through the calls of the flame chart", async () => {
    await open(async (opened) => {
      await opened.show("Flame chart");
      const chart = opened.tab.locator(".chart");
      await chart.focus();
      const outline = chart.locator(".outline.current");
      const box = async (key: string) => {
        await opened.tab.keyboard.press(key);
        await opened.settle();
        return (await outline.boundingBox())!;
      };
      const first = await box("ArrowDown");
      const second = await box("ArrowDown");
      assert.ok(second.y > first.y && second.x >= first.x - 1 && second.width <= first.width + 1, "a callee is under its caller");
      assert.equal((await box("ArrowUp")).y, first.y);
      const before = await opened.tab.locator(".bar .grow").textContent();
      await box("ArrowDown");
      await box("Enter");
      assert.notEqual(await opened.tab.locator(".bar .grow").textContent(), before, "Enter zooms");
      await opened.tab.keyboard.press("m");
      assert.ok(await opened.tab.locator("[role=menu]").isVisible());
    });
  });
});

describe("a marker", () => {
  it("stands above the calls of its thread in the flame chart", async () => {
    const { markers } = page.model.profile;
    const longest = markers.filter((it) => it.thread >= 0).reduce((one, other) => (one.duration > other.duration ? one : other));
    await open(async (opened) => {
      await opened.tab.getByRole("group", { name: "Threads" }).locator(".track-label", { hasText: page.model.profile.threads[longest.thread]!.name }).first().click();
      await opened.show("Flame chart");
      const canvas = (await opened.tab.locator(".chart canvas").boundingBox())!;
      const middle = (longest.start + longest.duration / 2) / spanOf(page.model.profile);
      await opened.tab.mouse.move(canvas.x + canvas.width * middle, canvas.y + 48);
      await opened.settle();
      assert.equal(await opened.tab.locator(".tip strong").textContent(), longest.name);
    });
  });
});

describe("the page", () => {
  it("has no serious fault for readers, in each view, light and dark", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      await open(async (opened) => {
        for (const name of ["Flame graph", "Flame chart", "Top", "Call tree", "Sandwich", "Groups", "Memory", "GC", "Source"]) {
          await opened.show(name);
          assert.deepEqual(await opened.faults(), [], `${name}, ${colorScheme}`);
        }
      }, page.htmlPath, "", { colorScheme });
    }
  });

  it("fits a phone and twice the size of text", async () => {
    for (const viewport of [{ width: 390, height: 844 }, { width: 640, height: 400 }]) {
      await open(async (opened) => {
        for (const name of ["Flame graph", "Top", "Call tree", "Sandwich", "Groups", "Memory", "GC", "Source"]) {
          await opened.show(name);
          assert.ok(await opened.tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than ${viewport.width}`);
        }
      }, page.htmlPath, "", { viewport });
    }
  });

  it("lists its keys, and saves the profile that it holds", async () => {
    await open(async (opened) => {
      await opened.tab.keyboard.press("?");
      assert.ok(await opened.tab.locator("dialog[open]").isVisible());
      await opened.tab.keyboard.press("Escape");
      await opened.tab.getByRole("button", { name: "Save" }).click();
      const [download] = await Promise.all([opened.tab.waitForEvent("download"), opened.tab.getByText("Save profile as .pb.gz").click()]);
      assert.deepEqual(new Uint8Array(readFileSync((await download.path())!)), page.bytes);
    });
  });

  it("shows hostile names as text", async () => {
    const folded = `${page.file}.folded`;
    const names = ["<img src=x onerror=alert(1)>", "</script><script>alert(2)</script>", "a\u202eb", "<!-- x -->", `${"long".repeat(250_000)}`, "&amp;\u0000"];
    writeFileSync(folded, names.map((it) => `main;${it} 1000000`).join("\n"));
    const hostile = await converted(folded);
    await open(async (opened) => {
      for (const name of ["Top", "Call tree", "Sandwich", "Flame graph"]) await opened.show(name);
      await opened.show("Top");
      const rows = (await opened.table("Functions")).map((it) => it[2]!);
      assert.ok(rows.includes("<img src=x onerror=alert(1)>") && rows.includes("</script><script>alert(2)</script>"), rows.map((it) => it.slice(0, 60)).join("\n"));
      assert.equal(await opened.tab.locator("img, main script").count(), 0);
    }, hostile.htmlPath);
  });

  it("shows no character that changes the writing direction, in any view, menu or attribute", async () => {
    const hostile = await recorded("hostile.rb");
    assert.match(JSON.stringify(hostile.facts.header), /\u202e/i, "the facts have what a program wrote");
    await open(async (opened) => {
      const { tab } = opened;
      const harmful = () => tab.evaluate(() => {
        const shown = [document.title];
        for (const element of document.querySelectorAll("#app, #app *")) {
          for (const { name, value } of element.attributes) shown.push(`${name}: ${value}`);
          for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) shown.push(node.textContent!);
        }
        return shown.filter((it) => /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/.test(it));
      });
      const names = await tab.getByRole("tab").allTextContents();
      assert.ok(names.length >= 7, names.join());
      for (const name of names) {
        await opened.show(name);
        assert.deepEqual(await harmful(), [], name);
        for (const by of await tab.getByRole("group", { name: "By" }).getByRole("button").all()) {
          await by.click();
          await opened.settle();
          assert.deepEqual(await harmful(), [], `${name} ${await by.textContent()}`);
        }
      }
      const openers = tab.locator(".filters button[aria-haspopup], .filters button[aria-expanded]");
      const menus = await openers.count();
      assert.ok(menus >= 3, `${menus} menus`);
      for (let at = 0; at < menus; at++) {
        await openers.nth(at).click();
        await opened.settle();
        assert.deepEqual(await harmful(), [], `menu ${at}`);
        await tab.getByRole("checkbox").first().click();
        await opened.settle();
        assert.deepEqual(await harmful(), [], `a chip of menu ${at}`);
        await tab.keyboard.press("Escape");
      }
    }, hostile.htmlPath);
  });

  it("says what is wrong with damaged data", async () => {
    const damaged = `${page.file}.damaged.html`;
    writeFileSync(damaged, page.html.replace(/(id="profile">.{2000})[^<]*/, "$1"));
    await open(async (opened) => {
      assert.match((await opened.tab.getByRole("alert").textContent())!, /damaged/);
    }, damaged);
  });
});
