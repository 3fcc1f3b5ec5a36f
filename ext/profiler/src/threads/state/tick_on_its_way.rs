//! The ticker's signal on its way to a thread, tracked so that it does not interrupt a wait that begins
//! meanwhile.
//!
//! The ticker signals a thread that runs. Before the signal arrives, the thread may release the GVL and enter
//! a system call, which would end with EINTR. So a thread that is about to wait first lets a pending signal
//! arrive.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{fence, AtomicU8, Ordering};

use crate::sys::clock;

/// No signal is on its way.
const NONE: u8 = 0;
/// The ticker is about to send a signal, or has sent one that has not arrived.
const UNDERWAY: u8 = 1;
/// The last signal has not arrived in time. None ever does if the app blocks them.
const LOST: u8 = 2;

/// The longest time that a hook spins for a signal: as long as the walk of a very deep stack takes, since a
/// hook must not wait. A signal takes a few microseconds, unless the ticker loses its turn just before it
/// sends one.
const SPIN_NS: u64 = 50_000;

/// The state of the ticker's signal to one thread.
#[derive(Debug)]
pub(crate) struct TickOnItsWay(AtomicU8);

impl TickOnItsWay {
    pub(super) const fn new() -> Self {
        Self(AtomicU8::new(NONE))
    }

    /// Forgets the signals of a former thread.
    pub(super) fn reset(&self) {
        self.0.store(NONE, Ordering::Relaxed);
    }

    /// Announces a signal. The ticker then checks once more whether the thread waits.
    pub(crate) fn announce(&self) {
        let _ = self.0.compare_exchange(NONE, UNDERWAY, Ordering::Relaxed, Ordering::Relaxed);
        // SeqCst, here and in `let_arrive`: one of the two sees what the other has noted.
        fence(Ordering::SeqCst);
    }

    /// Retracts the announcement.
    pub(crate) fn retract(&self) {
        let _ = self.0.compare_exchange(UNDERWAY, NONE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes that a signal has arrived. For the handler.
    pub(crate) fn arrived(&self) {
        if self.0.load(Ordering::Relaxed) != NONE {
            self.0.store(NONE, Ordering::Relaxed);
        }
    }

    /// Lets a signal that is on its way arrive. The thread has just noted that it waits.
    pub(crate) fn let_arrive(&self, now_ns: u64) {
        fence(Ordering::SeqCst);
        while self.0.load(Ordering::Relaxed) == UNDERWAY {
            ::core::hint::spin_loop();
            if clock::monotonic_ns() > now_ns + SPIN_NS {
                self.0.store(LOST, Ordering::Relaxed);
            }
        }
    }
}
