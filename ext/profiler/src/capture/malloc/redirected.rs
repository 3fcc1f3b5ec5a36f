//! Which calls are redirected: from the start of the first session of memory to the end of the last one.
//!
//! One thread at a time changes the tables of libraries, or looks for new ones. A thread that finds another one
//! at it does not wait, except to begin, to end, and to fork.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use ::std::borrow::ToOwned;
use ::std::string::String;

use super::{countdown, functions};
use crate::shared::CAPTURE;
use crate::sys::got::{self, Pass};
use crate::sys::{errno, native_thread};
use crate::vm;

/// True while some thread changes tables, or forks.
static BUSY: AtomicBool = AtomicBool::new(false);
/// True from the start of the first session to the end of the last one.
static ON: AtomicBool = AtomicBool::new(false);
/// The number of loaded libraries at the last look at which all of them were complete.
static LOADS: AtomicU64 = AtomicU64::new(0);
/// The number of looks in a row that found a library which was being loaded.
static TRIES: AtomicU64 = AtomicU64::new(0);
/// The number of such looks after which the library is left as it is.
const MOST_TRIES: u64 = 100;
/// The numbers of redirected libraries, and of those that the system did not let us change.
static SEEN: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// The right to change tables, until it is dropped.
struct Turn;

impl Turn {
    fn try_take() -> Option<Self> {
        BUSY.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok().then_some(Self)
    }

    /// Waits until no other thread is at it: a look takes a millisecond at most, and needs nothing but the
    /// linker's lock.
    fn take() -> Self {
        loop {
            match Self::try_take() {
                Some(turn) => return turn,
                None => native_thread::yield_now(),
            }
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        BUSY.store(false, Ordering::Release);
    }
}

/// What sessions want of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MallocDemand {
    /// The mean number of bytes between sample points; 0 if nothing is to be sampled now.
    pub(crate) every_bytes: u64,
    /// True if freed blocks are noted, even while no session samples.
    pub(crate) tracks: bool,
}

/// Redirects calls, or puts everything back, as sessions want it. The caller holds the sampler lock.
pub(crate) fn apply(demand: MallocDemand) {
    if demand.tracks != ON.load(Ordering::Relaxed) {
        let turn = Turn::take();
        ON.store(demand.tracks, Ordering::Relaxed);
        if demand.tracks {
            super::forget();
            countdown::set_mean(demand.every_bytes);
            look(&turn);
        } else {
            countdown::set_mean(0);
            got::restore(&functions::functions());
            LOADS.store(0, Ordering::Relaxed);
        }
    }
    countdown::set_mean(demand.every_bytes);
}

/// Returns whether calls are redirected.
pub(super) fn are_on() -> bool {
    ON.load(Ordering::Relaxed)
}

/// Ends sampling as the VM shuts down. Calls are still passed on.
pub(crate) fn end() {
    countdown::set_mean(0);
}

/// Redirects the calls of libraries that were loaded since the last look. Keeps errno.
pub(crate) fn look_for_new() {
    if !ON.load(Ordering::Relaxed) {
        return;
    }
    let before = errno::get();
    // The linker is asked within the turn, too: its lock must not be held while another thread forks.
    if let Some(turn) = Turn::try_take() {
        if ON.load(Ordering::Relaxed) && got::loads() != LOADS.load(Ordering::Relaxed) {
            look(&turn);
        }
    }
    errno::set(before);
}

fn look(_turn: &Turn) {
    let Some(hub) = CAPTURE.hub() else { return };
    let (loads, functions) = (got::loads(), functions::functions());
    if let Some(name) = got::name_at(vm::process::code_of_ruby()) {
        hub.blocks.libraries.name_ruby(&name);
    }
    hub.blocks.libraries.begin_pass();
    let pass = got::redirect(&functions, &mut |start, end, name| {
        hub.blocks.libraries.note(start as u64, end as u64, name);
    });
    hub.blocks.libraries.end_pass();
    let Pass { redirected, refused, unfinished, .. } = pass;
    SEEN[0].store(redirected, Ordering::Relaxed);
    SEEN[1].store(refused + unfinished, Ordering::Relaxed);
    // A library that is being loaded is looked at again, but not for ever.
    let tries = if unfinished == 0 { 0 } else { TRIES.load(Ordering::Relaxed) + 1 };
    TRIES.store(tries, Ordering::Relaxed);
    LOADS.store(if (1..MOST_TRIES).contains(&tries) { 0 } else { loads }, Ordering::Relaxed);
}

/// Returns the number of libraries whose calls are redirected, and of those that the system did not let us
/// change.
pub(crate) fn seen() -> (u64, u64) {
    (SEEN[0].load(Ordering::Relaxed), SEEN[1].load(Ordering::Relaxed))
}

/// Keeps tables as they are until [`after_fork`]: the linker's lock must not be held by a thread that a forked
/// child does not have.
pub(crate) fn before_fork() {
    ::core::mem::forget(Turn::take());
}

/// Lets tables be changed again, in the parent or in the child.
pub(crate) fn after_fork() {
    drop(Turn);
}

/// Returns why malloc cannot be sampled in this process, if there is a reason.
pub(crate) fn refusal() -> Option<String> {
    let _turn = Turn::take();
    let _ = functions::functions();
    match functions::real_malloc() {
        0 => Some("the linker does not know malloc, so the program is linked statically".to_owned()),
        at if got::is_stub_of_program(at) => {
            Some("the program refers to malloc itself, as it is not position-independent".to_owned())
        }
        _ => None,
    }
}
