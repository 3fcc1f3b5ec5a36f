//! A thread of another process, stopped for an instant.
//!
//! The kernel lets the thread go when the tracing thread ends, however that ends: `PTRACE_O_EXITKILL` is
//! never set. So whoever uses this runs on a thread of its own.

use ::core::cell::Cell;
use ::core::ffi::{c_long, c_void};
use ::core::mem::{size_of, size_of_val, zeroed};
use ::core::prelude::rust_2021::*;
use ::core::ptr::{null_mut, without_provenance_mut};
use ::core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use ::core::time::Duration;
use ::std::io;
use ::std::thread::sleep;
use ::std::time::Instant;

use ::profiler_core::attach::frame::{Extended, Registers};

const EVENT_STOP: i32 = 128;
const GETSIGMASK: u32 = 0x420a;
const SETSIGMASK: u32 = 0x420b;
const GET_RSEQ: u32 = 0x420f;
const NT_X86_XSTATE: usize = 0x202;
/// `__WNOTHREAD`: waits only for children and tracees of this thread.
const WNOTHREAD: i32 = 0x2000_0000;
/// The time for which the answer is polled without a pause.
const SPIN: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_micros(100);
/// The most bytes of an extended state.
const MAX_EXTENDED_STATE: usize = 1 << 15;

/// Where the restartable sequences of a thread are registered.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rseq {
    /// The address of the thread's own struct; 0 if there is none.
    pub(crate) address: u64,
    size: u32,
    signature: u32,
    flags: u32,
    pad: u32,
}

/// Why a thread was not stopped.
#[derive(Debug)]
pub(crate) enum NotStopped {
    /// The kernel refuses.
    Refused(io::Error),
    /// The process is stopped as a whole.
    StoppedAlready,
    /// The thread did not stop in time, as it waits for a device. It is released when this thread ends.
    Late,
    /// Something else happened to the thread at that instant, which goes on.
    NotNow,
}

/// A thread that is stopped. It continues on drop.
#[derive(Debug)]
pub(crate) struct Tracee {
    thread: i32,
    stopped: Cell<bool>,
}

impl Tracee {
    /// Stops a thread, within `patience`.
    pub(crate) fn stop(thread: i32, patience: Duration) -> Result<Self, NotStopped> {
        let tracee = Self { thread, stopped: Cell::new(false) };
        tracee.request(::libc::PTRACE_SEIZE, 0, null_mut()).map_err(NotStopped::Refused)?;
        tracee.request(::libc::PTRACE_INTERRUPT, 0, null_mut()).map_err(NotStopped::Refused)?;
        let begun = Instant::now();
        let status = loop {
            let mut status = 0;
            let flags = ::libc::__WALL | ::libc::WNOHANG | WNOTHREAD;
            // SAFETY: the call writes a number that outlives it.
            match unsafe { ::libc::waitpid(thread, &raw mut status, flags) } {
                0 if begun.elapsed() < SPIN => ::core::hint::spin_loop(),
                0 if begun.elapsed() < patience => sleep(PAUSE),
                found if found == thread => break status,
                0 => return Err(NotStopped::Late),
                _ => return Err(NotStopped::NotNow), // it has ended
            }
        };
        if !::libc::WIFSTOPPED(status) {
            return Err(NotStopped::NotNow); // it has ended
        }
        tracee.stopped.set(true);
        match (status >> 16, ::libc::WSTOPSIG(status)) {
            (EVENT_STOP, ::libc::SIGTRAP) => Ok(tracee),
            (EVENT_STOP, _) => Err(NotStopped::StoppedAlready),
            (_, signal) => {
                tracee.detach(signal); // it was about to get a signal, and gets it
                Err(NotStopped::NotNow)
            }
        }
    }

    /// Returns the registers.
    pub(crate) fn registers(&self) -> io::Result<Registers> {
        // SAFETY: all fields may be zero.
        let mut registers: Registers = unsafe { zeroed() };
        assert_size();
        self.request(::libc::PTRACE_GETREGS, 0, registers.as_mut_ptr().cast())?;
        Ok(registers)
    }

    /// Sets the registers.
    pub(crate) fn set_registers(&self, mut registers: Registers) -> io::Result<()> {
        self.request(::libc::PTRACE_SETREGS, 0, registers.as_mut_ptr().cast())
    }

    /// Returns the extended state.
    pub(crate) fn extended(&self) -> io::Result<::std::vec::Vec<u8>> {
        let mut bytes = ::std::vec![0_u8; MAX_EXTENDED_STATE];
        let mut part = ::libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        self.request(::libc::PTRACE_GETREGSET, NT_X86_XSTATE, (&raw mut part).cast())?;
        bytes.truncate(part.iov_len);
        Ok(bytes)
    }

    /// Returns the signals that are blocked.
    pub(crate) fn mask(&self) -> io::Result<u64> {
        let mut mask = 0_u64;
        self.request(GETSIGMASK, size_of::<u64>(), (&raw mut mask).cast())?;
        Ok(mask)
    }

    /// Sets the signals that are blocked.
    pub(crate) fn set_mask(&self, mut mask: u64) -> io::Result<()> {
        self.request(SETSIGMASK, size_of::<u64>(), (&raw mut mask).cast())
    }

    /// Returns where the thread's restartable sequences are. Before Linux 5.13, the kernel does not say.
    pub(crate) fn rseq(&self) -> Option<Rseq> {
        let mut rseq = Rseq { address: 0, size: 0, signature: 0, flags: 0, pad: 0 };
        let size = size_of_val(&rseq);
        self.request(GET_RSEQ, size, (&raw mut rseq).cast()).ok().map(|()| rseq)
    }

    fn detach(&self, signal: i32) {
        if self.stopped.replace(false) {
            let signal = without_provenance_mut(usize::try_from(signal).unwrap_or(0));
            let _ = self.request(::libc::PTRACE_DETACH, 0, signal);
        }
    }

    fn request(&self, request: u32, address: usize, data: *mut c_void) -> io::Result<()> {
        let address: *mut c_void = without_provenance_mut(address);
        // SAFETY: the callers pass data of the form and size that the request has, which outlive the call.
        let result: c_long = unsafe { ::libc::ptrace(request, self.thread, address, data) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

impl Drop for Tracee {
    fn drop(&mut self) {
        self.detach(0);
    }
}

/// Checks, when the crate is compiled, that the order of the registers has the kernel's length.
const fn assert_size() {
    const { ::core::assert!(size_of::<Registers>() == size_of::<::libc::user_regs_struct>()) };
}

static OWN_SIZE: AtomicU32 = AtomicU32::new(0);
static OWN_FEATURES: AtomicU64 = AtomicU64::new(0);

/// Notes the form of the frame that the kernel has made.
///
/// *Runs on:* the thread that raised the signal. *GVL:* not held. *Calls:* nothing.
unsafe extern "C" fn note_frame(_: i32, _: *mut ::libc::siginfo_t, context: *mut c_void) {
    const OWN_BYTES: usize = 464;
    const MAGIC: u32 = 0x4650_5853;
    // SAFETY: the kernel passes the context of this signal, which points to the state that it has saved.
    unsafe {
        let state = (*context.cast::<::libc::ucontext_t>()).uc_mcontext.fpregs.cast::<u8>();
        if state.is_null() || state.add(OWN_BYTES).cast::<u32>().read_unaligned() != MAGIC {
            return;
        }
        let features = state.add(OWN_BYTES + 8).cast::<u64>().read_unaligned();
        OWN_FEATURES.store(features, Ordering::Relaxed);
        OWN_SIZE.store(state.add(OWN_BYTES + 16).cast::<u32>().read_unaligned(), Ordering::Release);
    }
}

/// Returns the form of the extended state in signal frames, as a signal to this thread shows it. Returns
/// `None` if the program uses all signals, or the kernel saves no such state.
pub(crate) fn extended_of_frames() -> Option<Extended> {
    let known = OWN_SIZE.load(Ordering::Acquire);
    if known != 0 {
        return Some(Extended { size: known, features: OWN_FEATURES.load(Ordering::Relaxed) });
    }
    // SAFETY: all fields may be zero; the calls read and write structs of ours. The action of a signal that
    // nobody uses is replaced until this thread has had the signal.
    unsafe {
        let signal = (::libc::SIGRTMIN()..=::libc::SIGRTMAX()).rev().find(|signal| {
            let mut action: ::libc::sigaction = zeroed();
            ::libc::sigaction(*signal, ::core::ptr::null(), &raw mut action) == 0
                && action.sa_sigaction == ::libc::SIG_DFL
        })?;
        let mut ours: ::libc::sigaction = zeroed();
        let mut before: ::libc::sigaction = zeroed();
        ours.sa_sigaction = note_frame as *const () as usize;
        ours.sa_flags = ::libc::SA_SIGINFO;
        ::libc::sigaction(signal, &raw const ours, &raw mut before);
        let mut only: ::libc::sigset_t = zeroed();
        let mut mask: ::libc::sigset_t = zeroed();
        ::libc::sigaddset(&raw mut only, signal);
        ::libc::pthread_sigmask(::libc::SIG_UNBLOCK, &raw const only, &raw mut mask);
        ::libc::pthread_kill(::libc::pthread_self(), signal);
        ::libc::pthread_sigmask(::libc::SIG_SETMASK, &raw const mask, null_mut());
        ::libc::sigaction(signal, &raw const before, null_mut());
    }
    let size = OWN_SIZE.load(Ordering::Acquire);
    (size != 0).then(|| Extended { size, features: OWN_FEATURES.load(Ordering::Relaxed) })
}
