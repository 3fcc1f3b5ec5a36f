//! Counters of the fates of all ticks, by reason. A tick ends as a record in the ring or in one of these
//! counters.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering};

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)+) => {
        /// Counts since the process began. Written by handlers and by whoever drains, read by everybody.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: AtomicU64,)+
        }

        /// The counts at one instant, or between two.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)+
        }

        impl Counters {
            /// Returns counters that are all zero.
            #[must_use]
            pub const fn new() -> Self {
                Self { $($name: AtomicU64::new(0),)+ }
            }

            /// Reads the counts. Each is exact; together they belong to nearly the same instant.
            #[must_use]
            pub fn read(&self) -> Counts {
                // Relaxed: the numbers are for people and order nothing.
                Counts { $($name: self.$name.load(Ordering::Relaxed),)+ }
            }
        }

        impl Counts {
            /// Returns counts that are all zero.
            #[must_use]
            pub const fn nothing() -> Counts {
                Counts { $($name: 0,)+ }
            }

            /// Returns the counts since `earlier`.
            #[must_use]
            pub fn since(&self, earlier: &Counts) -> Counts {
                Counts { $($name: self.$name.saturating_sub(earlier.$name),)+ }
            }

            /// Returns the sum of two counts.
            #[must_use]
            pub fn plus(&self, other: &Counts) -> Counts {
                Counts { $($name: self.$name.saturating_add(other.$name),)+ }
            }

            /// Iterates over the name and the value of each count, in order.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((::core::stringify!($name), self.$name),)+].into_iter()
            }
        }
    };
}

counters! {
    /// Ticks that became a record. Counted when the record is drained, which spares the handler an atomic
    /// operation that would wait for everything it has just written.
    captured,
    /// Captured records of a thread that was collecting garbage.
    captured_in_gc,
    /// Captured records whose stack was cut.
    truncated,
    /// Dropped: the ring was full.
    dropped_full,
    /// Dropped: all scratch buffers were in use.
    dropped_busy,
    /// Dropped: another thread was collecting garbage, so the stack could not be walked.
    dropped_in_gc,
    /// Dropped: the handler ran on the alternate stack, inside another handler.
    dropped_on_altstack,
    /// Dropped: the native thread runs no Ruby (yet, or any more).
    dropped_not_ruby,
    /// Dropped: there was no frame on the stack.
    dropped_no_frames,
    /// Dropped: the thread was switching fibers, so its current labels were unknown.
    dropped_in_switch,
    /// Signals that need no record, so they do not count as dropped. The signal came after the session or its
    /// thread had ended, or from a timer that is kept for the thread's next session.
    late,
    /// Signals that were not ours.
    foreign,
    /// Ticks that the kernel coalesced with another one (it cannot fire faster than its own tick).
    overrun,
    /// Ticks that hit a thread in a blocking system call, and may have ended that call with EINTR. Zero where
    /// waits are measured.
    waits_interrupted,
    /// Threads that could not be profiled: the registry was full, or no timer was available.
    threads_refused,
}

impl Counts {
    /// Returns the number of our ticks that were delivered but became no record.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_full
            + self.dropped_busy
            + self.dropped_in_gc
            + self.dropped_on_altstack
            + self.dropped_not_ruby
            + self.dropped_no_frames
            + self.dropped_in_switch
    }
}

/// Adds one to a counter.
///
/// # Signal safety
/// One atomic addition.
#[inline]
pub fn count(counter: &AtomicU64) {
    add(counter, 1);
}

/// Adds `amount` to a counter.
///
/// # Signal safety
/// One atomic addition.
#[inline]
pub fn add(counter: &AtomicU64, amount: u64) {
    // Relaxed: a number for people, which orders nothing.
    counter.fetch_add(amount, Ordering::Relaxed);
}
