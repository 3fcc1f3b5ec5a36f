//! The requests and jobs that ended while a session ran, counted by their labels.
//!
//! Samples cannot tell how many requests there were, and markers are capped. So the middleware and the jobs
//! report each end to the sampler (`Native.count_request`), and each session that selects it adds it to the
//! tally of its labels. This needs the GVL and the sampler lock but no record: a rotation takes samples and
//! counts together. A pprof file has the tallies before its standard fields, in field 5210. For a job of
//! Active Job in Sidekiq, only Active Job reports.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::LabelSet;

/// The number of distinct label sets that a session counts separately. Later sets are `(other)`.
const MAX_SETS: usize = 4_096;

/// The number of sets that are counted separately only by their names once [`MAX_SETS`] is reached. All
/// further requests count as having no labels.
const MAX_OTHERS: usize = 64;

/// The number of requests and their durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of requests that ended.
    pub count: u64,
    /// The wall clock time of all requests, ns.
    pub total_ns: u64,
    /// The wall clock time of the longest request, ns.
    pub largest_ns: u64,
}

impl Tally {
    /// Returns the mean wall clock time of a request, ns.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        self.total_ns.checked_div(self.count).unwrap_or(0)
    }

    fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.total_ns = self.total_ns.saturating_add(other.total_ns);
        self.largest_ns = self.largest_ns.max(other.largest_ns);
    }
}

/// The tally of each label set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(BTreeMap<LabelSet, Tally>);

impl Requests {
    /// Counts a request that took `took_ns`. The number of sets stays bounded.
    pub fn record(&mut self, labels: &LabelSet, took_ns: u64) {
        let one = Tally { count: 1, total_ns: took_ns, largest_ns: took_ns };
        if let Some(known) = self.0.get_mut(labels) {
            return known.add(&one);
        }
        let mut labels = labels.clone();
        if self.0.len() >= MAX_SETS {
            labels = labels.others();
        }
        if self.0.len() >= MAX_SETS + MAX_OTHERS && !self.0.contains_key(&labels) {
            labels = LabelSet::EMPTY;
        }
        self.0.entry(labels).or_default().add(&one);
    }

    /// Adds the requests of other periods or processes.
    pub fn add(&mut self, others: &Self) {
        others.0.iter().for_each(|(labels, tally)| self.0.entry(labels.clone()).or_default().add(tally));
    }

    /// Returns the requests with other labels. Sets that become the same are counted together.
    #[must_use]
    pub(crate) fn renamed(&self, renamed: impl Fn(&LabelSet) -> LabelSet) -> Self {
        let mut requests = Self::default();
        self.0.iter().for_each(|(labels, tally)| requests.0.entry(renamed(labels)).or_default().add(tally));
        requests
    }

    /// Returns whether no request was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of requests that ended.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.iter().fold(0, |sum, (_, it)| sum.saturating_add(it.count))
    }

    /// Iterates over the label sets and their tallies, in the order of the sets.
    pub fn iter(&self) -> impl Iterator<Item = (&LabelSet, &Tally)> {
        self.0.iter()
    }

    /// Returns the tally of each value of a label. Requests without the label are not included.
    #[must_use]
    pub fn by(&self, label: &str) -> BTreeMap<&str, Tally> {
        let mut values: BTreeMap<&str, Tally> = BTreeMap::new();
        for (labels, tally) in self.iter() {
            if let Some(value) = labels.value(label) {
                values.entry(value).or_default().add(tally);
            }
        }
        values
    }

    /// Adds labels to all requests that have no label of that name.
    pub(super) fn add_labels(&mut self, more: &LabelSet) {
        for (labels, tally) in std::mem::take(&mut self.0) {
            let own = labels.pairs().iter().cloned().map(|(name, value)| (name, Some(value)));
            self.0.entry(more.with(own)).or_default().add(&tally);
        }
    }
}

/// A label set and its tally, as stored in files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RequestRow {
    labels: BTreeMap<String, String>,
    count: u64,
    total_ns: u64,
    largest_ns: u64,
}

impl From<&Requests> for Vec<RequestRow> {
    fn from(requests: &Requests) -> Self {
        let row = |(labels, it): (&LabelSet, &Tally)| RequestRow {
            labels: labels.pairs().iter().cloned().collect(),
            count: it.count,
            total_ns: it.total_ns,
            largest_ns: it.largest_ns,
        };
        requests.iter().map(row).collect()
    }
}

impl FromIterator<RequestRow> for Requests {
    fn from_iter<I: IntoIterator<Item = RequestRow>>(rows: I) -> Self {
        let mut requests = Self::default();
        for RequestRow { labels, count, total_ns, largest_ns } in rows {
            let labels = LabelSet::EMPTY.with(labels.into_iter().map(|(name, value)| (name, Some(value))));
            requests.0.entry(labels).or_default().add(&Tally { count, total_ns, largest_ns });
        }
        requests
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::profile::OTHER;
    use proptest::prelude::*;

    fn set(pairs: &[(&str, &str)]) -> LabelSet {
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), Some((*value).to_owned()));
        LabelSet::EMPTY.with(pairs.iter().map(pair))
    }

    fn of(ended: &[(u8, u64)]) -> Requests {
        let mut requests = Requests::default();
        ended
            .iter()
            .for_each(|(endpoint, ns)| requests.record(&set(&[("endpoint", &endpoint.to_string())]), *ns));
        requests
    }

    proptest! {
        #[test]
        fn periods_add_up_to_the_whole(ended in prop::collection::vec((0..4_u8, 0..1_u64 << 50), 0..40), cuts in [0..40_usize, 0..40]) {
            let mut at = cuts.map(|it| it.min(ended.len()));
            at.sort_unstable();
            let mut sum = of(&ended[at[1]..]);
            sum.add(&of(&ended[at[0]..at[1]]));
            sum.add(&of(&ended[..at[0]]));
            prop_assert_eq!(&sum, &of(&ended));
            for (value, tally) in sum.by("endpoint") {
                let took = || ended.iter().filter(|(it, _)| it.to_string() == value).map(|(_, ns)| *ns);
                let expected = Tally {
                    count: took().count() as u64,
                    total_ns: took().sum(),
                    largest_ns: took().max().unwrap(),
                };
                prop_assert_eq!(tally, expected);
            }
            prop_assert_eq!(Vec::<RequestRow>::from(&sum).into_iter().collect::<Requests>(), sum);
        }
    }

    #[test]
    fn excess_sets_keep_their_names_and_no_request_is_lost() {
        let mut requests = Requests::default();
        let excess = 1_000;
        for number in 0..MAX_SETS + excess {
            requests.record(&set(&[("endpoint", &number.to_string())]), 7);
        }
        requests.record(&set(&[("endpoint", "5")]), 9);
        let by = requests.by("endpoint");
        assert_eq!(by[OTHER].count, excess as u64);
        assert_eq!(by["5"], Tally { count: 2, total_ns: 16, largest_ns: 9 });
        for number in 0..1_000 {
            requests.record(&set(&[(&format!("name {number}"), "x")]), 7);
        }
        assert_eq!(requests.0.len(), MAX_SETS + MAX_OTHERS + 1);
        assert_eq!(requests.count(), (MAX_SETS + excess) as u64 + 1_001);
    }

    #[test]
    fn labels_of_a_session_are_added_below_those_of_requests() {
        let mut requests = of(&[(1, 5)]);
        requests.add_labels(&set(&[("endpoint", "session"), ("region", "eu")]));
        assert_eq!(requests.by("region")["eu"].count, 1);
        assert_eq!(requests.by("endpoint").keys().collect::<Vec<_>>(), [&"1"]);
    }

    #[test]
    fn sums_of_damaged_files_do_not_overflow() {
        let row = RequestRow { count: u64::MAX, total_ns: u64::MAX, ..RequestRow::default() };
        let requests: Requests = [row.clone(), row].into_iter().collect();
        assert_eq!(requests.iter().next().unwrap().1.mean_ns(), 1);
    }
}
