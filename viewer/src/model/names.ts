// The names of nodes in a tree: functions, states as leaves of stacks that do not run, and gems in place of their functions.

import type { Facts, Origin } from "./facts";
import type { Profile } from "./profile";

/** The leaf of each state in which a thread does not run. */
const LEAVES: Readonly<Record<string, string>> = { waiting: "(waiting)", gvl: "(waiting for the GVL)", runnable: "(no CPU)", blocked: "(blocked with the GVL)" };
const HIDDEN = "(hidden)";

/** The function indices of trees: first the profile's functions, then a leaf for each state, then each package. */
export class Names {
  readonly count: number;
  /** The place of each function in the order of names. */
  readonly rank: Uint32Array;
  /** The functions in the order of names. */
  readonly ordered: Uint32Array;
  /** The leaf of the first state: smaller indices are functions. */
  readonly firstLeaf: number;
  /**
   * The node of the first package: smaller indices are functions and leaves. Each package has two nodes, as a gem and a library of
   * Ruby can have one name.
   */
  readonly firstPackage: number;
  private readonly all: string[];
  private readonly marks: Int32Array; // -1 if unknown

  constructor(
    private readonly profile: Profile,
    private readonly facts: Facts,
  ) {
    this.firstLeaf = profile.functions.count;
    this.firstPackage = this.firstLeaf + profile.states.length;
    const packages = facts.packages.names.flatMap((name) => [clean(`${name} (gem)`), clean(`${name} (Ruby)`)]);
    this.all = [...profile.functions.name.map((name, of) => clean(facts.shown?.[of] ?? name)), ...profile.states.map((it) => LEAVES[it] ?? ""), ...packages];
    this.count = this.all.length;
    this.marks = new Int32Array(this.count).fill(-1);
    this.rank = new Uint32Array(this.count);
    const order = Array.from(this.all.keys()).sort((one, other) => compare(this.all[one]!, this.all[other]!) || one - other);
    order.forEach((of, place) => (this.rank[of] = place));
    this.ordered = Uint32Array.from(order);
  }

  /**
   * Returns the name on one line, harmless to a page. The root of a tree, -1, stands for stacks whose functions were all
   * removed by transforms.
   */
  name(of: number): string {
    return of < 0 ? HIDDEN : this.all[of] || "(no name)";
  }

  /** Returns whether another function has the same name. */
  isShared(of: number): boolean {
    const rank = this.rank[of] ?? -1;
    return [rank - 1, rank + 1].some((it) => this.ordered[it] !== undefined && this.name(this.ordered[it]!) === this.name(of));
  }

  /** Returns the name for an address, which the place follows if other functions have the same name. */
  key(of: number): string {
    return this.isShared(of) ? `${this.name(of)}\t${this.place(of)}` : this.name(of);
  }

  /** Returns the functions with these keys. A name that several functions have is that of the first one. */
  withKeys(keys: ReadonlySet<string>): ReadonlyMap<string, number> {
    const found = new Map<string, number>();
    if (keys.size === 0) return found;
    for (let of = this.count - 1; of >= 0; of--) for (const key of [this.name(of), this.key(of)]) if (keys.has(key)) found.set(key, of);
    return found;
  }

  /** Returns a number that is the same for the same name. */
  mark(of: number): number {
    const known = this.marks[of]!;
    return known >= 0 ? known : (this.marks[of] = markOf(this.name(of)));
  }

  /** Returns the function of a state's leaf; -1 if a thread runs in that state. */
  leaf(state: number): number {
    return LEAVES[this.profile.states[state]!] ? this.profile.functions.count + state : -1;
  }

  /** Returns the index of the state that a leaf stands for, or -1. */
  stateOf(of: number): number {
    return this.isLeaf(of) ? of - this.firstLeaf : -1;
  }

  isLeaf(of: number): boolean {
    return of >= this.firstLeaf && of < this.firstPackage;
  }

  /** Returns the path, short if a short one is known, with the first line of the function; empty if it has no place. */
  place(of: number): string {
    const path = this.path(of);
    const line = this.profile.functions.firstLine[of] ?? 0;
    return path === "" || line === 0 ? path : `${path}:${line}`;
  }

  path(of: number): string {
    if (of < 0 || of >= this.firstLeaf) return "";
    const path = this.profile.functions.path[of]!;
    return clean(this.facts.paths[path] ?? path);
  }

  origin(of: number): Origin {
    if (of >= this.firstPackage) return (of - this.firstPackage) % 2 === 0 ? "gem" : "ruby";
    return this.facts.origins[of] ?? "synthetic";
  }

  /** Returns whether a function is code of the app, and not of an installed tool. */
  isApps(of: number): boolean {
    return this.facts.tool === null && this.isOwn(of);
  }

  /** Returns whether a function is code of the app or, in an installed tool, of the tool. */
  isOwn(of: number): boolean {
    return this.facts.classes[of] === "a";
  }

  /** Returns whether a function is written in Ruby and is not part of Ruby's core. */
  isSite(of: number): boolean {
    return this.facts.classes[of] === "a" || this.facts.classes[of] === "r";
  }

  /** Returns whether a function is the profiler's. */
  isProfilers(of: number): boolean {
    return this.facts.classes[of] === "p";
  }

  /** Returns the gem, or the library of Ruby, that a function belongs to; empty for the app's own code and for C. */
  package(of: number): string {
    const { packages } = this.facts;
    return clean(packages.names[packages.of[of] ?? Math.floor((of - this.firstPackage) / 2)] ?? "");
  }

  /** Returns the node that stands for the package of a function; -1 if it has none. */
  packageNode(of: number): number {
    const place = this.facts.packages.of[of] ?? -1;
    return place < 0 ? -1 : this.firstPackage + 2 * place + (this.origin(of) === "ruby" ? 1 : 0);
  }
}

const PLAIN = /^(?:[!-~](?:[ -~]*[!-~])?)?$/; // visible ASCII

/** Returns a text on one line. Characters that are invisible or change the writing direction become spaces. */
export function clean(text: string): string {
  if (PLAIN.test(text)) return text;
  return text.replace(/[\p{Cc}\u2028\u2029\uFEFF\uFFFE\uFFFF\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/gu, " ").trim();
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

function markOf(name: string): number {
  let hash = 7;
  for (let at = 0; at < Math.min(name.length, 60); at++) hash = (Math.imul(hash, 31) + name.charCodeAt(at)) | 0;
  return (hash >>> 8) & 0xffff;
}
