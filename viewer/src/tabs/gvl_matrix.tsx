// The matrix of waits for the GVL: a line for each thread or function that waited, a column for each one that held it.

import { useRef } from "preact/hooks";
import type { Matrix, Side } from "../model/gvl";
import { duration, percent } from "../model/units";
import type { Cell } from "../state/gvl_sums";
import { useSize } from "../parts/hooks";
import { brief } from "../words/words";

const MOST_LINES = 14;
const [HEAD, CELL] = [262, 58]; // px, the width of a line's name and sum, and of a cell
const REST = "\n"; // a name that no entry has
const HEAT = 0.6; // the opacity of the heaviest cell

export interface MatrixProps {
  readonly matrix: Matrix;
  readonly chosen: Cell;
  readonly choose: (cell: Cell) => void;
}

export function GvlMatrix({ matrix, chosen, choose }: MatrixProps) {
  const own = useRef<HTMLDivElement>(null);
  const { width } = useSize(own);
  const lines = cut(matrix.lines, MOST_LINES);
  const columns = cut(matrix.columns, Math.max(2, Math.min(12, Math.floor((width - HEAD) / CELL))));
  const across = matrix.columns.sums.length;
  const weight = (line: Group, column: Group) => {
    let sum = 0;
    for (let row = line.from; row < line.to; row++) for (let at = column.from; at < column.to; at++) sum += matrix.cells[row * across + at]!;
    return sum;
  };
  const all: Group = { key: "", text: "", from: 0, to: 0, sum: matrix.total };
  const largest = Math.max(1, ...lines.flatMap((line) => columns.map((column) => weight(line, column))));
  const keyed = (event: KeyboardEvent) => {
    const step = { ArrowUp: -columns.length - 1, ArrowDown: columns.length + 1, ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = [...own.current!.querySelectorAll<HTMLElement>("button")];
    all[all.indexOf(document.activeElement as HTMLElement) + step]?.focus();
    event.preventDefault();
    event.stopPropagation();
  };
  const button = (line: Group, column: Group, ns: number, text: string) => {
    const cell = { line: line.key, column: column.key };
    const isChosen = cell.line === chosen.line && cell.column === chosen.column;
    return (
      <button
        class={isChosen ? "cell on" : "cell"}
        aria-pressed={isChosen}
        disabled={ns === 0 || [line.key, column.key].includes(REST)}
        aria-label={`${line.text || "all"} waited ${duration(ns)} behind ${column.text || "all"}`}
        title={`${line.text || "all"} waited ${duration(ns)} (${percent(ns, matrix.total)}) behind ${column.text || "all"}`}
        onClick={() => choose(cell)}
      >
        {line.key !== "" && column.key !== "" && <i style={{ opacity: (HEAT * Math.sqrt(ns / largest)).toFixed(3) }} />}
        <span>{text}</span>
      </button>
    );
  };
  return (
    <div class="matrix" ref={own} role="group" aria-label="Who waited for the GVL behind whom" onKeyDown={keyed}>
      <div class="matrix-line matrix-head" style={{ gridTemplateColumns: template(columns.length) }}>
        <p>
          <span class="muted">waited ↓ behind →</span>
        </p>
        <p class="sum">in all</p>
        {columns.map((it) => (
          <p key={it.key} class="matrix-column" title={it.text}>
            <span>{it.text}</span>
          </p>
        ))}
      </div>
      {[all, ...lines].map((line) => (
        <div key={line.key} class="matrix-line" style={{ gridTemplateColumns: template(columns.length) }}>
          <p class="clip" title={line.text}>
            {line.text || "all"}
          </p>
          {button(line, all, line.sum, duration(line.sum))}
          {columns.map((column) => {
            const ns = line === all ? column.sum : weight(line, column);
            return button(line, column, ns, ns === 0 ? "" : duration(ns));
          })}
        </div>
      ))}
    </div>
  );
}

/** A line or a column: a single entry, or the rest of many. */
interface Group {
  readonly key: string;
  readonly text: string;
  /** The places of the group in the matrix. */
  readonly from: number;
  readonly to: number;
  readonly sum: number;
}

function cut({ names, others, sums }: Side, most: number): Group[] {
  const group = (key: string, at: number): Group => ({ key, text: brief(key), from: at, to: at + 1, sum: sums[at]! });
  if (names.length + others <= most) return names.map(group);
  const from = Math.min(names.length, most - 1);
  const rest = sums.subarray(from).reduce((one, other) => one + other, 0);
  return [...names.slice(0, from).map(group), { key: REST, text: `${names.length - from + others} others`, from, to: sums.length, sum: rest }];
}

function template(columns: number): string {
  return `minmax(90px, 1fr) 62px repeat(${columns}, ${CELL}px)`;
}
