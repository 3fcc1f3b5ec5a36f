//! The sums of the calls of a traced method.

use super::{Durations, OpenCall};
use crate::record::WallTimes;

/// The largest number of callers, and of classes, that are told apart.
const MAX_CALLERS: usize = 256;
const MAX_CLASSES: usize = 64;

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A return of an object of this class.
    Returned(u64),
    /// An exception of this class, or a throw.
    Raised(u64),
}

/// The calls from one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallerSum {
    /// The handle of the calling code, and the line of the call.
    pub caller: (u64, u32),
    /// The number of calls.
    pub calls: u64,
    /// The duration of the calls, ns.
    pub total_ns: u64,
}

/// The sums over all calls that ended. Handles and classes are addresses, which the caller keeps alive and in
/// place.
#[derive(Debug)]
pub struct CallSums {
    /// The durations of the calls.
    pub durations: Durations,
    /// The time of the calls, by the state of their threads, ns.
    pub parts: WallTimes,
    /// The number of calls that raised.
    pub raised: u64,
    /// The number of calls that had begun before the trace.
    pub began_before: u64,
    callers: Vec<CallerSum>,
    results: Vec<(u64, u64)>,
    exceptions: Vec<(u64, u64)>,
    /// The number of calls from callers beyond the first [`MAX_CALLERS`].
    other_callers: u64,
    /// The number of calls that ended with a class beyond the first [`MAX_CLASSES`] of its kind.
    other_classes: u64,
}

impl Default for CallSums {
    fn default() -> Self {
        Self::of(Durations::default())
    }
}

impl CallSums {
    /// Creates sums without calls, which add up durations in `durations`.
    #[must_use]
    pub fn of(durations: Durations) -> Self {
        Self {
            durations,
            parts: WallTimes::default(),
            raised: 0,
            began_before: 0,
            callers: Vec::with_capacity(MAX_CALLERS),
            results: Vec::with_capacity(MAX_CLASSES),
            exceptions: Vec::with_capacity(MAX_CLASSES),
            other_callers: 0,
            other_classes: 0,
        }
    }

    /// Adds a call that ended at these clocks. Never allocates.
    pub fn add(&mut self, call: &OpenCall, now_ns: u64, walls: &WallTimes, end: End) {
        let ns = now_ns.saturating_sub(call.began_ns);
        self.durations.add(ns);
        add_difference(&mut self.parts, &call.walls, walls);
        self.add_caller(call.caller, ns);
        let (counts, class) = match end {
            End::Returned(class) => (&mut self.results, class),
            End::Raised(class) => {
                self.raised += 1;
                (&mut self.exceptions, class)
            }
        };
        if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == class) {
            *count += 1;
        } else if counts.len() < MAX_CLASSES {
            counts.push((class, 1));
        } else {
            self.other_classes += 1;
        }
    }

    fn add_caller(&mut self, caller: (u64, u32), ns: u64) {
        if let Some(place) = self.callers.iter().position(|sum| sum.caller == caller) {
            if let Some(sum) = self.callers.get_mut(place) {
                sum.calls += 1;
                sum.total_ns += ns;
            }
            // The callers of most calls come first, so that they are found first.
            if place > 0
                && self.callers.get(place - 1).map(|sum| sum.calls)
                    < self.callers.get(place).map(|sum| sum.calls)
            {
                self.callers.swap(place - 1, place);
            }
        } else if self.callers.len() < MAX_CALLERS {
            self.callers.push(CallerSum { caller, calls: 1, total_ns: ns });
        } else {
            self.other_callers += 1;
        }
    }

    /// Returns the callers and the number of calls of all others.
    #[must_use]
    pub fn callers(&self) -> (&[CallerSum], u64) {
        (&self.callers, self.other_callers)
    }

    /// Returns how many calls returned an object of each class.
    #[must_use]
    pub fn results(&self) -> &[(u64, u64)] {
        &self.results
    }

    /// Returns how many calls an exception of each class left; 0 stands for a throw.
    #[must_use]
    pub fn exceptions(&self) -> &[(u64, u64)] {
        &self.exceptions
    }

    /// Returns the number of calls that ended with a class beyond those that are told apart.
    #[must_use]
    pub fn other_classes(&self) -> u64 {
        self.other_classes
    }
}

/// Adds the difference between two readings of the clocks to a sum.
pub(super) fn add_difference(sum: &mut WallTimes, before: &WallTimes, after: &WallTimes) {
    sum.running_ns += after.running_ns.saturating_sub(before.running_ns);
    sum.waiting_ns += after.waiting_ns.saturating_sub(before.waiting_ns);
    sum.gvl_ns += after.gvl_ns.saturating_sub(before.gvl_ns);
    sum.gc_ns += after.gc_ns.saturating_sub(before.gc_ns);
    sum.gc_off_cpu_ns += after.gc_off_cpu_ns.saturating_sub(before.gc_off_cpu_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(caller: (u64, u32)) -> OpenCall {
        OpenCall { fiber: 1, began_ns: 100, walls: WallTimes::default(), caller, raised: 0 }
    }

    #[test]
    fn sums_by_caller_result_and_exception() {
        let mut tally = CallSums::default();
        let walls = WallTimes { running_ns: 5, waiting_ns: 15, gvl_ns: 0, gc_ns: 0, gc_off_cpu_ns: 0 };
        tally.add(&call((7, 1)), 120, &walls, End::Returned(3));
        tally.add(&call((8, 2)), 110, &walls, End::Raised(4));
        tally.add(&call((8, 2)), 110, &walls, End::Returned(3));
        let (callers, others) = tally.callers();
        assert_eq!(others, 0);
        assert_eq!(callers.first(), Some(&CallerSum { caller: (8, 2), calls: 2, total_ns: 20 }));
        assert_eq!(tally.results(), [(3, 2)]);
        assert_eq!((tally.exceptions(), tally.raised), ([(4, 1)].as_slice(), 1));
        assert_eq!((tally.parts.waiting_ns, tally.durations.total_ns()), (45, 40));
    }

    #[test]
    fn no_call_is_lost_beyond_the_callers_and_classes_that_are_told_apart() {
        let mut tally = CallSums::default();
        for number in 0..1_000 {
            tally.add(&call((number + 1, 1)), 101, &WallTimes::default(), End::Returned(number + 1));
        }
        let (callers, others) = tally.callers();
        assert_eq!(callers.iter().map(|sum| sum.calls).sum::<u64>() + others, 1_000);
        assert_eq!(
            tally.results().iter().map(|(_, count)| count).sum::<u64>() + tally.other_classes(),
            1_000
        );
        assert_eq!((callers.len(), tally.callers.capacity()), (MAX_CALLERS, MAX_CALLERS));
    }
}
