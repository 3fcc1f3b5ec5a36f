// A profile in the form used by the page: columns of numbers, whose indices were checked when it was read.

/** A sample type, such as `cpu` in `nanoseconds`. */
export interface SampleType {
  readonly name: string;
  readonly unit: string;
  /** Whether it is memory from malloc, in place of objects. */
  readonly isNative?: boolean;
}

/** Methods and blocks, with a column for each property. */
export interface Functions {
  readonly count: number;
  readonly name: readonly string[];
  /** The absolute path; `<cfunc>` for C; empty for a synthetic function. */
  readonly path: readonly string[];
  /** The first line, from 1; 0 if it is unknown. */
  readonly firstLine: Int32Array;
}

/** Lines of functions. */
export interface Frames {
  readonly count: number;
  readonly function: Uint32Array;
  /** The line, from 1; 0 if it is unknown. */
  readonly line: Int32Array;
}

/** Aggregated samples: one row for each stack, thread, state and label set. */
export interface Rows {
  readonly count: number;
  /** The stack of row `r` is `frames[start[r]]` (the leaf) to `frames[start[r + 1] - 1]` (the root). */
  readonly start: Uint32Array;
  readonly frames: Uint32Array;
  readonly thread: Uint32Array;
  /** The index into `Profile.states`. */
  readonly state: Uint8Array;
  /** The index into `Profile.labelSets`. */
  readonly labels: Uint32Array;
  /** A column for each sample type. */
  readonly weights: readonly Float64Array[];
}

/** A thread, identified by its number in the kernel. */
export interface Thread {
  readonly nativeId: number;
  readonly name: string;
}

/** The labels of samples, in the order of the file. */
export type LabelSet = readonly (readonly [name: string, value: string])[];

/** The shares that make up the weights of the rows, in chronological order. */
export interface Timeline {
  readonly count: number;
  /** The number of events that were dropped, which are the oldest. */
  readonly dropped: number;
  /** The end of the time that each event stands for, ns since the start of the profile. Never decreases. */
  readonly time: Float64Array;
  readonly row: Uint32Array;
  /** A column for each sample type; `null` if all values are 0. */
  readonly weights: readonly (Float64Array | null)[];
}

/** An interval or an instant that the app recorded. */
export interface Marker {
  readonly name: string;
  /** The index into `Profile.threads`; -1 if the thread is in no sample. */
  readonly thread: number;
  /** The start, ns since the start of the profile; 0 if it began before. */
  readonly start: number;
  /** The duration in ns; 0 for an instant. */
  readonly duration: number;
}

/** The requests or jobs with the same labels that ended. */
export interface Requests {
  readonly labels: LabelSet;
  readonly count: number;
  /** The durations of all of them together and of the longest, ns. */
  readonly total: number;
  readonly largest: number;
}

/** The memory of a process at one time. */
export interface MemoryRow {
  /** The time, ms since 1970 UTC. */
  readonly atMs: number;
  readonly pid: number;
  /** Resident bytes. */
  readonly rss: number;
  /** Resident bytes by the key of the kind. */
  readonly kinds: ReadonlyMap<string, number>;
  /** Bytes in slots of Ruby's heap of the classes that have the most. */
  readonly classes: ReadonlyMap<string, number>;
}

/** A profile. */
export interface Profile {
  readonly types: readonly SampleType[];
  /** The index into `types`. */
  readonly defaultType: number;
  /** The start, ms since 1970 UTC. */
  readonly startMs: number;
  /** The duration in ns. */
  readonly duration: number;
  readonly functions: Functions;
  readonly frames: Frames;
  readonly rows: Rows;
  readonly threads: readonly Thread[];
  /** The words in the file: `running`, `waiting`, `gvl`, `runnable`, `blocked`, `gc`. */
  readonly states: readonly string[];
  readonly labelSets: readonly LabelSet[];
  readonly timeline: Timeline | null;
  readonly markers: readonly Marker[];
  readonly requests: readonly Requests[];
  /** The memory over time, in chronological order. */
  readonly memory: readonly MemoryRow[];
}
