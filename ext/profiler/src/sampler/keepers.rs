//! The keepers of handles that are known for some time, so that these cost nothing in a minor garbage collection.
//!
//! A job fills them: it stores the handles, tells the VM of each, and only then the tables that they need not mark
//! these. A generation that nobody needs lets its keepers go.
//!
//! With 100,000 methods known a minor GC took 2.9 to 3.5 ms without keepers, against 1.6 with them and 1.5 without a
//! session (Ruby 3.1).

use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use profiler_core::pipeline::hub::Hub;

use crate::shared::CAPTURE;
use crate::vm;
use crate::vm::jobs::Job;
use crate::vm::keepers::{Keeper, CAPACITY};

/// The most keepers that are filled at once. One takes some 10 us.
const AT_ONCE: usize = 16;

/// The keepers, each with the number of its generation. The lock is held for no call into the VM but `rb_gc_mark`.
static KEEPERS: Mutex<Vec<(u64, Keeper)>> = Mutex::new(Vec::new());

/// The job that fills keepers, where Ruby checks its interrupts.
pub(crate) static KEEP: Job = Job::new(keep);

fn keepers() -> MutexGuard<'static, Vec<(u64, Keeper)>> {
    KEEPERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of keepers.
#[cfg(feature = "testing")]
pub(crate) fn count() -> usize {
    keepers().len()
}

/// Marks the keepers of all generations that somebody needs, drops the others, and requests new ones if there is enough for one.
///
/// *Runs on:* the thread that collects, in the mark function. *GVL:* held.
pub(super) fn mark(hub: &Hub) {
    let needed = hub.generations();
    keepers().retain(|(generation, keeper)| {
        let is_needed = needed.contains(generation);
        if is_needed {
            // SAFETY: we are in the mark function, and all of them are marked here each time.
            unsafe { keeper.pin() };
        } else {
            keeper.empty();
        }
        is_needed
    });
    if hub.has_unkept(CAPACITY) {
        // SAFETY: it was registered before the mark function; the VM is there, as it marks.
        unsafe { KEEP.trigger() };
    }
}

/// *Runs on:* a Ruby thread, where it checks its interrupts. *GVL:* held. *Never:* raises.
unsafe extern "C" fn keep(_data: *mut c_void) {
    let Some(hub) = CAPTURE.hub() else { return };
    for _ in 0..AT_ONCE {
        if !hub.has_unkept(CAPACITY) || !vm::process::on_main_ractor() {
            return;
        }
        // SAFETY: the GVL is held; it is pinned below, and nothing lets the GC run before.
        let Some(keeper) = (unsafe { Keeper::new() }) else { return };
        let mut handles = [0; CAPACITY];
        let Some(generation) = hub.find_unkept(&mut handles) else { return };
        keepers().push((generation, keeper));
        // SAFETY: as above; the tables mark the handles until they know that they are kept.
        unsafe { keeper.fill(&handles) };
        hub.keep(generation, CAPACITY);
    }
}
