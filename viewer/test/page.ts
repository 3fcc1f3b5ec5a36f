// Pages for tests: what the profiler writes, and what its report says of the same profile.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { load } from "../src/model/decode";
import type { Facts } from "../src/model/facts";
import { Model } from "../src/model/model";

const ROOT = resolve(process.env["PROFILER_ROOT"] ?? "..");
const RUBY = process.env["PROFILER_RUBY"] ?? "ruby";

export interface Page {
  /** The path of the same profile as a `.pb.gz`. */
  readonly file: string;
  readonly html: string;
  readonly htmlPath: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly facts: Facts;
  readonly model: Model;
}

/** Runs a program of `test/programs`, and reads the page that it wrote. */
export async function recorded(program = "small.rb", ...args: string[]): Promise<Page> {
  const directory = mkdtempSync(join(tmpdir(), "viewer-"));
  const [file, html] = [join(directory, "it.pb.gz"), join(directory, "it.html")];
  ruby(join(ROOT, "viewer/test/programs", program), ...args, file, html);
  return read(file, html);
}

/** The page of a profile in `test/programs`. */
export const kept = (name: string): Promise<Page> => converted(join(ROOT, "viewer/test/programs", name));

/** The page of a file. */
export async function converted(file: string): Promise<Page> {
  const html = join(mkdtempSync(join(tmpdir(), "viewer-")), "it.html");
  ruby(join(ROOT, "exe/profiler"), "convert", file, html);
  return read(file, html);
}

async function read(file: string, html: string): Promise<Page> {
  const text = readFileSync(html, "utf8");
  const facts = JSON.parse(block(text, "facts")) as Facts;
  const bytes = new Uint8Array(Buffer.from(block(text, "profile"), "base64"));
  return { file, html: text, htmlPath: html, bytes, facts, model: new Model(await load(bytes), facts) };
}

function block(html: string, id: string): string {
  const found = html.match(new RegExp(`<script type="[^"]+" id="${id}">([^<]*)</script>`));
  if (!found) throw new Error(`the page has no ${id}`);
  return found[1]!;
}

/** A row of the report, with its place. */
export interface ReportRow {
  readonly name: string;
  readonly path: string;
  readonly first_line: number;
  readonly self: number;
  readonly total: number;
}

/** `profiler report FILE --json` with all rows. */
export function report(file: string, ...options: string[]): { top: ReportRow[] } {
  return JSON.parse(said("report", file, "--json", "--limit", "0", ...options)) as { top: ReportRow[] };
}

/** A call of `profiler tree`. */
export interface Call {
  readonly name: string;
  readonly self: number;
  readonly total: number;
  readonly children: readonly Call[];
}

/** `profiler tree FILE --json` with all calls, as one that calls the others. */
export function tree(file: string, ...options: string[]): Call {
  const { total, tree: children } = JSON.parse(said("tree", file, "--json", "--all", "--min", "0", ...options)) as { total: number; tree: Call[] };
  return { name: "all", self: 0, total, children };
}

const answers = new Map<string, string>();

/** The output of a command of the profiler. The files do not change, so each command runs once. */
function said(...args: string[]): string {
  const key = JSON.stringify(args);
  const answer = answers.get(key) ?? ruby(join(ROOT, "exe/profiler"), ...args);
  answers.set(key, answer);
  return answer;
}

function ruby(...args: string[]): string {
  return execFileSync(RUBY, ["-I", join(ROOT, "lib"), ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
}
