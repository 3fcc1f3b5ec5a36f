// Imports between the folders of the source go one way.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { it } from "node:test";

const SOURCE = resolve(process.env["PROFILER_ROOT"] ?? "..", "viewer/src");
/** The folders, each of which imports only from those after it. */
const FOLDERS = ["page", "tabs", "compare", "parts", "state", "pictures", "words", "model"];

it("each folder imports only from those below it", () => {
  const found = FOLDERS.flatMap((folder, level) =>
    readdirSync(join(SOURCE, folder)).flatMap((file) => {
      const imports = [...readFileSync(join(SOURCE, folder, file), "utf8").matchAll(/from "\.\.\/(\w+)\//g)].map((match) => match[1]!);
      assert.ok(imports.every((name) => FOLDERS.includes(name)), `${folder}/${file} imports from an unknown folder`);
      return imports.filter((name) => FOLDERS.indexOf(name) <= level).map((name) => `${folder}/${file} imports from ${name}`);
    }),
  );
  assert.deepEqual(found, []);
});
