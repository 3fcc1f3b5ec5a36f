//! Which state is that of the native thread that we are on.

use std::cell::Cell;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::OnceLock;

use crate::sys::clock;
use crate::threads::{at, live, ThreadState};

/// The key under which a native thread keeps the address of its state. At the thread's end libc hands
/// that address to a function of ours, whatever Ruby told us before.
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();

/// Makes the key, with what is to be called at the end of a native thread that has a state.
pub(crate) fn call_at_native_end(at_end: unsafe extern "C" fn(*mut std::ffi::c_void)) {
    KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a plain function that lives as long as the process.
        unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) };
        key
    });
}

/// Notes that `state` is that of the native thread that we are on.
pub(crate) fn remember_own(state: &'static ThreadState) {
    if let Some(key) = KEY.get() {
        // SAFETY: the key was made; the value is an address that stays good.
        unsafe { libc::pthread_setspecific(*key, std::ptr::from_ref(state).cast()) };
    }
}

/// The live state of the native thread that we are on.
///
/// # Signal safety
/// Reads, and asks the kernel who we are where the thread has not said so itself.
pub(crate) fn here() -> Option<&'static ThreadState> {
    known().or_else(mine)
}

fn known() -> Option<&'static ThreadState> {
    // SAFETY: the key was made. A key among the first 32 is a plain read in glibc.
    let state = KEY.get().and_then(|key| at(unsafe { libc::pthread_getspecific(*key) } as usize));
    state.filter(|it| it.is_live() && it.pthread.load(Relaxed) == clock::pthread_self())
}

/// The live state of the native thread that we are on; quick from the second time on. Not for handlers.
pub(crate) fn own() -> Option<&'static ThreadState> {
    known().or_else(|| {
        let state = mine()?;
        state.pthread.store(clock::pthread_self(), Relaxed);
        remember_own(state);
        Some(state)
    })
}

thread_local! {
    /// The kernel's id of the native thread that we are on; 0 until it was asked.
    static NATIVE_ID: Cell<i32> = const { Cell::new(0) };
}

/// The kernel's id of the native thread that we are on, asked once. Not for handlers, as what is local to a thread may be
/// allocated when it is first used.
pub(crate) fn own_native_id() -> i32 {
    if NATIVE_ID.get() == 0 {
        NATIVE_ID.set(clock::native_id());
    }
    NATIVE_ID.get()
}

/// In a forked child: the thread that forked is another one to the kernel.
pub(crate) fn forget_native_id() {
    NATIVE_ID.set(0);
}

/// The live state of the native thread that we are on. Asks the kernel who that is, since a thread
/// that was registered by another has not said so itself before its first tick.
pub(crate) fn mine() -> Option<&'static ThreadState> {
    let me = clock::native_id();
    live().find(|state| state.native_id() == me)
}
