//! A dump on stderr at a signal, also where no Ruby code can run. The handler only posts a semaphore, for which a thread waits.

use std::io::{self, Write};
use std::mem::zeroed;
use std::os::raw::c_int;
use std::ptr::null_mut;
use std::sync::Arc;
use std::thread::Builder;

use profiler_core::live::request::Form;

use super::connection::dump;
use super::server::Server;
use crate::sys::semaphore::Semaphore;
use crate::sys::sigprof;

static REQUESTED: Semaphore = Semaphore::new();

/// The handler.
///
/// *Runs on:* any thread. *GVL:* held or not. *Calls:* [`Semaphore::post`], which is safe in a handler and leaves errno.
unsafe extern "C" fn on_signal(_signal: c_int) {
    // SAFETY: it was initialised before the handler was there, and stays.
    unsafe { REQUESTED.post() };
}

/// Has the signal print a dump from now on, in place of what it did.
///
/// # Errors
/// Those of the system, which may refuse a thread.
pub(crate) fn dump_at(server: &Arc<Server>, signal: c_int) -> io::Result<()> {
    // SAFETY: nobody uses it before the handler is there and the thread begins. In a forked child, whose thread is another one, it
    // is initialised anew.
    unsafe { REQUESTED.init() };
    let server = Arc::clone(server);
    let work = move || {
        while server.is_open() {
            // SAFETY: as above.
            if unsafe { REQUESTED.wait() } && server.is_open() {
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
