// A file that was dropped on the page: another page, whose facts are in it, or a profile, for which only the page's own remain.

import { load } from "./decode";
import type { Facts, Origin } from "./facts";
import type { Profile } from "./profile";
import { FormatError } from "./protobuf";
import type { Opened } from "./two_sided";

/** Reads a file. @param own the facts of the page, and the profile that they are of */
export async function dropped(bytes: Uint8Array<ArrayBuffer>, name: string, own: { readonly facts: Facts; readonly profile: Profile }): Promise<Opened> {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    const profile = await load(bytes);
    return { profile, facts: factsFor(profile, own), name };
  }
  const text = new TextDecoder().decode(bytes);
  const block = (id: string) => new RegExp(`<script type="[^"]+" id="${id}">([^<]*)</script>`).exec(text)?.[1];
  const [facts, file] = [block("facts"), block("profile")];
  if (facts === undefined || file === undefined) throw new FormatError(`the file ${name} is neither a .pb.gz of profiler nor a page with one profile`);
  const read = JSON.parse(facts) as Facts;
  const profile = await load(Uint8Array.from(atob(file), (it) => it.charCodeAt(0)));
  if (!("classes" in read) || read.comparison || read.origins.length !== profile.functions.count) throw new FormatError(`the file ${name} was not written by this version of profiler, or compares files itself: drop its .pb.gz`);
  return { profile, facts: read, name };
}

/** Returns facts for a profile without any: those of the page for functions that it has too, and for others what their paths tell. */
function factsFor(profile: Profile, { facts, profile: known }: { readonly facts: Facts; readonly profile: Profile }): Facts {
  const key = ({ functions }: Profile, of: number) => `${functions.name[of]}\n${functions.path[of]}\n${functions.firstLine[of]}`;
  const places = new Map(Array.from({ length: known.functions.count }, (_, of) => [key(known, of), of]));
  const same = Array.from({ length: profile.functions.count }, (_, of) => places.get(key(profile, of)) ?? -1);
  const origins = same.map((at, of) => (at >= 0 ? facts.origins[at]! : originOf(profile.functions.path[of]!)));
  const shown: Record<number, string> = {};
  same.forEach((at, of) => at >= 0 && facts.shown?.[at] !== undefined && (shown[of] = facts.shown[at]));
  return {
    ...facts,
    header: [],
    findings: [],
    idle: { threads: 0, wall_ns: 0, rows: [] },
    loading: [],
    origins,
    shown,
    classes: same.map((at, of) => (at >= 0 ? facts.classes[at]! : CLASSES[origins[of]!])).join(""),
    packages: { names: facts.packages.names, of: same.map((at) => (at >= 0 ? facts.packages.of[at]! : -1)) },
  };
}

const CLASSES: Readonly<Record<Origin, string>> = { app: "a", rails: "r", gem: "r", ruby: "r", cfunc: "i", synthetic: "i" };

function originOf(path: string): Origin {
  if (path === "") return "synthetic";
  if (path === "<cfunc>") return "cfunc";
  if (path.startsWith("<internal:") || /\/ruby\/\d[^/]*\//.test(path) && !path.includes("/gems/")) return "ruby";
  return /^gem:|\/gems\/|\/vendor_ruby\//.test(path) ? "gem" : "app";
}
