//! The shares of rows in chronological order, for formats with a time axis.
//!
//! A format with a time axis passes on every share of every aggregated sample, so its sums equal the
//! profile's. A property test checks this.

use crate::ids::{Id, RowId, StackId};
use crate::profile::{Profile, SampleType, Weights};

/// The share of a row at an instant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Share {
    /// The end of the time that the share weighs, ns since the start. Never before that of the previous share
    /// of the same thread.
    pub(super) at_ns: u64,
    /// The row.
    pub(super) row: RowId,
    /// The weights of the share.
    pub(super) weights: Weights,
}

/// All shares of a profile. Together they weigh as much as the profile, with or without a timeline. Weights
/// without an event (the oldest were dropped, or none was kept) come first. Within each thread they follow
/// one another, with stacks that begin alike next to each other.
pub(super) struct SampleSeries<'profile> {
    profile: &'profile Profile,
    timeless: Vec<Share>,
}

impl<'profile> SampleSeries<'profile> {
    pub(super) fn of(profile: &'profile Profile) -> Self {
        let mut left: Vec<Weights> = profile.samples.iter().map(|it| it.weights).collect();
        let mut first_ns = None;
        for event in profile.timeline.iter().flat_map(|it| it.iter()) {
            first_ns.get_or_insert(event.time_ns);
            if let Some(left) = left.get_mut(event.row.index()) {
                left.subtract(&event.weights);
            }
        }
        let mut order: Vec<usize> = (0..left.len()).collect();
        order.retain(|row| left.get(*row).is_some_and(|it| *it != Weights::default()));
        let places = preorder(profile);
        let place = |row: &usize| profile.samples.get(*row).and_then(|it| places.get(it.stack.index()));
        order.sort_by_key(|row| place(row).copied().unwrap_or(u32::MAX));
        let of = time_of(profile);
        let mut clocks = vec![0_u64; profile.threads.len()];
        let mut timeless = Vec::with_capacity(order.len());
        for row in order {
            let (Some(weights), Some(sample)) = (left.get(row), profile.samples.get(row)) else { continue };
            let mut at_ns = 0;
            if let Some(clock) = clocks.get_mut(sample.thread) {
                *clock = clock.saturating_add(of.map_or(0, |of| weights.get(of)));
                at_ns = *clock;
            }
            let at_ns = first_ns.map_or(at_ns, |first_ns| at_ns.min(first_ns));
            timeless.push(Share { at_ns, row: RowId::from_index(row), weights: *weights });
        }
        Self { profile, timeless }
    }

    /// Calls `each` for every share.
    pub(super) fn each(&self, mut each: impl FnMut(Share)) {
        self.timeless.iter().for_each(|it| each(*it));
        for event in self.profile.timeline.iter().flat_map(|it| it.iter()) {
            each(Share { at_ns: event.time_ns, row: event.row, weights: event.weights });
        }
    }
}

/// Returns the time of the profile: wall clock time, or else CPU time, if one was measured. Like
/// [`default_sample_type`](Profile::default_sample_type), it prefers a type that all parts of a merge have.
pub(super) fn time_of(profile: &Profile) -> Option<SampleType> {
    let measured =
        || [SampleType::Wall, SampleType::Cpu].into_iter().filter(|of| profile.sample_types.contains(of));
    measured().find(|of| !profile.is_partial_type(*of)).or_else(|| measured().next())
}

/// Returns for each stack its index when the tree is walked from the root, callers before callees.
fn preorder(profile: &Profile) -> Vec<u32> {
    let nodes = profile.stacks.len();
    // First count the stacks in each subtree, itself included; then each child begins after its earlier
    // siblings.
    let mut sizes = vec![1_u32; nodes];
    for (place, node) in profile.stacks.iter().enumerate().rev() {
        let size = sizes.get(place).copied().unwrap_or(0);
        if let Some(parent) = node.parent.and_then(|it| sizes.get_mut(it.index())) {
            *parent = parent.saturating_add(size);
        }
    }
    let mut places = vec![0_u32; nodes];
    let mut next = vec![0_u32; nodes];
    let mut next_root = 0_u32;
    for (place, node) in profile.stacks.iter().enumerate() {
        let size = sizes.get(place).copied().unwrap_or(0);
        let slot = match node.parent.and_then(|it: StackId| next.get_mut(it.index())) {
            Some(slot) => slot,
            None => &mut next_root,
        };
        let begin = *slot;
        *slot = slot.saturating_add(size);
        if let (Some(own), Some(inner)) = (places.get_mut(place), next.get_mut(place)) {
            (*own, *inner) = (begin, begin.saturating_add(1));
        }
    }
    places
}
