// Pages for tests: what the profiler writes, and what its report says of the same profile.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

import { load } from "../src/model/decode";
import type { Facts } from "../src/model/facts";
import { Model } from "../src/model/model";
import { twoSided } from "../src/model/two_sided";

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
export async function converted(file: string, ...options: string[]): Promise<Page> {
  const html = join(mkdtempSync(join(tmpdir(), "viewer-")), "it.html");
  ruby(join(ROOT, "exe/profiler"), "convert", file, html, ...options);
  return read(file, html);
}

async function read(file: string, html: string): Promise<Page> {
  const text = readFileSync(html, "utf8");
  const facts = JSON.parse(block(text, "facts")) as Facts;
  const bytes = new Uint8Array(Buffer.from(block(text, "profile"), "base64"));
  return { file, html: text, htmlPath: html, bytes, facts, model: new Model(await load(bytes), facts) };
}

/** A page of two sides, and the files of each. */
export interface TwoSided {
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly htmlPath: string;
  readonly facts: Facts;
  readonly model: Model;
}

/** The page that compares the runs of two sides. */
export async function compared(before: readonly string[], after: readonly string[]): Promise<TwoSided> {
  const htmlPath = join(mkdtempSync(join(tmpdir(), "viewer-")), "diff.html");
  ruby(join(ROOT, "exe/profiler"), "diff", before.join(), after.join(), "--out", htmlPath);
  const text = readFileSync(htmlPath, "utf8");
  const facts = JSON.parse(block(text, "facts")) as Facts;
  const files = facts.comparison!.runs.map((_, at) => new Uint8Array(Buffer.from(block(text, at === 0 ? "profile" : `profile-${at}`), "base64")));
  return { before, after, htmlPath, facts, model: await twoSided(facts, files) };
}

/** Runs a program of `test/programs` that writes two files, and compares them. */
export async function versions(program = "versions.rb"): Promise<TwoSided> {
  const directory = mkdtempSync(join(tmpdir(), "viewer-"));
  const files = ["before", "after"].map((it) => join(directory, `${it}.pb.gz`));
  ruby(join(ROOT, "viewer/test/programs", program), ...files);
  return compared([files[0]!], [files[1]!]);
}

/** A directory of `files` periods of a minute, in turn before and after, and its page. */
export function directory({ before, after }: TwoSided, files: number): { readonly files: readonly string[]; readonly htmlPath: string } {
  const path = join(mkdtempSync(join(tmpdir(), "viewer-")), "periods");
  ruby(join(ROOT, "viewer/test/programs/day.rb"), path, String(files), "60", before[0]!, after[0]!);
  const { file } = JSON.parse(ruby(join(ROOT, "exe/profiler"), "view", path, "--print", "--json")) as { file: string };
  return { files: readdirSync(path).sort().map((it) => join(path, it)), htmlPath: file };
}

/** A row of the comparison, in shares of a run or in its weight. */
export interface DiffRow {
  readonly name: string;
  readonly path: string;
  readonly first_line: number;
  readonly before: number;
  readonly after: number;
  readonly samples: number;
  readonly chance: number;
  readonly significant: boolean;
}

/** `profiler diff BEFORE AFTER --json` with all rows, and the names of its table: without the lines of blocks, as versions differ in these. */
export function diff({ before, after }: Pick<TwoSided, "before" | "after">, ...options: string[]): { before: number; after: number; changes: DiffRow[] } {
  const found = JSON.parse(said("diff", before.join(), after.join(), "--json", "--all", "--limit", "0", ...options)) as { before: number; after: number; changes: DiffRow[] };
  const names = new Map([...before, ...after].flatMap((it) => [...displayed(it)]));
  return { ...found, changes: found.changes.map((row) => ({ ...row, name: (names.get(keyOf(row)) ?? row.name).replace(/^(.* in <.*> .+):\d+$/, "$1") })) };
}

function block(html: string, id: string): string {
  const found = html.match(new RegExp(`<script type="[^"]+" id="${id}">([^<]*)</script>`));
  if (!found) throw new Error(`the page has no ${id}`);
  return found[1]!;
}

/** A row of the report as people read it, with its place. */
export interface ReportRow {
  readonly name: string;
  readonly path: string;
  readonly first_line: number;
  readonly self: number;
  readonly total: number;
}

/** `profiler report FILE --json` with all rows, and the names of its table. */
export function report(file: string, ...options: string[]): { top: ReportRow[] } {
  const { top } = JSON.parse(said("report", file, "--json", "--limit", "0", ...options)) as { top: ReportRow[] };
  return { top: top.map((row) => ({ ...row, name: displayed(file).get(keyOf(row)) ?? row.name })) };
}

/** A value of a label in the report, with its requests where they were counted. */
export interface Value {
  /** Nothing for samples without the label. */
  readonly value: string | null;
  readonly weight: number;
  readonly heaviest: { readonly name: string; readonly self: number } | null;
  readonly count: number | null;
  readonly mean: number | null;
  readonly largest: number | null;
}

/** `profiler report FILE --by LABEL --json` with all values. */
export function by(file: string, label: string, ...options: string[]): Value[] {
  return (JSON.parse(said("report", file, "--by", label, "--json", "--limit", "0", ...options)) as { values: Value[] }).values;
}

/** `profiler annotate FILE PATH --json`: by line, its weights. */
export function annotated(file: string, path: string, ...options: string[]): Map<number, { self: number; total: number }> {
  const { files } = JSON.parse(said("annotate", file, path, "--json", ...options)) as { files: Record<string, Record<string, { self: number; total: number }>> };
  return new Map(Object.entries(Object.values(files)[0]!).map(([line, weights]) => [Number(line), weights]));
}

/** A call of `profiler tree`. */
export interface Call {
  readonly name: string;
  readonly path: string;
  readonly first_line: number;
  readonly self: number;
  readonly total: number;
  readonly children: readonly Call[];
}

/** `profiler tree FILE --json` with all calls, as one that calls the others. */
export function tree(file: string, ...options: string[]): Call {
  const { total, tree: children } = JSON.parse(said("tree", file, "--json", "--all", "--min", "0", ...options)) as { total: number; tree: Call[] };
  const named = (call: Call): Call => ({ ...call, name: displayed(file).get(keyOf(call)) ?? call.name, children: call.children.map(named) });
  return { name: "all", path: "", first_line: 0, self: 0, total, children: children.map(named) };
}

const keyOf = ({ name, path, first_line }: { readonly name: string; readonly path: string; readonly first_line: number }) => JSON.stringify([name, path, first_line]);
const shown = new Map<string, Map<string, string>>();

/** The names that people read, by function: JSON has the names of the data, tables and pages have these. */
function displayed(file: string): Map<string, string> {
  let names = shown.get(file);
  if (!names) {
    const functions = JSON.parse(ruby("-r", "profiler", "-r", "json", "-e", "puts JSON.generate(Profiler.const_get(:Native).functions(Profiler::Profile.load(ARGV[0])))", file)) as [string, string, number, boolean, string][];
    names = new Map(functions.map(([name, path, first_line, , read]) => [keyOf({ name, path, first_line }), read]));
    shown.set(file, names);
  }
  return names;
}

/** The table of `profiler report FILE` as text, in lines of any length. */
export const reportText = (file: string): string => said("report", file, "--full-paths", "--limit", "0");

const answers = new Map<string, string>();

/** The output of a command of the profiler. The files do not change, so each command runs once. */
export function said(...args: string[]): string {
  const key = JSON.stringify(args);
  const answer = answers.get(key) ?? ruby(join(ROOT, "exe/profiler"), ...args);
  answers.set(key, answer);
  return answer;
}

function ruby(...args: string[]): string {
  return execFileSync(RUBY, ["-I", join(ROOT, "lib"), ...args], { encoding: "utf8", maxBuffer: 1 << 28 });
}
