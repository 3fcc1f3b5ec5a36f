import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { clean } from "../src/model/names";
import { expression } from "../src/model/search";
import { interval } from "../src/model/share";
import { bytes, count, duration, percent } from "../src/model/units";

describe("numbers", () => {
  it("read as on the command line", () => {
    const durations: [number, string][] = [[0, "0"], [80, "80 ns"], [12_345, "12 us"], [999_499, "999 us"], [999_500, "1.00 ms"], [45_123_456, "45.1 ms"], [999_500_000, "1.00 s"], [1_234_000_000_000, "1,234 s"]];
    for (const [ns, text] of durations) assert.equal(duration(ns), text);
    assert.equal(bytes(512), "512 B");
    assert.equal(bytes(1_048_575), "1.00 MiB");
    assert.equal(count(1_234_567), "1,234,567");
    assert.equal(percent(4, 10_000), "0.04%");
    assert.equal(percent(0, 0), "0.0%");
  });

  it("have an interval that narrows with the samples", () => {
    const [low, high] = interval(30, 100, 100);
    assert.ok(low > 0.2 && low < 0.22 && high > 0.39 && high < 0.41, `${low} ${high}`); // as tables of Wilson's interval have it
    assert.deepEqual(interval(1, 0, 0), [0, 1]);
    const [none] = interval(0, 100, 1_000);
    assert.ok(none < 1e-9);
  });
});

describe("texts", () => {
  it("are one line that turns nothing", () => {
    assert.equal(clean("a\u202eb\nc\u0000d \u2028"), "a b c d");
  });

  it("that are not a valid expression are searched literally", () => {
    assert.ok(expression("a(")!.test("xa(y"));
    assert.ok(expression("order#")!.test("Order#parse"));
    assert.equal(expression(""), null);
  });
});
