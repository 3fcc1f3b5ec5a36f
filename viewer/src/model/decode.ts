// Decodes the bytes of a `.pb.gz` into a profile. The bytes may contain anything: each number is checked before it is an index.

import { checkedMemory, checkedRequests, listOf } from "./json_lists";
import { FormatError, Numbers, Reader } from "./protobuf";
import type { Functions, Frames, LabelSet, Marker, Profile, Rows, SampleType, Thread, Timeline } from "./profile";

const VERSION = 1;
const MOST_EVENTS = 1_000_000;
const MOST_FRAMES = 100_000; // of a stack
const STATE = "state";
const OURS = new Set([STATE, "thread id", "thread name"]);

/** Unpacks gzip and decodes the content. */
export async function load(packed: Uint8Array<ArrayBuffer>): Promise<Profile> {
  let unpacked: Uint8Array;
  try {
    unpacked = await gunzipped(packed);
  } catch {
    throw new FormatError("the profile is damaged: its gzip data are truncated");
  }
  return decode(unpacked);
}

/** Parses a gzipped JSON text. */
export async function loadJson(packed: Uint8Array<ArrayBuffer>): Promise<unknown> {
  try {
    return JSON.parse(new TextDecoder().decode(await gunzipped(packed)));
  } catch {
    throw new FormatError("the facts of a period are damaged");
  }
}

/** Unpacks gzip. Writing it all at once and reading it here takes half as long as the stream of a blob and a response. */
async function gunzipped(packed: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const { readable, writable } = new DecompressionStream("gzip");
  const writer = writable.getWriter();
  const written = Promise.all([writer.write(packed), writer.close()]);
  written.catch(() => {}); // the reader fails as well
  const parts: Uint8Array[] = [];
  const reader = readable.getReader();
  for (let it = await reader.read(); !it.done; it = await reader.read()) parts.push(it.value);
  await written;
  const whole = new Uint8Array(parts.reduce((length, it) => length + it.length, 0));
  let at = 0;
  for (const it of parts) {
    whole.set(it, at);
    at += it.length;
  }
  return whole;
}

/** Decodes an unpacked profile. @throws FormatError */
export function decode(bytes: Uint8Array): Profile {
  const raw = new Raw(bytes.length);
  raw.read(new Reader(bytes));
  if (raw.version === 0) throw new FormatError("this profile was not written by profiler");
  if (raw.version > VERSION) throw new FormatError(`the profile has version ${raw.version}; this page reads up to ${VERSION}`);
  return raw.profile();
}

const MOST_EXPECTED = 4_000_000; // places in stacks, before they are counted
const NO_LABELS = 0;

/** The label sets of samples, as indices of strings. Samples share few sets, so each is kept once. */
class LabelSets {
  /** For each set, the set with one label less, and that label. */
  private readonly all: (readonly [before: number, name: number, value: number])[] = [[NO_LABELS, 0, 0]];
  /** For each set, name and value, the set with that label added. */
  private readonly longer: Map<number, Map<number, number>>[] = [new Map()];

  with(set: number, name: number, value: number): number {
    const byName = this.longer[set]!;
    let byValue = byName.get(name);
    if (!byValue) byName.set(name, (byValue = new Map()));
    const known = byValue.get(value);
    if (known !== undefined) return known;
    byValue.set(value, this.all.length);
    this.longer.push(new Map());
    return this.all.push([set, name, value]) - 1;
  }

  /** Returns the labels of a set, in their order. */
  of(set: number): [name: number, value: number][] {
    const labels: [number, number][] = [];
    for (let it = set; it !== NO_LABELS; it = this.all[it]![0]) labels.push([this.all[it]![1], this.all[it]![2]]);
    return labels.reverse();
  }
}

/** The fields of the outermost message, before they are checked. */
class Raw {
  version = 0;
  private readonly types: [number, number][] = [];
  private strings: string[] = [];
  private readonly stringPlaces = new Numbers();
  private defaultType = 0;
  private timeNs = 0;
  private durationNs = 0;
  private markers = "";
  private requests = "";
  private memory = "";
  private timeline: Reader | null = null;
  private readonly threads: [number, number][] = [];
  private readonly sampleThread = new Numbers();
  private readonly functions = { name: new Numbers(), path: new Numbers(), line: new Numbers() };
  private readonly frames = { function: new Numbers(), line: new Numbers() };
  private readonly starts = new Numbers();
  private readonly locations: Numbers;
  private readonly values = new Numbers();
  private readonly labels = new LabelSets();
  private readonly labelsOf = new Numbers();

  constructor(bytes: number) {
    this.locations = new Numbers(Math.min(bytes, MOST_EXPECTED));
  }

  read(reader: Reader): void {
    for (let field = reader.next(); field >= 0; field = reader.next()) {
      if (field === 1) this.types.push(pair(reader, 1, 2));
      else if (field === 2) this.sample(reader);
      else if (field === 4) this.location(reader);
      else if (field === 5) this.function(reader);
      else if (field === 6) reader.place(this.stringPlaces);
      else if (field === 9) this.timeNs = reader.number();
      else if (field === 10) this.durationNs = reader.number();
      else if (field === 14) this.defaultType = reader.number();
      else if (field === 5201) this.version = reader.number();
      else if (field === 5206) this.threads.push(pair(reader, 1, 2));
      else if (field === 5207) this.markers = reader.text();
      else if (field === 5208) reader.numbers(this.sampleThread);
      else if (field === 5209) this.timeline = reader.message();
      else if (field === 5210) this.requests = reader.text();
      else if (field === 5211) this.memory = reader.text();
      else reader.skip();
    }
    this.strings = reader.texts(this.stringPlaces);
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
      requests: checkedRequests(this.requests),
      memory: checkedMemory(this.memory),
    };
  }

  private sample(reader: Reader): void {
    const start = this.locations.length;
    this.starts.push(start);
    const values = this.values.length;
    let labels = NO_LABELS;
    const outer = reader.enter();
    for (let field = reader.next(); field >= 0; field = reader.next()) {
      if (field === 1) reader.numbers(this.locations);
      else if (field === 2) reader.numbers(this.values);
      else if (field === 3) labels = this.label(reader, labels);
      else reader.skip();
    }
    reader.leave(outer);
    const depth = this.locations.length - start;
    if (depth === 0) throw new FormatError("a sample has no stack");
    if (depth > MOST_FRAMES) throw new FormatError(`a stack has more than ${MOST_FRAMES} frames`);
    if (this.starts.length > 1 && this.values.length - values !== values / (this.starts.length - 1)) {
      throw new FormatError("a sample does not have one value per sample type");
    }
    this.labelsOf.push(labels);
  }

  /** Returns the label set with the label that is being read. */
  private label(reader: Reader, labels: number): number {
    let name = 0;
    let value = 0;
    const outer = reader.enter();
    for (let field = reader.next(); field >= 0; field = reader.next()) {
      if (field === 1) name = reader.number();
      else if (field === 2) value = reader.number();
      else reader.skip();
    }
    reader.leave(outer);
    return this.labels.with(labels, name, value);
  }

  private location(reader: Reader): void {
    let line: [number, number] = [0, 0];
    const outer = reader.enter();
    for (let field = reader.next(); field >= 0; field = reader.next()) {
      if (field === 4) line = pair(reader, 1, 2);
      else reader.skip();
    }
    reader.leave(outer);
    this.frames.function.push(line[0]);
    this.frames.line.push(line[1]);
  }

  private function(reader: Reader): void {
    let [name, path, line] = [0, 0, 0];
    const outer = reader.enter();
    for (let field = reader.next(); field >= 0; field = reader.next()) {
      if (field === 2) name = reader.number();
      else if (field === 4) path = reader.number();
      else if (field === 5) line = reader.number();
      else reader.skip();
    }
    reader.leave(outer);
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
    if (this.values.length !== count * types) throw new FormatError("a sample does not have one value per sample type");
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
      start: new Uint32Array(this.starts.view()),
      frames: places("location", this.locations, frames, 1),
      thread: places("thread", this.sampleThread, threads, 0),
      state: labels.state,
      labels: labels.set,
      weights,
    };
    return { rows, states: labels.states, labelSets: labels.sets };
  }

  /** Reads each label set once. */
  private checkedLabels(): { state: Uint8Array; set: Uint32Array; states: string[]; sets: LabelSet[] } {
    const read: { state: number; set: number }[] = [];
    const states = new Map<string, number>();
    const sets = new Map<string, { at: number; labels: LabelSet }>();
    const of = this.labelsOf.view();
    const state = new Uint8Array(of.length);
    const set = new Uint32Array(of.length);
    for (let row = 0; row < of.length; row++) {
      let known = read[of[row]!];
      if (!known) {
        const all = this.labels.of(of[row]!).map(([name, value]) => [this.string(name), this.string(value)] as const);
        const word = all.find(([name]) => name === STATE)?.[1];
        if (word === undefined) throw new FormatError("a sample has no state");
        const labels = all.filter(([name]) => !OURS.has(name)).map(([name, value]) => [unescaped(name), value] as const);
        const setKey = JSON.stringify(labels);
        if (!states.has(word)) states.set(word, states.size);
        if (!sets.has(setKey)) sets.set(setKey, { at: sets.size, labels });
        known = { state: states.get(word)!, set: sets.get(setKey)!.at };
        if (known.state > 255) throw new FormatError("the samples have more than 256 states");
        read[of[row]!] = known;
      }
      state[row] = known.state;
      set[row] = known.set;
    }
    return { state, set, states: [...states.keys()], sets: Array.from(sets.values(), (it) => it.labels) };
  }

  private checkedMarkers(threads: Thread[]): Marker[] {
    const place = new Map(threads.map((it, index) => [`${it.nativeId} ${it.name}`, index]));
    return listOf("markers", this.markers).map((it: Partial<{ name: string; started_at_ns: number; duration_ns: number; thread: Partial<{ native_id: number; name: string }> }> | null) => ({
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
  for (let field = reader.next(); field >= 0; field = reader.next()) {
    if (field === 1) dropped = reader.number();
    else if (field === 2) reader.numbers(times);
    else if (field === 3) reader.numbers(places, true);
    else if (field === 4) columns.push(column(reader));
    else reader.skip();
  }
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
  const outer = reader.enter();
  for (let field = reader.next(); field >= 0; field = reader.next()) {
    if (field === 1) reader.numbers(numbers);
    else reader.skip();
  }
  reader.leave(outer);
  return numbers;
}

/** Returns the numbers of two fields of a small message. */
function pair(reader: Reader, one: number, other: number): [number, number] {
  const found: [number, number] = [0, 0];
  const outer = reader.enter();
  for (let field = reader.next(); field >= 0; field = reader.next()) {
    if (field === one) found[0] = reader.number();
    else if (field === other) found[1] = reader.number();
    else reader.skip();
  }
  reader.leave(outer);
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

/** Restores the name of a label. If the profiler uses the app's name itself, the file has it with one more `_`. */
function unescaped(name: string): string {
  const bare = name.replace(/^_+/, "");
  return name.startsWith("_") && (bare === "" || OURS.has(bare)) ? name.slice(1) : name;
}
