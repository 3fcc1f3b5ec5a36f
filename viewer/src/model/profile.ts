// A profile as the page holds it: columns of numbers, whose indices were checked when it was read.

/** What is measured, such as `cpu` in `nanoseconds`. */
export interface SampleType {
  readonly name: string;
  readonly unit: string;
}

/** Methods and blocks, a column for each thing that is known of them. */
export interface Functions {
  readonly count: number;
  readonly name: readonly string[];
  /** Absolute; `<cfunc>` for C; empty for what the profiler made up. */
  readonly path: readonly string[];
  /** From 1; 0 is unknown. */
  readonly firstLine: Int32Array;
}

/** Lines of functions. */
export interface Frames {
  readonly count: number;
  readonly function: Uint32Array;
  /** From 1; 0 is unknown. */
  readonly line: Int32Array;
}

/** Aggregated samples: one row for each stack, thread, state and set of labels. */
export interface Rows {
  readonly count: number;
  /** The stack of row `r` is `frames[start[r]]` (the leaf) to `frames[start[r + 1] - 1]` (the root). */
  readonly start: Uint32Array;
  readonly frames: Uint32Array;
  readonly thread: Uint32Array;
  /** Index into `Profile.states`. */
  readonly state: Uint8Array;
  /** Index into `Profile.labelSets`. */
  readonly labels: Uint32Array;
  /** A column for each sample type. */
  readonly weights: readonly Float64Array[];
}

/** A thread, by its number in the kernel. */
export interface Thread {
  readonly nativeId: number;
  readonly name: string;
}

/** Labels of samples, in the order in which the file has them. */
export type LabelSet = readonly (readonly [name: string, value: string])[];

/** The shares that make up the weights of the rows, in the order of time. */
export interface Timeline {
  readonly count: number;
  /** The number of events that were dropped, the oldest. */
  readonly dropped: number;
  /** By event: the end of the time that it weighs, ns since the start of the profile. Never falls. */
  readonly time: Float64Array;
  readonly row: Uint32Array;
  /** A column for each sample type; `null` where all are 0. */
  readonly weights: readonly (Float64Array | null)[];
}

/** A span or a moment that the app told of. */
export interface Marker {
  readonly name: string;
  /** Index into `Profile.threads`; -1 where the thread is in no sample. */
  readonly thread: number;
  /** Ns since the start of the profile; 0 for what began before. */
  readonly start: number;
  /** Ns; 0 is a moment. */
  readonly duration: number;
}

/** Requests or jobs with the same labels, all that ended. */
export interface Requests {
  readonly labels: LabelSet;
  readonly count: number;
  /** Ns of all of them, and of the longest. */
  readonly total: number;
  readonly largest: number;
}

/** A profile. */
export interface Profile {
  readonly types: readonly SampleType[];
  /** Index into `types`. */
  readonly defaultType: number;
  /** Ms since 1970 UTC. */
  readonly startMs: number;
  /** Ns. */
  readonly duration: number;
  readonly functions: Functions;
  readonly frames: Frames;
  readonly rows: Rows;
  readonly threads: readonly Thread[];
  /** The words of the file: `running`, `waiting`, `gvl`, `runnable`, `blocked`, `gc`. */
  readonly states: readonly string[];
  readonly labelSets: readonly LabelSet[];
  readonly timeline: Timeline | null;
  readonly markers: readonly Marker[];
  readonly requests: readonly Requests[];
}
