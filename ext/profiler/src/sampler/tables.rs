//! The renewal of the tables of stacks and of sets of labels, which would otherwise keep code and labels that
//! no longer exist.
//!
//! A result renews them as it is taken. If none is taken for long, a helper does so: the mark function sees
//! that they have grown, a job starts the helper, and the helper asks the VM for the names. So an exception
//! that is delivered meanwhile reaches the helper.
//!
//! The helper is a Ruby thread of ours that ends when all handles have names. The job starts it by a call
//! that runs no Ruby code. An exception ends it, and the next garbage collection requests another one.
//!
//! Sets of labels get a new table too, and also once there are 2,048 of them (`core/session/labels.rs`).
//!
//! With `:allocations`, `every: 100`, and no result at all, a program that renders ERB templates had 49,600
//! iseqs and 78 MB after 10 s without the helper, and 4,000 to 10,000 and 36 MB with it.

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

/// True while [`forget_code`] names what the tables keep: a helper would do the same again, and keep the code
/// meanwhile.
static FORGETTING: AtomicBool = AtomicBool::new(false);

/// Renews the tables if they are much larger than a result needs, which is `needed` handles. Needs the GVL.
pub(super) fn renew(hub: &Hub, needed: usize) {
    if hub.is_outgrown(needed) {
        // Sums of allocations name frames that the tables kept alive.
        allocation::send_sums();
        hub.freeze_generation();
    }
    labels::renew(hub);
}

/// Releases all code that only the tables keep: its samples have names from then on. Code can hold objects,
/// as a singleton method holds its object, and these would count as live.
///
/// # Errors
/// Exceptions that other threads deliver during the call. The names are requested again later.
pub(crate) fn forget_code(ruby: &Ruby) -> Result<(), Error> {
    let Some(hub) = CAPTURE.hub().filter(|it| it.can_freeze_generation()) else { return Ok(()) };
    // Otherwise the places of objects that are already freed would be carried over, with their code.
    enter().ticks.iter_mut().for_each(|it| it.record_live_objects(hub, None));
    while hub.drain_batch(&Registry) {} // records in the ring would come into the new tables
    pending::name_places(ruby, hub)?;
    FORGETTING.store(true, Ordering::Relaxed);
    hub.freeze_generation();
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
        // SAFETY: the job was registered before the mark function, and the VM is alive, as it is marking.
        unsafe { RENEW.trigger() };
    }
}

/// Starts the helper, if it runs on the main Ractor.
///
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
