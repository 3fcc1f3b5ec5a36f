//! The calls that have begun and not returned, of all fibers.

use crate::record::WallTimes;

/// The largest number of calls that can be open at once, unless fewer are requested.
const MAX_OPEN: usize = 1 << 14;

/// A call that has begun.
#[derive(Clone, Copy, Debug)]
pub struct OpenCall {
    /// The address of the fiber in which it runs, which the caller keeps alive and in place.
    pub fiber: u64,
    /// The monotonic clock when it began, ns.
    pub began_ns: u64,
    /// The wall clocks of its thread then.
    pub walls: WallTimes,
    /// The code that called it, as a handle and a line; 0 if it is unknown.
    pub caller: (u64, u32),
    /// The class of the last exception that was raised since, and not rescued as far as is known; 0 if there
    /// was none.
    pub raised: u64,
}

/// The open calls. Fibers switch in between, so the newest call is not always the one that returns: it is the
/// newest of its fiber.
#[derive(Debug)]
pub struct OpenCalls {
    calls: Vec<OpenCall>,
    most: usize,
}

impl Default for OpenCalls {
    fn default() -> Self {
        Self::with_room_for(MAX_OPEN)
    }
}

impl OpenCalls {
    /// Creates a list that can hold up to `most` calls.
    #[must_use]
    pub fn with_room_for(most: usize) -> Self {
        Self { calls: Vec::with_capacity(most), most }
    }

    /// Adds a call. Returns false if too many are open.
    pub fn enter(&mut self, call: OpenCall) -> bool {
        let has_room = self.calls.len() < self.most;
        if has_room {
            self.calls.push(call);
        }
        has_room
    }

    /// Removes and returns the newest call of a fiber; `None` if that call began before the trace.
    pub fn leave(&mut self, fiber: u64) -> Option<OpenCall> {
        let place = self.calls.iter().rposition(|call| call.fiber == fiber)?;
        Some(self.calls.remove(place))
    }

    /// Returns the newest call of a fiber.
    pub fn newest(&mut self, fiber: u64) -> Option<&mut OpenCall> {
        self.calls.iter_mut().rev().find(|call| call.fiber == fiber)
    }

    /// Iterates over the open calls, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &OpenCall> {
        self.calls.iter()
    }

    /// Returns the number of open calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether no call is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(fiber: u64, began_ns: u64) -> OpenCall {
        OpenCall { fiber, began_ns, walls: WallTimes::default(), caller: (0, 0), raised: 0 }
    }

    #[test]
    fn a_return_belongs_to_the_newest_call_of_its_fiber() {
        let mut calls = OpenCalls::default();
        for (fiber, began_ns) in [(1, 10), (2, 20), (1, 30), (3, 40)] {
            assert!(calls.enter(call(fiber, began_ns)));
        }
        let mut leave = |fiber| calls.leave(fiber).map(|call| call.began_ns);
        assert_eq!(
            [leave(1), leave(2), leave(1), leave(1), leave(3)],
            [Some(30), Some(20), Some(10), None, Some(40)]
        );
        assert!(calls.is_empty());
    }

    #[test]
    fn too_many_calls_are_refused_without_growing() {
        let mut calls = OpenCalls::default();
        assert!((0..MAX_OPEN as u64).all(|ns| calls.enter(call(1, ns))));
        assert!(!calls.enter(call(1, 0)));
        assert_eq!(calls.calls.capacity(), MAX_OPEN);
    }
}
