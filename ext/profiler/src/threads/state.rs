//! The state of one thread.

use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicU8, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use profiler_core::claim::Claimable;
use profiler_core::ids::{LabelSetId, ScopeId, ThreadId};
use profiler_core::sampling::estimated_wall_clock::EstimatedWallClock;
use profiler_core::sampling::wall_clock::WallClock;
use profiler_core::session::state::ThreadReading;
use profiler_core::text::MAX_NAME_BYTES;

use crate::sys::clock;
use crate::sys::native_thread;
use crate::threads::span::CurrentSpan;
use crate::threads::tick_on_its_way::TickOnItsWay;

// The phases of a life: see the registry.
pub(super) const FREE: u8 = 0;
pub(super) const CLAIMED: u8 = 1;
pub(super) const LIVE: u8 = 2;
pub(super) const ENDED: u8 = 3;
pub(super) const TAKEN: u8 = 4;

/// The time from which on the CPU time of a handler counts, as another thread may have had the processor meanwhile. When that
/// clock is read, the kernel notices that it is another thread's turn.
const LONG_HANDLER_NS: u64 = 20_000;
/// The least time that a thread runs, as a multiple of the time that its handler takes. So the handler takes a fifth of it at
/// most, however deep its stack and however slow the machine.
const RUN_FOR_HANDLER: u64 = 4;

/// The words of a kept name.
const NAME_WORDS: usize = MAX_NAME_BYTES / size_of::<u64>();

/// The phase in which nobody works on its counter.
const IDLE: u8 = 0;
/// The phase in which the collector does.
const UPGRADING: u8 = 1;
/// The phase in which it gets no counter any more.
const CLOSED: u8 = 2;

/// The state of a thread, written by its own hooks or with the GVL, and read by handlers.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct ThreadState {
    pub(super) phase: AtomicU8,
    pub(super) id: AtomicU32,
    /// The Ruby Thread object, which the mark function keeps while the state is live.
    pub(super) object: AtomicU64,
    pub(super) native_id: AtomicI32,
    /// Whether hooks report its exit, as they did its start. Else it may be in the middle of either, without a stack.
    pub(crate) reported: AtomicBool,
    /// `pthread_self()` of the thread; 0 until it is known.
    pub(crate) pthread: AtomicUsize,
    /// CPU clock when the thread started or was first seen, ns.
    pub(crate) start_cpu_ns: AtomicU64,
    pub(super) ended_cpu_ns: AtomicU64,
    /// When it ended, on the monotonic clock, ns.
    pub(super) ended_ns: AtomicU64,
    /// The kernel's number of its timer.
    pub(crate) timer: Claimable,
    /// The interval at which that ticks, ns.
    pub(crate) timer_ns: AtomicU64,
    /// The descriptor of its perf counter plus one; 0 when there is none.
    pub(crate) perf: AtomicI32,
    /// The phase of its perf counter: see [`ThreadState::upgrade`].
    upgrade_phase: AtomicU8,
    /// When its timer was armed, on the monotonic clock, ns.
    pub(crate) armed_ns: AtomicU64,
    /// The finest interval that a session wants of this thread, ns; 0 when none profiles it.
    pub(crate) interval_ns: AtomicU64,
    /// Whether none profiles it, and it ticks only for those that wait for it.
    pub(crate) outside: AtomicBool,
    /// Whether a session measures its CPU clock.
    pub(crate) measures_cpu: AtomicBool,
    /// When its handler last ended, on the monotonic clock, ns.
    pub(super) handled_ns: AtomicU64,
    /// The time that it is to run before its next tick, ns, where that is not the interval; else 0.
    pub(super) run_ns: AtomicU64,
    /// For the ticker: its CPU clock at its last tick and at the last round, and the time before which no tick is due, ns.
    pub(crate) ticked_cpu_ns: AtomicU64,
    pub(crate) visited_cpu_ns: AtomicU64,
    pub(crate) next_tick_ns: AtomicU64,
    /// The way of the ticker's signal to it.
    pub(crate) tick: TickOnItsWay,
    /// Labels that the handler puts on records.
    pub(crate) labels: AtomicU32,
    /// The Fiber whose labels these are, as a VALUE, which the mark function keeps; 0 where that is not
    /// known, as on a thread that has had one fiber only and no labels.
    pub(crate) fiber: AtomicU64,
    /// The Ruby object that they came from, in the same way; 0 when none.
    pub(crate) labels_object: AtomicU64,
    /// Scope that the handler puts on records.
    pub(crate) scope: AtomicU32,
    /// Span that the handler puts on records.
    pub(crate) span: CurrentSpan,
    /// Time that its native threads spent in the handler, ns. Never reset, so that the sum over all
    /// states only grows.
    pub(super) handler_ns: AtomicU64,
    /// The part of that which was counted when its former lives ended, ns.
    pub(super) retired_handler_ns: AtomicU64,
    /// The ticks that its threads got, in all of its lives.
    pub(super) ticks: AtomicU64,
    /// The ticks when its timer was last compared with its interval.
    pub(super) seen_ticks: AtomicU64,
    /// The interval that its timer was given last.
    pub(crate) armed_interval_ns: AtomicU64,
    /// Its CPU clock as it was last read for a record, ns.
    pub(crate) recorded_cpu_ns: AtomicU64,
    /// Ticks that fell into the GC that it is in.
    pub(crate) ticks_in_gc: AtomicU64,
    /// The time of the last of them, on the monotonic clock, ns.
    pub(crate) gc_tick_ns: AtomicU64,
    /// The number of times that it was met while no hook reported threads.
    pub(super) sightings: AtomicU32,
    /// Its wall clock time by what it does, where the VM's hooks report waits.
    pub(crate) walls: WallClock,
    /// The same where they do not.
    pub(crate) sampled: EstimatedWallClock,
    /// Its name, kept for when it has ended: up to 256 bytes, then zeros.
    pub(super) name: [AtomicU64; NAME_WORDS],
}

impl ThreadState {
    /// A free state.
    pub(super) const fn new() -> Self {
        Self {
            phase: AtomicU8::new(FREE),
            id: AtomicU32::new(0),
            object: AtomicU64::new(0),
            native_id: AtomicI32::new(0),
            reported: AtomicBool::new(false),
            pthread: AtomicUsize::new(0),
            start_cpu_ns: AtomicU64::new(0),
            ended_cpu_ns: AtomicU64::new(0),
            ended_ns: AtomicU64::new(0),
            timer: Claimable::new(),
            timer_ns: AtomicU64::new(0),
            perf: AtomicI32::new(0),
            upgrade_phase: AtomicU8::new(IDLE),
            armed_ns: AtomicU64::new(0),
            interval_ns: AtomicU64::new(0),
            outside: AtomicBool::new(false),
            measures_cpu: AtomicBool::new(false),
            handled_ns: AtomicU64::new(0),
            run_ns: AtomicU64::new(0),
            ticked_cpu_ns: AtomicU64::new(0),
            visited_cpu_ns: AtomicU64::new(0),
            next_tick_ns: AtomicU64::new(0),
            tick: TickOnItsWay::new(),
            labels: AtomicU32::new(0),
            fiber: AtomicU64::new(0),
            labels_object: AtomicU64::new(0),
            scope: AtomicU32::new(0),
            span: CurrentSpan::new(),
            handler_ns: AtomicU64::new(0),
            retired_handler_ns: AtomicU64::new(0),
            ticks: AtomicU64::new(0),
            seen_ticks: AtomicU64::new(0),
            armed_interval_ns: AtomicU64::new(0),
            recorded_cpu_ns: AtomicU64::new(0),
            ticks_in_gc: AtomicU64::new(0),
            gc_tick_ns: AtomicU64::new(0),
            sightings: AtomicU32::new(0),
            walls: WallClock::new(),
            sampled: EstimatedWallClock::new(),
            name: [const { AtomicU64::new(0) }; NAME_WORDS],
        }
    }

    /// Keeps its name, or the first 256 bytes of that.
    pub(super) fn keep_name(&self, name: &[u8]) {
        let mut words = name.chunks(size_of::<u64>());
        for word in &self.name {
            let bytes = words.next().unwrap_or(&[]);
            word.store(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)), Relaxed);
        }
    }

    /// Whether this, the operating system's name of it, is the beginning of the kept name, with as much of it as the kernel has.
    pub(super) fn has_cut_name(&self, native_name: &[u8]) -> bool {
        /// The most that the kernel has of a name.
        const NATIVE_BYTES: usize = 15;
        native_name.len() >= NATIVE_BYTES
            && self.kept_name().starts_with(native_name.get(..NATIVE_BYTES).unwrap_or(&[]))
    }

    /// The kept name, and zeros.
    pub(super) fn kept_name(&self) -> [u8; MAX_NAME_BYTES] {
        let mut name = [0; MAX_NAME_BYTES];
        for (bytes, word) in name.chunks_exact_mut(size_of::<u64>()).zip(&self.name) {
            bytes.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        name
    }

    /// Its identity, which is never used twice.
    #[inline]
    pub(crate) fn id(&self) -> ThreadId {
        ThreadId(self.id.load(Relaxed))
    }

    /// The operating system's id of its native thread.
    #[inline]
    pub(crate) fn native_id(&self) -> i32 {
        self.native_id.load(Relaxed)
    }

    /// Whether it was registered before ids came to `next_id`, as [`super::next_id`] said.
    pub(crate) fn is_older_than(&self, next_id: u32) -> bool {
        // Ids begin anew after four billion.
        self.id.load(Relaxed).wrapping_sub(next_id) > u32::MAX / 2
    }

    /// Identity of its Ruby Thread, which is alive as long as the state is live.
    pub(crate) fn object(&self) -> u64 {
        self.object.load(Relaxed)
    }

    /// Its readings as a session begins to profile it, with its CPU clock.
    pub(crate) fn now(&self, cpu_ns: u64) -> ThreadReading {
        let walls = self.walls_at(clock::monotonic_ns(), cpu_ns);
        self.sampled.apportion(&walls);
        ThreadReading {
            thread: self.id(),
            cpu_ns,
            walls,
            labels: LabelSetId(self.labels.load(Relaxed)),
            scope: ScopeId(self.scope.load(Relaxed)),
        }
    }

    /// Has `arm` create its counter, unless it is ending. `arm` says whether to try again. For the collector.
    pub(crate) fn upgrade(&self, arm: impl FnOnce() -> bool) {
        if self.upgrade_phase.compare_exchange(IDLE, UPGRADING, Acquire, Relaxed).is_ok() {
            let again = arm();
            self.upgrade_phase.store(if again { IDLE } else { CLOSED }, Release);
        }
    }

    /// Keeps it from getting a counter from now on, at the exit of the thread. Waits, some microseconds at most, for one that
    /// is on its way.
    pub(crate) fn close_upgrades(&self) {
        while self.upgrade_phase.compare_exchange(IDLE, CLOSED, Acquire, Relaxed) == Err(UPGRADING) {
            native_thread::yield_now();
        }
    }

    /// Lets it get a counter again, in a new life.
    pub(super) fn reset_upgrade(&self) {
        self.upgrade_phase.store(IDLE, Relaxed);
    }

    /// Adds the time of a handler or hook that began at `begun_ns` and ends at `now_ns`, on the monotonic clock. Returns it,
    /// ns. Only the thread itself may do so, and a handler does not interrupt itself. So a load and a store are enough, which
    /// wait for nothing.
    ///
    /// # Signal safety
    /// Loads and stores; a reading of the thread's CPU clock if it was long.
    #[inline]
    pub(crate) fn add_handler_span(&self, begun_ns: u64, now_ns: u64) -> u64 {
        let mut took_ns = now_ns.wrapping_sub(begun_ns);
        if took_ns > LONG_HANDLER_NS {
            let used_ns = clock::thread_cpu_ns().saturating_sub(self.recorded_cpu_ns.load(Relaxed));
            took_ns = took_ns.min(used_ns);
        }
        self.add_handler_ns(took_ns);
        took_ns
    }

    /// Adds to the time spent in handlers and hooks. As for [`ThreadState::add_handler_span`].
    #[inline]
    pub(crate) fn add_handler_ns(&self, ns: u64) {
        self.handler_ns.store(self.handler_ns.load(Relaxed).wrapping_add(ns), Relaxed);
    }

    /// The time that it has to run before its next tick, ns, when a handler that began at `begun_ns` and took so long ends now.
    /// `None` where its timer sees to that by itself: the interval is long enough, it was kept before this handler, and it
    /// is what is set. Of ticks that come `at_random` instants of their intervals two may be near each other, as others are
    /// far apart. There it is enough that the interval is long.
    ///
    /// # Signal safety
    /// Loads and stores.
    #[inline]
    pub(crate) fn min_run_ns(
        &self,
        begun_ns: u64,
        now_ns: u64,
        took_ns: u64,
        at_random: bool,
    ) -> Option<u64> {
        let ran_ns = begun_ns.saturating_sub(self.handled_ns.load(Relaxed));
        self.handled_ns.store(now_ns, Relaxed);
        let interval_ns = self.interval_ns.load(Relaxed);
        let least_ns = took_ns * RUN_FOR_HANDLER;
        if at_random {
            return (least_ns > interval_ns / 2).then_some(least_ns);
        }
        let run_ns = interval_ns.max(least_ns);
        let unchanged = run_ns == interval_ns && self.run_ns.load(Relaxed) == 0;
        if unchanged && ran_ns >= interval_ns / 4 * 3 {
            return None;
        }
        self.run_ns.store(if run_ns == interval_ns { 0 } else { run_ns }, Relaxed);
        Some(run_ns)
    }

    /// Counts a tick that fell into a GC of the thread, and waits for its end.
    ///
    /// # Signal safety
    /// It takes one load and two stores.
    #[inline]
    pub(crate) fn tick_in_gc(&self, at_ns: u64) {
        self.gc_tick_ns.store(at_ns, Relaxed);
        self.ticks_in_gc.store(self.ticks_in_gc.load(Relaxed) + 1, Relaxed);
    }

    /// Whether the thread is registered and has not ended.
    #[inline]
    pub(crate) fn is_live(&self) -> bool {
        // Acquire pairs with the Release in `register`: the fields are those of this life.
        self.phase.load(Acquire) == LIVE
    }
}

/// CPU clock of a live thread, ns. For one that has ended unnoticed, its value at the start.
pub(crate) fn cpu_ns(state: &ThreadState) -> u64 {
    if state.pthread.load(Relaxed) == native_thread::pthread_self() {
        return clock::thread_cpu_ns();
    }
    clock::cpu_ns_of(state.native_id()).unwrap_or_else(|| state.start_cpu_ns.load(Relaxed))
}
