//! The state that handlers, engines and the sampler share: the hub, and which features are on. Safe in a
//! handler.
//!
//! No other module is called from here, except for jobs.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use ::profiler_core::pipeline::hub::Hub;
use ::std::thread::Thread;

use crate::vm::jobs::Job;

/// The hub, and which features are on.
#[derive(Debug)]
pub(crate) struct Capture {
    hub: AtomicPtr<Hub>,
    /// Whether ticks are wanted. Cleared by stop, at exit of the VM, and in a forked child.
    pub(crate) enabled: AtomicBool,
    /// The number of frames that are kept of a stack.
    pub(crate) depth: AtomicUsize,
    /// Whether ticks come from one timer for the whole process.
    pub(crate) process_wide: AtomicBool,
    /// Whether some ticks are signals to a thread, which are delivered even if the kernel has to drop their
    /// contents.
    pub(crate) aimed: AtomicBool,
    pub(crate) all_aimed: AtomicBool,
    /// Whether a hook reports when another fiber runs, and so whose labels are current.
    pub(crate) fibers_watched: AtomicBool,
    /// Whether walks wait for a postponed job.
    pub(crate) at_safepoints: AtomicBool,
    /// Whether a hook takes the record of a GC, at its end.
    pub(crate) gc_hooked: AtomicBool,
    /// Whether wall clocks are measured.
    pub(crate) walls: AtomicBool,
    /// The collector's thread, leaked; null before there is one.
    collector: AtomicPtr<Thread>,
    /// The job that determines again whose labels are current; null before it is registered.
    resync: AtomicPtr<Job>,
    /// The job that takes the record of a block at its end; null before it is registered.
    block_end: AtomicPtr<Job>,
}

/// The only [`Capture`].
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
    collector: AtomicPtr::new(::core::ptr::null_mut()),
    resync: AtomicPtr::new(::core::ptr::null_mut()),
    block_end: AtomicPtr::new(::core::ptr::null_mut()),
};

impl Capture {
    /// Sets the hub of the handlers. It is never removed.
    pub(crate) fn set_hub(&self, hub: &'static Hub) {
        // Release pairs with the Acquire in `hub`.
        self.hub.store(::core::ptr::from_ref(hub).cast_mut(), Ordering::Release);
    }

    /// Returns the hub that records go to; `None` before the first start.
    ///
    /// # Signal safety
    /// One load.
    #[inline]
    pub(crate) fn hub(&self) -> Option<&'static Hub> {
        // Acquire pairs with the Release in `set_hub`.
        let hub = self.hub.load(Ordering::Acquire);
        // SAFETY: the pointer is null or came from a `&'static Hub`.
        unsafe { hub.as_ref() }
    }

    /// Sets the thread of the collector, which is never freed.
    pub(crate) fn set_collector(&self, thread: &'static Thread) {
        // Release pairs with the Acquire in `wake_collector`. This is an exchange, as LLVM 19 turns a pointer
        // that is only stored into a flag, and then cannot compile its own load.
        self.collector.swap(::core::ptr::from_ref(thread).cast_mut(), Ordering::Release);
    }

    /// Wakes the collector, if it sleeps until there are enough records. For whoever has added one.
    ///
    /// # Signal safety
    /// Loads, and an exchange and a futex if it sleeps.
    #[inline]
    pub(crate) fn note_record(&self, hub: &Hub) {
        if hub.has_enough_for_collector() {
            self.wake_collector(hub);
        }
    }

    /// Wakes the collector, if it sleeps until it is woken.
    ///
    /// # Signal safety
    /// An exchange, and a futex if it sleeps.
    pub(crate) fn wake_collector(&self, hub: &Hub) {
        if hub.collector_sleeps.swap(false, Ordering::Relaxed) {
            // SAFETY: the pointer is null or came from a `&'static Thread`.
            if let Some(thread) = unsafe { self.collector.load(Ordering::Acquire).as_ref() } {
                thread.unpark();
            }
        }
    }

    /// Registers the job that determines whose labels are current, for [`Capture::resync_labels`].
    ///
    /// # Safety
    /// The caller holds the GVL, and calls this once.
    pub(crate) unsafe fn set_resync_job(&self, job: &'static Job) {
        // SAFETY: the caller holds the GVL, and calls this once.
        unsafe { job.register() };
        // Release pairs with the Acquire in `resync_labels`.
        self.resync.store(::core::ptr::from_ref(job).cast_mut(), Ordering::Release);
    }

    /// Registers the job that takes the record of a block at its end, for [`Capture::ask_at_block_end`].
    ///
    /// # Safety
    /// The caller holds the GVL, and calls this once.
    pub(crate) unsafe fn set_block_job(&self, job: &'static Job) {
        // SAFETY: the caller holds the GVL, and calls this once.
        unsafe { job.register() };
        // Release pairs with the Acquire in `ask_at_block_end`.
        self.block_end.store(::core::ptr::from_ref(job).cast_mut(), Ordering::Release);
    }

    /// Requests the job at the end of a block, from the thread that waits with the GVL.
    ///
    /// # Safety
    /// Same as for [`Job::trigger_from_outside`].
    pub(crate) unsafe fn ask_at_block_end(&self) {
        // Acquire pairs with the Release in `set_block_job`.
        // SAFETY: the pointer is null or came from a `&'static Job`.
        if let Some(job) = unsafe { self.block_end.load(Ordering::Acquire).as_ref() } {
            // SAFETY: the job was registered before it was stored; the caller has seen the thread wait.
            unsafe { job.trigger_from_outside() };
        }
    }

    /// Requests the job that determines whose labels are current on this thread.
    ///
    /// # Safety
    /// Same as for [`Job::trigger`].
    pub(crate) unsafe fn resync_labels(&self) {
        // Acquire pairs with the Release in `set_resync_job`.
        // SAFETY: the pointer is null or came from a `&'static Job`.
        if let Some(job) = unsafe { self.resync.load(Ordering::Acquire).as_ref() } {
            // SAFETY: the job was registered before it was stored, and the caller promises that the VM still
            // exists.
            unsafe { job.trigger() };
        }
    }
}
