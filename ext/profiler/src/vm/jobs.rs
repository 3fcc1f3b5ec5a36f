//! Postponed jobs: work that a handler requests and that runs where Ruby checks its interrupts.

use core::ffi::c_void;
#[cfg(ruby_gte_3_3)]
use core::sync::atomic::{AtomicU32, Ordering};

/// Work that can be postponed. It runs on some Ruby thread, with the GVL, and does not raise.
#[derive(Debug)]
pub(crate) struct Job {
    work: unsafe extern "C" fn(*mut c_void),
    #[cfg(ruby_gte_3_3)]
    ticket: AtomicU32,
}

impl Job {
    /// Creates a job, for a static.
    pub(crate) const fn new(work: unsafe extern "C" fn(*mut c_void)) -> Self {
        Self {
            work,
            #[cfg(ruby_gte_3_3)]
            ticket: AtomicU32::new(u32::MAX),
        }
    }

    /// Registers the job with the VM, which has space for few. Must be called once.
    ///
    /// # Safety
    /// The caller holds the GVL.
    pub(crate) unsafe fn register(&'static self) {
        #[cfg(ruby_gte_3_3)]
        {
            // SAFETY: the caller holds the GVL; the job is a plain function that lives as long as the
            // process.
            let ticket =
                unsafe { rb_sys::rb_postponed_job_preregister(0, Some(self.work), core::ptr::null_mut()) };
            // Release pairs with the Acquire in `trigger`.
            self.ticket.store(ticket, Ordering::Release);
        }
    }

    /// Requests the job, which then runs at the next check of interrupts.
    ///
    /// # Signal safety
    /// Documented as safe in a handler. Before Ruby 3.3 it is safe only while this thread has the GVL: the VM
    /// marks the fiber that runs elsewhere, which may be freed between the two halves of that. So there this
    /// is a no-op in a region without the GVL. Nor do jobs take data: two that are requested at the same
    /// instant can get each other's (<https://bugs.ruby-lang.org/issues/19991>).
    ///
    /// # Safety
    /// The job was registered, and the VM still exists.
    pub(crate) unsafe fn trigger(&'static self) {
        #[cfg(ruby_gte_3_3)]
        {
            // Acquire pairs with the Release in `register`.
            let ticket = self.ticket.load(Ordering::Acquire);
            if ticket != u32::MAX {
                // SAFETY: the VM issued this ticket, and the caller says that the VM still exists.
                unsafe { rb_sys::rb_postponed_job_trigger(ticket) };
            }
        }
        #[cfg(not(ruby_gte_3_3))]
        if super::state::on_ruby_thread() && super::state::not_in_blocking_region() {
            // SAFETY: the thread holds the GVL; the job is a plain function that lives as long as the
            // process.
            unsafe { rb_sys::rb_postponed_job_register_one(0, Some(self.work), core::ptr::null_mut()) };
        }
    }

    /// Requests the job from a thread that is not Ruby's. It runs at the next check of interrupts of the
    /// thread that has the GVL.
    ///
    /// Before Ruby 3.3 the VM marks the fiber that ran last. If the thread that has the GVL waits, no thread
    /// switches fibers meanwhile. If another thread runs Ruby after all, its fiber would have to end and be
    /// freed between two instructions.
    ///
    /// # Safety
    /// Same as for [`Job::trigger`]; a thread that is believed to have the GVL waits in a system call.
    pub(crate) unsafe fn trigger_from_outside(&'static self) {
        #[cfg(ruby_gte_3_3)]
        // SAFETY: the caller has registered the job, and the VM still exists.
        unsafe {
            self.trigger();
        }
        #[cfg(not(ruby_gte_3_3))]
        // SAFETY: the job is a plain function that lives as long as the process; without a current thread the
        // VM uses the main Ractor's.
        unsafe {
            rb_sys::rb_postponed_job_register_one(0, Some(self.work), core::ptr::null_mut());
        }
    }
}
