//! Work without the GVL that an interrupt can always end: files, computations that take long, and waits.
//!
//! The work runs on a native thread of its own, and the Ruby thread that requested it waits without the GVL.
//! A write to a disk that does not answer cannot be interrupted, but waiting for it can. A Ruby thread that
//! gets an interrupt leaves at once, and the work ends by itself. So the work owns all that it needs, and no
//! Ruby object is in it.
//!
//! Files are read and written this way, and computations are done so except for small profiles. The work owns
//! its temporary file and renames or removes it itself (`core/store.rs`); a caller that leaves removes it
//! too. A trap that forks meanwhile creates a child without that thread, in which the call raises.

use std::os::raw::c_void;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use magnus::{rb_sys::protect, Error, Ruby};

use crate::sys::semaphore::Semaphore;
use crate::sys::{clock, sigprof};
use crate::vm::exceptions::error;

/// The name of the thread, of at most 15 bytes.
const NAME: &str = "profiler work";

/// The VM's own way to interrupt a system call: it signals the thread until the call returns. `RUBY_UBF_IO`
/// in C.
const UBF_IO: usize = usize::MAX;

/// The deadline for the end of the process, on the monotonic clock, in nanoseconds; 0 while the process is
/// not ending.
static ENDS_NS: AtomicU64 = AtomicU64::new(0);
/// The number of seconds that an ending process may take.
static PATIENCE_S: AtomicU64 = AtomicU64::new(0);

/// The time for which an ending process keeps the GVL while it waits: to get it back takes a turn of each
/// other thread.
const KEPT_NS: u64 = 200_000_000;

/// The pause between two checks of work with a deadline.
const PAUSE_NS: u64 = 200_000;

/// Implements `Native.set_deadline(seconds)`, which sets a deadline after which all work without the GVL is
/// abandoned; nil removes it.
pub(crate) fn set_deadline(seconds: Option<u64>) {
    let ends_ns = seconds.map_or(0, |it| clock::monotonic_ns() + it * 1_000_000_000);
    PATIENCE_S.store(seconds.unwrap_or(0), Ordering::Relaxed);
    ENDS_NS.store(ends_ns, Ordering::Relaxed);
}

/// Returns whether the process is ending: then each turn of another thread takes time from the work that is
/// left.
pub(crate) fn process_ends() -> bool {
    ENDS_NS.load(Ordering::Relaxed) != 0
}

/// A flag that tells the work that no thread waits for it any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abandoned(Arc<AtomicBool>);

impl Abandoned {
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

type Work<T> = Box<dyn FnOnce(&Abandoned) -> T + Send>;

/// The state that the two threads share. Both own it, so it lives as long as either uses it.
struct Shared<T> {
    abandoned: Abandoned,
    work: Mutex<Option<Work<T>>>,
    /// The result, or the panic that replaced it.
    result: Mutex<Option<std::thread::Result<T>>>,
    done: AtomicBool,
    semaphore: Semaphore,
}

impl<T> Shared<T> {
    fn new(work: Work<T>) -> Arc<Self> {
        let shared = Arc::new(Self {
            abandoned: Abandoned::default(),
            work: Mutex::new(Some(work)),
            result: Mutex::new(None),
            done: AtomicBool::new(false),
            semaphore: Semaphore::new(),
        });
        // SAFETY: the semaphore has its final place in memory, and no thread waits for it yet.
        unsafe { shared.semaphore.init() };
        shared
    }

    /// Does the work, unless it is already done.
    fn run(&self) {
        let Some(work) = self.work.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let result = catch_unwind(AssertUnwindSafe(|| work(&self.abandoned)));
        *self.result.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        // Release pairs with the Acquire of those who wait.
        self.done.store(true, Ordering::Release);
        // SAFETY: the semaphore is initialised, and lives as long as `self`.
        unsafe { self.semaphore.post() };
    }

    fn is_done(&self) -> bool {
        self.done.load(Ordering::Acquire)
    }

    /// Waits until the work is done or a signal arrives.
    fn wait(&self) {
        // SAFETY: the semaphore is initialised, and lives as long as `self`.
        while !self.is_done() && unsafe { self.semaphore.wait() } {}
    }

    /// Waits until the work is done, a signal arrives, or the monotonic clock reaches `till_ns`.
    fn wait_until(&self, till_ns: u64) {
        let pause = clock::timespec(PAUSE_NS);
        while !self.is_done() && clock::monotonic_ns() < till_ns {
            // SAFETY: the call reads a local struct, and writes none.
            if unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) } != 0 {
                break;
            }
        }
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: both threads have released the state, so no thread waits for the semaphore.
        unsafe { self.semaphore.destroy() };
    }
}

/// Calls `function` without the GVL, unless an interrupt is pending. `unblock` is null or [`UBF_IO`].
///
/// # Safety
/// The caller holds the GVL. The function uses nothing of Ruby and does not unwind.
unsafe fn call<F: FnMut()>(mut function: F, unblock: usize) {
    unsafe extern "C" fn enter<F: FnMut()>(data: *mut c_void) -> *mut c_void {
        // SAFETY: `data` is the address of the function, which outlives the call.
        let function = unsafe { &mut *data.cast::<F>() };
        function();
        std::ptr::null_mut()
    }
    // SAFETY: the VM compares the address with its constant and does not call it; null is `None`.
    let unblock = unsafe { std::mem::transmute::<usize, rb_sys::rb_unblock_function_t>(unblock) };
    // SAFETY: the caller holds the GVL, and the function uses nothing of Ruby and does not unwind. This
    // variant raises nothing, as it does not check interrupts itself.
    unsafe {
        rb_sys::rb_thread_call_without_gvl2(
            Some(enter::<F>),
            (&raw mut function).cast(),
            unblock,
            std::ptr::null_mut(),
        );
    }
}

/// Does `work` on this thread without the GVL, or with it if an interrupt is pending. No interrupt is
/// delivered meanwhile, so the work should take milliseconds at most. A panic in it is resumed here.
pub(crate) fn briefly_without_gvl<T>(_ruby: &Ruby, work: impl FnOnce() -> T) -> T {
    let (mut work, mut result) = (Some(work), None);
    let mut run = || {
        if let Some(work) = work.take() {
            result = Some(catch_unwind(AssertUnwindSafe(work)));
        }
    };
    // SAFETY: a `Ruby` proves that the GVL is held; callers pass work that uses nothing of Ruby, and a panic
    // is caught.
    unsafe { call(&mut run, 0) };
    run();
    match result {
        Some(Ok(result)) => result,
        Some(Err(panic)) => resume_unwind(panic),
        None => unreachable!("the work has run"),
    }
}

/// Checks for pending interrupts, and for other threads whose turn it is.
///
/// # Errors
/// The interrupt, which the caller passes on.
pub(crate) fn check_interrupts(_ruby: &Ruby) -> Result<(), Error> {
    let checked = protect(|| {
        // SAFETY: the `Ruby` proves that the GVL is held. The call may raise, for which it is protected; no
        // value with a destructor is alive in the closure.
        unsafe { rb_sys::rb_thread_check_ints() };
        rb_sys::Qnil as rb_sys::VALUE
    });
    checked.map(drop)
}

/// Waits without the GVL until the semaphore is posted.
///
/// # Errors
/// The interrupt of the thread, which ends the wait.
pub(crate) fn wait_for(ruby: &Ruby, semaphore: &Semaphore) -> Result<(), Error> {
    let mut posted = false;
    while !posted {
        // SAFETY: a `Ruby` proves that the GVL is held; the semaphore is initialised, and the closure uses
        // nothing of Ruby.
        unsafe { call(|| posted = semaphore.wait(), UBF_IO) };
        if !posted {
            check_interrupts(ruby)?;
        }
    }
    Ok(())
}

/// Does `work` without the GVL and returns its result. A panic in it is resumed here.
///
/// # Errors
/// The interrupt of the thread: an exception of a signal or another thread, its end, or a throw out of a
/// trap. The work is then marked as [`Abandoned`], and its result is dropped. `Profiler::Error` in a process
/// that was forked by a trap meanwhile, as the work is the parent's. `Profiler::Error` at the end of a
/// process, after its deadline (see [`set_deadline`]).
pub(crate) fn without_gvl<T: Send + 'static>(
    ruby: &Ruby,
    work: impl FnOnce(&Abandoned) -> T + Send + 'static,
) -> Result<T, Error> {
    let shared = Shared::new(Box::new(work));
    let process = std::process::id();
    let worker = Arc::clone(&shared);
    let thread = sigprof::without_signals(|| {
        std::thread::Builder::new().name(NAME.into()).spawn(move || worker.run())
    });
    let spawned = thread.is_ok();
    let ends_ns = ENDS_NS.load(Ordering::Relaxed);
    if spawned && ends_ns != 0 {
        shared.wait_until(ends_ns.min(clock::monotonic_ns() + KEPT_NS));
    }
    while !shared.is_done() {
        if ends_ns != 0 && clock::monotonic_ns() >= ends_ns {
            shared.abandoned.0.store(true, Ordering::Relaxed);
            let message = format!("it took longer than {} s", PATIENCE_S.load(Ordering::Relaxed));
            return Err(error(ruby, "Error", message));
        }
        // SAFETY: Ruby called us, so we hold the GVL, and the closures use nothing of Ruby.
        unsafe {
            if !spawned {
                // If the system refuses a thread, the work is done here, and interrupts wait for it.
                call(|| shared.run(), 0);
            } else if ends_ns == 0 {
                call(|| shared.wait(), UBF_IO);
            } else {
                call(|| shared.wait_until(ends_ns), UBF_IO);
            }
        }
        if shared.is_done() {
            break;
        }
        if let Err(interrupt) = check_interrupts(ruby) {
            shared.abandoned.0.store(true, Ordering::Relaxed);
            return Err(interrupt);
        }
        if std::process::id() != process {
            let message = "the process was forked while this was written or computed";
            return Err(error(ruby, "Error", message));
        }
    }
    let result = shared.result.lock().unwrap_or_else(PoisonError::into_inner).take();
    match result {
        Some(Ok(result)) => Ok(result),
        Some(Err(panic)) => resume_unwind(panic),
        None => Err(error(ruby, "Error", "the work finished without a result (please report this)")),
    }
}
