// The profiler's own statements on the profile in the page. They are computed when the page is written, so that the page, the
// report and the command line say the same.

/** A fact in words; see docs/findings.md. */
export interface Finding {
  readonly kind: string;
  readonly text: string;
  /** The name of the sample type of `weight`. */
  readonly type: string;
  readonly weight: number;
  /** The share, 0 to 1, of everything that was measured and not idle. */
  readonly share: number | null;
  /** The name of the function, its index, and where it is. */
  readonly name: string | null;
  readonly function: number | null;
  readonly path: string | null;
  readonly line: number | null;
  readonly command: string;
}

/** The owner of a function's code. */
export type Origin = "app" | "rails" | "gem" | "ruby" | "cfunc" | "synthetic";

/** The facts beside a profile. Indices are those of the decoded profile. */
export interface Facts {
  /** The version of the profiler that wrote the page. */
  readonly version: string;
  readonly title: string;
  /** The name of the initial sample type. */
  readonly type: string;
  readonly findings: readonly Finding[];
  /** Sentences on how the profile was recorded, what was lost, and the overhead. */
  readonly header: readonly string[];
  /** The waits of idle threads. */
  readonly idle: { readonly threads: number; readonly wall_ns: number; readonly rows: readonly number[] };
  /** The rows that load code. */
  readonly loading: readonly number[];
  /** The origin of each function. */
  readonly origins: readonly Origin[];
  /**
   * A letter for each function: `a` for code of the app, or of the tool; `r` for other code in Ruby; `p` for the profiler's own;
   * `i` for anything else.
   */
  readonly classes: string;
  /** The package that counts as the app, if the program is an installed tool. */
  readonly tool: string | null;
  /** The names of gems and libraries, and for each function the index of its own; -1 for none. */
  readonly packages: { readonly names: readonly string[]; readonly of: readonly number[] };
  /** The names for people, by function, where they differ: a block has its line, and a template is its file. */
  readonly shown?: Readonly<Record<number, string>>;
  /** The short path for each path that has one. */
  readonly paths: Readonly<Record<string, string>>;
  /** The source files by path, if they were requested. */
  readonly sources?: Readonly<Record<string, Source>>;
  /** The address that opens a file in the user's editor, with `%f` and `%l` for the path and the line; see `words/editor.ts`. */
  readonly editor?: string;
  /** The comparison, in a page of two sides: functions are then those of all files. */
  readonly comparison?: ComparisonFacts;
}

/** A source file. */
export interface Source {
  readonly text: string;
  /** Whether the file was changed after the profile, so that its lines may be different. */
  readonly changed: boolean;
}

/** The files of two sides, and the probability that chance made each change. */
export interface ComparisonFacts {
  /** The runs in the order of the page's files: those after, then those before. */
  readonly runs: readonly RunFacts[];
  /** The changes for each sample type that all files have: of self and total weights, as shares and absolute. */
  readonly changes: readonly Changes[];
}

export interface RunFacts {
  readonly side: "before" | "after";
  /** The name of the file. */
  readonly name: string;
  /** The sentences, as in a page of one file. */
  readonly header: readonly string[];
  /** For each function of the file, its index among those of all files. */
  readonly functions: readonly number[];
}

export interface Changes {
  /** The name of the sample type. */
  readonly type: string;
  readonly total: boolean;
  readonly absolute: boolean;
  /** The change of the whole in one sentence, and what is known about the functions; as in `profiler diff`. */
  readonly headline: string | null;
  readonly summary: string;
  /** The probability, by function, that chance alone brings such a change to any function; it is 1 for the others. */
  readonly chances: readonly (readonly [function: number, chance: number])[];
}

/** The facts of a page of a directory: how busy each process was, and the periods in the page. */
export interface IndexFacts {
  readonly version: string;
  readonly title: string;
  readonly periods: Periods;
}

export interface Periods {
  /** The type of the weights in `cells`: CPU time, or the wall clock time in which threads did not wait. */
  readonly type: "cpu" | "wall";
  readonly processes: readonly PeriodProcess[];
  /** The periods in the order of the page's blocks. */
  readonly parts: readonly PeriodPart[];
}

export interface PeriodProcess {
  readonly pid: number;
  readonly program: string;
  /** The files: start and end, ms since 1970; the weight, ns; and the part that the file belongs to. */
  readonly cells: readonly (readonly [from: number, to: number, weight: number, part: number])[];
}

/** The files of one process that can be opened together. */
export interface PeriodPart {
  /** The index into `processes`. */
  readonly process: number;
  /** The start and the end, ms since 1970. */
  readonly from: number;
  readonly to: number;
  /** The number of merged files. */
  readonly files: number;
}

/** Returns whether memory from malloc was recorded, in place of objects. */
export function isNative({ header, comparison }: Facts): boolean {
  const headers = [header, ...(comparison?.runs.map((it) => it.header) ?? [])];
  return headers.some((sentences) => sentences.some((it) => /^mode: .*\bnative\b/.test(it)));
}

/** Returns the version of a profile's Ruby, such as `3.1`, if it is before 3.3 and so knows less of waits; `null` otherwise. */
export function oldRuby({ header }: Facts): string | null {
  for (const line of header) {
    const [, major, minor] = /^ruby: ruby (\d+)\.(\d+)\./.exec(line) ?? [];
    if (major !== undefined) return Number(major) < 3 || (Number(major) === 3 && Number(minor) < 3) ? `${major}.${minor}` : null;
  }
  return null;
}
