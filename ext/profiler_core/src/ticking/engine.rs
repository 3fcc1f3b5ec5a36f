//! The ways to make a thread tick.

/// A way to make a thread tick: the source of the signal, and the place where the stack is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// The kernel's counter of each thread's CPU time; the handler walks.
    Perf,
    /// A timer on each thread's CPU clock; the handler walks.
    ThreadTimer,
    /// A thread of the profiler's that signals the running threads; the handler walks.
    Ticker,
    /// A single timer on the CPU clock of the process; the handler walks.
    Setitimer,
    /// The timers of the threads; the walk waits for the next point where Ruby checks its interrupts. For VMs
    /// whose frames are not consistent at every instruction. Skewed towards those points.
    Safepoint,
}

/// The source of the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// A perf counter of each thread.
    Perf,
    /// A POSIX timer of each thread.
    ThreadTimer,
    /// The ticker, a thread of the profiler's.
    Ticker,
    /// The timer of the process.
    Setitimer,
}

/// The place where the stack is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkAt {
    /// In the signal handler.
    Handler,
    /// At the next point where Ruby checks its interrupts.
    Safepoint,
}

impl Engine {
    /// All engines, in the order of their names in messages.
    pub const ALL: [Self; 5] =
        [Self::Perf, Self::ThreadTimer, Self::Ticker, Self::Setitimer, Self::Safepoint];

    /// Returns the name in options, headers and files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Perf => "perf",
            Self::ThreadTimer => "thread_timer",
            Self::Ticker => "ticker",
            Self::Setitimer => "setitimer",
            Self::Safepoint => "safepoint",
        }
    }

    /// Returns the source of the engine's signals.
    #[must_use]
    pub fn trigger(self) -> Trigger {
        match self {
            Self::Perf => Trigger::Perf,
            Self::ThreadTimer | Self::Safepoint => Trigger::ThreadTimer,
            Self::Ticker => Trigger::Ticker,
            Self::Setitimer => Trigger::Setitimer,
        }
    }

    /// Returns the place where the engine walks the stack.
    #[must_use]
    pub fn walks_at(self) -> WalkAt {
        match self {
            Self::Safepoint => WalkAt::Safepoint,
            Self::Perf | Self::ThreadTimer | Self::Ticker | Self::Setitimer => WalkAt::Handler,
        }
    }
}
