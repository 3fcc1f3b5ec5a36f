// The steps with n and N from one match of a search to the next.

/** Returns 1 for the key of the next match, -1 for that of the previous one, 0 for any other key. */
export function matchStep(key: string): 1 | -1 | 0 {
  return key === "n" ? 1 : key === "N" ? -1 : 0;
}

/** Returns the first match among `count` places after `at`, or before it, wrapping around; `at` if there is none. */
export function nextMatch(count: number, at: number, step: 1 | -1, isMatch: (place: number) => boolean): number {
  const start = at < 0 && step < 0 ? 0 : at;
  for (let seen = 1; seen <= count; seen++) {
    const place = (start + step * seen + count * 2) % count;
    if (isMatch(place)) return place;
  }
  return at;
}
