//! The part of attaching that runs in the other process, on a Ruby thread of its own.

use std::ffi::{c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::Ordering;

use profiler_core::attach::request::{AttachRequest, Progress, MAGIC, MESSAGE_BYTES};
use rb_sys::VALUE;

use crate::sys::clock;
use crate::vm::attached::load;

/// The request, which is never unmapped: it is in the data of a library.
#[derive(Clone, Copy)]
struct WantedRequest(*mut AttachRequest);

impl WantedRequest {
    /// Moves the request from one state to another. Returns false if it is in a third one.
    fn advance(self, from: Progress, to: Progress) -> bool {
        // SAFETY: the request stays where it is as long as the process lives. Its state is an atomic number,
        // and the attacher writes all of its 4 bytes at once.
        let state = unsafe { &(*self.0).state };
        state.compare_exchange(from as u32, to as u32, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Ends the request with the reason for its failure.
    fn fail(self, why: &str) {
        let mut message = [0; MESSAGE_BYTES];
        let text = why.as_bytes();
        let length = text.len().min(MESSAGE_BYTES - 1);
        message[..length].copy_from_slice(&text[..length]);
        // SAFETY: as in `advance`; nobody reads the message before the state says that it is there.
        unsafe { (&raw mut (*self.0).message).write(message) };
        let _ = self.advance(Progress::Loading, Progress::Failed);
    }

    /// Returns the script: the second of the two strings that follow the request.
    fn script(self) -> &'static CStr {
        // SAFETY: the attacher has written two C strings there, and nobody changes them while the request is
        // in work.
        unsafe {
            let library = CStr::from_ptr(self.0.add(1).cast());
            CStr::from_ptr(library.as_ptr().add(library.count_bytes() + 1))
        }
    }
}

/// Attaches to this process: loads the profiler, which opens the control socket. The code of the attacher
/// calls it, as the body of a Ruby thread, after its job has taken the request.
///
/// *Runs on:* a Ruby thread of its own. *GVL:* held. *Calls:* Ruby code.
///
/// # Safety
/// `request` is the address of a request in the memory of this process, with its paths.
#[no_mangle]
pub(crate) unsafe extern "C" fn profiler_attach(request: *mut c_void) -> VALUE {
    let wanted = WantedRequest(request.cast());
    // SAFETY: the caller promises that `request` is the address of a request in this process.
    let (magic, deadline_ns, pid) = unsafe { ((*wanted.0).magic, (*wanted.0).deadline_ns, (*wanted.0).pid) };
    if magic != MAGIC {
        return rb_sys::Qnil as VALUE;
    }
    // A forked child has a copy of the request, and a job may run long after its attacher has died.
    if pid != std::process::id() || clock::monotonic_ns() > deadline_ns {
        let _ = wanted.advance(Progress::Taken, Progress::Idle);
    } else if wanted.advance(Progress::Taken, Progress::Loading) {
        let loaded = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: a Ruby thread begins with the GVL.
            unsafe { load(wanted.script()) }
        }));
        match loaded {
            Ok(Ok(())) => _ = wanted.advance(Progress::Loading, Progress::Done),
            Ok(Err(why)) => wanted.fail(&why),
            Err(_) => wanted.fail("the profiler panicked"),
        }
    }
    rb_sys::Qnil as VALUE
}
