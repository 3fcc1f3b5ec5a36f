//! A dump on stderr at a signal, also where no Ruby code can run. The handler only posts a semaphore, for which a thread waits.

use std::cell::UnsafeCell;
use std::io::{self, Write};
use std::mem::zeroed;
use std::os::raw::c_int;
use std::ptr::null_mut;
use std::sync::Arc;
use std::thread::Builder;

use profiler_core::live::request::Form;

use super::connection::dump;
use super::server::Server;
use crate::sys::sigprof;

struct Semaphore(UnsafeCell<libc::sem_t>);

// SAFETY: a semaphore is made for several threads, and for handlers.
unsafe impl Sync for Semaphore {}

// SAFETY: a semaphore is plain memory until it is initialised.
static REQUESTED: Semaphore = Semaphore(UnsafeCell::new(unsafe { zeroed() }));

/// The handler.
///
/// *Runs on:* any thread. *GVL:* held or not. *Calls:* `sem_post`, which is safe in a handler and leaves errno.
unsafe extern "C" fn on_signal(_signal: c_int) {
    // SAFETY: it was initialised before the handler was there, and stays.
    unsafe { libc::sem_post(REQUESTED.0.get()) };
}

/// Has the signal print a dump from now on, in place of what it did.
///
/// # Errors
/// Those of the system, which may refuse a thread.
pub(crate) fn dump_at(server: &Arc<Server>, signal: c_int) -> io::Result<()> {
    // SAFETY: nobody uses it before the handler is there and the thread begins. In a forked child, whose thread is another one, it
    // is initialised anew.
    unsafe { libc::sem_init(REQUESTED.0.get(), 0, 0) };
    let server = Arc::clone(server);
    let work = move || {
        while server.is_open() {
            // SAFETY: as above.
            if unsafe { libc::sem_wait(REQUESTED.0.get()) } == 0 && server.is_open() {
                let text = dump(&server.calls, &server.ruby, 0, Form::Text);
                let _ = io::stderr().write_all(&text.body);
            }
        }
    };
    sigprof::without_signals(|| Builder::new().name("profiler signal".into()).spawn(work))?;
    // SAFETY: all fields may be zero; the handler is as SA_RESTART and no SA_SIGINFO require.
    let failed = unsafe {
        let mut ours: libc::sigaction = zeroed();
        ours.sa_sigaction = on_signal as *const () as usize;
        ours.sa_flags = libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut ours.sa_mask);
        libc::sigaction(signal, &raw const ours, null_mut())
    };
    if failed == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
