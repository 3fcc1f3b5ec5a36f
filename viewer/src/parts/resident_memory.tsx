// The resident memory over time, as layers by kind, and the classes with the most slots.

import { useMemo } from "preact/hooks";
import { localTime } from "../model/days";
import { clean } from "../model/names";
import { BYTES, layers } from "../model/over_time";
import type { MemoryRow } from "../model/profile";
import { resident } from "../model/resident";
import { amount } from "../model/units";
import { GEMS } from "../pictures/coloring";
import { useApp } from "../state/context";
import { brief } from "../words/words";
import { StackedArea } from "./stacked_area";

const CLASSES = 8;

export function ResidentMemory() {
  const rows = useApp().model.profile.memory;
  const { spans, stack } = useMemo(() => {
    const { spans, sums } = resident(rows);
    return { spans, stack: layers(sums, GEMS) };
  }, [rows]);
  if (rows.length === 0) return null;
  const [first, last] = [rows[0]!, rows.at(-1)!];
  const seconds = (ms: number) => new Date(localTime(ms)).toISOString().slice(11, 19);
  return (
    <section aria-label="Resident memory">
      <div class="bar">
        <span>Resident memory</span>
        <span class="muted">
          {amount(BYTES, last.rss)} at the end{rows.length > 1 && last.pid === first.pid && `, ${signed(last.rss - first.rss)} since the first of ${rows.length} rows`}
        </span>
      </div>
      {spans.length > 0 && (
        <StackedArea
          label="Resident memory over time"
          layers={stack}
          spans={spans}
          height={(_, weight) => weight}
          text={(value) => amount(BYTES, value)}
          time={seconds}
          title={(at) => `${seconds(spans[at]!.from)} to ${seconds(spans[at]!.to)}`}
        />
      )}
      {last.classes.size > 0 && <p class="muted part">Slots of Ruby's heap at the end: {classesOf(first, last)}. profiler memory --owners PID shows who has the memory of malloc.</p>}
    </section>
  );
}

function signed(bytes: number): string {
  return `${bytes < 0 ? "-" : "+"}${amount(BYTES, Math.abs(bytes))}`;
}

/** Returns the largest classes, with their growth where both rows have them. */
function classesOf(first: MemoryRow, last: MemoryRow): string {
  const text = ([name, bytes]: [string, number]) => {
    const before = first.pid === last.pid && first !== last ? first.classes.get(name) : undefined;
    return `${brief(clean(name))} ${amount(BYTES, bytes)}${before === undefined ? "" : ` (${signed(bytes - before)})`}`;
  };
  return [...last.classes].slice(0, CLASSES).map(text).join(", ");
}
