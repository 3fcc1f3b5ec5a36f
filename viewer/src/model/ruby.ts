// The Ruby that a profile is of.

import type { Facts } from "./facts";

/** Returns the version of a profile's Ruby, such as `3.1`, if it is before 3.3 and so knows less of waits; `null` otherwise. */
export function oldRuby({ header }: Facts): string | null {
  for (const line of header) {
    const [, major, minor] = /^ruby: ruby (\d+)\.(\d+)\./.exec(line) ?? [];
    if (major !== undefined) return Number(major) < 3 || (Number(major) === 3 && Number(minor) < 3) ? `${major}.${minor}` : null;
  }
  return null;
}
