//! A copy of the process at one instant, in which code reads memory that another thread may change in the
//! original.
//!
//! The copy is a child that shares nothing but a [`Page`] with its parent. It has one thread, runs no handler
//! of this process, and sends no signal at its end, so the app never sees it: neither SIGCHLD nor `wait`
//! reports it.

use ::core::mem::size_of;
use ::core::prelude::rust_2021::*;
use ::core::ptr::{null_mut, NonNull};
use ::std::io;
use ::std::thread::sleep;
use ::std::time::{Duration, Instant};

use crate::sys::sigprof;

/// The pause before the parent looks again whether the copy has ended.
const PAUSE: Duration = Duration::from_micros(200);

/// Faults that end the copy, and have handlers of Ruby's in the original, which would print a report.
const FAULTS: [::libc::c_int; 4] = [::libc::SIGSEGV, ::libc::SIGBUS, ::libc::SIGILL, ::libc::SIGABRT];

/// A value that the original and its copy share. All of its bytes are zero at first.
#[derive(Debug)]
pub(crate) struct Page<T> {
    at: NonNull<T>,
}

impl<T> Page<T> {
    /// Maps the memory.
    ///
    /// # Errors
    /// The errors of the system.
    ///
    /// # Safety
    /// A value of zeros is a valid `T`.
    pub(crate) unsafe fn new() -> io::Result<Self> {
        let (access, kind) =
            (::libc::PROT_READ | ::libc::PROT_WRITE, ::libc::MAP_SHARED | ::libc::MAP_ANONYMOUS);
        // SAFETY: the system picks an address that is free.
        let at = unsafe { ::libc::mmap(null_mut(), size_of::<T>(), access, kind, -1, 0) };
        match NonNull::new(at.cast::<T>()) {
            Some(at) if at.as_ptr().cast() != ::libc::MAP_FAILED => Ok(Self { at }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Returns the address of the value.
    pub(crate) fn as_ptr(&self) -> *mut T {
        self.at.as_ptr()
    }
}

impl<T> Drop for Page<T> {
    fn drop(&mut self) {
        // SAFETY: `new` mapped this much here, and nobody else unmaps it.
        unsafe { ::libc::munmap(self.at.as_ptr().cast(), size_of::<T>()) };
    }
}

/// A copy of the process that runs.
#[derive(Debug)]
#[must_use]
pub(crate) struct Running(::libc::pid_t);

impl Running {
    /// Waits until the copy ends, and returns whether it ended well within `patience`. A copy that takes
    /// longer is killed.
    pub(crate) fn has_ended_well(self, patience: Duration) -> bool {
        has_ended_well(self.0, Instant::now() + patience)
    }
}

/// Runs `work` in a copy of the process, and returns whether it ended well within `patience`. A copy that
/// takes longer is killed.
///
/// # Safety
/// Same as for [`begin`].
pub(crate) unsafe fn run(patience: Duration, work: impl FnOnce()) -> bool {
    // SAFETY: `work` neither allocates, locks nor panics, and the closure that opens files is empty.
    unsafe { begin(|| (), |()| work()) }.is_some_and(|copy| copy.has_ended_well(patience))
}

/// Begins `work` in a copy of the process. Returns `None` if the system refuses the copy. `open` runs in it
/// first, to open the files about the process that the system later refuses.
///
/// # Safety `open` and `work` neither allocate, lock nor panic: other threads may have been in the middle of
/// that, and are not in the copy.
pub(crate) unsafe fn begin<T>(open: impl FnOnce() -> T, work: impl FnOnce(T)) -> Option<Running> {
    // SAFETY: without CLONE_VM this is a fork without the handlers of `pthread_atfork`. Both processes
    // continue below.
    let copy = sigprof::without_signals(|| unsafe {
        let copy = ::libc::syscall(::libc::SYS_clone, 0, 0, 0, 0, 0);
        if copy == 0 {
            for fault in FAULTS {
                ::libc::signal(fault, ::libc::SIG_DFL);
            }
            let opened = open();
            ::libc::prctl(::libc::PR_SET_DUMPABLE, 0); // or a fault would leave a core file
            ::libc::prctl(::libc::PR_SET_PDEATHSIG, ::libc::SIGKILL); // it does not outlive who waits for it
            work(opened);
            ::libc::syscall(::libc::SYS_exit_group, 0);
        }
        copy
    });
    ::libc::pid_t::try_from(copy).ok().filter(|copy| *copy > 0).map(Running)
}

/// Waits for the copy until `till`, and then kills it.
fn has_ended_well(copy: ::libc::pid_t, till: Instant) -> bool {
    let mut status = 0;
    loop {
        // SAFETY: it is our child, for which only we wait: other waits do not see it without __WCLONE or
        // __WALL.
        match unsafe { ::libc::waitpid(copy, &raw mut status, ::libc::__WCLONE | ::libc::WNOHANG) } {
            0 if Instant::now() < till => sleep(PAUSE),
            0 => {
                // SAFETY: nobody has waited for the child, so the number is still its own.
                unsafe {
                    ::libc::kill(copy, ::libc::SIGKILL);
                    ::libc::waitpid(copy, &raw mut status, ::libc::__WCLONE);
                }
                return false;
            }
            found => return found == copy && status == 0,
        }
    }
}
