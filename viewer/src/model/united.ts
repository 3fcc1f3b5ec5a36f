// Several profiles united in one, whose rows remember the profile that they came from.

import { FormatError } from "./protobuf";
import type { LabelSet, Profile, Rows, Thread } from "./profile";

/** A profile and, for each of its functions, the index among those of all profiles. */
export interface Part {
  readonly profile: Profile;
  readonly functions: readonly number[];
}

export interface United {
  readonly profile: Profile;
  /** The index of the part that each row belongs to. */
  readonly part: Uint16Array;
}

/**
 * Unites profiles. The sample types are those that all parts have. Threads with the same name are merged, as the kernel's
 * numbers differ between processes. There is no timeline.
 */
export function united(parts: readonly Part[]): United {
  const first = parts[0]!.profile;
  const types = first.types.filter((type) => parts.every(({ profile }) => profile.types.some((it) => it.name === type.name)));
  if (types.length === 0) throw new FormatError("the profiles have no sample type in common");
  const threads = new Indices<Thread>();
  const states = new Indices<string>();
  const labels = new Indices<LabelSet>();
  const rows = new RowsBuilder(parts, types.length);
  let frames = 0;
  for (const [at, { profile }] of parts.entries()) {
    rows.add(at, profile, {
      frames,
      types: types.map((type) => profile.types.findIndex((it) => it.name === type.name)),
      thread: profile.threads.map((it) => threads.of(it.name === "" ? `#${it.nativeId}` : `-${it.name}`, it)),
      state: profile.states.map((it) => states.of(it, it)),
      labels: profile.labelSets.map((it) => labels.of(JSON.stringify(it), it)),
    });
    frames += profile.frames.count;
  }
  const shown = first.types[first.defaultType]!.name;
  const profile: Profile = {
    types,
    defaultType: Math.max(0, types.findIndex((it) => it.name === shown)),
    startMs: first.startMs,
    duration: Math.max(...parts.map((it) => it.profile.duration)),
    ...functionsOf(parts, frames),
    rows: rows.built(),
    threads: threads.all,
    states: states.all,
    labelSets: labels.all,
    timeline: null,
    markers: [],
    requests: [],
    memory: [],
  };
  return { profile, part: rows.part };
}

/** Distinct things in the order in which they came. */
class Indices<Thing> {
  readonly all: Thing[] = [];
  private readonly known = new Map<string, number>();

  of(key: string, thing: Thing): number {
    const known = this.known.get(key);
    if (known !== undefined) return known;
    this.known.set(key, this.all.length);
    return this.all.push(thing) - 1;
  }
}

/** For each index in one part, the index in all. */
interface Places {
  readonly frames: number;
  readonly types: readonly number[];
  readonly thread: readonly number[];
  readonly state: readonly number[];
  readonly labels: readonly number[];
}

class RowsBuilder {
  readonly part: Uint16Array;
  private readonly rows: Rows & { readonly weights: readonly Float64Array[] };
  private row = 0;
  private frame = 0;

  constructor(parts: readonly Part[], types: number) {
    const count = parts.reduce((sum, it) => sum + it.profile.rows.count, 0);
    const frames = parts.reduce((sum, it) => sum + it.profile.rows.frames.length, 0);
    this.part = new Uint16Array(count);
    this.rows = {
      count,
      start: new Uint32Array(count + 1),
      frames: new Uint32Array(frames),
      thread: new Uint32Array(count),
      state: new Uint8Array(count),
      labels: new Uint32Array(count),
      weights: Array.from({ length: types }, () => new Float64Array(count)),
    };
  }

  add(part: number, { rows }: Profile, places: Places): void {
    const own = this.rows;
    for (let row = 0; row < rows.count; row++) {
      const at = this.row + row;
      this.part[at] = part;
      own.start[at] = this.frame + rows.start[row]!;
      own.thread[at] = places.thread[rows.thread[row]!]!;
      own.state[at] = places.state[rows.state[row]!]!;
      own.labels[at] = places.labels[rows.labels[row]!]!;
    }
    for (const [type, from] of places.types.entries()) own.weights[type]!.set(rows.weights[from]!, this.row);
    for (let at = 0; at < rows.frames.length; at++) own.frames[this.frame + at] = places.frames + rows.frames[at]!;
    this.row += rows.count;
    this.frame += rows.frames.length;
    own.start[this.row] = this.frame;
  }

  built(): Rows {
    return this.rows;
  }
}

/** Returns the functions of all parts, each as in the first part that has it, and the frames of the parts one after the other. */
function functionsOf(parts: readonly Part[], frameCount: number): Pick<Profile, "functions" | "frames"> {
  const count = parts.reduce((most, it) => it.functions.reduce((one, other) => Math.max(one, other + 1), most), 0);
  const all = parts.reduce((sum, it) => sum + it.profile.functions.count, 0);
  if (!(count <= all)) throw new FormatError(`function ${count} of ${all}`);
  const functions = { count, name: new Array<string>(count).fill(""), path: new Array<string>(count).fill(""), firstLine: new Int32Array(count) };
  const known = new Uint8Array(count);
  const frames = { count: frameCount, function: new Uint32Array(frameCount), line: new Int32Array(frameCount) };
  let frame = 0;
  for (const { profile, functions: places } of parts) {
    if (places.length !== profile.functions.count) throw new FormatError("the facts are of another profile");
    places.forEach((place, of) => {
      if (!(place >= 0 && place < count)) throw new FormatError(`function ${place} of ${count}`);
      if (known[place]) return;
      known[place] = 1;
      functions.name[place] = profile.functions.name[of]!;
      functions.path[place] = profile.functions.path[of]!;
      functions.firstLine[place] = profile.functions.firstLine[of]!;
    });
    for (let at = 0; at < profile.frames.count; at++) frames.function[frame + at] = places[profile.frames.function[at]!]!;
    frames.line.set(profile.frames.line, frame);
    frame += profile.frames.count;
  }
  return { functions, frames };
}
