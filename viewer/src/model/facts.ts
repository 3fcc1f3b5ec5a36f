// What the profiler itself says of the profile in the page. It is computed where the page is written, so that page, report and
// command line say the same.

/** A fact in words; see docs/findings.md. */
export interface Finding {
  readonly kind: string;
  readonly text: string;
  /** The name of the sample type of `weight`. */
  readonly type: string;
  readonly weight: number;
  /** 0 to 1; of all that was measured and not idle. */
  readonly share: number | null;
  /** The name of the function, and where it is. */
  readonly name: string | null;
  readonly path: string | null;
  readonly line: number | null;
  readonly command: string;
}

/** Who owns the code of a function. */
export type Origin = "app" | "rails" | "gem" | "ruby" | "cfunc" | "synthetic";

/** The facts beside a profile. Indices are those of the decoded profile. */
export interface Facts {
  /** Of the profiler that wrote the page. */
  readonly version: string;
  readonly title: string;
  /** The name of the sample type to begin with. */
  readonly type: string;
  readonly findings: readonly Finding[];
  /** Sentences: how the profile was taken, what was lost, and what it cost. */
  readonly header: readonly string[];
  /** The waits of idle threads. */
  readonly idle: { readonly threads: number; readonly wall_ns: number; readonly rows: readonly number[] };
  /** By function. */
  readonly origins: readonly Origin[];
  /** By function, the name that people read where it is another: a block has its line, a template is its file. */
  readonly shown?: Readonly<Record<number, string>>;
  /** A short path for each path that has one. */
  readonly paths: Readonly<Record<string, string>>;
  /** Source files, by path, where they were asked for. */
  readonly sources?: Readonly<Record<string, Source>>;
  /** In a page of two sides: functions are then those of all files. */
  readonly comparison?: ComparisonFacts;
}

/** A source file. */
export interface Source {
  readonly text: string;
  /** Whether it was changed after the profile, so that its lines may be others. */
  readonly changed: boolean;
}

/** The files of two sides, and how likely chance is to have made each change. */
export interface ComparisonFacts {
  /** In the order of the page's files: those after, then those before. */
  readonly runs: readonly RunFacts[];
  /** Of each sample type that all files have: of self and total weights, by shares and absolute. */
  readonly changes: readonly Changes[];
}

export interface RunFacts {
  readonly side: "before" | "after";
  /** The name of the file. */
  readonly name: string;
  /** As that of a page of one file. */
  readonly header: readonly string[];
  /** By function of the file, its index among those of all files. */
  readonly functions: readonly number[];
}

export interface Changes {
  /** The name of the sample type. */
  readonly type: string;
  readonly total: boolean;
  readonly absolute: boolean;
  /** The sentence of `profiler diff`. */
  readonly summary: string;
  /** By function, the probability that chance alone brings such a change to any; others have 1. */
  readonly chances: readonly (readonly [function: number, chance: number])[];
}

/** In a page of a directory: how busy each process was, and the periods that the page holds. */
export interface IndexFacts {
  readonly version: string;
  readonly title: string;
  readonly periods: Periods;
}

export interface Periods {
  /** What `cells` weigh: CPU time, or the wall clock time in which threads did not wait. */
  readonly type: "cpu" | "wall";
  readonly processes: readonly PeriodProcess[];
  /** In the order of the page's blocks. */
  readonly parts: readonly PeriodPart[];
}

export interface PeriodProcess {
  readonly pid: number;
  readonly program: string;
  /** A file each: when it begins and ends, ms since 1970; its weight, ns; and the part that it is in. */
  readonly cells: readonly (readonly [from: number, to: number, weight: number, part: number])[];
}

/** The files of one process that can be opened together. */
export interface PeriodPart {
  /** Index into `processes`. */
  readonly process: number;
  /** Ms since 1970. */
  readonly from: number;
  readonly to: number;
  /** The number of files that were merged. */
  readonly files: number;
}
