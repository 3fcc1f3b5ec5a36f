// Pages that a server sends, under the policies that apps have.

import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, it } from "node:test";

import type { Browser, Page as Tab } from "playwright-core";

import { launch } from "./browser";
import { kept } from "./page";

/** The policy that the middleware sends; see `lib/profiler/middleware/shown.rb`. */
const OURS = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data: blob:; sandbox allow-scripts allow-downloads";

let browser: Browser;
let server: Server;
let policies: string[] = [];
before(async () => {
  browser = await launch();
  const { html } = await kept("shop.pb.gz");
  server = createServer((_, response) => response.writeHead(200, { "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policies }).end(html));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
});
after(async () => {
  await browser.close();
  server.close();
});

/** Opens the page under these policies. */
async function under(use: (tab: Tab) => Promise<void>, ...sent: string[]): Promise<void> {
  policies = sent;
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  const tab = await context.newPage();
  await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await use(tab);
  await context.close();
}

describe("a page that a server sends", () => {
  const works: Record<string, string[]> = {
    "the middleware's policy": [OURS],
    "Trusted Types beside it": [OURS, "require-trusted-types-for 'script'; trusted-types 'none'"],
    "no policy": [],
  };
  for (const [name, sent] of Object.entries(works)) {
    it(`shows the profile under ${name}`, async () => {
      await under(async (tab) => {
        await tab.locator(".finding").first().click();
        assert.match(await tab.locator(".search output").textContent() ?? "", /%/);
        assert.equal(await tab.locator(".blocked").count(), 0);
      }, ...sent);
    });
  }

  const forbids: Record<string, string[]> = {
    "a nonce": ["script-src 'nonce-q83vEjRWeJA='"],
    "strict-dynamic beside the middleware's policy": [OURS, "script-src 'strict-dynamic' 'nonce-q83vEjRWeJA='; style-src 'self'"],
    "no script at all": ["default-src 'none'"],
  };
  for (const [name, sent] of Object.entries(forbids)) {
    it(`says which header forbids its script under ${name}`, async () => {
      await under(async (tab) => {
        const said = tab.locator(".blocked");
        await said.waitFor({ state: "visible" });
        assert.match((await said.textContent())!, /Content-Security-Policy header forbids the script/);
        assert.equal(await tab.locator("[role=tablist]").count(), 0);
      }, ...sent);
    });
  }
});
