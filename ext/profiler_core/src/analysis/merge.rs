//! The merge of profiles: the sum of their aggregated samples, and a header that lists their differences.
//!
//! The merge loses no data and makes up no names. Functions, frames, stacks and threads that are equal in
//! every field become one. So do the aggregated samples of one stack, thread, state and label set. The result
//! of any query on the merge is the sum of the results for the profiles, in whatever order and groups they
//! were merged.
//!
//! Threads become one if their native id and name are equal, also across processes. The kernel has only one
//! thread with an id at a time, so equal threads are mostly one thread that was profiled twice. There are
//! exceptions: an id was reused, or several containers count from 1. No sample shows which case it is: only a
//! whole file has a pid, and a merged file has several. Separating threads by the pid of their file would
//! make the result depend on which files were merged first.
//!
//! The counts of ticks are added as well. They belong to a process: two sessions that ran at once in one
//! process counted the same ticks, so the sum contains these twice.

mod meta;

use super::sum::ProfileSum;
use crate::memory::history::History;
use crate::profile::timeline::Timeline;
use crate::profile::{Function, Marker, Profile, Requests, SampleType, Stats};

/// Returns the sum of `profiles`. A single profile is returned unchanged; the sum of no profiles is empty.
#[must_use]
pub fn merge(profiles: &[&Profile]) -> Profile {
    if let [one] = profiles {
        return (*one).clone();
    }
    let mut sum = ProfileSum::default();
    profiles.iter().for_each(|it| sum.add(it, Function::clone));
    with_headers(sum, profiles)
}

/// Joins the profiles of consecutive periods, all of one session, into the profile of the whole time. Unlike
/// a merge, it has a single origin, and its live objects are those at the end. At most two of the parts are
/// in memory at a time.
pub fn concat(parts: impl IntoIterator<Item = Profile>) -> Profile {
    let mut parts = parts.into_iter().peekable();
    let (mut sum, mut headers) = (ProfileSum::default(), Vec::new());
    while let Some(mut part) = parts.next() {
        if parts.peek().is_some() {
            for sample in &mut part.samples {
                sample.weights.set(SampleType::InuseObjects, 0);
                sample.weights.set(SampleType::InuseSpace, 0);
            }
        } else if headers.is_empty() {
            return part;
        }
        sum.add(&part, Function::clone);
        let Profile { sample_types, timeline, markers, requests, memory, meta, stats, .. } = part;
        let timeline = timeline.map(|_| Timeline::default()); // the header only says whether there is one
        headers.push(Profile {
            sample_types,
            timeline,
            markers,
            requests,
            memory,
            meta,
            stats,
            ..Profile::default()
        });
    }
    let mut whole = with_headers(sum, &headers.iter().collect::<Vec<_>>());
    whole.meta.merged = None;
    whole
}

/// Returns the profile of these tables, with the combined header of `profiles`.
fn with_headers(sum: ProfileSum, profiles: &[&Profile]) -> Profile {
    let measured = |of: &SampleType| profiles.iter().any(|it| it.sample_types.contains(of));
    let mut markers: Vec<Marker> = profiles.iter().flat_map(|it| it.markers.iter().cloned()).collect();
    markers.sort_unstable();
    let mut requests = Requests::default();
    profiles.iter().for_each(|it| requests.add(&it.requests));
    let mut memory = History::default();
    profiles.iter().for_each(|it| memory.add(&it.memory));
    Profile {
        sample_types: SampleType::ALL.into_iter().filter(measured).collect(),
        markers,
        requests,
        memory,
        meta: meta::meta(profiles),
        stats: profiles.iter().fold(Stats::default(), |sum, it| plus(&sum, &it.stats)),
        ..sum.into_profile()
    }
}

fn plus(one: &Stats, other: &Stats) -> Stats {
    Stats {
        counts: one.counts.plus(&other.counts),
        handler_ns: one.handler_ns.saturating_add(other.handler_ns),
        collector_ns: one.collector_ns.saturating_add(other.collector_ns),
        stop_ns: one.stop_ns.saturating_add(other.stop_ns),
        unseen_cpu_ns: one.unseen_cpu_ns.saturating_add(other.unseen_cpu_ns),
        run_delay_ns: one.run_delay_ns.saturating_add(other.run_delay_ns),
        throttled_ns: one.throttled_ns.saturating_add(other.throttled_ns),
        vm_objects: one.vm_objects.saturating_add(other.vm_objects),
        names_ns: one.names_ns.saturating_add(other.names_ns),
    }
}
