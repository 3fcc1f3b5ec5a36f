// Numbers for people, in the same form as on the command line.

import type { SampleType } from "./profile";

/** Formats nanoseconds: `1.23 s`, `45.1 ms`, `12 us`, `80 ns`, `0`. */
export function duration(ns: number): string {
  if (ns <= 0) return "0";
  if (ns < 1_000) return `${Math.round(ns)} ns`;
  // From here on, the bounds are where rounding would reach the next unit.
  if (ns < 999_500) return `${Math.round(ns / 1e3)} us`;
  if (ns < 999_500_000) return `${threeDigits(ns / 1e6)} ms`;
  return `${threeDigits(ns / 1e9)} s`;
}

/** Formats bytes: `45.1 MiB`, `512 B`. */
export function bytes(number: number): string {
  if (number < 1024) return `${Math.round(number)} B`;
  let [value, unit] = [number / 1024, "KiB"];
  for (const larger of ["MiB", "GiB", "TiB", "PiB", "EiB"]) {
    if (value < 1023.5) break;
    [value, unit] = [value / 1024, larger];
  }
  return `${threeDigits(value)} ${unit}`;
}

/** Formats a number with commas: `1,234,567`. */
export function count(number: number): string {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Formats a weight in the unit of its type. */
export function amount(type: SampleType, weight: number): string {
  if (type.unit === "nanoseconds") return duration(weight);
  return type.unit === "bytes" ? bytes(weight) : count(weight);
}

/** Formats a share: `12.3%`, `0.04%`. A share of zero in zero is `0.0%`. */
export function percent(part: number, whole: number): string {
  const share = whole > 0 ? (100 * part) / whole : 0;
  return share > 0 && share < 0.095 ? `${share.toFixed(2)}%` : `${share.toFixed(1)}%`;
}

function threeDigits(value: number): string {
  if (value < 9.995) return value.toFixed(2);
  return value < 99.95 ? value.toFixed(1) : count(value);
}
