// The models of two sides: of a page that compares files, and of two periods of one process.

import { load } from "./decode";
import type { Facts, Origin } from "./facts";
import { Model } from "./model";
import type { Profile } from "./profile";
import { united } from "./united";

/** Loads the model of two sides. @param files the bytes of each run, in the order of the facts */
export async function twoSided(facts: Facts, files: readonly Uint8Array<ArrayBuffer>[]): Promise<Model> {
  const profiles = await Promise.all(files.map(load));
  const { profile, part } = united(profiles.map((profile, at) => ({ profile, functions: facts.comparison!.runs[at]!.functions })));
  return new Model(profile, facts, part);
}

/** A file with its facts. */
export interface Opened {
  readonly profile: Profile;
  readonly facts: Facts;
  /** The name that people know it by. */
  readonly name: string;
}

/** Compares two files. Functions are the same if name and place are equal. Probabilities are unknown. */
export function twoFiles(before: Opened, after: Opened): Model {
  const places = new Map<string, number>();
  const origins: Origin[] = [];
  const shown: Record<number, string> = {};
  const packages: { names: string[]; of: number[] } = { names: [], of: [] };
  let classes = "";
  const functionsOf = ({ profile: { functions }, facts }: Opened) =>
    functions.name.map((name, of) => {
      const key = `${name}\n${functions.path[of]!}\n${functions.firstLine[of]!}`;
      let place = places.get(key);
      if (place === undefined) {
        places.set(key, (place = places.size));
        origins.push(facts.origins[of] ?? "synthetic");
        classes += facts.classes[of] ?? "i";
        packages.of.push(packageOf(packages.names, facts.packages.names[facts.packages.of[of]!]));
        const name = facts.shown?.[of];
        if (name !== undefined) shown[place] = name;
      }
      return place;
    });
  const runs = [after, before].map((it, at) => ({ side: at === 0 ? ("after" as const) : ("before" as const), name: it.name, header: it.facts.header, functions: functionsOf(it) }));
  const { profile, part } = united([after, before].map((it, at) => ({ profile: it.profile, functions: runs[at]!.functions })));
  const facts: Facts = {
    ...after.facts,
    title: `${before.name} → ${after.name}`,
    findings: [],
    idle: {
      threads: Math.max(before.facts.idle.threads, after.facts.idle.threads),
      wall_ns: after.facts.idle.wall_ns,
      rows: [...after.facts.idle.rows, ...before.facts.idle.rows.map((it) => it + after.profile.rows.count)],
    },
    loading: [...after.facts.loading, ...before.facts.loading.map((it) => it + after.profile.rows.count)],
    origins,
    classes,
    packages,
    shown,
    paths: { ...before.facts.paths, ...after.facts.paths },
    comparison: { runs, changes: [] },
  };
  return new Model(profile, facts, part);
}

/** Returns the index of a package's name, which is added if it is new; -1 for none. */
function packageOf(names: string[], name: string | undefined): number {
  if (name === undefined) return -1;
  const known = names.indexOf(name);
  return known >= 0 ? known : names.push(name) - 1;
}
