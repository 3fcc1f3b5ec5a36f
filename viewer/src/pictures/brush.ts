// A range of time that is drawn with the pointer, or moved with keys.

import type { Range } from "../model/selection";

const EDGE = 6; // px around an edge in which it can be grabbed
const LEAST = 3; // px, the minimum width of a range

/** The object of a drag: a new range from a fixed end on, or the whole range. */
export type Drag = { readonly fixed: number } | { readonly whole: Range; readonly from: number };

/** The times and positions of a strip that is `width` px wide and shows `span` ns. */
export class Brush {
  constructor(
    private readonly span: number,
    private readonly width: number,
  ) {}

  timeAt(x: number): number {
    return Math.max(0, Math.min(this.span, (x / this.width) * this.span));
  }

  xOf(time: number): number {
    return (time / this.span) * this.width;
  }

  /** Returns whether an edge of the range is at `x`. */
  isEdge(x: number, range: Range | null): boolean {
    return range !== null && (Math.abs(this.xOf(range.from) - x) <= EDGE || Math.abs(this.xOf(range.to) - x) <= EDGE);
  }

  /** Begins a drag at `x`: of an edge, of the whole range, or of a new range. */
  begin(x: number, range: Range | null, whole: boolean): Drag {
    if (range && Math.abs(this.xOf(range.from) - x) <= EDGE) return { fixed: range.to };
    if (range && Math.abs(this.xOf(range.to) - x) <= EDGE) return { fixed: range.from };
    if (range && whole) return { whole: range, from: this.timeAt(x) };
    return { fixed: this.timeAt(x) };
  }

  /** Returns the range once the drag is at `x`; `null` while it is too short. */
  drag(drag: Drag, x: number): Range | null {
    const time = this.timeAt(x);
    if ("whole" in drag) return this.moved(drag.whole, time - drag.from);
    const range = { from: Math.min(drag.fixed, time), to: Math.max(drag.fixed, time) };
    return ((range.to - range.from) / this.span) * this.width < LEAST ? null : range;
  }

  /** Returns the range moved by a time, as far as there is room. */
  moved(range: Range, by: number): Range {
    const length = range.to - range.from;
    const from = Math.max(0, Math.min(this.span - length, range.from + by));
    return { from, to: from + length };
  }

  /** Returns the range after a key; the same range if the key has no meaning. */
  key(key: string, shift: boolean, range: Range | null): Range | null {
    const now = range ?? { from: this.span * 0.4, to: this.span * 0.6 };
    const length = now.to - now.from;
    const step = Math.max(this.span / this.width, length / 10);
    const resized = (by: number) => this.within({ from: now.from - by, to: now.to + by });
    switch (key) {
      case "ArrowLeft":
      case "ArrowRight": {
        if (!range) return now;
        const by = key === "ArrowLeft" ? -step : step;
        return shift ? this.within({ from: now.from, to: Math.max(now.from + step, now.to + by) }) : this.moved(now, by);
      }
      case "+":
      case "=":
        return range ? resized(-length * 0.2) : now;
      case "-":
        return resized(length * 0.25);
      case "Home":
        return this.moved(now, -this.span);
      case "End":
        return this.moved(now, this.span);
      default:
        return range;
    }
  }

  private within({ from, to }: Range): Range {
    return { from: Math.max(0, from), to: Math.min(this.span, Math.max(to, from + 1)) };
  }
}
