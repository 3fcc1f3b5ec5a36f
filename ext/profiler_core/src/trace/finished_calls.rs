//! The newest finished call of each fiber, for those who log calls.

use super::{End, OpenCall};
use crate::record::WallTimes;

/// The largest number of fibers whose newest call is kept.
const MAX_FIBERS: usize = 64;

/// A call that has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinishedCall {
    /// The address of the call's fiber, which the caller keeps alive and in place.
    pub fiber: u64,
    /// The duration of the call, ns.
    pub ns: u64,
    /// The time that the thread spent in each state during the call, ns.
    pub parts: WallTimes,
    /// The end of the call; the class is an address, too.
    pub end: End,
    /// True if the call was logged.
    pub is_logged: bool,
}

/// The newest finished call of each fiber, until another one begins or ends there. The code that logs a call runs
/// right after the hook that added it.
#[derive(Debug)]
pub struct FinishedCalls {
    calls: Vec<FinishedCall>,
}

impl Default for FinishedCalls {
    fn default() -> Self {
        Self { calls: Vec::with_capacity(MAX_FIBERS) }
    }
}

impl FinishedCalls {
    /// Keeps a call that ended at these clocks. The oldest call gives way if there are too many. Never allocates.
    pub fn add(&mut self, call: &OpenCall, now_ns: u64, walls: &WallTimes, end: End) {
        self.take(call.fiber);
        if self.calls.len() == MAX_FIBERS {
            self.calls.remove(0);
        }
        let mut parts = WallTimes::default();
        super::tally::add_difference(&mut parts, &call.walls, walls);
        self.calls.push(FinishedCall {
            fiber: call.fiber,
            ns: now_ns.saturating_sub(call.began_ns),
            parts,
            end,
            is_logged: false,
        });
    }

    /// Notes that the call of a fiber was logged.
    pub fn log(&mut self, fiber: u64) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.fiber == fiber) {
            call.is_logged = true;
        }
    }

    /// Returns the call of a fiber.
    #[must_use]
    pub fn of(&self, fiber: u64) -> Option<FinishedCall> {
        self.calls.iter().find(|call| call.fiber == fiber).copied()
    }

    /// Removes and returns the call of a fiber.
    pub fn take(&mut self, fiber: u64) -> Option<FinishedCall> {
        let place = self.calls.iter().position(|call| call.fiber == fiber)?;
        Some(self.calls.remove(place))
    }

    /// Iterates over the calls.
    pub fn iter(&self) -> impl Iterator<Item = &FinishedCall> {
        self.calls.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(fiber: u64, began_ns: u64) -> OpenCall {
        OpenCall { fiber, began_ns, walls: WallTimes::default(), caller: (0, 0), raised: 0 }
    }

    #[test]
    fn each_fiber_has_its_newest_call_once() {
        let mut calls = FinishedCalls::default();
        let walls = WallTimes { waiting_ns: 4, ..WallTimes::default() };
        for (fiber, began_ns) in [(1, 10), (2, 20), (1, 30)] {
            calls.add(&call(fiber, began_ns), 100, &walls, End::Returned(7));
        }
        let newest = FinishedCall { fiber: 1, ns: 70, parts: walls, end: End::Returned(7), is_logged: false };
        assert_eq!(calls.of(1), Some(newest));
        calls.log(1);
        assert_eq!(calls.take(1), Some(FinishedCall { is_logged: true, ..newest }));
        assert_eq!((calls.take(1), calls.of(1)), (None, None));
        assert_eq!(calls.of(2).map(|call| call.ns), Some(80));
    }

    #[test]
    fn the_oldest_gives_way_without_growing() {
        let mut calls = FinishedCalls::default();
        for fiber in 0..=MAX_FIBERS as u64 {
            calls.add(&call(fiber, 0), 1, &WallTimes::default(), End::Raised(0));
        }
        assert_eq!((calls.of(0), calls.calls.len(), calls.calls.capacity()), (None, MAX_FIBERS, MAX_FIBERS));
    }
}
