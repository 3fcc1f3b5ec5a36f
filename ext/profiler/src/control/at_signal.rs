//! A dump on stderr at a signal, even if no Ruby code can run. The handler only posts a semaphore, for which
//! a thread waits.
//!
//! A process has one such signal and one such thread, whatever happens to its control socket. The previous
//! handler is kept: it is called too if the app had trapped the signal, and is restored when the socket is
//! closed.

use std::io::{self, Write};
use std::mem::{transmute, zeroed};
use std::os::raw::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;

use profiler_core::control::request::Form;

use super::connection::dump;
use super::server::Server;
use crate::sys::semaphore::Semaphore;
use crate::sys::sigprof;

/// The thread of one process. It is never freed: the handler may use it at any time.
struct Waiter {
    pid: u32,
    requested: Semaphore,
    server: Mutex<Option<Arc<Server>>>,
}

/// The waiter of this process, or of its parent, whose thread does not exist here.
static WAITER: AtomicPtr<Waiter> = AtomicPtr::new(null_mut());

/// The signal; 0 if there is none. At other signals the handler prints no dump.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The handler of the app, which is called after ours; 0 if there is none.
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// The `sa_flags` of the app's handler.
static NEXT_FLAGS: AtomicI32 = AtomicI32::new(0);

/// The action that ours replaced. Changed with the GVL.
static BEFORE: Mutex<Option<libc::sigaction>> = Mutex::new(None);

type Plain = unsafe extern "C" fn(c_int);
type WithInfo = unsafe extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Requests a dump at the signal, and calls the app's handler.
///
/// *Runs on:* any thread. *GVL:* held or not. *Calls:* [`Semaphore::post`], which is safe in a handler and
/// preserves errno, and the handler that was there before.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if signal != SIGNAL.load(Ordering::Relaxed) {
        return;
    }
    // Acquire pairs with the Release in `waiter`.
    let waiter = WAITER.load(Ordering::Acquire);
    if !waiter.is_null() {
        // SAFETY: a waiter is never freed, and its semaphore was initialised before it was stored.
        unsafe { (*waiter).requested.post() };
    }
    // Acquire pairs with the Release in `dump_at`.
    let next = NEXT.load(Ordering::Acquire);
    if next == 0 {
        return;
    }
    // SAFETY: the system had this address as a handler of the kind that its flags say. It gets the arguments
    // that the system passed to us.
    unsafe {
        if NEXT_FLAGS.load(Ordering::Relaxed) & libc::SA_SIGINFO == 0 {
            transmute::<usize, Plain>(next)(signal);
        } else {
            transmute::<usize, WithInfo>(next)(signal, info, context);
        }
    }
}

/// Returns the present action of a signal.
pub(crate) fn action_of(signal: c_int) -> libc::sigaction {
    // SAFETY: all fields may be zero; the call only writes.
    unsafe {
        let mut action: libc::sigaction = zeroed();
        libc::sigaction(signal, null_mut(), &raw mut action);
        action
    }
}

/// Returns whether the signal already prints a dump.
pub(crate) fn is_dump_signal(signal: c_int) -> bool {
    signal == SIGNAL.load(Ordering::Relaxed) && is_ours(&action_of(signal))
}

fn is_ours(action: &libc::sigaction) -> bool {
    action.sa_sigaction == on_signal as *const () as usize
}

/// Installs a handler for `signal` that prints a dump, replacing the previous one. `before` is the action
/// that it replaces; if `is_trapped` is true, that action is called as well.
///
/// # Errors
/// The errors of the system, which may refuse a thread.
pub(crate) fn dump_at(
    server: &Arc<Server>,
    signal: c_int,
    before: libc::sigaction,
    is_trapped: bool,
) -> io::Result<()> {
    let waiter = waiter()?;
    restore();
    *waiter.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(server));
    let next = if is_trapped { before.sa_sigaction } else { 0 };
    NEXT_FLAGS.store(before.sa_flags, Ordering::Relaxed);
    // Release pairs with the Acquire in the handler.
    NEXT.store(next, Ordering::Release);
    SIGNAL.store(signal, Ordering::Relaxed);
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    // SAFETY: all fields may be zero; the handler has the signature that SA_SIGINFO requires.
    let failed = unsafe {
        let mut ours: libc::sigaction = zeroed();
        ours.sa_sigaction = on_signal as *const () as usize;
        ours.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK | libc::SA_SIGINFO;
        if is_trapped {
            ours.sa_mask = before.sa_mask;
        } else {
            libc::sigemptyset(&raw mut ours.sa_mask);
        }
        libc::sigaction(signal, &raw const ours, null_mut())
    };
    if failed == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Prints the dumps of `server`, which a forked child has started, at the signal that prints those of its
/// parent.
///
/// # Errors
/// Same as for [`dump_at`].
pub(crate) fn serve_again(server: &Arc<Server>) -> io::Result<()> {
    let waiter = waiter()?;
    *waiter.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(server));
    Ok(())
}

/// Restores the previous handler, unless the app has installed another one by now. The thread stays, for the
/// next time.
pub(crate) fn restore() {
    let signal = SIGNAL.swap(0, Ordering::Relaxed);
    NEXT.store(0, Ordering::Relaxed);
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(before) = before.filter(|_| is_ours(&action_of(signal))) {
        // SAFETY: the system had this action before.
        unsafe { libc::sigaction(signal, &raw const before, null_mut()) };
    }
    if let Some(waiter) = waiting() {
        *waiter.server.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Returns the waiter of this process, if it has one.
fn waiting() -> Option<&'static Waiter> {
    // Acquire pairs with the Release in `waiter`.
    // SAFETY: a waiter is never freed.
    let waiter = unsafe { WAITER.load(Ordering::Acquire).as_ref() }?;
    (waiter.pid == std::process::id()).then_some(waiter)
}

/// Returns the waiter of this process, after starting it if necessary. Called with the GVL.
fn waiter() -> io::Result<&'static Waiter> {
    if let Some(waiter) = waiting() {
        return Ok(waiter);
    }
    let requested = Semaphore::new();
    let waiter = Waiter { pid: std::process::id(), requested, server: Mutex::new(None) };
    let waiter: &'static Waiter = Box::leak(Box::new(waiter));
    // SAFETY: the semaphore has its final place in memory, and no thread waits for it yet.
    unsafe { waiter.requested.init() };
    let work = || loop {
        // SAFETY: the semaphore was initialised before it was shared, and is never destroyed.
        if unsafe { waiter.requested.wait() } {
            waiter.print();
        }
    };
    sigprof::without_signals(|| Builder::new().name("profiler signal".into()).spawn(work))?;
    // Release pairs with the Acquire in the handler.
    WAITER.store(std::ptr::from_ref(waiter).cast_mut(), Ordering::Release);
    Ok(waiter)
}

impl Waiter {
    fn print(&self) {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(server) = server.filter(|it| it.is_open()) {
            let text = dump(&server.calls, &server.ruby, 0, Form::Text);
            let _ = io::stderr().write_all(&text.body);
        }
    }
}
