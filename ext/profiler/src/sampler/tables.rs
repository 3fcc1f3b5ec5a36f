//! The renewal of the tables of stacks and of sets of labels, which would else keep code and labels that are gone.
//!
//! A result renews them as it is taken. Where none is taken for long, a helper does: the mark function sees that they have grown,
//! a job starts the helper, and the helper asks the VM for the names. So an exception that is delivered meanwhile is the helper's.
//!
//! The helper is a Ruby thread of ours that ends when all is named. The job starts it by a call that runs no Ruby code.
//! An exception ends it, and the next garbage collection requests another one.
//!
//! Sets of labels get a new table too, also once there are 2,048 of them (`core/session/labels.rs`).
//!
//! With `:allocations`, `every: 100`, and no result at all, a program that renders ERB templates had 49,600 iseqs and
//! 78 MB after 10 s without the helper, and 4,000 to 10,000 and 36 MB with it.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use magnus::{Error, Ruby};
use profiler_core::pipeline::hub::Hub;

use crate::capture::allocation;
use crate::naming::pending;
use crate::sampler::fork::enter;
use crate::shared::CAPTURE;
use crate::threads::Registry;
use crate::vm::jobs::Job;
use crate::{labels, threads, vm};

/// The job that starts the helper, where Ruby checks its interrupts.
pub(crate) static RENEW: Job = Job::new(start_helper);

/// Whether [`forget_code`] names what the tables keep: a helper would do the same once more, and keep it meanwhile.
static FORGETTING: AtomicBool = AtomicBool::new(false);

/// Renews the tables if they are much larger than what a result needs, which is that number of handles. Needs the GVL.
pub(super) fn renew(hub: &Hub, needed: usize) {
    if hub.is_outgrown(needed) {
        // Sums of allocations name frames that the tables kept alive.
        allocation::send_sums();
        hub.turn_over();
    }
    labels::renew(hub);
}

/// Lets go of all code that nobody but the tables keeps: what it did has a name from then on. Code can hold objects, as a singleton
/// method holds its object, and these would count as live.
///
/// # Errors
/// Exceptions that were delivered meanwhile. The names are requested again later.
pub(crate) fn forget_code(ruby: &Ruby) -> Result<(), Error> {
    let Some(hub) = CAPTURE.hub().filter(|it| it.can_turn_over()) else { return Ok(()) };
    // The places of objects that are freed by now would be carried on, with their code.
    enter().ticks.iter_mut().for_each(|it| it.record_live_objects(hub));
    while hub.drain_batch(&Registry) {} // what is in the ring would come into the new tables
    FORGETTING.store(true, Ordering::Relaxed);
    hub.turn_over();
    labels::renew(hub);
    let named = pending::name_all(ruby, hub);
    FORGETTING.store(false, Ordering::Relaxed);
    named
}

/// Requests the helper, if there is work for it.
///
/// *Runs on:* the thread that collects, in the mark function. *GVL:* held.
pub(super) fn check(hub: &Hub) {
    if !FORGETTING.load(Ordering::Relaxed) && hub.wants_renewal() {
        // SAFETY: it was registered before the mark function; the VM is there, as it marks.
        unsafe { RENEW.trigger() };
    }
}

/// *Runs on:* a Ruby thread, where it checks its interrupts. *GVL:* held. *Never:* raises.
unsafe extern "C" fn start_helper(_data: *mut c_void) {
    if vm::process::on_main_ractor() {
        // SAFETY: the GVL is held, and jobs do not run in a GC; `mark` pins the helper.
        unsafe { vm::own_threads::start_helper(help) };
    }
}

fn help(ruby: &Ruby) -> Result<(), Error> {
    let Some(hub) = CAPTURE.hub() else { return Ok(()) };
    threads::own::begin();
    renew(hub, 0);
    let named = pending::name_all(ruby, hub);
    threads::own::end();
    named
}
