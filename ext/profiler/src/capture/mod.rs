//! From an interrupt to a record in the ring. THE RULES of this room:
//!
//! * What runs here runs inside a signal handler or a hook of the VM, anywhere between two
//!   instructions of the app. It must not allocate, lock, wait, log, format or panic, and it leaves
//!   errno as it was. It calls the system's functions that are safe in a handler, and of the VM only
//!   what `vm::state`, `vm::frames::walk` and `vm::jobs::trigger` wrap. `rb_profile_frames` is not
//!   documented as safe here; that it is, is this project's first-tested belief (ARCHITECTURE.md).
//! * One exception: the hook on objects that are made, which is in no handler and runs with the GVL, takes the drain lock
//!   where it finds the ring full, as there is nobody to wait for. Who holds that lock needs nothing from anybody.
//! * A tick ends as a record or as a count with a reason.
//! * A signal may come late: after the stop, after its thread, in a forked child. Ring, counters and
//!   thread states are never freed, and [`Capture::enabled`] is the first thing asked.
//! * No stack is walked while garbage is collected. A handler on another thread than the collecting
//!   one could have begun before: so a walk holds one of the buffers of [`walk`] from before it asks
//!   about GC until its record is published, and the mark function waits until none is held. From
//!   then on `during_gc` keeps new ones out, until the GC, and with it every compaction, is over.
//!   What was walked before is in the ring by then, and pinned.
//!
//! The life of a sample stands in ARCHITECTURE.md.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use ::profiler_core::pipeline::hub::Hub;

use crate::vm::jobs::Job;

pub(crate) mod allocation;
pub(crate) mod before_3_3;
pub(crate) mod gvl_holder;
pub(crate) mod handler;
pub(crate) mod header;
pub(crate) mod wait;
pub(crate) mod walk;

/// What every handler of the process shares.
#[derive(Debug)]
pub(crate) struct Capture {
    hub: AtomicPtr<Hub>,
    /// Whether ticks are wanted. Cleared by stop, at exit of the VM, and in a forked child.
    pub(crate) enabled: AtomicBool,
    /// Frames kept of a stack.
    pub(crate) depth: AtomicUsize,
    /// The ticks are those of one timer for the whole process.
    pub(crate) process_wide: AtomicBool,
    /// Ticks are signals to a thread that the kernel delivers even where it has to forget what they say: some, or all.
    pub(crate) aimed: AtomicBool,
    pub(crate) all_aimed: AtomicBool,
    /// A hook tells when another fiber runs, and so whose labels are current.
    pub(crate) fibers_watched: AtomicBool,
    /// Do not walk in the handler: ask for a postponed job that does.
    pub(crate) at_safepoints: AtomicBool,
    /// A hook takes the record of a GC, at its end.
    pub(crate) gc_hooked: AtomicBool,
    /// Wall clocks are measured.
    pub(crate) walls: AtomicBool,
    /// The job that finds out anew whose labels are current; null before it is known to the VM.
    resync: AtomicPtr<Job>,
}

/// See [`Capture`].
pub(crate) static CAPTURE: Capture = Capture {
    hub: AtomicPtr::new(::core::ptr::null_mut()),
    enabled: AtomicBool::new(false),
    depth: AtomicUsize::new(2048),
    process_wide: AtomicBool::new(false),
    aimed: AtomicBool::new(false),
    all_aimed: AtomicBool::new(false),
    fibers_watched: AtomicBool::new(false),
    at_safepoints: AtomicBool::new(false),
    gc_hooked: AtomicBool::new(false),
    walls: AtomicBool::new(false),
    resync: AtomicPtr::new(::core::ptr::null_mut()),
};

impl Capture {
    /// Gives the handlers their room. It is never taken back.
    pub(crate) fn give_hub(&self, hub: &'static Hub) {
        // Release pairs with the Acquire in `hub`.
        self.hub.store(::core::ptr::from_ref(hub).cast_mut(), Ordering::Release);
    }

    /// Where records go; nothing before the first start.
    ///
    /// # Signal safety
    /// One load.
    #[inline]
    pub(crate) fn hub(&self) -> Option<&'static Hub> {
        // Acquire pairs with the Release in `give_hub`.
        let hub = self.hub.load(Ordering::Acquire);
        // SAFETY: it is null or came from a `&'static Hub`.
        unsafe { hub.as_ref() }
    }

    /// Registers the job that finds out whose labels are current, for [`Capture::resync_labels`].
    ///
    /// # Safety
    /// The caller holds the GVL, and calls this once.
    pub(crate) unsafe fn give_resync(&self, job: &'static Job) {
        // SAFETY: as promised.
        unsafe { job.register() };
        // Release pairs with the Acquire in `resync_labels`.
        self.resync.store(::core::ptr::from_ref(job).cast_mut(), Ordering::Release);
    }

    /// Asks for the job that finds out whose labels are current on this thread.
    ///
    /// # Safety
    /// As for [`Job::trigger`].
    pub(crate) unsafe fn resync_labels(&self) {
        // Acquire pairs with the Release in `give_resync`.
        // SAFETY: it is null or came from a `&'static Job`.
        if let Some(job) = unsafe { self.resync.load(Ordering::Acquire).as_ref() } {
            // SAFETY: it was registered before it was stored; the rest is the caller's promise.
            unsafe { job.trigger() };
        }
    }
}
