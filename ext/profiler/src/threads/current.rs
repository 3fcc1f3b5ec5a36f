//! The state of the calling native thread.

use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering::Relaxed};
use std::sync::OnceLock;

use crate::sys::native_thread;
use crate::threads::slab::{at, live};
use crate::threads::state::ThreadState;
use crate::vm;

/// The key under which a native thread keeps the address of its state. At the thread's end libc passes that
/// address to a function of this crate, whatever Ruby reported before.
static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();

/// Creates the key, with the function to be called at the end of a native thread that has a state.
pub(crate) fn call_at_native_end(at_end: unsafe extern "C" fn(*mut std::ffi::c_void)) {
    KEY.get_or_init(|| {
        let mut key = 0;
        // SAFETY: a plain function that lives as long as the process.
        unsafe { libc::pthread_key_create(&raw mut key, Some(at_end)) };
        key
    });
}

/// Notes that `state` is that of the calling native thread.
pub(crate) fn store_native(state: &'static ThreadState) {
    if let Some(key) = KEY.get() {
        // SAFETY: the key was created; the value is an address that stays valid.
        unsafe { libc::pthread_setspecific(*key, std::ptr::from_ref(state).cast()) };
    }
}

/// Returns the live state of the calling native thread.
///
/// # Signal safety
/// Reads; if the thread has not identified itself yet, asks the kernel which thread this is.
pub(crate) fn current_native() -> Option<&'static ThreadState> {
    stored_native().or_else(find_native)
}

fn stored_native() -> Option<&'static ThreadState> {
    // SAFETY: the key was created. A key among the first 32 is a plain read in glibc.
    let state = KEY.get().and_then(|key| at(unsafe { libc::pthread_getspecific(*key) } as usize));
    state.filter(|it| it.is_live() && it.pthread.load(Relaxed) == native_thread::pthread_self())
}

/// Returns the live state of the calling native thread; quick from the second call on. Not for handlers.
pub(crate) fn current_native_cached() -> Option<&'static ThreadState> {
    stored_native().or_else(|| {
        let state = find_native()?;
        state.pthread.store(native_thread::pthread_self(), Relaxed);
        store_native(state);
        Some(state)
    })
}

/// Returns the live state of the calling native thread. Asks the kernel which thread that is, since a thread
/// that another one registered does not identify itself before its first tick.
pub(crate) fn find_native() -> Option<&'static ThreadState> {
    let me = native_thread::native_id();
    live().find(|state| state.native_id() == me)
}

/// Whether a hook reports the starts and exits of threads.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// The state that [`current`] returned last. Usually it is the same again, and comparing it takes 7 ns less
/// than searching for it.
static LAST: AtomicPtr<ThreadState> = AtomicPtr::new(std::ptr::null_mut());

/// The calls into the sampler for a thread whose start or exit no hook on threads reported.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    /// Called on a Ruby Thread that is not registered, with that object.
    pub(crate) begins: fn(u64),
    /// Called on the thread of this state as it ends.
    pub(crate) ends: fn(&ThreadState),
}

static LIFECYCLE: OnceLock<Lifecycle> = OnceLock::new();

/// Installs the calls of [`Lifecycle`], once for the process.
pub(crate) fn set_lifecycle(lifecycle: Lifecycle) {
    LIFECYCLE.get_or_init(|| lifecycle);
}

/// Ends the calling thread, whose state this is. Ruby reports an exception that ends a thread only after its
/// hook was called, and a session that began meanwhile has registered the thread again.
pub(crate) fn end_current(state: &ThreadState) {
    if let Some(lifecycle) = LIFECYCLE.get() {
        (lifecycle.ends)(state);
    }
}

/// Returns whether a hook reports the starts and exits of threads.
pub(crate) fn hooked() -> bool {
    HOOKED.load(Relaxed)
}

/// Sets whether there is such a hook from now on. Returns whether there was one before.
pub(crate) fn set_hooked(hooked: bool) -> bool {
    HOOKED.swap(hooked, Relaxed)
}

/// Returns the state of the calling Ruby thread, which has the GVL. A thread that no hook reported is
/// registered here.
///
/// Calls no function of the VM that allocates an object or raises.
#[inline]
pub(crate) fn current() -> Option<&'static ThreadState> {
    let thread = vm::state::current_thread();
    // The native thread is compared as well: if Ruby 3.1 omits an exit, another thread can have the object's
    // address.
    let is_current = |state: &&ThreadState| {
        state.object() == thread
            && state.pthread.load(Relaxed) == native_thread::pthread_self()
            && state.is_live()
    };
    // SAFETY: the pointer is null or came from a `&'static ThreadState`.
    let last = unsafe { LAST.load(Relaxed).as_ref() };
    let state = match last.filter(is_current) {
        None => find_current(thread)?,
        Some(last) => last,
    };
    if !hooked() {
        note_unreported(state);
    }
    Some(state)
}

#[cold]
fn find_current(thread: u64) -> Option<&'static ThreadState> {
    let is_current =
        |it: &&ThreadState| hooked() || it.object() == thread || vm::process::shares_native_threads();
    let known = current_native_cached().filter(is_current);
    if let (None, false, Some(lifecycle)) = (known, hooked(), LIFECYCLE.get()) {
        (lifecycle.begins)(thread);
    }
    let found = known.or_else(current_native_cached)?;
    LAST.store(std::ptr::from_ref(found).cast_mut(), Relaxed);
    Some(found)
}

/// Notes that the calling thread was seen, as no hook will report its exit. Keeps its name at some of these
/// calls, as a thread gets its name only after it has begun. libc may not report the exit either, as Ruby 3.1
/// reuses the native thread.
pub(crate) fn note_unreported(state: &ThreadState) {
    let sightings = state.sightings.load(Relaxed).saturating_add(1);
    state.sightings.store(sightings, Relaxed);
    if sightings.is_power_of_two() {
        keep_native_name(state);
    }
}

/// Keeps the operating system's name of the calling thread, for the time after its end. It is kept at the
/// start, as Ruby 3.1 may not report the end, and again at the end, as the name may have changed. A longer
/// name that is already kept and begins with this one stays.
pub(crate) fn keep_native_name(state: &ThreadState) {
    let name = native_thread::native_name();
    let name = name.split(|byte| *byte == 0).next().unwrap_or(&[]);
    if !state.name.has_cut(name) {
        state.name.set(name);
    }
}
