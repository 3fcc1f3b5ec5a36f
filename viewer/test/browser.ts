// Chromium, driven as a person drives it.

import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";

import { chromium, type Browser, type BrowserContextOptions, type Page as Tab } from "playwright-core";

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
    await opened.tab.waitForSelector("[role=tablist], [role=alert]");
    return opened;
  }

  async show(tab: string): Promise<void> {
    await this.tab.getByRole("tab", { name: tab, exact: true }).click();
    await this.settle();
  }

  /** Waits until what was asked for is painted. */
  async settle(): Promise<void> {
    await this.tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  }

  /** The cells of a table, row by row, as many as are on screen. */
  async table(name: string): Promise<string[][]> {
    await this.settle();
    return this.tab.locator(`[aria-label="${name}"] .table-row`).evaluateAll((rows) =>
      rows
        .sort((one, other) => Number(one.getAttribute("aria-rowindex")) - Number(other.getAttribute("aria-rowindex")))
        .map((row) => [...row.querySelectorAll("[role=gridcell]")].map((cell) => [...cell.querySelectorAll("span:not(.twist):not(.tree-place), small")].map((it) => it.textContent).join(" ") || cell.textContent!.trim())),
    );
  }

  /** The sum of the selection: `1.23 s`. */
  async total(): Promise<string> {
    await this.settle();
    return (await this.tab.locator(".selected strong").textContent())!;
  }

  async close(): Promise<void> {
    await this.tab.context().close();
  }
}
