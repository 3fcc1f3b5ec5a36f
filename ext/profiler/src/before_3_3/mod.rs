//! The waits of threads if no hook of the VM reports them, as before Ruby 3.3: they are polled.
//!
//! All code that only those Rubies need is here, behind [`PolledWaits`], and in the core's
//! `sampling/estimated_wall_clock.rs`. Once they are no longer supported, this folder can be removed, with
//! all that names it.
//!
//! The ticker polls all threads, with any engine, and spares those that stand still.
//!
//! Ruby 3.1 can leave the end of a thread unreported. The native thread then waits for another Ruby thread to
//! run, its clock stands still, and the tick that checks it finds no stack. That is the thread's end, noticed
//! a poll or two late.

use ::core::prelude::rust_2021::*;

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::{push_wait_extension, Header, Kind, State, WallTimes};
use ::profiler_core::sampling::estimated_wall_clock::{Classification, EstimatedWallClock};

use crate::sys::clock;
use crate::sys::context::Context;
use crate::vm;
use crate::vm::gvl::HOOKS;

mod in_call;
pub(crate) mod resolver;

/// Whether waits are polled on this Ruby.
pub(crate) const NEEDED: bool = !HOOKS;

/// The reason why the engine `safepoint` sees no waits there.
pub(crate) const NEEDS_SIGNALS: &str =
    "before Ruby 3.3 a wait can be sampled only by interrupting it, not where Ruby checks its interrupts";

/// The wall clock of one thread, whose waits are polled by the ticker and recorded by ticks.
#[derive(Debug)]
pub(crate) struct PolledWaits(EstimatedWallClock);

impl PolledWaits {
    pub(crate) const fn new() -> Self {
        Self(EstimatedWallClock::new())
    }

    /// Prepares the clock for a new life.
    pub(crate) fn reset(&self) {
        self.0.reset();
    }

    /// Returns whether the clock is measured.
    #[inline]
    pub(crate) fn are_on(&self) -> bool {
        NEEDED && self.0.is_on()
    }

    /// Measures from `now_ns` on; the thread's CPU clock reads `cpu_ns`.
    pub(crate) fn turn_on(&self, now_ns: u64, cpu_ns: u64, interval_ns: u64) {
        self.0.turn_on(now_ns, cpu_ns, interval_ns);
    }

    /// Changes the interval.
    pub(crate) fn set_interval(&self, interval_ns: u64) {
        self.0.set_interval(interval_ns);
    }

    /// Stops measuring, if it was on. `cpu_ns` reads the thread's CPU clock, and returns `None` if the thread
    /// has ended.
    pub(crate) fn turn_off(&self, now_ns: u64, cpu_ns: impl FnOnce() -> Option<u64>) {
        if self.are_on() {
            match cpu_ns() {
                Some(cpu_ns) => self.0.turn_off(now_ns, cpu_ns),
                None => self.0.end(now_ns, None),
            }
        }
    }

    /// Returns the wall clocks.
    ///
    /// # Signal safety
    /// Loads.
    #[inline]
    pub(crate) fn read(&self, now_ns: u64, cpu_ns: u64) -> WallTimes {
        self.0.read(now_ns, cpu_ns)
    }

    /// Attributes the time up to these clocks to the previous record.
    pub(crate) fn apportion(&self, walls: &WallTimes) {
        self.0.apportion(walls);
    }

    /// Requests a new poll of the thread.
    pub(crate) fn poll_anew(&self) {
        self.0.poll_anew();
    }

    /// Returns whether the thread must get a tick now. Its CPU clock reads `cpu_ns`; `None` if it has ended.
    /// For the ticker.
    pub(crate) fn poll(&self, now_ns: u64, cpu_ns: Option<u64>) -> bool {
        match cpu_ns {
            Some(cpu_ns) => self.0.poll(now_ns, cpu_ns),
            None => {
                self.0.end(now_ns, None);
                false
            }
        }
    }

    /// Returns whether a tick has found the thread in a system call that waits.
    ///
    /// # Signal safety
    /// Reads the instructions that the thread is about to run, or has just run.
    #[inline]
    pub(crate) fn in_call(&self, context: &Context) -> bool {
        self.are_on() && in_call::in_call(context)
    }

    /// Notes that a tick found the native thread waiting for another Ruby thread to run. So this Ruby thread
    /// has ended, and Ruby 3.1 did not report it.
    #[inline]
    pub(crate) fn end_unreported(&self, now_ns: u64) {
        self.0.end(now_ns, Some(clock::thread_cpu_ns()));
    }

    /// Calls `record` for a tick: to record that the thread runs, or that it waits.
    ///
    /// # Signal safety
    /// Loads, stores, clocks, and a place in the ring.
    #[inline]
    pub(crate) fn record(
        &self,
        hub: &Hub,
        header: &Header,
        in_call: bool,
        record: impl Fn(Kind, &Header) -> bool,
    ) {
        let found = self.0.classify(&header.walls, in_call);
        if found.waits {
            count(&hub.counters.waits_interrupted);
        }
        close(hub, header, found.before_ns);
        let waiting = Header { state: State::Waiting, ..*header };
        let recorded = if found.waits {
            record(Kind::Wait, &waiting)
        } else {
            (!found.starved || record(Kind::Wait, &waiting)) && record(Kind::Tick, header)
        };
        if recorded {
            self.0.commit(&header.walls, found, clock::thread_cpu_ns(), clock::sleeps());
        }
    }

    /// Calls `record` for a block that has just ended, and settles its time.
    ///
    /// # Signal safety
    /// Same as for [`PolledWaits::record`].
    pub(crate) fn record_block(&self, hub: &Hub, header: &Header, record: impl Fn(&Header) -> bool) {
        let found = self.0.classify(&header.walls, false);
        close(hub, header, found.before_ns);
        if record(header) {
            self.0.end_wait(&header.walls, clock::thread_cpu_ns());
        }
    }

    /// Calls `record` for a tick on a thread that collects garbage, without the stack that is to blame.
    ///
    /// # Signal safety
    /// Same as for [`PolledWaits::record`].
    #[inline]
    pub(crate) fn record_collecting(
        &self,
        hub: &Hub,
        header: &mut Header,
        record: impl Fn(Kind, &Header) -> bool,
    ) {
        // SAFETY: the calling thread is the one that collects.
        let kind = Kind::Gc { ticked: true, since_tick_ns: 0, cause: unsafe { vm::gc::latest_cause() } };
        if !self.are_on() {
            record(kind, header);
            return;
        }
        let found = Classification { waits: false, ..self.0.classify(&header.walls, false) };
        self.0.fold(&mut header.walls);
        close(hub, header, found.before_ns);
        if record(kind, header) {
            self.0.commit(&header.walls, found, header.cpu_ns, 0);
        }
    }
}

/// Returns whether a signal that is not a tick has found the thread in a system call that waits, if no hook
/// reports that.
///
/// # Signal safety
/// Same as for [`PolledWaits::in_call`].
#[inline]
pub(crate) fn found_in_call(context: &Context) -> bool {
    NEEDED && in_call::in_call(context)
}

/// Ends the wait before this record, which lasted up to `before_ns` on the waiting clock.
#[inline]
fn close(hub: &Hub, header: &Header, before_ns: Option<u64>) {
    if let Some(waiting_ns) = before_ns {
        let extension = Header { walls: WallTimes { waiting_ns, ..header.walls }, ..*header };
        // If the ring is full, the next wait gets that time.
        let _ = push_wait_extension(&hub.ring, &extension);
    }
}
