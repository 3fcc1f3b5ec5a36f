// The times of periods, in the time zone of the reader.

import { localTime } from "../model/days";
import type { PeriodPart } from "../model/facts";

export const MINUTE = 60_000; // ms

/** Formats the time of a period: `Nov 27 12:00 to 12:10`. */
export function spanText({ from, to }: PeriodPart): string {
  const isShort = to - from < MINUTE;
  return `${day(localTime(from))} ${clock(localTime(from), isShort)} to ${clock(localTime(to), isShort)}`;
}

/** Formats the hour and the minute of a local time, and the second if it matters. */
export function clock(ms: number, hasSeconds = false): string {
  return new Date(ms).toISOString().slice(11, hasSeconds ? 19 : 16);
}

/** Formats the day of a local time. */
export function day(ms: number): string {
  return new Date(ms).toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" });
}
