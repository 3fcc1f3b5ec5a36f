//! The ticks that found a thread with the GVL, shared by all sessions: they show who held it while another
//! thread waited.
//!
//! A wait is recorded when it ends, so ticks are kept for a while, in chronological order. A wait can outlast
//! any number of them. When there are too many, every other tick of the older half is dropped at random. The
//! remaining ticks stand for the time of the dropped ones, as a tick stands for the time since the one
//! before.

use std::collections::VecDeque;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::ThreadId;
use crate::rng;
use crate::session::key::Key;

/// The maximum number of ticks that are kept: those of four seconds at 1 kHz, as one thread holds the GVL at
/// a time.
pub const MAX_GVL_TICKS: usize = 4_096;

/// A tick on a thread that held the GVL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GvlTick {
    /// The monotonic clock at the tick, ns.
    pub at_ns: u64,
    /// The stack, the thread and its labels.
    pub key: Key,
}

/// The recent ticks in chronological order.
#[derive(Debug)]
pub struct GvlTicks {
    ticks: VecDeque<GvlTick>,
    chance: u64,
}

impl Default for GvlTicks {
    fn default() -> Self {
        Self { ticks: VecDeque::new(), chance: 0x9e37_79b9_7f4a_7c15 }
    }
}

impl GvlTicks {
    /// Adds a tick. Ticks arrive nearly in chronological order.
    pub fn push(&mut self, tick: GvlTick) {
        if self.ticks.len() >= MAX_GVL_TICKS {
            self.thin_out();
        }
        let later = self.ticks.iter().rev().take_while(|it| it.at_ns > tick.at_ns).count();
        self.ticks.insert(self.ticks.len() - later, tick);
    }

    /// Iterates over the ticks from `since_ns` to `till_ns`, both included.
    pub fn between(&self, since_ns: u64, till_ns: u64) -> impl Iterator<Item = &GvlTick> + Clone {
        let first = self.ticks.partition_point(|it| it.at_ns < since_ns);
        let end = self.ticks.partition_point(|it| it.at_ns <= till_ns).max(first);
        self.ticks.range(first..end)
    }

    /// Forgets all ticks, as the tables of their keys are renewed. Later ticks stand for their time.
    pub fn clear(&mut self) {
        self.ticks.clear();
    }

    /// Replaces the ids of ended threads by those of their groups.
    pub(crate) fn fold(&mut self, ids: &HashMap<ThreadId, ThreadId, FxBuildHasher>) {
        self.ticks.iter_mut().for_each(|it| it.key = it.key.folded(ids));
    }

    fn thin_out(&mut self) {
        let newer = self.ticks.split_off(self.ticks.len() / 2);
        let older = std::mem::replace(&mut self.ticks, VecDeque::with_capacity(MAX_GVL_TICKS));
        for (place, tick) in older.into_iter().enumerate() {
            if place % 2 == 0 {
                self.chance = rng::after(self.chance);
            }
            // Each pair keeps one tick, either of the two.
            if (self.chance >> 32 & 1) as usize == place % 2 {
                self.ticks.push_back(tick);
            }
        }
        self.ticks.extend(newer);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::{LabelSetId, SpanIndex, StackId};
    use crate::record::detail::Detail;
    use crate::record::State;
    use proptest::prelude::*;

    fn tick(at_ns: u64) -> GvlTick {
        let (thread, labels, state, detail) =
            (ThreadId(at_ns as u32 % 3), LabelSetId::NONE, State::Running, Detail::None);
        let (stack, span) = (Some(StackId(1)), SpanIndex::NONE);
        GvlTick { at_ns, key: Key { stack, thread, labels, span, state, detail } }
    }

    fn times<'a>(ticks: impl Iterator<Item = &'a GvlTick>) -> Vec<u64> {
        ticks.map(|it| it.at_ns).collect()
    }

    proptest! {
        #[test]
        fn ticks_are_found_by_their_time_in_whatever_order_they_came(
            pushed in prop::collection::vec(0u64..1_000, 0..200), since_ns in 0u64..1_000, till_ns in 0u64..1_000,
        ) {
            let mut ticks = GvlTicks::default();
            pushed.iter().for_each(|at_ns| ticks.push(tick(*at_ns)));
            let mut expected = pushed;
            expected.retain(|it| (since_ns..=till_ns).contains(it));
            expected.sort_unstable();
            prop_assert_eq!(times(ticks.between(since_ns, till_ns)), expected);
        }
    }

    #[test]
    fn older_ticks_are_thinned_out_evenly() {
        let mut ticks = GvlTicks::default();
        let all = 10 * MAX_GVL_TICKS as u64;
        (0..all).for_each(|at_ns| ticks.push(tick(at_ns)));
        let kept = times(ticks.between(0, all));
        assert!((MAX_GVL_TICKS / 2..=MAX_GVL_TICKS).contains(&kept.len()), "{}", kept.len());
        // The newer half is complete, and the oldest ticks reach back over more than twice as many.
        assert_eq!(kept[kept.len() - 2_000..], (all - 2_000..all).collect::<Vec<_>>());
        assert!(all - kept[0] > 2 * MAX_GVL_TICKS as u64, "{}", kept[0]);
        // Neither odd nor even ticks are preferred.
        let even = kept[..kept.len() - 2_100].iter().filter(|it| **it % 2 == 0).count() as f64;
        assert!((0.4..0.6).contains(&(even / (kept.len() - 2_100) as f64)), "{even} of {}", kept.len());
    }

    #[test]
    fn the_ticks_of_folded_threads_are_their_groups() {
        let mut ticks = GvlTicks::default();
        (0..3).for_each(|at_ns| ticks.push(tick(at_ns)));
        ticks.fold(&[(ThreadId(1), ThreadId(99))].into_iter().collect());
        assert_eq!(ticks.between(0, 9).map(|it| it.key.thread.0).collect::<Vec<_>>(), [0, 99, 2]);
        ticks.clear();
        assert_eq!(ticks.between(0, 9).count(), 0);
    }
}
