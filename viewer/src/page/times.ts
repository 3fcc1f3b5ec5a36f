// The times of periods, in the time zone of the reader.

import { localTime } from "../model/days";
import type { PeriodPart } from "../model/facts";

/** Formats the time of a period: `Nov 27 12:00 to 12:10`. */
export function spanText({ from, to }: PeriodPart): string {
  return `${day(localTime(from))} ${clock(localTime(from))} to ${clock(localTime(to))}`;
}

/** Formats the hour and the minute of a local time. */
export function clock(ms: number): string {
  return new Date(ms).toISOString().slice(11, 16);
}

/** Formats the day of a local time. */
export function day(ms: number): string {
  return new Date(ms).toLocaleDateString("en", { month: "short", day: "numeric", timeZone: "UTC" });
}
