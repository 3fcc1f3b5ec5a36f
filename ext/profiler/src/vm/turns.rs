//! Short turns of the threads that compute, while one thread has to get the GVL many times.
//!
//! Ruby gives each thread a turn of 100 ms. From 3.3 on, `require` releases the GVL whenever it looks up a file,
//! so beside four threads that compute, a hundred files took a minute. As long as a [`ShortTurns`] lives, a
//! postponed job runs every millisecond on the thread that has the GVL, and passes the GVL on. That happens
//! where Ruby checks its interrupts, and could end a turn anyway.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::{park_timeout, Builder, JoinHandle};
use std::time::Duration;

use magnus::Ruby;

use super::jobs::Job;
use super::without_gvl::briefly_without_gvl;
use crate::sys::sigprof;

/// The length of a turn.
const TURN: Duration = Duration::from_millis(1);
/// The name of the thread that ends the turns, of at most 15 bytes.
const NAME: &str = "profiler turns";

static PASS_ON: Job = Job::new(pass_on);

/// The thread that needs the GVL; 0 if there is none.
static FAVOURED: AtomicUsize = AtomicUsize::new(0);

/// Ends the turns of all threads but one early, until it is dropped.
#[derive(Debug)]
pub(crate) struct ShortTurns {
    are_over: Arc<AtomicBool>,
    clock: Option<JoinHandle<()>>,
}

impl ShortTurns {
    /// Shortens the turns of all threads but the calling one. They keep their length if the system refuses a
    /// thread. Returns `None` before Ruby 3.3, which has no job that another native thread can request safely.
    ///
    /// # Safety
    /// The caller is a Ruby thread with the GVL. It drops the value before it ends.
    pub(crate) unsafe fn begin() -> Option<Self> {
        if !cfg!(ruby_gte_3_3) {
            return None;
        }
        // SAFETY: the GVL is held.
        let thread = unsafe {
            PASS_ON.register();
            rb_sys::rb_thread_current()
        };
        FAVOURED.store(thread as usize, Ordering::Relaxed);
        let are_over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&are_over);
        let clock = sigprof::without_signals(|| Builder::new().name(NAME.into()).spawn(move || tick(&flag)));
        Some(Self { are_over, clock: clock.ok() })
    }
}

impl Drop for ShortTurns {
    /// Waits for the thread, which never waits for the GVL: no job is requested afterwards.
    fn drop(&mut self) {
        FAVOURED.store(0, Ordering::Relaxed);
        self.are_over.store(true, Ordering::Relaxed);
        if let Some(clock) = self.clock.take() {
            clock.thread().unpark();
            let _ = clock.join();
        }
    }
}

/// Requests the job until the turns are over.
fn tick(are_over: &AtomicBool) {
    while !are_over.load(Ordering::Relaxed) {
        // SAFETY: the job is registered, and the VM exists as long as the thread that joins this one.
        unsafe { PASS_ON.trigger() };
        park_timeout(TURN);
    }
}

/// Passes the GVL on to the thread that waits for it the longest.
///
/// *Runs on:* any Ruby thread. *GVL:* held. *Calls:* nothing of the app, and it raises nothing.
unsafe extern "C" fn pass_on(_: *mut c_void) {
    // SAFETY: a job runs with the GVL.
    let (ruby, thread) = unsafe { (Ruby::get_unchecked(), rb_sys::rb_thread_current()) };
    let favoured = FAVOURED.load(Ordering::Relaxed);
    if favoured != 0 && favoured != thread as usize {
        briefly_without_gvl(&ruby, || ());
    }
}
