//! The state of one thread.

use std::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicU8, AtomicUsize,
    Ordering::{Acquire, Relaxed},
};

use profiler_core::claim::Claimable;
use profiler_core::ids::{LabelSetId, ScopeId, ThreadId};
use profiler_core::sampling::wall_clock::WallClock;
use profiler_core::session::state::ThreadReading;

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
    /// Whether hooks report its exit, as they did its start. Else it may be in the middle of either, without a stack.
    pub(crate) reported: AtomicBool,
    /// `pthread_self()` of the thread; 0 until it is known.
    pub(crate) pthread: AtomicUsize,
    /// CPU clock when the thread started or was first seen, ns.
    pub(crate) start_cpu_ns: AtomicU64,
    pub(super) ended_cpu_ns: AtomicU64,
    /// When it ended, on the monotonic clock, ns.
    pub(super) ended_ns: AtomicU64,
    /// The number of times that it was met while no hook reported threads.
    pub(super) sightings: AtomicU32,
    pub(super) name: KeptName,
    pub(crate) wanted: Wanted,
    pub(crate) timer: Timer,
    pub(crate) perf: PerfCounter,
    /// The time in the kernel, which that counter skips.
    pub(crate) kernel_time: KernelTime,
    pub(crate) ticker: TickerState,
    pub(crate) ticks: TickCount,
    pub(crate) ticks_in_gc: TicksInGc,
    pub(crate) handler: HandlerTime,
    pub(crate) labels: Labelled,
    /// Its wall clock time by what it does, where the VM's hooks report waits.
    pub(crate) walls: WallClock,
    /// The same where they do not.
    pub(crate) polled: PolledWaits,
    /// The time for which it was ready to run and had no CPU.
    pub(crate) off_cpu: OffCpu,
    /// Whether it is asked where it is blocked with the GVL.
    pub(crate) block: BlockWatch,
}

/// The measures of a thread that sessions want, and how often.
#[derive(Debug)]
pub(crate) struct Wanted {
    /// The finest interval that a session wants, ns; 0 when none profiles it.
    pub(crate) interval_ns: AtomicU64,
    /// Whether none profiles it, and it ticks only for those that wait for it.
    pub(crate) outside: AtomicBool,
    /// Whether a session measures its CPU clock.
    pub(crate) cpu: AtomicBool,
}

/// A thread's own timer.
#[derive(Debug)]
pub(crate) struct Timer {
    /// The kernel's number of it.
    pub(crate) number: Claimable,
    /// The interval at which it ticks, ns.
    pub(crate) interval_ns: AtomicU64,
    /// The interval that it, or a counter, was given last, ns.
    pub(crate) armed_interval_ns: AtomicU64,
    /// When that was, on the monotonic clock, ns.
    pub(crate) armed_ns: AtomicU64,
}

/// The ticker's notes about a thread.
#[derive(Debug)]
pub(crate) struct TickerState {
    /// The thread's CPU clock at its last tick, ns.
    pub(crate) ticked_cpu_ns: AtomicU64,
    /// The same at the last round.
    pub(crate) visited_cpu_ns: AtomicU64,
    /// The time before which no tick is due, on the monotonic clock, ns.
    pub(crate) next_tick_ns: AtomicU64,
    /// The way of its signal to the thread.
    pub(crate) signal: TickOnItsWay,
}

/// The ticks that fell into the GC that a thread is in.
#[derive(Debug)]
pub(crate) struct TicksInGc {
    pub(crate) number: AtomicU64,
    /// The time of the last of them, on the monotonic clock, ns.
    pub(crate) last_ns: AtomicU64,
    /// The thread's CPU clock at the last of them, ns.
    pub(crate) last_cpu_ns: AtomicU64,
}

/// The labels that the handler puts on the records of a thread, with where they come from.
#[derive(Debug)]
pub(crate) struct Labelled {
    pub(crate) set: AtomicU32,
    pub(crate) scope: AtomicU32,
    pub(crate) span: CurrentSpan,
    /// The Fiber whose labels these are, as a VALUE, which the mark function keeps; 0 where that is not known, as on a thread that
    /// has had one fiber only and no labels.
    pub(crate) fiber: AtomicU64,
    /// The Ruby object that they came from, in the same way; 0 when none.
    pub(crate) object: AtomicU64,
}

impl Wanted {
    const fn new() -> Self {
        Self { interval_ns: AtomicU64::new(0), outside: AtomicBool::new(false), cpu: AtomicBool::new(false) }
    }

    fn reset(&self) {
        self.interval_ns.store(0, Relaxed);
        self.outside.store(false, Relaxed);
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
        posix_timer::delete(self.number.take()); // of the life before, had it been armed just as its thread ended
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
            sightings: AtomicU32::new(0),
            name: KeptName::new(),
            wanted: Wanted::new(),
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

    /// Begins the life of a thread whose CPU clock is there; `pthread` is 0 when unknown. The caller has claimed the state, and
    /// publishes it.
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
        self.polled.apportion(&walls);
        ThreadReading {
            thread: self.id(),
            cpu_ns,
            walls,
            runnable_ns: self.off_cpu.runnable_ns(),
            labels: LabelSetId(self.labels.set.load(Relaxed)),
            scope: ScopeId(self.labels.scope.load(Relaxed)),
        }
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
