//! The state of a trace.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use profiler_core::trace::{CallSums, Durations, FinishedCalls, OpenCalls, ShadowStacks};

use crate::sys::clock;

/// Why a trace has ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// As many calls as requested were traced.
    Calls,
    /// The overhead exceeded its limit.
    Overhead,
    /// More calls were open at once than can be kept, as in a very deep recursion.
    Depth,
}

/// When a trace ends by itself.
#[derive(Clone, Debug)]
pub(crate) struct TraceLimits {
    /// The number of calls; `u64::MAX` for any number.
    pub(crate) calls: u64,
    /// The share of one core that the hooks of the group may take.
    pub(crate) overhead: f64,
    /// The traces that share that limit.
    pub(crate) group: TraceGroup,
}

/// The time from which on the overhead is judged, ns.
const JUDGED_FROM_NS: u64 = 100_000_000;
/// The time that the hook and its call by the VM take for another C function, until it is measured, ns.
const OTHER_NS: u64 = 60;
/// The number of durations that each trace of a group keeps one by one, and of its open calls. A group of a
/// hundred thus takes 23 MB.
const EXACT_IN_GROUP: usize = 1 << 13;
const OPEN_IN_GROUP: usize = 1 << 10;

/// Traces that share one limit for their overhead.
#[derive(Clone, Debug)]
pub(crate) struct TraceGroup {
    /// The number of traces.
    pub(crate) size: usize,
    /// The time that the hooks of all of them have taken, ns.
    own_ns: Arc<AtomicU64>,
}

impl TraceGroup {
    /// Creates a group of so many traces.
    pub(crate) fn new(size: usize) -> Self {
        Self { size, own_ns: Arc::default() }
    }

    fn open_calls(&self) -> OpenCalls {
        if self.size > 1 {
            OpenCalls::with_room_for(OPEN_IN_GROUP)
        } else {
            OpenCalls::default()
        }
    }

    fn tally(&self) -> CallSums {
        if self.size > 1 {
            CallSums::of(Durations::exact_up_to(EXACT_IN_GROUP))
        } else {
            CallSums::default()
        }
    }
}

/// The sums of a trace, which the hook updates.
#[derive(Debug)]
pub(crate) struct TraceSums {
    pub(crate) open: OpenCalls,
    pub(crate) tally: CallSums,
    /// The newest calls, if somebody logs them.
    pub(crate) finished: Option<FinishedCalls>,
    /// What runs inside of the calls, if that is counted.
    pub(crate) inside: Option<Box<ShadowStacks>>,
    pub(crate) limits: TraceLimits,
    /// The lines at which the method returns. If it leaves with nil at another line, it raised or threw.
    pub(crate) return_lines: Vec<u32>,
    /// Whether the method has one line only.
    pub(crate) has_one_line: bool,
    /// Whether the method is a C function, for which the hook runs at calls of all of them.
    pub(crate) is_c_function: bool,
    /// The number of calls and returns of other C functions, or with `inside` of any code outside of the calls, and the
    /// time that one takes, ns.
    pub(crate) others: u64,
    pub(crate) other_ns: u64,
    /// The number of calls.
    pub(crate) calls: u64,
    /// The number of events of any kind, and of those inside of the calls.
    pub(crate) events: u64,
    pub(crate) inner_events: u64,
    /// The time that the hook has taken, as estimated from some of the events, ns.
    pub(crate) own_ns: u64,
    /// The monotonic clock when the trace began, ns; 0 before.
    pub(crate) began_ns: u64,
    /// The monotonic clock when it ended, ns; 0 before.
    pub(crate) ended_ns: u64,
    /// Why it ended by itself, if it did.
    pub(crate) ended: Option<Ended>,
    /// The TracePoint for exceptions, and the one for all calls, which the owner of the sums keeps alive and in
    /// place; 0 if there is none.
    pub(crate) on_raise: u64,
    pub(crate) on_calls: u64,
}

impl TraceSums {
    /// Adds time that a hook has taken.
    pub(crate) fn took(&mut self, ns: u64) {
        self.own_ns += ns;
        self.limits.group.own_ns.fetch_add(ns, Ordering::Relaxed);
    }

    /// Returns whether the group takes more than its limit, and this trace more than an equal part of it. So
    /// those that take the most end, and the others continue. Hooks hold the GVL, so they never take more than a whole
    /// core, whatever is estimated.
    pub(crate) fn exceeds_overhead(&self) -> bool {
        let elapsed_ns = clock::monotonic_ns().saturating_sub(self.began_ns);
        let limit_ns = self.limits.overhead * elapsed_ns as f64;
        let TraceGroup { size, own_ns } = &self.limits.group;
        self.limits.overhead < 1.0
            && elapsed_ns >= JUDGED_FROM_NS
            && own_ns.load(Ordering::Relaxed) as f64 > limit_ns
            && self.own_ns as f64 * *size as f64 > limit_ns
    }
}

/// A trace of one method. It is never freed, because the VM can call the hook as long as the TracePoints
/// exist; its sums are.
#[derive(Debug)]
pub(crate) struct Tracer(UnsafeCell<Option<Box<TraceSums>>>);

// SAFETY: the sums are used only with the GVL of the main Ractor held, by the hook and by methods of the
// trace.
unsafe impl Sync for Tracer {}

impl Tracer {
    /// Creates a trace that has not begun.
    pub(crate) fn new(
        limits: TraceLimits,
        return_lines: Vec<u32>,
        has_one_line: bool,
        is_c_function: bool,
    ) -> &'static Self {
        let sums = TraceSums {
            open: limits.group.open_calls(),
            tally: limits.group.tally(),
            finished: None,
            inside: None,
            limits,
            return_lines,
            has_one_line,
            is_c_function,
            others: 0,
            other_ns: OTHER_NS,
            calls: 0,
            events: 0,
            inner_events: 0,
            own_ns: 0,
            began_ns: 0,
            ended_ns: 0,
            ended: None,
            on_raise: 0,
            on_calls: 0,
        };
        Box::leak(Box::new(Self(UnsafeCell::new(Some(Box::new(sums))))))
    }

    /// Calls `work` with the sums, unless they were freed.
    ///
    /// # Safety
    /// The caller holds the GVL of the main Ractor, or is a mark or free function of it. `work` calls nothing
    /// that could release the GVL, collect garbage or run the hook.
    pub(crate) unsafe fn with<T>(&self, work: impl FnOnce(&mut TraceSums) -> T) -> Option<T> {
        // SAFETY: the GVL is held throughout, so this is the only reference.
        unsafe { (*self.0.get()).as_deref_mut() }.map(work)
    }

    /// Frees the sums. From now on the hook only disables its TracePoint.
    ///
    /// # Safety
    /// Same as for [`with`](Self::with).
    pub(crate) unsafe fn free(&self) {
        // SAFETY: the GVL is held, so no other reference exists.
        unsafe { *self.0.get() = None };
    }
}
