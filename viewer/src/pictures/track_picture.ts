// The pictures of the overview: activity as cells, and threads coloured by their states.

import type { Profile } from "../model/profile";
import type { Heat, Lit, Track } from "../model/time";
import type { Surface } from "./surface";
import { mix, onRamp, STATES, type Theme } from "./theme";

export const CELL = 3; // px, the height of a cell
export const TRACK = 22; // px, the height of a track with the room above it
const GAP = 3; // px, the height of that room
const MARKER = 3; // px

/** Paints the cells of time; `ns` is the time across the width. */
export function paintHeat(surface: Surface, theme: Theme, heat: Heat, lit: Lit | null, ns: number, width: number): void {
  const { columnNs, rows, cells } = heat;
  const largest = heat.largest || 1;
  for (let column = 0; column < heat.columns; column++) {
    const left = Math.round(((column * columnNs) / ns) * width);
    const right = Math.min(width, Math.round((((column + 1) * columnNs) / ns) * width));
    const across = right - left > 3 ? right - left - 1 : right - left;
    for (let row = 0; row < rows; row++) {
      const cell = column * rows + row;
      const found = lit?.cells[cell] ?? 0;
      const color = found > 0 ? onRamp(theme.litHeat, found / lit!.largest) : onRamp(lit ? theme.dimHeat : theme.heat, cells[cell]! / largest);
      surface.rect(left, row * CELL, across, CELL, color);
    }
  }
}

/** Returns the weight that fills a column of a track: its time, or the maximum of all columns. */
export function fullColumn(tracks: readonly Track[], isTime: boolean, ns: number, columns: number): number {
  if (isTime) return ns / columns;
  let most = 1;
  for (const { weights } of tracks) {
    for (let column = 0; column < columns; column++) {
      let all = 0;
      for (let at = column; at < weights.length; at += columns) all += weights[at]!;
      most = Math.max(most, all);
    }
  }
  return most;
}

/** Paints a track with its states stacked. Consecutive columns that have only one state are drawn as one box. */
export function paintTrack(surface: Surface, theme: Theme, states: readonly string[], track: Track, full: number, columns: number, top: number, dim: boolean): void {
  const order = states.map((_, index) => index).sort((one, other) => STATES.indexOf(states[one]!) - STATES.indexOf(states[other]!));
  const height = TRACK - GAP;
  const bottom = top + TRACK;
  const colors = states.map((state) => {
    const own = theme.states[state] ?? theme.muted;
    return dim ? mix(own, theme.background, 0.7) : own;
  });
  let [runState, runFrom] = [-1, 0];
  const endRun = (to: number) => {
    if (runState >= 0) surface.rect(runFrom, top + GAP, to - runFrom, height, colors[runState]!);
    runState = -1;
  };
  // Paint one state after the other, as a change of colour takes as long as a box.
  const parts = states.map((): [column: number, top: number, height: number][] => []);
  for (let column = 0; column < columns; column++) {
    const whole = order.find((state) => track.weights[state * columns + column]! >= full * 0.98) ?? -1;
    if (whole !== runState || whole < 0) endRun(column);
    if (whole >= 0) {
      if (runState < 0) [runState, runFrom] = [whole, column];
      continue;
    }
    let level = bottom;
    for (const state of order) {
      const part = Math.min(1, track.weights[state * columns + column]! / full) * height;
      if (part <= 0) continue;
      const box = Math.min(Math.max(0.5, part), level - top - GAP);
      level -= box;
      parts[state]!.push([column, level, box]);
    }
  }
  endRun(columns);
  for (const state of order) for (const [column, level, box] of parts[state]!) surface.rect(column, level, 1, box, colors[state]!);
}

/** Paints the markers of a thread, for example above its track. */
export function paintMarkers(surface: Surface, theme: Theme, profile: Profile, thread: number, ns: number, width: number, top: number): void {
  for (const { thread: own, start, duration } of profile.markers) {
    if (own === thread) surface.rect((start / ns) * width, top, Math.max(2, (duration / ns) * width), MARKER, theme.marker);
  }
}
