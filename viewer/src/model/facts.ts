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
  /** A short path for each path that has one. */
  readonly paths: Readonly<Record<string, string>>;
}
