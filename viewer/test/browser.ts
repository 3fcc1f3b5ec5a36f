// Chromium, driven as a person drives it.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

import { chromium, type Browser, type BrowserContextOptions, type Page as Tab } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const PROGRAMS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

export async function launch(): Promise<Browser> {
  const executablePath = PROGRAMS.find((it) => existsSync(it));
  if (!executablePath) throw new Error("there is no Chromium on this machine");
  return chromium.launch({ executablePath, args: FLAGS });
}

/** A tab with a page, and all that must not happen in it: errors, and requests that leave the page. */
export class Opened {
  readonly wrong: string[] = [];

  private constructor(readonly tab: Tab) {
    tab.on("console", (message) => ["error", "warning"].includes(message.type()) && this.wrong.push(`console: ${message.text()}`));
    tab.on("pageerror", (error) => this.wrong.push(`error: ${error.message}`));
    tab.on("dialog", (dialog) => {
      this.wrong.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    tab.on("request", (request) => /^(file|data|blob):/.test(request.url()) || this.wrong.push(`request: ${request.url()}`));
  }

  static async at(browser: Browser, html: string, fragment = "", options: BrowserContextOptions = {}): Promise<Opened> {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const opened = new Opened(await context.newPage());
    await opened.tab.goto(`${pathToFileURL(html).href}${fragment && `#${fragment}`}`);
    await opened.tab.waitForSelector("[role=tablist], [role=alert], .days canvas");
    return opened;
  }

  /** Opens a page, uses it, and closes it if nothing went wrong in it. */
  static async using(browser: Browser, html: string, use: (opened: Opened) => Promise<void>, fragment = "", options: BrowserContextOptions = {}): Promise<void> {
    const opened = await Opened.at(browser, html, fragment, options);
    await use(opened);
    assert.deepEqual(opened.wrong, []);
    await opened.close();
  }

  async show(tab: string): Promise<void> {
    await this.tab.getByRole("tab", { name: tab, exact: true }).click();
    await this.settle();
  }

  /** Waits until what was asked for is painted. */
  async settle(): Promise<void> {
    await this.tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  /** The rows of a table from its first to its last, as they are on screen while one scrolls through it. */
  async rows(name: string): Promise<Row[]> {
    const grid = this.tab.locator(`[aria-label="${name}"]`);
    const rows = new Map<number, Row>();
    await grid.evaluate((it) => it.scrollTo(0, 0));
    for (let more = true; more; ) {
      await this.settle();
      for (const row of await grid.locator(".table-row").evaluateAll(cellsOf)) rows.set(row.place, row);
      more = await grid.evaluate(scrolled);
    }
    return [...rows.values()].sort((one, other) => one.place - other.place);
  }

  /** The cells of these rows. */
  async table(name: string): Promise<string[][]> {
    return (await this.rows(name)).map((it) => it.cells);
  }

  /** Clicks the row of a function in the table of functions, wherever it stands. */
  async choose(name: string): Promise<void> {
    const grid = this.tab.locator('[aria-label="Functions"]');
    const row = grid.locator(".table-row", { has: this.tab.getByText(name, { exact: true }) }).first();
    await grid.evaluate((it) => it.scrollTo(0, 0));
    await this.settle();
    for (let more = true; more && (await row.count()) === 0; await this.settle()) more = await grid.evaluate(scrolled);
    await row.click();
    await this.settle();
  }

  /** What the page says of the box at a point of a flame graph, in pixels from its corner: its name and its total. */
  async tip(graph: string, x: number, y: number): Promise<{ name: string; total: string }> {
    const canvas = (await this.tab.locator(`[role=application][aria-label^="${graph}"] canvas`).boundingBox())!;
    const tip = this.tab.locator(".tip");
    // On a busy machine the graph may not be drawn yet when the mouse is there.
    for (let tries = 0; tries < 20; tries++) {
      await this.tab.mouse.move(0, 0);
      await this.tab.mouse.move(canvas.x + x, canvas.y + y);
      await this.settle();
      if (await tip.count()) break;
    }
    const total = tip.locator("dl > div", { has: this.tab.getByText("total", { exact: true }) }).locator("dd");
    return { name: (await tip.locator("strong").textContent())!, total: (await total.textContent())! };
  }

  /** The sum of the selection: `1.23 s`. */
  async total(): Promise<string> {
    await this.settle();
    return (await this.tab.locator(".selected strong").textContent())!;
  }

  /** What is a serious fault of the page for people who read it in other ways, each with an element that has it. */
  async faults(): Promise<string[]> {
    await this.tab.evaluate(AXE);
    const { violations } = await this.tab.evaluate(() => (globalThis as unknown as { axe: { run(options: object): Promise<{ violations: { id: string; impact: string; nodes: { html: string }[] }[] }> } }).axe.run({ resultTypes: ["violations"] }));
    return violations.filter((it) => ["serious", "critical"].includes(it.impact)).map((it) => `${it.id}: ${it.nodes[0]!.html}`);
  }

  async close(): Promise<void> {
    await this.tab.context().close();
  }
}

/** A row of a table: its place, from 1 on with the heading; its depth in a tree; and its cells. */
export interface Row {
  readonly place: number;
  readonly level: number;
  readonly cells: string[];
}

/** Runs in the page: scrolls an element down by less than its height. False at its end. */
function scrolled(it: Element): boolean {
  const before = it.scrollTop;
  it.scrollBy(0, it.clientHeight - 100);
  return it.scrollTop > before;
}

/** Runs in the page. */
function cellsOf(rows: Element[]): Row[] {
  return rows.map((row) => ({
    place: Number(row.getAttribute("aria-rowindex")),
    level: Number(row.getAttribute("aria-level") ?? 0),
    cells: [...row.querySelectorAll("[role=gridcell]")].map((cell) => [...cell.querySelectorAll("span:not(.twist, .tree-place, .function-name, .function-name *), small")].map((it) => it.textContent).join(" ") || nameOf(cell)),
  }));

  function nameOf(cell: Element): string {
    const name = cell.cloneNode(true) as Element;
    for (const it of name.querySelectorAll(".twist, .tree-place")) it.remove();
    return name.textContent!.trim();
  }
}
