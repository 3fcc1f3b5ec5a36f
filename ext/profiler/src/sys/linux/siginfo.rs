//! The contents of a signal, in the layout of Linux on 64 bits.

use ::core::assert;
use ::core::ffi::c_int;
use ::core::mem::size_of;
use ::core::option::Option;

/// The part of `siginfo_t` that a timer fills, in the layout of Linux on 64 bits.
#[repr(C)]
pub(crate) struct TimerInfo {
    signo: c_int,
    errno: c_int,
    code: c_int,
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: usize,
    /// Padding to the size of the struct that the kernel passes and takes.
    rest: [u64; 12],
}

const _: () = assert!(size_of::<TimerInfo>() == size_of::<::libc::siginfo_t>());

/// The timer number in a signal that we send in place of a timer: no timer has it.
const NO_TIMER: c_int = -1;

impl TimerInfo {
    /// Creates a timer's signal that carries `value`.
    pub(crate) fn with(value: usize) -> Self {
        let signo = ::libc::SIGPROF;
        Self {
            signo,
            errno: 0,
            code: FROM_TIMER,
            padding: 0,
            timer: NO_TIMER,
            overrun: 0,
            value,
            rest: [0; 12],
        }
    }

    /// Creates the signal of the counter with the descriptor `fd`.
    #[cfg(feature = "testing")]
    pub(crate) fn of_descriptor(fd: c_int) -> Self {
        Self { code: FROM_DESCRIPTOR, ..Self::with(fd as usize) }
    }

    /// Creates a signal that this process queues to one of its own threads: with the number of a dump, and
    /// `value`.
    pub(crate) fn queued(number: u32, value: usize) -> Self {
        // SAFETY: takes no argument and cannot fail.
        let pid = unsafe { ::libc::getpid() };
        Self { code: FROM_QUEUE, timer: pid, overrun: number as c_int, ..Self::with(value) }
    }

    /// Sends the signal as SIGPROF to a thread of this process, for which the kernel accepts all these
    /// contents. Returns false if the thread has ended, or the user may have no more signals queued.
    pub(crate) fn send(&self, native_id: c_int) -> bool {
        // SAFETY: the struct is as large as a siginfo; a thread that has ended is an error.
        unsafe {
            let this = ::core::ptr::from_ref(self);
            ::libc::syscall(::libc::SYS_rt_tgsigqueueinfo, ::libc::getpid(), native_id, ::libc::SIGPROF, this)
                == 0
        }
    }

    /// Returns the errno with which the system refuses to queue signals to a thread of this process, as a
    /// sandbox may. Returns `None` if it does not refuse. No signal is sent.
    pub(crate) fn refused() -> Option<c_int> {
        let info = Self::queued(0, 0);
        let this = ::core::ptr::from_ref(&info).cast::<::libc::c_void>();
        // SAFETY: the struct is as large as a siginfo; for signal 0, the kernel sends nothing and only checks the
        // permission.
        let failed = unsafe {
            let (pid, thread) = (::libc::getpid(), ::libc::syscall(::libc::SYS_gettid));
            ::libc::syscall(::libc::SYS_rt_tgsigqueueinfo, pid, thread, 0, this) != 0
        };
        failed.then(crate::sys::errno::get)
    }

    /// Returns the source of the signal: one of the constants below, or another one.
    #[inline]
    pub(crate) fn code(&self) -> c_int {
        self.code
    }

    /// Returns whether one of the kernel's timers sent the signal, and not a process that claims so.
    #[inline]
    pub(crate) fn is_from_timer(&self) -> bool {
        self.code == FROM_TIMER && self.timer != NO_TIMER
    }

    /// Returns the number of ticks that a timer skipped, or the number of a dump.
    #[inline]
    pub(crate) fn overrun(&self) -> c_int {
        self.overrun
    }

    /// Returns the value that the signal carries.
    #[inline]
    pub(crate) fn value(&self) -> usize {
        self.value
    }

    /// Returns whether a signal [`FROM_PROCESS`] came from no process: the kernel could not keep its
    /// contents.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.timer == 0
    }
}

/// The signal was queued by a process (`SI_QUEUE`), whose pid and uid are where a timer has its number and
/// overrun.
pub(crate) const FROM_QUEUE: c_int = -1;
/// The signal came from a POSIX timer (`SI_TIMER`).
pub(crate) const FROM_TIMER: c_int = -2;
/// The signal came from a process (`SI_USER`), or from none (pid 0) if the user's quota of pending signals
/// was used up and the kernel could not keep the contents of the signal.
pub(crate) const FROM_PROCESS: c_int = 0;
/// The signal came from a descriptor that has data (`POLL_IN`), as those of perf counters do.
pub(crate) const FROM_DESCRIPTOR: c_int = 1;
/// The signal came from the kernel itself (`SI_KERNEL`), as those of `setitimer` do.
pub(crate) const FROM_KERNEL: c_int = 0x80;
