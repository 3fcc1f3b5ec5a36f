//! The durations of the calls of a method: each one, or from a certain number on, their distribution.

/// The largest number of durations that are kept one by one, unless fewer are requested: 1 MB.
const MAX_EXACT: usize = 1 << 17;
/// The number of buckets in each power of two. The middle of a bucket is at most 0.4 % off.
const PARTS: u64 = 128;
/// The power of two below which each nanosecond has a bucket of its own.
const FIRST_POWER: u32 = PARTS.trailing_zeros();
/// The number of buckets for all durations of 64 bits.
const BUCKETS: usize = ((64 - FIRST_POWER as usize) + 1) * PARTS as usize;

/// Durations in nanoseconds. Percentiles are exact for the first 131,072 durations, or for as many as
/// requested; after these, they are at most 0.4 % off.
#[derive(Debug)]
pub struct Durations {
    exact: Vec<u64>,
    buckets: Vec<u64>,
    count: u64,
    total_ns: u64,
    shortest_ns: u64,
    longest_ns: u64,
    most_exact: usize,
}

/// The durations between two powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// The shortest duration that belongs here, ns.
    pub from_ns: u64,
    /// The shortest duration that no longer belongs here, ns.
    pub below_ns: u64,
    /// The number of durations.
    pub count: u64,
}

impl Default for Durations {
    fn default() -> Self {
        Self::exact_up_to(MAX_EXACT)
    }
}

impl Durations {
    /// Creates an empty list whose percentiles are exact for up to `most_exact` durations.
    #[must_use]
    pub fn exact_up_to(most_exact: usize) -> Self {
        Self {
            exact: Vec::with_capacity(most_exact),
            buckets: vec![0; BUCKETS],
            count: 0,
            total_ns: 0,
            shortest_ns: u64::MAX,
            longest_ns: 0,
            most_exact,
        }
    }

    /// Adds a duration. Never allocates.
    pub fn add(&mut self, ns: u64) {
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.shortest_ns = self.shortest_ns.min(ns);
        self.longest_ns = self.longest_ns.max(ns);
        if self.exact.len() < self.most_exact {
            self.exact.push(ns);
        }
        if let Some(bucket) = self.buckets.get_mut(bucket_of(ns)) {
            *bucket += 1;
        }
    }

    /// Returns the number of durations.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all durations, ns.
    #[must_use]
    pub fn total_ns(&self) -> u64 {
        self.total_ns
    }

    /// Returns the shortest and the longest duration, ns; `None` if there are none.
    #[must_use]
    pub fn range_ns(&self) -> Option<(u64, u64)> {
        (self.count > 0).then_some((self.shortest_ns, self.longest_ns))
    }

    /// Returns whether percentiles are exact.
    #[must_use]
    pub fn are_exact(&self) -> bool {
        self.count == self.exact.len() as u64
    }

    /// Returns the percentiles, in ns: for each percentage, from 0 to 100, the shortest duration that at least
    /// that share of the durations does not exceed. `None` if there are no durations.
    #[must_use]
    pub fn percentiles_ns(&self, percents: &[f64]) -> Option<Vec<u64>> {
        let (shortest_ns, longest_ns) = self.range_ns()?;
        let rank = |percent: f64| {
            let rank = (percent / 100.0 * self.count as f64).ceil();
            (rank as u64).clamp(1, self.count)
        };
        if self.are_exact() {
            let mut sorted = self.exact.clone();
            sorted.sort_unstable();
            let at = |rank: u64| usize::try_from(rank - 1).ok().and_then(|place| sorted.get(place).copied());
            return percents.iter().map(|percent| at(rank(*percent))).collect();
        }
        let at = |rank: u64| {
            let mut below = 0;
            let place = self.buckets.iter().position(|count| {
                below += count;
                below >= rank
            });
            place.map_or(longest_ns, middle_ns).clamp(shortest_ns, longest_ns)
        };
        Some(percents.iter().map(|percent| at(rank(*percent))).collect())
    }

    /// Returns the distribution by powers of two, from the first that has a duration to the last.
    #[must_use]
    pub fn histogram(&self) -> Vec<Bucket> {
        let mut powers = [0_u64; 65];
        for (place, count) in self.buckets.iter().enumerate() {
            if let Some(power) = powers.get_mut(bit_length(first_ns(place))) {
                *power += count;
            }
        }
        let is_used = |count: &u64| *count > 0;
        let (Some(first), Some(last)) = (powers.iter().position(is_used), powers.iter().rposition(is_used))
        else {
            return Vec::new();
        };
        let bucket = |(bits, count): (usize, &u64)| Bucket {
            from_ns: if bits == 0 { 0 } else { 1 << (bits - 1) },
            below_ns: u64::try_from(1_u128 << bits).unwrap_or(u64::MAX),
            count: *count,
        };
        powers.iter().enumerate().take(last + 1).skip(first).map(bucket).collect()
    }
}

fn bit_length(ns: u64) -> usize {
    (u64::BITS - ns.leading_zeros()) as usize
}

/// Returns the bucket of a duration: one per nanosecond first, then [`PARTS`] in each power of two.
fn bucket_of(ns: u64) -> usize {
    let Some(shift) = (u64::BITS - ns.leading_zeros()).checked_sub(FIRST_POWER + 1) else {
        return ns as usize;
    };
    let part = (ns >> shift) - PARTS;
    ((u64::from(shift) + 1) * PARTS + part) as usize
}

/// Returns the shortest duration that belongs to a bucket.
fn first_ns(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    match (bucket / PARTS).checked_sub(1) {
        None => bucket,
        Some(shift) => (PARTS + bucket % PARTS) << shift,
    }
}

fn middle_ns(bucket: usize) -> u64 {
    let width_ns = 1_u64 << (bucket as u64 / PARTS).saturating_sub(1);
    first_ns(bucket) + width_ns / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_of_few_durations_are_their_ranks() {
        let mut durations = Durations::default();
        assert_eq!(durations.percentiles_ns(&[50.0]), None);
        for ns in [30, 10, 20, 40] {
            durations.add(ns);
        }
        assert_eq!(durations.percentiles_ns(&[0.0, 25.0, 50.0, 51.0, 100.0]), Some(vec![10, 10, 20, 30, 40]));
        assert_eq!((durations.range_ns(), durations.total_ns()), (Some((10, 40)), 100));
    }

    #[test]
    fn the_histogram_has_a_bucket_for_each_power_between_the_shortest_and_the_longest() {
        let mut durations = Durations::default();
        for ns in [0, 1, 5, 7, 1_000] {
            durations.add(ns);
        }
        let histogram = durations.histogram();
        assert_eq!(histogram.first().copied(), Some(Bucket { from_ns: 0, below_ns: 1, count: 1 }));
        assert!(histogram.contains(&Bucket { from_ns: 4, below_ns: 8, count: 2 }));
        assert_eq!(histogram.last().copied(), Some(Bucket { from_ns: 512, below_ns: 1_024, count: 1 }));
    }

    #[test]
    fn the_longest_duration_has_a_bucket() {
        let mut durations = Durations::default();
        durations.add(u64::MAX);
        assert_eq!(durations.histogram().iter().map(|bucket| bucket.count).sum::<u64>(), 1);
    }

    proptest! {
        #[test]
        fn a_bucket_contains_its_durations_and_is_narrow(ns in any::<u64>()) {
            let bucket = bucket_of(ns);
            prop_assert!(bucket < BUCKETS);
            prop_assert!(first_ns(bucket) <= ns);
            prop_assert_eq!(bucket_of(first_ns(bucket)), bucket);
            let off_ns = middle_ns(bucket).abs_diff(ns);
            prop_assert!(u128::from(off_ns) * 250 <= u128::from(ns), "{} is {} off", ns, off_ns);
        }

        #[test]
        fn percentiles_beyond_the_exact_ones_are_close(seed in any::<u64>()) {
            let mut state = seed | 1;
            let mut all: Vec<u64> = Vec::new();
            let mut durations = Durations::default();
            for _ in 0..=MAX_EXACT {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                all.push(state % 1_000_000_000);
                durations.add(state % 1_000_000_000);
            }
            all.sort_unstable();
            prop_assert!(!durations.are_exact());
            let found = durations.percentiles_ns(&[50.0, 99.0]).unwrap();
            for (percent, found) in [50, 99].into_iter().zip(found) {
                let truth = all[all.len() * percent / 100];
                prop_assert!((found as f64 - truth as f64).abs() < 0.005 * truth as f64);
            }
        }
    }
}
