//! The parts that the first start creates, and that stay for the life of the process.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use profiler_core::pipeline::hub::Hub;

use crate::capture::{allocation, block, handler, hook_loss, malloc};
use crate::engine::round;
use crate::sampler::reconcile::stop_ticks;
use crate::sampler::{fork, keepers, mark, running, tables, thread_hooks};
use crate::shared::CAPTURE;
use crate::{labels, vm};

/// The size of the ring, 512 KiB: about 1,100 records of 50 frames.
const RING_WORDS: usize = 64 * 1024;
static INSTALLED: AtomicBool = AtomicBool::new(false);

/// Returns the hub, which the first call creates. Needs the GVL.
pub(super) fn prepare() -> &'static Hub {
    if let Some(hub) = CAPTURE.hub() {
        return hub;
    }
    let hub: &'static Hub = Box::leak(Box::new(Hub::new(RING_WORDS)));
    CAPTURE.set_hub(hub);
    hub
}

/// Installs hooks and jobs, once in a process and its children, before the first record.
///
/// # Safety
/// The caller holds the GVL.
pub(super) unsafe fn install_once() {
    if INSTALLED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the GVL is held; each of these is called only once.
    unsafe {
        vm::root::install(mark::mark, mark::compact, end);
        handler::AT_SAFEPOINT.register();
        CAPTURE.set_block_job(&block::AT_BLOCK_END);
        vm::gc::load_symbols();
        vm::allocations::total_allocated(); // the first call creates Symbols, which the mark function may not
        fork::CONTINUE_SESSIONS.register();
        CAPTURE.set_resync_job(&labels::RESYNC);
        running::DISCARD_ABANDONED.register();
        hook_loss::RENEW.register();
        keepers::KEEP.register();
        tables::RENEW.register();
    }
    vm::state::find_stack();
    vm::process::shares_native_threads(); // reads the environment the first time, which no hook should do
    thread_hooks::watch_registry();
    fork::install();
}

/// Ends all ticks: from here on the VM's functions must not be called.
///
/// *Runs on:* the main thread, as the VM shuts down.
unsafe extern "C" fn end(_data: *mut c_void) {
    stop_ticks();
    round::wait_for_end(); // triggers jobs
    allocation::end();
    malloc::redirected::end();
}
