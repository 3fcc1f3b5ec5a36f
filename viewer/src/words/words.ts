// Words on screen for the short words of a profile.

import type { Origin } from "../model/facts";
import type { Model } from "../model/model";
import { clean } from "../model/names";
import type { Profile, SampleType } from "../model/profile";
import type { Transform } from "../model/selection";
import { duration } from "../model/units";
import type { Within } from "../model/within";

const MOST_LETTERS = 300;

const STATE_WORDS: Readonly<Record<string, string>> = {
  running: "running",
  waiting: "waiting",
  gvl: "waiting for the GVL",
  runnable: "no CPU",
  blocked: "blocked with the GVL",
  gc: "collecting garbage",
};

export const ORIGIN_WORDS: Readonly<Record<Origin, string>> = {
  app: "app",
  rails: "Rails",
  gem: "gem",
  ruby: "Ruby",
  cfunc: "in C",
  synthetic: "other",
};

/** Describes whose code a function is: `app`, or the gem or library with its origin. */
export function codeWord({ names, facts }: Model, of: number): string {
  if (names.isOwn(of)) return facts.tool ?? ORIGIN_WORDS.app;
  const name = brief(names.package(of));
  const origin = ORIGIN_WORDS[names.origin(of)];
  return name === "" ? origin : `${name} (${origin})`;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  cpu: "CPU time",
  wall: "wall clock time",
  samples: "samples",
  gvl_wait: "waits for the GVL",
  gvl_blame: "held the GVL while others waited",
  gc: "garbage collection",
  alloc_objects: "allocated objects",
  alloc_space: "allocated bytes",
  inuse_objects: "live objects",
  inuse_space: "live bytes",
};

/** The words for memory from malloc, in profiles that have it in place of objects. */
const NATIVE_WORDS: Readonly<Record<string, string>> = {
  alloc_objects: "allocated native blocks",
  alloc_space: "allocated native bytes",
  inuse_objects: "live native blocks",
  inuse_space: "live native bytes",
};

/** The labels that the profiler puts on samples, beside those of the app. */
const LABEL_WORDS: Readonly<Record<string, string>> = {
  endpoint: "Endpoint",
  method: "Method",
  status: "Status",
  route: "Route",
  job: "Job",
  queue: "Queue",
  example: "Example",
  rake: "Rake task",
  class: "Class",
  library: "Library",
  age: "Age",
  gc: "GC kind",
  gc_reason: "GC reason",
  waiter: "Waiting thread",
};

/** Returns the name of a label for people: a word for one of the profiler's, or else the name itself. */
export function labelWord(name: string): string {
  return Object.hasOwn(LABEL_WORDS, name) ? LABEL_WORDS[name]! : brief(clean(name));
}

/** Returns as much of a text as can be read on screen: names can have a million characters. */
export function brief(text: string): string {
  return text.length <= MOST_LETTERS ? text : `${text.slice(0, MOST_LETTERS)}…`;
}

export function capital(text: string): string {
  return `${text[0]?.toUpperCase() ?? ""}${text.slice(1)}`;
}

export function stateWord(state: string): string {
  return STATE_WORDS[state] ?? state;
}

/** Returns the name of a sample type for people. Blocks from malloc are no objects. */
export function typeWord({ name, isNative = false }: SampleType): string {
  return (isNative ? NATIVE_WORDS[name] : TYPE_WORDS[name]) ?? name.replaceAll("_", " ");
}

export function threadName(profile: Profile, thread: number): string {
  const { name, nativeId } = profile.threads[thread]!;
  return name === "" ? `thread ${nativeId}` : brief(clean(name));
}

/** Describes which markers are selected: `inside GET /orders, from 100 ms on`. */
export function withinWord({ marker, least }: Within): string {
  return `inside ${brief(clean(marker))}${least > 0 ? `, from ${duration(least)} on` : ""}`;
}

export function transformWord(transform: Transform, model: Model): string {
  switch (transform.kind) {
    case "focus":
      return `focus ${brief(model.names.name(transform.function))}`;
    case "drop":
      return `without ${brief(model.names.name(transform.function))}`;
    case "merge":
      return `merged ${brief(model.names.name(transform.function))}`;
    case "recursion":
      return "recursion collapsed";
    case "gems":
      return "gems collapsed";
    case "app":
      return "app only";
  }
}
