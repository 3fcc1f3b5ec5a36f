// How busy a process was, as a grid: rows are hours with a column per minute, or days with a column per five minutes. Columns
// are shorter if the files are.

import type { PeriodProcess } from "./facts";

const MINUTE = 60_000; // ms
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const LEAST_CELLS = 10; // of a row
const MOST_HOURS = 48; // with a row for each hour; beyond that, rows are days
const MOST_CELLS = 360; // of a row
/** The lengths of cells below a minute, the longest first, ms. */
const SECONDS = [30, 15, 10, 5, 2, 1].map((it) => it * 1000);

/** A grid of cells. Times are local: ms since 1970 by the wall clock. */
export interface Grid {
  readonly rowMs: number;
  readonly cellMs: number;
  /** The start of the first row. */
  readonly first: number;
  readonly rows: number;
  readonly columns: number;
  /** The weight of each cell, row by row; -1 where nothing was recorded. */
  readonly cells: Float64Array;
  /** The part with most of the weight of each cell; -1 for none. */
  readonly part: Int32Array;
  /** The number of parts in each cell. */
  readonly parts: Int32Array;
  readonly largest: number;
  readonly total: number;
}

/** Computes the grid of a process. @param local returns the local time of an instant, ms */
export function grid({ cells: files }: PeriodProcess, local: (ms: number) => number = localTime): Grid {
  const [begin, end] = files.reduce(([from, to], it) => [Math.min(from, local(it[0])), Math.max(to, local(it[1]))], [Infinity, -Infinity]);
  const isLong = end - begin > MOST_HOURS * HOUR;
  // Less than an hour has one row, which begins and ends with the data.
  const isShort = end - begin <= HOUR;
  const cellMs = isLong ? 5 * MINUTE : cellOf(files, isShort ? end - begin : HOUR);
  const unit = isShort ? cellMs : isLong ? DAY : HOUR;
  const first = Math.floor(begin / unit) * unit;
  const rowMs = isShort ? Math.max(LEAST_CELLS, Math.ceil((end - first) / cellMs)) * cellMs : unit;
  const rows = files.length === 0 ? 0 : Math.floor(Math.max(0, end - 1 - first) / rowMs) + 1;
  const columns = rowMs / cellMs;
  const cells = new Float64Array(rows * columns).fill(-1);
  const part = new Int32Array(rows * columns).fill(-1);
  const most = new Float64Array(rows * columns);
  const parts = new Int32Array(rows * columns);
  const latest = new Int32Array(rows * columns).fill(-1); // files are in the order of their parts
  const add = (cell: number, weight: number, of: number) => {
    if (!(cell >= 0 && cell < cells.length)) return;
    cells[cell] = Math.max(0, cells[cell]!) + weight;
    if (latest[cell] !== of) [parts[cell], latest[cell]] = [parts[cell]! + 1, of];
    if (part[cell]! < 0 || weight > most[cell]!) [part[cell], most[cell]] = [of, weight];
  };
  for (const [from, to, weight, of] of files) {
    const [start, length] = [local(from) - first, to - from];
    // A file that is about as long as a cell belongs entirely to the cell of its middle, so that its number stays the same.
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
    parts,
    largest: cells.reduce((one, other) => Math.max(one, other), 0),
    total: files.reduce((sum, it) => sum + it[2], 0),
  };
}

/** Returns the length of a cell, ms: a minute, or less if half of the files are shorter. @param rowMs the length of a row */
function cellOf(files: PeriodProcess["cells"], rowMs: number): number {
  const lengths = files.map(([from, to]) => to - from).sort((one, other) => one - other);
  const usual = lengths[lengths.length >> 1] ?? MINUTE;
  if (usual * 1.5 >= MINUTE) return MINUTE;
  const fitting = SECONDS.filter((it) => rowMs / it <= MOST_CELLS);
  return fitting.find((it) => it <= usual * 1.1) ?? fitting.at(-1) ?? MINUTE;
}

/** Returns the wall clock time of an instant, as if it were UTC. */
export function localTime(ms: number): number {
  return ms - new Date(ms).getTimezoneOffset() * MINUTE;
}
