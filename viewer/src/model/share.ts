// The precision of a share.

const NORMAL_95 = 1.959964;

/**
 * Returns the 95 % interval of a share that is `part` of `whole`, if `samples` were taken of the whole (Wilson's interval).
 * With samples of different weights, the share is slightly less certain than that.
 */
export function interval(part: number, whole: number, samples: number): [low: number, high: number] {
  if (!(whole > 0) || !(samples > 0)) return [0, 1];
  const share = Math.min(1, Math.max(0, part / whole));
  const square = NORMAL_95 ** 2;
  const middle = (share + square / (2 * samples)) / (1 + square / samples);
  const half = (NORMAL_95 / (1 + square / samples)) * Math.sqrt((share * (1 - share)) / samples + square / (4 * samples ** 2));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
}
