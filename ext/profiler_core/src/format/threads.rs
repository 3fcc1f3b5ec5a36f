//! The names of threads, for formats that can only show a name.

use std::collections::HashMap;

use crate::profile::{Profile, SampleType};
use crate::record::State;
use crate::text::clean;

/// The name of a thread without a name.
pub(super) const UNNAMED: &str = "(unnamed thread)";

/// Returns the weight of each thread outside of waits. Viewers open on the busiest thread; by wall clock
/// time, all threads look equal.
pub(super) fn busy(profile: &Profile, of: SampleType) -> Vec<u64> {
    let mut sums = vec![0_u64; profile.threads.len()];
    for sample in profile.samples.iter().filter(|it| it.state != State::Waiting) {
        let sum = sums.get_mut(sample.thread).into_iter();
        sum.for_each(|it| *it = it.saturating_add(sample.weights.get(of)));
    }
    sums
}

/// Returns a distinct name for each thread, in order: its name, followed by the native id if other threads
/// have the same name.
pub(super) fn names(profile: &Profile) -> Vec<String> {
    let plain: Vec<String> = profile
        .threads
        .iter()
        .map(|it| match clean(&it.name) {
            name if name.is_empty() => UNNAMED.to_owned(),
            name => name.into_owned(),
        })
        .collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    plain.iter().for_each(|it| *uses.entry(it).or_default() += 1);
    let mut used: HashMap<String, usize> = HashMap::new();
    let mut names = Vec::new();
    for (name, thread) in plain.iter().zip(&profile.threads) {
        let alone = uses.get(name.as_str()).is_none_or(|it| *it == 1);
        let mut shown = if alone { name.clone() } else { format!("{name} ({})", thread.native_id) };
        let before = used.entry(shown.clone()).or_default();
        *before += 1;
        if *before > 1 {
            shown = format!("{shown} #{before}");
        }
        names.push(shown);
    }
    names
}
