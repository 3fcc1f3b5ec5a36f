//! The data of a flame chart: stacks in chronological order, thread by thread.
//!
//! A picture can show thousands of stacks but not a million. If there are more, it is cut into slots, and
//! within a slot stacks with the same beginning are placed together. A stack that is too narrow to be drawn
//! is added to its caller, so everything that is drawn has its exact width.

use std::cmp::Reverse;

use super::display::display_name;
use super::folded::{FoldedStack, FrameNames};
use super::length::{self, Lengths};
use super::sample_series::SampleSeries;
use super::ThreadFrames;
use crate::analysis::call_tree::Calls;
use crate::error::Error;
use crate::ids::Id;
use crate::profile::{Profile, SampleType};

/// The number of stacks up to which all are drawn.
const MAX_STACKS: usize = 20_000;

/// The number of slots of a picture with more stacks: about one per pixel.
const SLOTS: u64 = 1_000;

/// The narrowest call that is drawn, as the divisor of the picture's width: inferno's default, which
/// draws it.
const MIN_WIDTH_DIVISOR: u64 = 10_000;

/// A call that was on top of the stack for some weight.
#[derive(Clone, Copy)]
struct Entry {
    thread: usize,
    call: usize,
    weight: u64,
}

/// Returns stacks with their weights in chronological order, thread by thread; equal neighbours are merged.
///
/// # Errors
/// Returns [`Error::NoTimeline`] if the order is unknown, and [`Error::TooLong`].
pub(super) fn in_time(
    profile: &Profile,
    of: SampleType,
    thread_frames: ThreadFrames,
) -> Result<Vec<(FoldedStack, u64)>, Error> {
    if profile.timeline.is_none() {
        return Err(Error::NoTimeline);
    }
    let calls = Calls::of(profile);
    let entries = entries(profile, of, &calls);
    let names = FrameNames::new(profile, of, thread_frames, display_name);
    let named = |it: &Entry| (names.call(&calls, it.call, it.thread), it.weight);
    let lengths = Lengths::new(profile, calls.all.iter().map(|it| (it.caller, Some(it.function))));
    if entries.len() <= MAX_STACKS {
        lengths.check(entries.iter().map(|it| it.call), length::IN_MEMORY)?;
        return Ok(entries.iter().map(named).collect());
    }
    let total = entries.iter().fold(0_u64, |sum, it| sum.saturating_add(it.weight));
    let (slot, least) = (total.div_ceil(SLOTS).max(1), total / MIN_WIDTH_DIVISOR);
    let mut begins: u64 = 0;
    let placed = entries.iter().map(|entry| {
        let place = (entry.thread, begins / slot);
        begins = begins.saturating_add(entry.weight);
        (place, *entry)
    });
    let placed: Vec<((usize, u64), Entry)> = placed.collect();
    let mut scratch = Slot::new(&calls);
    let slots = placed.chunk_by(|one, other| one.0 == other.0);
    let slots: Vec<_> = slots.map(|slot| scratch.wide(slot.iter().map(|it| it.1), least)).collect();
    lengths.check(slots.iter().flatten().map(|it| it.call), length::IN_MEMORY)?;
    let mut stacks = Vec::new();
    for slot in slots {
        let mut drawn: Vec<_> = slot.iter().map(named).collect();
        drawn.sort();
        stacks.extend(drawn);
    }
    Ok(stacks)
}

fn entries(profile: &Profile, of: SampleType, calls: &Calls) -> Vec<Entry> {
    let mut threads: Vec<Vec<Entry>> = vec![Vec::new(); profile.threads.len()];
    SampleSeries::of(profile).each(|share| {
        let weight = share.weights.get(of);
        let Some(sample) = profile.samples.get(share.row.index()).filter(|_| weight > 0) else { return };
        let Some((call, entries)) = calls.place(sample.stack).zip(threads.get_mut(sample.thread)) else {
            return;
        };
        match entries.last_mut() {
            Some(last) if last.call == call => last.weight = last.weight.saturating_add(weight),
            _ => entries.push(Entry { thread: sample.thread, call, weight }),
        }
    });
    threads.into_iter().flatten().collect()
}

/// The weights of calls in a slot. Empty between two slots.
struct Slot<'calls> {
    calls: &'calls Calls,
    /// The weights by index: the call alone, and with its callees.
    weights: Vec<(u64, u64)>,
    seen: Vec<bool>,
    touched: Vec<usize>,
}

impl<'calls> Slot<'calls> {
    fn new(calls: &'calls Calls) -> Self {
        let places = calls.all.len();
        Self { calls, weights: vec![(0, 0); places], seen: vec![false; places], touched: Vec::new() }
    }

    /// Returns the entries of a thread, each call once. Calls of less than `least` are added to their
    /// callers.
    fn wide(&mut self, entries: impl Iterator<Item = Entry>, least: u64) -> Vec<Entry> {
        let mut thread = 0;
        for entry in entries {
            thread = entry.thread;
            self.meet(entry.call);
            self.add(entry.call, entry.weight, entry.weight);
        }
        // Callers have smaller indexes.
        self.touched.sort_unstable_by_key(|it| Reverse(*it));
        let mut kept = Vec::new();
        for call in std::mem::take(&mut self.touched) {
            let (own, total) = self.weights.get_mut(call).map(std::mem::take).unwrap_or_default();
            self.seen.get_mut(call).into_iter().for_each(|it| *it = false);
            let caller = self.caller(call);
            let goes = total < least && caller.is_some();
            if let Some(caller) = caller {
                self.add(caller, if goes { own } else { 0 }, total);
            }
            if own > 0 && !goes {
                kept.push(Entry { thread, call, weight: own });
            }
        }
        kept
    }

    /// Notes a call and its callers.
    fn meet(&mut self, call: usize) {
        let mut next = Some(call);
        while let Some(place) = next {
            match self.seen.get_mut(place) {
                Some(seen) if !*seen => *seen = true,
                _ => return,
            }
            self.touched.push(place);
            next = self.caller(place);
        }
    }

    fn caller(&self, call: usize) -> Option<usize> {
        self.calls.all.get(call).and_then(|it| it.caller)
    }

    fn add(&mut self, call: usize, own: u64, total: u64) {
        let Some(sums) = self.weights.get_mut(call) else { return };
        *sums = (sums.0.saturating_add(own), sums.1.saturating_add(total));
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::{FrameId, FunctionId, RowId, StackId};
    use crate::profile::timeline::{Timeline, TimelineEvent};
    use crate::profile::{Frame, Function, Node, Sample, Weights};
    use crate::record::State;

    /// Builds a profile in which `main` alternately calls `busy` and one of a hundred others; `busy` weighs
    /// as much as all the others.
    fn profile(events: usize) -> Profile {
        let mut profile = Profile { sample_types: vec![SampleType::Cpu], ..Profile::default() };
        profile.threads.push(Default::default());
        let names =
            ["main".to_owned(), "busy".into()].into_iter().chain((0..100).map(|it| format!("brief {it}")));
        for (place, name) in names.enumerate() {
            let (class_name, method_name, path) = Default::default();
            profile.functions.push(Function { name, class_name, method_name, path, first_line: 1 });
            profile.frames.push(Frame { function: FunctionId::from_index(place), line: 1 });
            let parent = (place > 0).then_some(StackId::from_index(0));
            profile.stacks.push(Node { parent, frame: FrameId::from_index(place) });
        }
        for place in 1..profile.stacks.len() {
            let (stack, labels, weights) = (StackId::from_index(place), Vec::new(), Weights::default());
            profile.samples.push(Sample { stack, thread: 0, state: State::Running, labels, weights });
        }
        let mut timeline = Timeline::default();
        for place in 0..events {
            let row = if place % 2 == 0 { 0 } else { 1 + place / 2 % 100 };
            let mut weights = Weights::default();
            weights.set(SampleType::Cpu, 7);
            profile.samples[row].weights.add(&weights);
            timeline.push(&TimelineEvent { time_ns: place as u64, row: RowId::from_index(row), weights });
        }
        profile.timeline = Some(timeline);
        profile
    }

    fn drawn(events: usize) -> Vec<(FoldedStack, u64)> {
        in_time(&profile(events), SampleType::Cpu, ThreadFrames::Never).unwrap()
    }

    #[test]
    fn few_stacks_are_not_merged() {
        let drawn = drawn(MAX_STACKS);
        assert_eq!(drawn.len(), MAX_STACKS);
        assert!(drawn.iter().all(|it| it.1 == 7));
        assert_eq!(drawn[1].0.join(";"), "main;brief 0");
    }

    #[test]
    fn visible_frames_keep_their_width() {
        let events = 400_000;
        let drawn = drawn(events);
        assert!(drawn.len() as u64 <= 2 * SLOTS, "{}", drawn.len());
        let sum = |name: &str| -> u64 {
            drawn.iter().filter(|it| it.0.last().is_some_and(|it| **it == *name)).map(|it| it.1).sum()
        };
        assert_eq!(drawn.iter().map(|it| it.1).sum::<u64>(), 7 * events as u64);
        assert_eq!([sum("busy"), sum("main")], [7 * events as u64 / 2; 2]);
    }

    #[test]
    fn callers_of_wide_frames_keep_their_self_weight() {
        let calls = Calls::of(&profile(2));
        let entry = |call, weight| Entry { thread: 0, call, weight };
        let entries = [entry(0, 1), entry(1, 50), entry(2, 4), entry(3, 10)];
        let mut slot = Slot::new(&calls);
        for _ in 0..2 {
            let kept = slot.wide(entries.into_iter(), 10);
            let kept: Vec<_> = kept.iter().map(|it| (it.call, it.weight)).collect();
            assert_eq!(kept, [(3, 10), (1, 50), (0, 5)]);
        }
    }
}
