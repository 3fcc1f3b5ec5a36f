//! The state of one thread.

use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicU8, AtomicUsize,
    Ordering::{Acquire, Relaxed},
};

use profiler_core::claim::Claimable;
use profiler_core::ids::{LabelSetId, ScopeId, ThreadId};
use profiler_core::record::Header;
use profiler_core::sampling::wall_clock::WallClock;

use crate::before_3_3::PolledWaits;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::sys::posix_timer;

mod block;
mod handler_time;
mod kept_name;
mod kernel_time;
mod off_cpu;
mod perf_counter;
mod span;
mod tick_count;
mod tick_on_its_way;
use block::BlockWatch;
use handler_time::HandlerTime;
use kept_name::KeptName;
use kernel_time::KernelTime;
use off_cpu::OffCpu;
use perf_counter::PerfCounter;
use span::CurrentSpan;
use tick_count::TickCount;
use tick_on_its_way::TickOnItsWay;

// The phases of a life: see the registry.
pub(super) const FREE: u8 = 0;
pub(super) const CLAIMED: u8 = 1;
pub(super) const LIVE: u8 = 2;
pub(super) const ENDED: u8 = 3;
pub(super) const TAKEN: u8 = 4;

/// The state of a thread, written by its own hooks or with the GVL, and read by handlers.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct ThreadState {
    pub(super) phase: AtomicU8,
    pub(super) id: AtomicU32,
    /// The Ruby Thread object, which the mark function keeps while the state is live.
    pub(super) object: AtomicU64,
    pub(super) native_id: AtomicI32,
    /// Whether hooks will report the thread's exit, as they did its start. Otherwise the thread may be in the
    /// middle of either, without a stack.
    pub(crate) reported: AtomicBool,
    /// The thread's `pthread_self()`; 0 until it is known.
    pub(crate) pthread: AtomicUsize,
    /// The CPU clock in nanoseconds when the thread started or was first seen.
    pub(crate) start_cpu_ns: AtomicU64,
    pub(super) ended_cpu_ns: AtomicU64,
    /// The time of the thread's end, on the monotonic clock, in nanoseconds.
    pub(super) ended_ns: AtomicU64,
    /// How often the thread was seen while no hook reported threads.
    pub(super) sightings: AtomicU32,
    pub(super) name: KeptName,
    pub(crate) wanted: Measurements,
    pub(crate) timer: Timer,
    pub(crate) perf: PerfCounter,
    /// The time in the kernel, which the perf counter skips.
    pub(crate) kernel_time: KernelTime,
    pub(crate) ticker: TickerState,
    pub(crate) ticks: TickCount,
    pub(crate) ticks_in_gc: TicksInGc,
    pub(crate) handler: HandlerTime,
    pub(crate) labels: Labelled,
    /// The wall clock time by what the thread does, if the VM's hooks report waits.
    pub(crate) walls: WallClock,
    /// The wall clock time by what the thread does, if no hooks report waits.
    pub(crate) polled: PolledWaits,
    /// The time for which the thread was ready to run and had no CPU.
    pub(crate) off_cpu: OffCpu,
    /// The question that asks the thread for its stack while it is blocked with the GVL.
    pub(crate) block: BlockWatch,
}

/// The measurements of a thread that sessions want, and how often.
#[derive(Debug)]
pub(crate) struct Measurements {
    /// The finest interval in nanoseconds that a session wants; 0 if none profiles the thread.
    pub(crate) interval_ns: AtomicU64,
    /// Whether no session profiles the thread, and it ticks only for threads that wait for it.
    pub(crate) only_blamed: AtomicBool,
    /// Whether a session measures the thread's CPU clock.
    pub(crate) cpu: AtomicBool,
}

/// A thread's own timer.
#[derive(Debug)]
pub(crate) struct Timer {
    /// The kernel's number of the timer.
    pub(crate) number: Claimable,
    /// The interval in nanoseconds at which the timer ticks.
    pub(crate) interval_ns: AtomicU64,
    /// The interval in nanoseconds that was last set, on this timer or on a counter.
    pub(crate) armed_interval_ns: AtomicU64,
    /// The time at which that interval was set, on the monotonic clock, in nanoseconds.
    pub(crate) armed_ns: AtomicU64,
}

/// The ticker's notes about a thread.
#[derive(Debug)]
pub(crate) struct TickerState {
    /// The thread's CPU clock at its last tick, in nanoseconds.
    pub(crate) ticked_cpu_ns: AtomicU64,
    /// The thread's CPU clock at the last round, in nanoseconds.
    pub(crate) visited_cpu_ns: AtomicU64,
    /// The time before which no tick is due, on the monotonic clock, in nanoseconds.
    pub(crate) next_tick_ns: AtomicU64,
    /// The ticker's signal on its way to the thread.
    pub(crate) signal: TickOnItsWay,
}

/// The ticks that fell into the GC that a thread is in.
#[derive(Debug)]
pub(crate) struct TicksInGc {
    pub(crate) number: AtomicU64,
    /// The time of the last of these ticks, on the monotonic clock, in nanoseconds.
    pub(crate) last_ns: AtomicU64,
    /// The thread's CPU clock at the last of these ticks, in nanoseconds.
    pub(crate) last_cpu_ns: AtomicU64,
}

/// The labels that the handler puts on the records of a thread, and where they come from.
#[derive(Debug)]
pub(crate) struct Labelled {
    pub(crate) set: AtomicU32,
    pub(crate) scope: AtomicU32,
    pub(crate) span: CurrentSpan,
    /// The Fiber that these labels belong to, as a VALUE, which the mark function keeps. It is 0 if that is
    /// not known, as on a thread that has had only one fiber and no labels.
    pub(crate) fiber: AtomicU64,
    /// The Ruby object that the labels came from, as a VALUE, which the mark function keeps; 0 if there is
    /// none.
    pub(crate) object: AtomicU64,
}

impl Labelled {
    /// Returns the labels that are current on the thread.
    #[inline]
    pub(crate) fn set_id(&self) -> LabelSetId {
        LabelSetId(self.set.load(Relaxed))
    }

    /// Returns the request or job that is current on the thread.
    #[inline]
    pub(crate) fn scope_id(&self) -> ScopeId {
        ScopeId(self.scope.load(Relaxed))
    }
}

impl Measurements {
    const fn new() -> Self {
        Self {
            interval_ns: AtomicU64::new(0),
            only_blamed: AtomicBool::new(false),
            cpu: AtomicBool::new(false),
        }
    }

    fn reset(&self) {
        self.interval_ns.store(0, Relaxed);
        self.only_blamed.store(false, Relaxed);
        self.cpu.store(false, Relaxed);
    }
}

impl Timer {
    const fn new() -> Self {
        Self {
            number: Claimable::new(),
            interval_ns: AtomicU64::new(0),
            armed_interval_ns: AtomicU64::new(0),
            armed_ns: AtomicU64::new(0),
        }
    }

    fn reset(&self) {
        posix_timer::delete(self.number.take()); // of the previous life, if it was armed just as its thread ended
    }
}

impl TickerState {
    const fn new() -> Self {
        Self {
            ticked_cpu_ns: AtomicU64::new(0),
            visited_cpu_ns: AtomicU64::new(0),
            next_tick_ns: AtomicU64::new(0),
            signal: TickOnItsWay::new(),
        }
    }

    fn reset(&self) {
        self.ticked_cpu_ns.store(0, Relaxed);
        self.visited_cpu_ns.store(0, Relaxed);
        self.next_tick_ns.store(0, Relaxed);
        self.signal.reset();
    }
}

impl TicksInGc {
    const fn new() -> Self {
        Self { number: AtomicU64::new(0), last_ns: AtomicU64::new(0), last_cpu_ns: AtomicU64::new(0) }
    }

    fn reset(&self) {
        self.number.store(0, Relaxed);
    }

    /// Counts a tick, which waits for the end of the GC.
    ///
    /// # Signal safety
    /// A load and three stores.
    #[inline]
    pub(crate) fn count(&self, at_ns: u64, cpu_ns: u64) {
        self.last_ns.store(at_ns, Relaxed);
        self.last_cpu_ns.store(cpu_ns, Relaxed);
        self.number.store(self.number.load(Relaxed) + 1, Relaxed);
    }
}

impl Labelled {
    const fn new() -> Self {
        Self {
            set: AtomicU32::new(0),
            scope: AtomicU32::new(0),
            span: CurrentSpan::new(),
            fiber: AtomicU64::new(0),
            object: AtomicU64::new(0),
        }
    }

    fn reset(&self) {
        self.set.store(0, Relaxed);
        self.scope.store(0, Relaxed);
        self.span.set(None);
        self.fiber.store(0, Relaxed);
        self.object.store(0, Relaxed);
    }
}

impl ThreadState {
    /// Creates a free state.
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
            sightings: AtomicU32::new(0),
            name: KeptName::new(),
            wanted: Measurements::new(),
            timer: Timer::new(),
            perf: PerfCounter::new(),
            kernel_time: KernelTime::new(),
            ticker: TickerState::new(),
            ticks: TickCount::new(),
            ticks_in_gc: TicksInGc::new(),
            handler: HandlerTime::new(),
            labels: Labelled::new(),
            walls: WallClock::new(),
            polled: PolledWaits::new(),
            off_cpu: OffCpu::new(),
            block: BlockWatch::new(),
        }
    }

    /// Begins the life of a thread whose CPU clock reads `cpu_ns`; `pthread` is 0 if unknown. The caller has
    /// claimed the state, and publishes it.
    pub(super) fn begin_life(&self, id: u32, object: u64, native_id: i32, pthread: usize, cpu_ns: u64) {
        self.id.store(id, Relaxed);
        self.object.store(object, Relaxed);
        self.native_id.store(native_id, Relaxed);
        self.reported.store(false, Relaxed);
        self.pthread.store(pthread, Relaxed);
        self.start_cpu_ns.store(cpu_ns, Relaxed);
        self.sightings.store(0, Relaxed);
        self.name.reset();
        self.wanted.reset();
        self.timer.reset();
        self.perf.reset();
        self.kernel_time.reset();
        self.ticker.reset();
        self.ticks_in_gc.reset();
        self.handler.reset(cpu_ns);
        self.labels.reset();
        self.reset_walls();
        self.off_cpu.reset(cpu_ns);
        self.block.reset();
    }

    /// Returns the thread's identity, which is never reused.
    #[inline]
    pub(crate) fn id(&self) -> ThreadId {
        ThreadId(self.id.load(Relaxed))
    }

    /// Returns the operating system's id of the native thread.
    #[inline]
    pub(crate) fn native_id(&self) -> i32 {
        self.native_id.load(Relaxed)
    }

    /// Returns whether the thread was registered before ids reached `next_id`, a result of
    /// [`super::next_id`].
    pub(crate) fn is_older_than(&self, next_id: u32) -> bool {
        // Ids wrap around after four billion.
        self.id.load(Relaxed).wrapping_sub(next_id) > u32::MAX / 2
    }

    /// Returns the identity of the Ruby Thread, which is alive as long as the state is live.
    pub(crate) fn object(&self) -> u64 {
        self.object.load(Relaxed)
    }

    /// Returns the header of a record about the thread, with its labels and none of its clocks.
    #[inline]
    pub(crate) fn header(&self, monotonic_ns: u64) -> Header {
        let labels = &self.labels;
        Header {
            labels: labels.set_id(),
            scope: labels.scope_id(),
            span: labels.span.get(),
            ..Header::new(self.id(), monotonic_ns)
        }
    }

    /// Returns the header with all clocks, of which the CPU clock reads `cpu_ns`.
    pub(crate) fn header_with_clocks(&self, monotonic_ns: u64, cpu_ns: u64) -> Header {
        Header {
            cpu_ns,
            runnable_ns: self.off_cpu.runnable_ns(),
            start_cpu_ns: self.start_cpu_ns.load(Relaxed),
            walls: self.walls_at(monotonic_ns, cpu_ns),
            ..self.header(monotonic_ns)
        }
    }

    /// Returns the clocks and labels at the time when a session begins to profile the thread.
    pub(crate) fn now(&self, cpu_ns: u64) -> Header {
        let header = self.header_with_clocks(clock::monotonic_ns(), cpu_ns);
        self.polled.apportion(&header.walls);
        header
    }

    /// Returns whether the thread is registered and has not ended.
    #[inline]
    pub(crate) fn is_live(&self) -> bool {
        // Acquire pairs with the Release in `register`: the fields are those of this life.
        self.phase.load(Acquire) == LIVE
    }
}

/// Returns the CPU clock of a live thread in nanoseconds, or its value at the start if the thread has ended
/// unnoticed.
pub(crate) fn cpu_ns(state: &ThreadState) -> u64 {
    if state.pthread.load(Relaxed) == native_thread::pthread_self() {
        return clock::thread_cpu_ns();
    }
    clock::cpu_ns_of(state.native_id()).unwrap_or_else(|| state.start_cpu_ns.load(Relaxed))
}
