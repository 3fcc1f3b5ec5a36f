// How busy a process was, as a grid: rows are hours of columns that are minutes, or days of five minutes.

import type { PeriodProcess } from "./facts";

const MINUTE = 60_000; // ms
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const MOST_HOURS = 48; // of a grid with a row for each

/** Times are local: ms since 1970 as a clock on the wall would have them. */
export interface Grid {
  readonly rowMs: number;
  readonly cellMs: number;
  /** When the first row begins. */
  readonly first: number;
  readonly rows: number;
  readonly columns: number;
  /** Weight by cell, row after row; -1 where nothing was recorded. */
  readonly cells: Float64Array;
  /** By cell, the part with most of its weight; -1 for none. */
  readonly part: Int32Array;
  readonly largest: number;
  readonly total: number;
}

/** @param local the local time of a moment, ms */
export function grid({ cells: files }: PeriodProcess, local: (ms: number) => number = localTime): Grid {
  const [begin, end] = files.reduce(([from, to], it) => [Math.min(from, local(it[0])), Math.max(to, local(it[1]))], [Infinity, -Infinity]);
  const rowMs = end - begin > MOST_HOURS * HOUR ? DAY : HOUR;
  const cellMs = rowMs === HOUR ? MINUTE : 5 * MINUTE;
  const first = Math.floor(begin / rowMs) * rowMs;
  const rows = files.length === 0 ? 0 : Math.floor(Math.max(0, end - 1 - first) / rowMs) + 1;
  const columns = rowMs / cellMs;
  const cells = new Float64Array(rows * columns).fill(-1);
  const part = new Int32Array(rows * columns).fill(-1);
  const most = new Float64Array(rows * columns);
  const add = (cell: number, weight: number, of: number) => {
    if (!(cell >= 0 && cell < cells.length)) return;
    cells[cell] = Math.max(0, cells[cell]!) + weight;
    if (part[cell]! < 0 || weight > most[cell]!) [part[cell], most[cell]] = [of, weight];
  };
  for (const [from, to, weight, of] of files) {
    const [start, length] = [local(from) - first, to - from];
    // A file of about a cell is in the cell of its middle as a whole, so that its number stays what it is.
    if (length <= cellMs * 1.5) {
      add(Math.floor((start + length / 2) / cellMs), weight, of);
      continue;
    }
    const last = Math.floor((start + length - 1) / cellMs);
    for (let cell = Math.floor(start / cellMs); cell <= last; cell++) {
      const inside = Math.min(start + length, (cell + 1) * cellMs) - Math.max(start, cell * cellMs);
      add(cell, (weight * inside) / length, of);
    }
  }
  return {
    rowMs,
    cellMs,
    first,
    rows,
    columns,
    cells,
    part,
    largest: cells.reduce((one, other) => Math.max(one, other), 0),
    total: files.reduce((sum, it) => sum + it[2], 0),
  };
}

/** The time that a clock on the wall has at a moment, as if it were UTC. */
export function localTime(ms: number): number {
  return ms - new Date(ms).getTimezoneOffset() * MINUTE;
}
