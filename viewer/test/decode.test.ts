// Damaged and hostile bytes: the page says what is wrong, or shows what there is. It never hangs, and no index leads
// outside.

import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";

import { decode, load } from "../src/model/decode";
import { Model } from "../src/model/model";
import { FormatError } from "../src/model/protobuf";
import { everything } from "../src/model/selection";
import { recorded, type Page } from "./page";

let page: Page;
let bytes: Uint8Array;
before(async () => {
  page = await recorded();
  bytes = new Uint8Array(gunzipSync(page.bytes));
});

/** Decodes and sums; only a FormatError may come of it. */
function survives(damaged: Uint8Array, what: string): boolean {
  try {
    const model = new Model(decode(damaged), page.facts);
    const { weighed } = model.stacks({ ...everything(model.profile), idle: "with" });
    assert.ok(!Number.isNaN(weighed.total(0)), what);
    return true;
  } catch (error) {
    assert.ok(error instanceof FormatError, `${what}: ${error instanceof Error ? error.stack : error}`);
    return false;
  }
}

describe("decoding", () => {
  it("refuses what ends early", () => {
    const step = Math.max(1, Math.floor(bytes.length / 200));
    for (let length = 0; length < bytes.length; length += step) assert.equal(survives(bytes.subarray(0, length), `${length} bytes`), false, `${length} of ${bytes.length} bytes`);
  });

  it("survives changed bytes", (context) => {
    const seed = Number(process.env["SEED"] ?? Date.now() % 1_000_000);
    context.diagnostic(`SEED=${seed}`);
    const random = randomOf(seed);
    for (let turn = 0; turn < 300; turn++) {
      const damaged = bytes.slice();
      for (let changes = 0; changes < 3; changes++) damaged[Math.floor(random() * damaged.length)] = Math.floor(random() * 256);
      survives(damaged, `SEED=${seed}, turn ${turn}`);
    }
  });

  it("refuses data that is not gzip, another format, and a later version", async () => {
    await assert.rejects(load(new Uint8Array([1, 2, 3])), FormatError);
    await assert.rejects(load(page.bytes.slice(0, page.bytes.length / 2)), FormatError);
    assert.throws(() => decode(new Uint8Array()), /not written by profiler/);
    assert.throws(() => decode(new Uint8Array([0x88, 0xc5, 0x02, 0x63])), /version/);
    assert.throws(() => decode(new Uint8Array([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff])), FormatError);
  });
});

/** Numbers from 0 to 1 (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
