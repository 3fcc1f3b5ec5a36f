//! The contents of a signal, as Linux lays them out on 64 bits.

use ::core::assert;
use ::core::ffi::c_int;
use ::core::mem::size_of;
use ::core::option::Option;

/// The part of `siginfo_t` that a timer fills, as Linux lays it out on 64 bits.
#[repr(C)]
pub(crate) struct TimerInfo {
    signo: c_int,
    errno: c_int,
    code: c_int,
    padding: c_int,
    timer: c_int,
    overrun: c_int,
    value: usize,
    /// So that it is as large as what the kernel hands over and takes.
    rest: [u64; 12],
}

const _: () = assert!(size_of::<TimerInfo>() == size_of::<::libc::siginfo_t>());

/// The number of a timer in a signal that we send in its place: no timer has it.
const NO_TIMER: c_int = -1;

impl TimerInfo {
    /// A timer's signal that carries `value`.
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

    /// The signal of the counter with the descriptor `fd`.
    #[cfg(feature = "testing")]
    pub(crate) fn of_descriptor(fd: c_int) -> Self {
        Self { code: FROM_DESCRIPTOR, ..Self::with(fd as usize) }
    }

    /// A signal that this process queues to a thread of its own: with the number of a dump, and `value`.
    pub(crate) fn queued(number: u32, value: usize) -> Self {
        // SAFETY: takes nothing and cannot fail.
        let pid = unsafe { ::libc::getpid() };
        Self { code: FROM_QUEUE, timer: pid, overrun: number as c_int, ..Self::with(value) }
    }

    /// Sends it as SIGPROF to a thread of this process, which the kernel lets claim all that. False if the thread is gone, or the
    /// user may have no more signals waiting.
    pub(crate) fn send(&self, native_id: c_int) -> bool {
        // SAFETY: it is as large as a siginfo; a thread that is gone is an error.
        unsafe {
            let this = ::core::ptr::from_ref(self);
            ::libc::syscall(::libc::SYS_rt_tgsigqueueinfo, ::libc::getpid(), native_id, ::libc::SIGPROF, this)
                == 0
        }
    }

    /// The errno with which the system refuses to queue signals to a thread of this process, as a sandbox may. `None` if it does not.
    /// No signal is sent.
    pub(crate) fn refused() -> Option<c_int> {
        let info = Self::queued(0, 0);
        let this = ::core::ptr::from_ref(&info).cast::<::libc::c_void>();
        // SAFETY: it is as large as a siginfo; 0 is no signal, for which the kernel only checks the permission.
        let failed = unsafe {
            let (pid, thread) = (::libc::getpid(), ::libc::syscall(::libc::SYS_gettid));
            ::libc::syscall(::libc::SYS_rt_tgsigqueueinfo, pid, thread, 0, this) != 0
        };
        failed.then(crate::sys::errno::get)
    }

    /// The source of the signal: one of the constants below, or another one.
    #[inline]
    pub(crate) fn code(&self) -> c_int {
        self.code
    }

    /// Whether one of the kernel's timers sent it, and no process that claims so.
    #[inline]
    pub(crate) fn is_of_a_timer(&self) -> bool {
        self.code == FROM_TIMER && self.timer != NO_TIMER
    }

    /// The ticks that a timer skipped, or the number of a dump.
    #[inline]
    pub(crate) fn overrun(&self) -> c_int {
        self.overrun
    }

    /// The value that the signal carries.
    #[inline]
    pub(crate) fn value(&self) -> usize {
        self.value
    }

    /// Whether a signal [`FROM_PROCESS`] came from none: the kernel could not keep what it says.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.timer == 0
    }
}

/// The signal was queued by a process (`SI_QUEUE`), whose pid and uid lie where a timer has its number and overrun.
pub(crate) const FROM_QUEUE: c_int = -1;
/// The signal came from a POSIX timer (`SI_TIMER`).
pub(crate) const FROM_TIMER: c_int = -2;
/// The signal came from a process (`SI_USER`), or from none (pid 0) where the user's quota of pending signals was used up
/// and the kernel could not keep what a signal says.
pub(crate) const FROM_PROCESS: c_int = 0;
/// The signal came from a descriptor that has something to say (`POLL_IN`), as perf counters do.
pub(crate) const FROM_DESCRIPTOR: c_int = 1;
/// The signal came from the kernel itself (`SI_KERNEL`), as those of `setitimer` do.
pub(crate) const FROM_KERNEL: c_int = 0x80;
