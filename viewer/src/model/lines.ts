// Weights by line of source, with the callers and callees of a line.

import type { Profile } from "./profile";

/** Lines of files, each with an index. */
export class Lines {
  readonly paths: readonly string[];
  /** The index of each line's path, and the line number from 1. */
  readonly path: Uint32Array;
  readonly number: Int32Array;
  /** The line of each frame; -1 for a frame without one, such as C. */
  private readonly ofFrame: Int32Array;

  constructor(private readonly profile: Profile) {
    const { frames, functions } = profile;
    const paths = new Map<string, number>();
    const known = new Map<string, number>();
    const [path, number]: [number[], number[]] = [[], []];
    this.ofFrame = new Int32Array(frames.count).fill(-1);
    for (let frame = 0; frame < frames.count; frame++) {
      const [own, line] = [functions.path[frames.function[frame]!]!, frames.line[frame]!];
      if (own === "" || own === "<cfunc>" || line === 0) continue;
      if (!paths.has(own)) paths.set(own, paths.size);
      const key = `${paths.get(own)} ${line}`;
      let index = known.get(key);
      if (index === undefined) {
        known.set(key, (index = path.push(paths.get(own)!) - 1));
        number.push(line);
      }
      this.ofFrame[frame] = index;
    }
    this.paths = [...paths.keys()];
    this.path = Uint32Array.from(path);
    this.number = Int32Array.from(number);
  }

  get count(): number {
    return this.path.length;
  }

  indexOf(path: string, number: number): number {
    const file = this.paths.indexOf(path);
    return this.path.findIndex((it, line) => it === file && this.number[line] === number);
  }

  /**
   * Returns the weight of each line: where a stack ends in it, and where it is on the stack, which counts once. @param weights
   * by row
   */
  sums(weights: Float64Array): { self: Float64Array; total: Float64Array } {
    const { rows } = this.profile;
    const [self, total] = [new Float64Array(this.count), new Float64Array(this.count)];
    const seen = new Int32Array(this.count).fill(-1);
    for (let row = 0; row < rows.count; row++) {
      const weight = weights[row]!;
      if (weight === 0) continue;
      const leaf = this.ofFrame[rows.frames[rows.start[row]!]!]!;
      if (leaf >= 0) self[leaf]! += weight;
      for (let at = rows.start[row]!; at < rows.start[row + 1]!; at++) {
        const line = this.ofFrame[rows.frames[at]!]!;
        if (line < 0 || seen[line] === row) continue;
        seen[line] = row;
        total[line]! += weight;
      }
    }
    return { self, total };
  }

  /**
   * Returns the frames that call a line, and those that it calls, each with the weight of the stacks in which it does; the
   * heaviest first.
   */
  around(line: number, weights: Float64Array): { callers: Related[]; callees: Related[] } {
    const { rows } = this.profile;
    const [callers, callees] = [new Map<number, number>(), new Map<number, number>()];
    for (let row = 0; row < rows.count; row++) {
      const weight = weights[row]!;
      if (weight === 0) continue;
      const [start, end] = [rows.start[row]!, rows.start[row + 1]!];
      const [above, below] = [new Set<number>(), new Set<number>()];
      for (let at = start; at < end; at++) {
        if (this.ofFrame[rows.frames[at]!] !== line) continue;
        if (at + 1 < end) above.add(rows.frames[at + 1]!);
        if (at > start) below.add(rows.frames[at - 1]!);
      }
      for (const frame of above) callers.set(frame, (callers.get(frame) ?? 0) + weight);
      for (const frame of below) callees.set(frame, (callees.get(frame) ?? 0) + weight);
    }
    return { callers: ordered(callers), callees: ordered(callees) };
  }
}

/** A frame next to a line. */
export interface Related {
  readonly frame: number;
  readonly weight: number;
}

function ordered(sums: Map<number, number>): Related[] {
  return Array.from(sums, ([frame, weight]) => ({ frame, weight })).sort((one, other) => other.weight - one.weight || one.frame - other.frame);
}
