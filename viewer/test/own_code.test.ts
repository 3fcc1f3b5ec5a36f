// The page opens at the code of the user: chains of other code are folded, findings lead to their box, and code has its gem.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { after, before, describe, it } from "node:test";

import type { Browser } from "playwright-core";

import { everything } from "../src/model/selection";
import { amount, percent } from "../src/model/units";
import { BOX } from "../src/pictures/flame_picture";
import { editorLink } from "../src/page/editor";
import { boxOf, selectionOf } from "../src/state/findings";
import { Sums } from "../src/state/sums";
import { codeWord } from "../src/words/words";
import { launch, Opened } from "./browser";
import { by, converted, recorded, report, type Page } from "./page";

let browser: Browser;
let page: Page;
before(async () => {
  browser = await launch();
  page = await recorded("real.rb", "rails");
});
after(() => browser.close());

/** The page of stacks in the folded form. */
function ofStacks(...lines: string[]): Promise<Page> {
  const file = `${page.file}.${lines.length}.folded`;
  writeFileSync(file, lines.join("\n"));
  return converted(file);
}

interface PlacedFrame {
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

/** The page of samples, each of frames by their index and with a weight in milliseconds. */
function ofSamples(name: string, frames: readonly PlacedFrame[], samples: readonly number[][], weights: readonly number[]): Promise<Page> {
  const file = `${page.file}.${name}.speedscope.json`;
  const endValue = weights.reduce((sum, it) => sum + it, 0);
  const profile = { type: "sampled", name, unit: "milliseconds", startValue: 0, endValue, samples, weights };
  writeFileSync(file, JSON.stringify({ $schema: "https://www.speedscope.app/file-format-schema.json", shared: { frames }, profiles: [profile] }));
  return converted(file);
}

/** The page of a program that loads a gem, and mostly runs it, each in several places: so no function of its own is the hottest. */
function invoices(): Promise<Page> {
  const gem = (name: string) => ({ name: `Prawn::${name}`, file: "/g/gems/prawn-2.4.0/lib/prawn/x.rb", line: name.length });
  const frames = [
    { name: "<main>", file: "/app/invoices.rb", line: 1 },
    { name: "Kernel#require", file: "<cfunc>", line: 0 },
    { name: "<top (required)>", file: "/g/gems/prawn-2.4.0/lib/prawn.rb", line: 1 },
    { name: "Invoice#draw", file: "/app/invoices.rb", line: 3 },
    ...["Wrap#wrap", "Font#width", "Line#addition", "Line#remainder", "Text#draw"].map(gem),
  ];
  const samples = [[0, 1, 2], [0, 3, 4, 5], [0, 3, 4, 6], [0, 3, 4, 7], [0, 3, 8], [0, 3]];
  return ofSamples("invoices", frames, samples, [150, 170, 160, 160, 115, 115]);
}

describe("a chain of calls", () => {
  it("is one box until it is clicked, down to where the program branches", async () => {
    const folded = await ofStacks("a;b;c;d;e;left 600000000", "a;b;c;d;e;right 400000000");
    await Opened.using(browser, folded.htmlPath, async (opened) => {
      const box = (row: number) => opened.tip("Icicle", 8, (row + 0.5) * BOX);
      assert.deepEqual(await box(1), { name: "4 frames of the app", total: "1,000,000,000, 100.0%" });
      assert.equal((await box(2)).name, "e");
      assert.equal((await box(3)).name, "left");
      const canvas = opened.tab.locator(".flame canvas");
      await canvas.click({ position: { x: 8, y: 1.5 * BOX } });
      await opened.settle();
      assert.equal((await box(1)).name, "a");
      assert.equal((await box(4)).name, "d");
      await opened.tab.getByRole("button", { name: "Fold chains" }).click();
      await opened.tab.getByRole("button", { name: "Fold chains" }).click();
      assert.equal((await box(1)).name, "4 frames of the app", "folded again");
    }, folded.htmlPath);
  });

  it("stays in view as far as a search matches it, and keeps its weight", async () => {
    const folded = await ofStacks("a;b;c;d;e;f;g 900000000", "a;b;c;d;e;f;h 100000000");
    const { model } = folded;
    const { weighed, tree } = model.stacks({ ...everything(model.profile), search: "^d$" });
    const boxes = model.boxes({ tree, weighed, matched: model.stacks({ ...everything(model.profile), search: "^d$" }).matched, found: 0 }, 0, 0, new Set());
    const names = Array.from(boxes.node, (node, box) => (boxes.folded[box] ? "…" : node === 0 ? "all" : model.names.name(tree.functions[node]!)));
    assert.deepEqual(names, ["all", "…", "d", "e", "f", "h", "g"]);
    assert.ok(Math.abs([...boxes.width].slice(-2).reduce((one, other) => one + other) - 1) < 1e-9);
  });

  it("never hides the code of the app", () => {
    const { model } = page;
    const stacks = model.stacks(everything(model.profile));
    const { node, last, folded, count } = model.boxes(stacks, 0, 0, new Set());
    let folds = 0;
    for (let box = 0; box < count; box++) {
      if (!folded[box]) continue;
      folds += 1;
      for (let it = last[box]!; it !== stacks.tree.parent[node[box]!]; it = stacks.tree.parent[it]!) assert.ok(!model.names.isOwn(stacks.tree.functions[it]!), model.names.name(stacks.tree.functions[it]!));
    }
    assert.ok(folds > 5, `${folds} chains`);
  });
});

describe("a finding", () => {
  it("is not pressed at first, and selects its function alone and zooms to the box", async () => {
    await Opened.using(browser, page.htmlPath, async (opened) => {
      const cards = opened.tab.locator(".card");
      assert.equal(await opened.tab.locator(".finding[aria-pressed=true]").count(), 0);
      assert.equal(await cards.count(), page.facts.findings.filter((it) => it.kind !== "trust").length);
      let zoomed = 0;
      for (const finding of page.facts.findings.filter((it) => it.function !== null && it.share !== null)) {
        const button = opened.tab.locator("button.finding", { hasText: finding.text });
        await button.click();
        await opened.settle();
        const tip = await opened.tip("Icicle", 8, BOX / 2);
        if (finding.kind !== "loading") assert.equal(tip.name, page.model.names.name(finding.function!), finding.text);
        const search = new RegExp(await opened.tab.locator("#search").inputValue(), "iu");
        const { names } = page.model;
        const found = Array.from({ length: names.count }, (_, of) => of).filter((of) => search.test(names.name(of)) || search.test(names.place(of)));
        const isCalled = finding.kind === "running" && finding.text.includes(", called from");
        if (!isCalled && finding.kind !== "loading") assert.deepEqual(found, [finding.function], String(search));
        await button.click();
        zoomed += 1;
      }
      assert.ok(zoomed > 0);
    });
  });

  it("is pressed alone, and shows its own share: of a method of a gem, and of what loads code", async () => {
    const profile = await invoices();
    const texts = profile.facts.findings.map((it) => it.text);
    assert.deepEqual(texts.map((it) => it.split(" ")[0]), ["inside", "running", "loading"]);
    await Opened.using(browser, profile.htmlPath, async (opened) => {
      for (const finding of profile.facts.findings) {
        const button = opened.tab.locator("button.finding", { hasText: finding.text });
        await button.click();
        await opened.settle();
        assert.equal(await opened.tab.locator(".finding[aria-pressed=true]").count(), 1, finding.text);
        const shown = finding.kind === "loading" ? /\((.*)\)/.exec((await opened.tab.locator(".selected").textContent())!)![1] : (await opened.tab.locator(".search output").textContent())!.split(",")[0];
        assert.equal(shown, percent(finding.share!, 1), finding.text);
        await button.click();
      }
    });
  });

  it("of what loads code shows these stacks alone, also where the line that loads most is the text of the program", async () => {
    const profile = await invoices();
    const { model } = profile;
    const sums = new Sums(model);
    const loading = profile.facts.findings.find((it) => it.kind === "loading")!;
    const selection = selectionOf(loading, model)!;
    assert.equal(model.names.name(loading.function!), "<main>");
    assert.equal(sums.total(selection), loading.weight);
    assert.deepEqual(boxOf(loading, selection, sums).map((of) => model.names.name(of)), ["<main>"]);
    const wraps = profile.facts.findings[0]!;
    assert.equal(model.names.name(boxOf(wraps, selectionOf(wraps, model)!, sums).at(-1)!), "Invoice#draw");
  });

  it("has a command to copy", async () => {
    await Opened.using(browser, page.htmlPath, async (opened) => {
      await opened.tab.getByRole("button", { name: "Copy command" }).first().click();
      // The command line reads pages, so it is the file of this one.
      assert.equal(await opened.tab.evaluate(() => navigator.clipboard.readText()), page.facts.findings[0]!.command.replace("FILE", page.htmlPath));
    }, "", { permissions: ["clipboard-read", "clipboard-write"] });
  });

  it("is said to be of the whole where a part is selected, which has its own heaviest functions", async () => {
    await Opened.using(browser, page.htmlPath, async (opened) => {
      const sidebar = opened.tab.locator(".sidebar");
      assert.equal(await sidebar.locator("h2").first().textContent(), "What stands out");
      await opened.tab.locator(".track-label").first().click();
      await opened.settle();
      assert.deepEqual((await sidebar.locator("h2").allTextContents()).slice(0, 2), ["Most in the selection", "What stands out in the whole profile"]);
      const first = sidebar.locator(".in-selection").first();
      const text = await first.locator("span").evaluate((span) => [...span.childNodes].filter((it) => it.nodeType === Node.TEXT_NODE).map((it) => it.textContent).join(""));
      await first.click();
      await opened.settle();
      assert.equal((await opened.tip("Icicle", 8, BOX / 2)).name, text);
    });
  });

  it("is of the whole profile on its card, too, while a part is selected", async () => {
    await Opened.using(browser, page.htmlPath, async (opened) => {
      const said = opened.tab.locator(".card", { hasText: "of the whole profile" });
      assert.equal(await said.count(), 0);
      await opened.tab.locator(".track-label").first().click();
      await opened.settle();
      assert.equal(await said.count(), page.facts.findings.filter((it) => it.kind !== "trust" && it.share !== null).length);
    });
  });

  it("comes before the view on a phone, and leads to it", async () => {
    await Opened.using(browser, page.htmlPath, async (opened) => {
      const top = async (selector: string) => (await opened.tab.locator(selector).boundingBox())!.y;
      assert.ok((await top(".stands-out")) < (await top(".tabs")));
      assert.ok((await top(".taken")) > (await top(".panel")));
      await opened.tab.locator("button.finding", { hasText: page.facts.findings.find((it) => it.share !== null)!.text }).click();
      await opened.settle();
      const canvas = (await opened.tab.locator(".flame canvas").boundingBox())!;
      assert.ok(canvas.y > 0 && canvas.y + 5 * BOX < 844, `the graph begins at ${canvas.y} px`);
      assert.deepEqual(await opened.faults(), []);
    }, "", { viewport: { width: 390, height: 844 } });
  });

  it("leaves its place to the notes on trust where nothing stands out", async () => {
    const trust = { ...page.facts.findings[0]!, kind: "trust", text: "used the CPU for 1 ms of 3 s: mode wall shows the rest", share: null };
    const facts = JSON.stringify({ ...page.facts, findings: [trust] }).replaceAll("<", "\\u003c");
    const path = `${page.htmlPath}.none.html`;
    writeFileSync(path, page.html.replace(/(id="facts">)[^<]*/, (_, head: string) => head + facts));
    await Opened.using(browser, path, async (opened) => {
      assert.match((await opened.tab.locator(".stands-out").textContent())!, /Nothing stands out\.Used the CPU for 1 ms of 3 s: mode wall shows the rest\.$/);
    });
  });

  it("comes after a note that ranks above all findings", async () => {
    const [first] = page.facts.findings;
    const note = (text: string) => ({ ...first!, kind: "trust", text, share: null });
    const findings = [note("used the CPU for 5 ms of 3 s: mode wall shows the rest"), { ...first!, kind: "loading", text: "loading code" }, note("few samples: 3")];
    const facts = JSON.stringify({ ...page.facts, findings }).replaceAll("<", "\\u003c");
    const path = `${page.htmlPath}.note.html`;
    writeFileSync(path, page.html.replace(/(id="facts">)[^<]*/, (_, head: string) => head + facts));
    await Opened.using(browser, path, async (opened) => {
      assert.match((await opened.tab.locator(".stands-out").textContent())!, /^What stands outUsed the CPU for 5 ms of 3 s: mode wall shows the rest\..*loading code.*Few samples: 3\.$/);
    });
  });

  it("says what the shares are of, where loading is left out of them", async () => {
    const [loading, first] = [page.facts.findings.find((it) => it.kind === "loading" && it.share === null), page.facts.findings.find((it) => it.share !== null)!];
    assert.ok(loading, page.facts.findings.map((it) => it.text).join(", "));
    const type = page.model.profile.types.find((it) => it.name === first.type)!;
    await Opened.using(browser, page.htmlPath, async (opened) => {
      assert.ok((await opened.tab.locator(".base").textContent())!.includes(`the ${amount(type, Math.round(first.weight / first.share!))} of`));
    });
  });
});

describe("the page of an installed tool", () => {
  it("folds the code of the tool as that of other gems, and has one colour for it", async () => {
    const tool = await recorded("real.rb", "rdoc");
    const { model, facts } = tool;
    assert.equal(facts.tool, "rdoc");
    const stacks = model.stacks(everything(model.profile));
    const { node, folded } = model.boxes(stacks, 0, 0, new Set());
    assert.ok([...node.keys()].some((box) => folded[box] && model.names.isOwn(stacks.tree.functions[node[box]!]!)));
    await Opened.using(browser, tool.htmlPath, async (opened) => {
      const words = await opened.tab.locator("[role=tabpanel] .legend li").allTextContents();
      assert.equal(words.filter((it) => it === "rdoc").length, 1, words.join());
      assert.equal(new Set(words).size, words.length, words.join());
    });
  });
});

describe("a link to the editor", () => {
  it("has the path and the line, and no other scheme than an editor's", () => {
    assert.equal(editorLink("vscode://file%f:%l", "/srv/my app/a#b.rb", 7), "vscode://file/srv/my%20app/a%23b.rb:7");
    for (const template of [undefined, "javascript://%f", "https://example.com/%f", "file://%f", "vscode"]) assert.equal(editorLink(template, "/a.rb", 1), null, template);
    assert.equal(editorLink("vscode://file%f", "<cfunc>", 0), null);
  });
});

describe("groups", () => {
  it("have the gems and the files of the report", async () => {
    const type = page.model.profile.types[everything(page.model.profile).type]!;
    await Opened.using(browser, page.htmlPath, async (opened) => {
      await opened.show("Groups");
      for (const [grouping, button] of [["gem", "Gems"], ["file", "Files"]] as const) {
        await opened.tab.getByRole("tabpanel").getByRole("button", { name: button, exact: true }).click();
        const values = by(page.file, grouping, "--type", type.name).filter((it) => it.weight > 0);
        const all = values.reduce((sum, it) => sum + it.weight, 0);
        const expected = values.map((it) => `${amount(type, it.weight)} ${percent(it.weight, all)} ${it.value ?? "(none)"}`);
        assert.deepEqual((await opened.table("Values")).map((it) => `${it[0]} ${it[1]}`).sort(), expected.sort(), grouping);
      }
    });
  });

  it("are the boxes of collapsed gems, with the same weights", async () => {
    const selection = { ...everything(page.model.profile), transforms: [{ kind: "gems" as const }] };
    const { model } = page;
    const rows = model.top(selection, "self");
    const top = new Map(rows.map((it) => [model.names.name(it.function), it.self]));
    const gems = by(page.file, "gem", "--type", model.type(selection).name).filter((it) => it.value !== null && !it.value.startsWith("(") && it.weight > 0);
    assert.ok(gems.length > 5, `${gems.length} gems`);
    for (const { value, weight } of gems) assert.equal(top.get(`${value} (gem)`), weight, value!);
    const all = report(page.file, "--type", model.type(selection).name).top.reduce((sum, it) => sum + it.self, 0);
    // By row, as functions can have the same name.
    assert.equal(rows.reduce((sum, it) => sum + it.self, 0), all);
  });

  it("keep a gem apart from the library of Ruby that has its name", async () => {
    const frames = [
      { name: "<main>", file: "/app/parse.rb", line: 1 },
      { name: "Racc::Parser#do_parse", file: "/usr/lib/ruby/3.1.0/racc/parser.rb", line: 3 },
      { name: "Racc::Grammar#parse", file: "/usr/lib/ruby/vendor_ruby/racc/grammar.rb", line: 7 },
    ];
    const { model } = await ofSamples("parse", frames, [[0, 1], [0, 2]], [30, 70]);
    const top = model.top({ ...everything(model.profile), transforms: [{ kind: "gems" }] }, "self").filter((it) => it.self > 0);
    assert.deepEqual(top.map((it) => [model.names.name(it.function), it.self / 1e6]), [["racc (gem)", 70], ["racc (Ruby)", 30]]);
    assert.deepEqual(top.map((it) => codeWord(model, it.function)), ["racc (gem)", "racc (Ruby)"]);
  });
});

describe("colours", () => {
  it("are those of owners where there is an app, and can be those of gems", async () => {
    await Opened.using(browser, page.htmlPath, async (opened) => {
      const legend = opened.tab.locator("[role=tabpanel] .legend");
      assert.ok((await legend.locator("li").allTextContents()).includes("Rails"));
      await opened.tab.getByRole("button", { name: "By gem" }).click();
      const gems = await legend.locator("li:has([class*=origin-package])").allTextContents();
      const weighs = by(page.file, "package").filter((it) => it.weight > 0).map((it) => it.value);
      assert.ok(gems.length >= 3 && gems.every((it) => weighs.includes(it)), `${gems} of ${weighs}`);
      assert.deepEqual(await opened.faults(), []);
    });
  });
});
