// Builds page.html: style and script in one file, under a policy that allows nothing else.
//
//   node build.mjs                               writes page.html
//   node build.mjs --check                       fails if page.html is not what the source builds to
//   node build.mjs --tests                       bundles test/*.test.ts into build/tests
//   node build.mjs --bench                       bundles test/speed.ts into build/bench
//   node build.mjs --demo FACTS.json FILE OUT    writes a page with a profile in it

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import esbuild from "esbuild";

const PLACE = "<!-- PROFILE -->";
const TARGET = ["chrome110", "firefox115", "safari16.4"];
const MOST_BYTES = 120 * 1024; // of the page, gzipped
// Shown until the script runs. It names what usually forbids a script, as the page itself cannot know.
const BLOCKED =
  "This page shows a profile, and needs JavaScript for it. It uses no network. If a server sent the page and nothing else appears here, the " +
  "server's Content-Security-Policy header forbids the script: keep the header that profiler sets, or save the page and open the file.";
const here = (path) => fileURLToPath(new URL(path, import.meta.url));

async function page() {
  const script = await bundled("src/main.tsx", { minify: true, format: "iife", target: TARGET, write: false });
  const style = await bundled("src/style.css", { minify: true, target: TARGET, write: false });
  if (/<\/script|<!--/i.test(script) || /<\//.test(style)) throw new Error("the script or the style would end early in the page");
  const policy = [
    "default-src 'none'",
    `script-src '${hash(script)}'`,
    `style-src '${hash(style)}'`,
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ];
  return `<!DOCTYPE html>
<!-- In this page is Preact, under its own licence:

${licence()}
-->
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy.join("; ")}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>profiler</title>
<style>${style}</style>
</head>
<body>
<main id="app"></main>
<p class="blocked">${BLOCKED}</p>
${PLACE}
<script>${script}</script>
</body>
</html>
`;
}

async function bundled(entry, options) {
  const result = await esbuild.build({
    entryPoints: [here(entry)],
    bundle: true,
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "none",
    logLevel: "warning",
    absWorkingDir: here("."),
    ...options,
  });
  return result.outputFiles?.[0].text.trim();
}

/** What the licence of Preact wants to stand in each copy. */
function licence() {
  const text = readFileSync(here("node_modules/preact/LICENSE"), "utf8").trim();
  if (text.includes("--")) throw new Error("the licence of Preact would end its comment early");
  return text;
}

function hash(text) {
  return `sha256-${createHash("sha256").update(text).digest("base64")}`;
}

/** The page with a profile in it, as the command line writes it. */
function filled(page, facts, profile) {
  const blocks = [
    `<script type="application/json" id="facts">${facts.trim().replaceAll("<", "\\u003c")}</script>`,
    `<script type="text/plain" id="profile">${profile.toString("base64")}</script>`,
  ];
  return page.replace(PLACE, () => blocks.join("\n"));
}

/** Bundles what Node runs: files of `test`, into a directory of `build`. */
async function forNode(directory, names) {
  for (const name of names) {
    await bundled(`test/${name}`, {
      platform: "node",
      format: "esm",
      target: "node20",
      packages: "external",
      sourcemap: "inline",
      outfile: here(`build/${directory}/${name.replace(/\.ts$/, ".mjs")}`),
    });
  }
}

const [mode, ...paths] = process.argv.slice(2);
if (mode === "--tests") await forNode("tests", readdirSync(here("test")).filter((it) => it.endsWith(".test.ts")));
else if (mode === "--bench") await forNode("bench", ["speed.ts"]);
else {
  const built = await page();
  const size = gzipSync(built, { level: 9 }).length;
  if (size > MOST_BYTES) throw new Error(`page.html has ${size} bytes gzipped, more than ${MOST_BYTES}`);
  if (mode === "--demo") writeFileSync(paths[2], filled(built, readFileSync(paths[0], "utf8"), readFileSync(paths[1])));
  else if (mode === "--check") {
    if (readFileSync(here("page.html"), "utf8") !== built) throw new Error("page.html is not what the source builds to: run `node build.mjs`");
  } else {
    writeFileSync(here("page.html"), built);
    process.stdout.write(`page.html: ${built.length} characters, ${size} bytes gzipped\n`);
  }
}
