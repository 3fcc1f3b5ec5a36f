// How long the page takes to open a large profile, and from an event to the frame that shows what it did: `rake bench:viewer`.
//
//   node build/bench/speed.mjs PAGE.html     the figures as a table; RUNS pages are opened, one after the other

import { readFileSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";

import type { Browser, Page as Tab } from "playwright-core";

import { launch } from "./browser";

const RUNS = Number(process.env["BENCH_RUNS"] ?? 3);
const MOVES = 60; // of a brush, or turns of the wheel
const CHOICES = 12; // of a filter
const WORDS = ["method_1", "Module7::", "order.rb:1[0-9]$", "Order#method_2.*9"];

/** Runs in the page, before its own script: notes when the first picture is painted, and how long each event takes. */
function watch(): void {
  const noted = window as unknown as { picture: number; latencies: number[]; kind: string };
  noted.picture = 0;
  noted.latencies = [];
  noted.kind = "";
  /** Calls back once the next frame is painted. */
  const painted = (then: () => void) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = then;
    port2.postMessage(null);
  });
  const look = () => {
    const canvas = document.querySelector<HTMLCanvasElement>(".flame canvas");
    if (!canvas || canvas.width <= 300) return void requestAnimationFrame(look);
    requestAnimationFrame(() => painted(() => (noted.picture = performance.now())));
  };
  requestAnimationFrame(look);
  for (const kind of ["pointermove", "wheel", "change"]) {
    addEventListener(kind, (event) => {
      if (kind === noted.kind) painted(() => noted.latencies.push(performance.now() - event.timeStamp));
    }, { capture: true, passive: true });
  }
  // A search begins a while after the last letter: its sum tells that it is done.
  addEventListener("input", (event) => {
    if (noted.kind !== "input") return;
    const sum = () => document.querySelector(".search .sum")?.textContent;
    const before = sum();
    const wait = () => requestAnimationFrame(() => (sum() === before ? wait() : painted(() => noted.latencies.push(performance.now() - event.timeStamp))));
    wait();
  }, { capture: true });
}

/** The milliseconds from each event of a kind to its frame, while `act` makes them. */
async function latencies(tab: Tab, kind: string, act: () => Promise<void>): Promise<number[]> {
  await tab.evaluate((it) => Object.assign(window, { kind: it, latencies: [] }), kind);
  await act();
  await frames(tab);
  return tab.evaluate(() => (window as unknown as { latencies: number[] }).latencies);
}

/** Waits until all that was asked for is painted. */
async function frames(tab: Tab): Promise<void> {
  await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30)))));
}

/** Draws a range across the strip of time, there and back. */
async function brush(tab: Tab): Promise<void> {
  const strip = (await tab.locator("[role=slider]").boundingBox())!;
  const y = strip.y + strip.height / 2;
  await tab.mouse.move(strip.x + strip.width * 0.2, y);
  await tab.mouse.down();
  for (let move = 1; move <= MOVES; move++) {
    const place = 0.2 + 0.6 * Math.sin((move / MOVES) * Math.PI);
    await tab.mouse.move(strip.x + strip.width * place, y);
    await frames(tab);
  }
  await tab.mouse.up();
  await tab.keyboard.press("Escape");
  await frames(tab);
}

async function turnWheel(tab: Tab): Promise<void> {
  const chart = (await tab.locator(".chart").boundingBox())!;
  await tab.mouse.move(chart.x + chart.width * 0.4, chart.y + 120);
  for (let turn = 0; turn < MOVES; turn++) {
    await tab.mouse.wheel(0, turn < MOVES / 2 ? -60 : 60);
    await frames(tab);
  }
}

async function chooseFilter(tab: Tab, name: string): Promise<void> {
  await tab.getByRole("button", { name }).first().click();
  const boxes = tab.locator(".popover input[type=checkbox]");
  const count = await boxes.count();
  for (let choice = 0; choice < CHOICES; choice++) {
    await boxes.nth(choice % count).click();
    await frames(tab);
  }
  await tab.keyboard.press("Escape");
}

async function search(tab: Tab): Promise<void> {
  for (const word of [...WORDS, ""]) {
    await tab.locator("#search").fill(word);
    await tab.waitForTimeout(600);
  }
}

/** The most memory that a process of the browser's renderers had, MiB. */
async function peakOf(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  const peaks = processInfo.filter((it) => it.type === "renderer").map((it) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${it.id}/status`, "utf8"))?.[1] ?? 0));
  return Math.max(...peaks) / 1024;
}

const figures = new Map<string, number[]>();
const note = (name: string, values: readonly number[]) => figures.set(name, [...(figures.get(name) ?? []), ...values]);

async function measure(html: string): Promise<void> {
  const browser = await launch();
  const tab = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  await tab.addInitScript(watch);
  await tab.goto(pathToFileURL(html).href, { waitUntil: "commit" });
  await tab.waitForFunction(() => (window as unknown as { picture: number }).picture > 0, undefined, { timeout: 120_000 });
  note("first picture", [await tab.evaluate(() => (window as unknown as { picture: number }).picture)]);
  note("memory to the first picture, MiB", [await peakOf(browser)]);
  for (const name of await tab.getByRole("tab").allTextContents()) {
    await tab.getByRole("tab", { name, exact: true }).click();
    await frames(tab);
    note(`brush, ${name}`, await latencies(tab, "pointermove", () => brush(tab)));
    if (name === "Flame chart") note("wheel, Flame chart", await latencies(tab, "wheel", () => turnWheel(tab)));
  }
  await tab.getByRole("tab", { name: "Flame graph", exact: true }).click();
  await frames(tab);
  for (const name of ["Threads", "States"]) note(`filter, ${name}`, await latencies(tab, "change", () => chooseFilter(tab, name)));
  note("search", await latencies(tab, "input", () => search(tab)));
  note("memory at the end, MiB", [await peakOf(browser)]);
  await browser.close();
}

/** A value that a share of all is not above. */
function quantile(values: readonly number[], share: number): string {
  const sorted = [...values].sort((one, other) => one - other);
  return (sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN).toFixed(0);
}

const html = process.argv[2]!;
for (let run = 0; run < RUNS; run++) await measure(html);
console.log(`${(statSync(html).size / 1e6).toFixed(1)} MB, ${RUNS} pages; ms where nothing else is said\n`);
console.log("| what | median | p95 | of |\n|---|--:|--:|--:|");
for (const [name, values] of figures) console.log(`| ${name} | ${quantile(values, 0.5)} | ${quantile(values, 0.95)} | ${values.length} |`);
