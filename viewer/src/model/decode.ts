// From the bytes of a `.pb.gz` to a profile. The bytes may say anything: each number is checked before it is an index.

import { FormatError, Numbers, Reader } from "./protobuf";
import type { Functions, Frames, LabelSet, Marker, Profile, Rows, SampleType, Thread, Timeline } from "./profile";

const VERSION = 1;
const MOST_EVENTS = 1_000_000;
const MOST_FRAMES = 100_000; // of a stack
const STATE = "state";
const OURS = new Set([STATE, "thread id", "thread name"]);

/** Unpacks gzip and decodes what is in it. */
export async function load(packed: Uint8Array<ArrayBuffer>): Promise<Profile> {
  let unpacked: ArrayBuffer;
  try {
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    unpacked = await new Response(stream).arrayBuffer();
  } catch {
    throw new FormatError("the profile is damaged: it is not whole gzip");
  }
  return decode(new Uint8Array(unpacked));
}

/** @throws FormatError */
export function decode(bytes: Uint8Array): Profile {
  const raw = new Raw();
  raw.read(new Reader(bytes));
  if (raw.version === 0) throw new FormatError("this is not a profile of ours");
  if (raw.version > VERSION) throw new FormatError(`the profile has version ${raw.version}; this page reads up to ${VERSION}`);
  return raw.profile();
}

/** The fields of the outermost message, before they are checked. */
class Raw {
  version = 0;
  private readonly types: [number, number][] = [];
  private readonly strings: string[] = [];
  private defaultType = 0;
  private timeNs = 0;
  private durationNs = 0;
  private markers = "";
  private timeline: Reader | null = null;
  private readonly threads: [number, number][] = [];
  private readonly sampleThread = new Numbers();
  private readonly functions = { name: new Numbers(), path: new Numbers(), line: new Numbers() };
  private readonly frames = { function: new Numbers(), line: new Numbers() };
  private readonly starts = new Numbers();
  private readonly locations = new Numbers();
  private readonly values = new Numbers();
  private readonly labelKeys: string[] = [];

  read(reader: Reader): void {
    reader.fields((field) => {
      if (field === 1) this.types.push(pair(reader.message(), 1, 2));
      else if (field === 2) this.sample(reader.message());
      else if (field === 4) this.location(reader.message());
      else if (field === 5) this.function(reader.message());
      else if (field === 6) this.strings.push(reader.text());
      else if (field === 9) this.timeNs = reader.number();
      else if (field === 10) this.durationNs = reader.number();
      else if (field === 14) this.defaultType = reader.number();
      else if (field === 5201) this.version = reader.number();
      else if (field === 5206) this.threads.push(pair(reader.message(), 1, 2));
      else if (field === 5207) this.markers = reader.text();
      else if (field === 5208) reader.numbers(this.sampleThread);
      else if (field === 5209) this.timeline = reader.message();
      else return false;
      return true;
    });
  }

  profile(): Profile {
    const types = this.types.map(([name, unit]): SampleType => ({ name: this.string(name), unit: this.string(unit) }));
    if (types.length === 0) throw new FormatError("the profile has no sample type");
    const threads = this.threads.map(([nativeId, name]): Thread => ({ nativeId, name: this.string(name) }));
    const functions = this.checkedFunctions();
    const frames = this.checkedFrames(functions.count);
    const { rows, states, labelSets } = this.checkedRows(types.length, frames.count, threads.length);
    const shown = this.string(this.defaultType);
    return {
      types,
      defaultType: Math.max(0, types.findIndex((it) => it.name === shown)),
      startMs: this.timeNs / 1e6,
      duration: this.durationNs,
      functions,
      frames,
      rows,
      threads,
      states,
      labelSets,
      timeline: this.timeline && checkedTimeline(this.timeline, types.length, rows.count),
      markers: this.checkedMarkers(threads),
    };
  }

  private sample(reader: Reader): void {
    this.starts.push(this.locations.length);
    const values = this.values.length;
    const labels: [number, number][] = [];
    reader.fields((field) => {
      if (field === 1) reader.numbers(this.locations);
      else if (field === 2) reader.numbers(this.values);
      else if (field === 3) labels.push(pair(reader.message(), 1, 2));
      else return false;
      return true;
    });
    const depth = this.locations.length - this.starts.view().at(-1)!;
    if (depth === 0) throw new FormatError("a sample has no stack");
    if (depth > MOST_FRAMES) throw new FormatError(`a stack has more than ${MOST_FRAMES} frames`);
    if (this.starts.length > 1 && this.values.length - values !== values / (this.starts.length - 1)) {
      throw new FormatError("a sample has not one value for each sample type");
    }
    this.labelKeys.push(labels.join(" "));
  }

  private location(reader: Reader): void {
    let line: [number, number] = [0, 0];
    reader.fields((field) => field === 4 && ((line = pair(reader.message(), 1, 2)), true));
    this.frames.function.push(line[0]);
    this.frames.line.push(line[1]);
  }

  private function(reader: Reader): void {
    let [name, path, line] = [0, 0, 0];
    reader.fields((field) => {
      if (field === 2) name = reader.number();
      else if (field === 4) path = reader.number();
      else if (field === 5) line = reader.number();
      else return false;
      return true;
    });
    this.functions.name.push(name);
    this.functions.path.push(path);
    this.functions.line.push(line);
  }

  private string(index: number): string {
    const text = this.strings[index];
    if (text === undefined) throw new FormatError(`string ${index} of ${this.strings.length}`);
    return text;
  }

  private checkedFunctions(): Functions {
    const { name, path, line } = this.functions;
    return {
      count: name.length,
      name: Array.from(name.view(), (it) => this.string(it)),
      path: Array.from(path.view(), (it) => this.string(it)),
      firstLine: Int32Array.from(line.view(), toLine),
    };
  }

  private checkedFrames(functions: number): Frames {
    const { function: of, line } = this.frames;
    return { count: of.length, function: places("function", of, functions, 1), line: Int32Array.from(line.view(), toLine) };
  }

  private checkedRows(types: number, frames: number, threads: number): { rows: Rows; states: string[]; labelSets: LabelSet[] } {
    const count = this.starts.length;
    if (this.values.length !== count * types) throw new FormatError("a sample has not one value for each sample type");
    if (this.sampleThread.length !== count) throw new FormatError("the profile does not name the thread of each sample");
    this.starts.push(this.locations.length);
    const labels = this.checkedLabels();
    const values = this.values.view();
    const weights = Array.from({ length: types }, (_, type) => {
      const column = new Float64Array(count);
      for (let row = 0; row < count; row++) column[row] = values[row * types + type]!;
      return column;
    });
    const rows = {
      count,
      start: Uint32Array.from(this.starts.view()),
      frames: places("location", this.locations, frames, 1),
      thread: places("thread", this.sampleThread, threads, 0),
      state: labels.state,
      labels: labels.set,
      weights,
    };
    return { rows, states: labels.states, labelSets: labels.sets };
  }

  /** Samples share few sets of labels, so each is read once. */
  private checkedLabels(): { state: Uint8Array; set: Uint32Array; states: string[]; sets: LabelSet[] } {
    const read = new Map<string, { state: number; set: number }>();
    const states = new Map<string, number>();
    const sets = new Map<string, { at: number; labels: LabelSet }>();
    const state = new Uint8Array(this.labelKeys.length);
    const set = new Uint32Array(this.labelKeys.length);
    this.labelKeys.forEach((key, row) => {
      let known = read.get(key);
      if (!known) {
        const all = key === "" ? [] : key.split(" ").map((it) => it.split(",").map((index) => this.string(Number(index)))) as [string, string][];
        const word = all.find(([name]) => name === STATE)?.[1];
        if (word === undefined) throw new FormatError("a sample has no state");
        const labels = all.filter(([name]) => !OURS.has(name)).map(([name, value]) => [unescaped(name), value] as const);
        const setKey = JSON.stringify(labels);
        if (!states.has(word)) states.set(word, states.size);
        if (!sets.has(setKey)) sets.set(setKey, { at: sets.size, labels });
        known = { state: states.get(word)!, set: sets.get(setKey)!.at };
        if (known.state > 255) throw new FormatError("the samples have more than 256 states");
        read.set(key, known);
      }
      state[row] = known.state;
      set[row] = known.set;
    });
    return { state, set, states: [...states.keys()], sets: Array.from(sets.values(), (it) => it.labels) };
  }

  private checkedMarkers(threads: Thread[]): Marker[] {
    if (this.markers === "") return [];
    let list: unknown;
    try {
      list = JSON.parse(this.markers);
    } catch {
      throw new FormatError("the markers are not JSON");
    }
    if (!Array.isArray(list)) throw new FormatError("the markers are no list");
    const place = new Map(threads.map((it, index) => [`${it.nativeId} ${it.name}`, index]));
    return list.map((it: Partial<{ name: string; started_at_ns: number; duration_ns: number; thread: Partial<{ native_id: number; name: string }> }> | null) => ({
      name: String(it?.name ?? ""),
      thread: place.get(`${it?.thread?.native_id} ${it?.thread?.name}`) ?? -1,
      start: Math.max(0, (Number(it?.started_at_ns) || 0) - this.timeNs),
      duration: Math.max(0, Number(it?.duration_ns) || 0),
    }));
  }
}

function checkedTimeline(reader: Reader, types: number, rows: number): Timeline {
  const times = new Numbers();
  const places = new Numbers();
  const columns: Numbers[] = [];
  let dropped = 0;
  reader.fields((field) => {
    if (field === 1) dropped = reader.number();
    else if (field === 2) reader.numbers(times);
    else if (field === 3) reader.numbers(places, true);
    else if (field === 4) columns.push(column(reader.message()));
    else return false;
    return true;
  });
  const count = times.length;
  if (count > MOST_EVENTS) throw new FormatError(`the timeline has ${count} events; this page reads up to ${MOST_EVENTS}`);
  if (columns.length !== types || places.length !== count || columns.some((it) => it.length !== 0 && it.length !== count)) {
    throw new FormatError("the timeline has columns of different lengths");
  }
  const time = new Float64Array(count);
  const row = new Uint32Array(count);
  const [timeDelta, rowDelta] = [times.view(), places.view()];
  let [now, at] = [0, 0];
  for (let event = 0; event < count; event++) {
    now += timeDelta[event]!;
    at += rowDelta[event]!;
    if (!(at >= 0 && at < rows)) throw new FormatError(`the timeline has an event of sample ${at} of ${rows}`);
    time[event] = now;
    row[event] = at;
  }
  return { count, dropped, time, row, weights: columns.map((it) => (it.length === 0 ? null : it.view())) };
}

function column(reader: Reader): Numbers {
  const numbers = new Numbers();
  reader.fields((field) => field === 1 && (reader.numbers(numbers), true));
  return numbers;
}

/** The numbers of two fields of a small message. */
function pair(reader: Reader, one: number, other: number): [number, number] {
  const found: [number, number] = [0, 0];
  reader.fields((field) => {
    if (field === one) found[0] = reader.number();
    else if (field === other) found[1] = reader.number();
    else return false;
    return true;
  });
  return found;
}

function places(what: string, ids: Numbers, count: number, first: number): Uint32Array {
  const from = ids.view();
  const found = new Uint32Array(from.length);
  for (let at = 0; at < from.length; at++) {
    const id = from[at]!;
    if (!(id >= first && id < count + first)) throw new FormatError(`${what} ${id} of ${count}`);
    found[at] = id - first;
  }
  return found;
}

function toLine(line: number): number {
  return line < 2 ** 31 ? line : 0;
}

/** A label of the app whose name the profiler uses itself stands there with one `_` more. */
function unescaped(name: string): string {
  const bare = name.replace(/^_+/, "");
  return name.startsWith("_") && (bare === "" || OURS.has(bare)) ? name.slice(1) : name;
}
