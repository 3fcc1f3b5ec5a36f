//! Hooks on what threads do with the GVL: wait for it, acquire it, release it. They are used from Ruby 3.3
//! on. Before that the events do not say which thread they are about, or do not exist.

use core::ffi::c_void;

#[cfg(ruby_gte_3_3)]
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

/// Whether the hooks exist, so that waits are measured and not sampled.
pub(crate) const HOOKS: bool = cfg!(ruby_gte_3_3);

/// An event of a thread and the GVL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(ruby_gte_3_3), allow(dead_code))] // never constructed there
pub(crate) enum GvlEvent {
    /// The thread is about to release the GVL: it blocks, or its time slice is over. Reported on the thread
    /// itself.
    Suspended,
    /// The thread waits for the GVL. Reported on whichever thread made it ready.
    Ready,
    /// The thread has the GVL. Reported on the thread itself.
    Resumed,
    /// The thread has ended: its last Ruby code has run, and it is in no list any more. Reported on the
    /// thread itself.
    Exited,
}

/// A hook that is called with the event, the Thread, and the tag that [`tag`] gave it, null if there is none.
/// Mostly that happens under the lock of the VM's scheduler, so the hook must not allocate, wait, or call the
/// VM beyond a walk, [`tag`] and [`tag_of`].
pub(crate) type GvlHook = unsafe fn(GvlEvent, u64, *mut c_void);

/// Runs `work` without the GVL, for work that may wait for a thread that has it. An interrupt that arrives
/// meanwhile (an exception from outside, a kill) is passed on once `work` is done.
///
/// # Errors
/// The interrupt that arrived during the work. Only the work itself can say whether it ran.
pub(crate) fn release(_gvl: &magnus::Ruby, work: impl FnOnce()) -> Result<(), magnus::Error> {
    unsafe extern "C" fn run<F: FnOnce()>(work: *mut c_void) -> *mut c_void {
        // SAFETY: the address is that of the closure below, which outlives the call.
        let work = unsafe { &mut *work.cast::<Option<F>>() };
        if let Some(work) = work.take() {
            // A panic must not unwind into the VM.
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        }
        core::ptr::null_mut()
    }
    fn start<F: FnOnce()>(work: &mut Option<F>) -> Result<(), magnus::Error> {
        let work = core::ptr::from_mut(work).cast::<c_void>();
        magnus::rb_sys::protect(|| {
            // SAFETY: a `Ruby` proved that the GVL is held; no value with a destructor is alive here when
            // this raises.
            unsafe { rb_sys::rb_thread_call_without_gvl(Some(run::<F>), work, None, core::ptr::null_mut()) };
            rb_sys::Qnil as rb_sys::VALUE
        })
        .map(drop)
    }
    start(&mut Some(work))
}

#[cfg(ruby_gte_3_3)]
mod raw {
    use super::*;

    /// The VM's key for our tags, plus one; 0 until it is created.
    pub(super) static KEY: AtomicI32 = AtomicI32::new(0);
    pub(super) static HOOK: AtomicPtr<rb_sys::rb_internal_thread_event_hook_t> =
        AtomicPtr::new(core::ptr::null_mut());

    pub(super) unsafe extern "C" fn on_event(
        event: rb_sys::rb_event_flag_t,
        data: *const rb_sys::rb_internal_thread_event_data_t,
        hook: *mut c_void,
    ) {
        let event = match event {
            rb_sys::RUBY_INTERNAL_THREAD_EVENT_SUSPENDED => GvlEvent::Suspended,
            rb_sys::RUBY_INTERNAL_THREAD_EVENT_READY => GvlEvent::Ready,
            rb_sys::RUBY_INTERNAL_THREAD_EVENT_RESUMED => GvlEvent::Resumed,
            rb_sys::RUBY_INTERNAL_THREAD_EVENT_EXITED => GvlEvent::Exited,
            _ => return,
        };
        // SAFETY: the VM passes a Thread, which is the only field of the data, and the hook that
        // `hook_events` gave it; reading a tag is safe on any thread.
        unsafe {
            let thread = *data.cast::<rb_sys::VALUE>();
            let tag = rb_sys::rb_internal_thread_specific_get(thread, KEY.load(Ordering::Relaxed) - 1);
            core::mem::transmute::<*mut c_void, GvlHook>(hook)(event, thread, tag);
        }
    }
}

/// Installs `hook`, which is then called at each event of a thread and the GVL.
///
/// # Safety
/// The caller holds the GVL and is not inside such a hook, nor in a forked child whose parent had it.
#[cfg(ruby_gte_3_3)]
pub(crate) unsafe fn hook_events(hook: GvlHook) {
    let events = rb_sys::RUBY_INTERNAL_THREAD_EVENT_SUSPENDED
        | rb_sys::RUBY_INTERNAL_THREAD_EVENT_READY
        | rb_sys::RUBY_INTERNAL_THREAD_EVENT_RESUMED
        | rb_sys::RUBY_INTERNAL_THREAD_EVENT_EXITED;
    // SAFETY: the caller holds the GVL and is in no such hook; `on_event` is a plain function that lives as
    // long as the process.
    let added = unsafe {
        rb_sys::rb_internal_thread_add_event_hook(Some(raw::on_event), events as _, hook as *mut c_void)
    };
    raw::HOOK.store(added, Ordering::Relaxed);
}

/// Removes the hook that [`hook_events`] installed.
///
/// # Safety
/// Same as for [`hook_events`].
#[cfg(ruby_gte_3_3)]
pub(crate) unsafe fn unhook_events() {
    let hook = raw::HOOK.swap(core::ptr::null_mut(), Ordering::Relaxed);
    if !hook.is_null() {
        // SAFETY: the caller holds the GVL and is in no such hook; the VM returned this handle.
        unsafe { rb_sys::rb_internal_thread_remove_event_hook(hook) };
    }
}

/// Creates the key for tags, unless it exists. The VM refuses to create its first key while other Ractors
/// run, so this happens as the extension is loaded. The VM's error is dropped: [`unavailable`] reports it.
///
/// # Safety
/// The caller holds the GVL.
#[cfg(ruby_gte_3_3)]
pub(crate) unsafe fn make_key() {
    if raw::KEY.load(Ordering::Relaxed) == 0 {
        // SAFETY: the caller holds the GVL.
        let key = unsafe {
            super::door::quietly(|| rb_sys::rb_internal_thread_specific_key_create() as rb_sys::VALUE)
        };
        raw::KEY.store(key.map_or(0, |key| key as i32 + 1), Ordering::Relaxed);
    }
}

/// Returns why waits cannot be measured although the hooks exist, or `None` if they can.
///
/// # Safety
/// The caller holds the GVL.
#[cfg(ruby_gte_3_3)]
pub(crate) unsafe fn unavailable() -> Option<&'static str> {
    if super::process::shares_native_threads() {
        return Some("with RUBY_MN_THREADS, Ruby threads share native threads");
    }
    // SAFETY: the caller holds the GVL.
    unsafe { make_key() };
    (raw::KEY.load(Ordering::Relaxed) == 0).then_some(
        "the VM has no key left for thread data: other tools use all of them, or other Ractors ran before the profiler was loaded",
    )
}

/// Sets the tag of a thread, with which the hook is called. [`unavailable`] must have returned `None` before.
///
/// # Safety
/// The caller holds the GVL; `thread` is a live Thread; a hook that is called with `tag` can use it for ever.
#[cfg(ruby_gte_3_3)]
pub(crate) unsafe fn tag(thread: u64, tag: *mut c_void) {
    let key = raw::KEY.load(Ordering::Relaxed);
    if key != 0 {
        // SAFETY: the caller holds the GVL and passes a live Thread; the VM created the key.
        unsafe { rb_sys::rb_internal_thread_specific_set(thread as rb_sys::VALUE, key - 1, tag) };
    }
}

/// Returns the tag of a thread; null if it has none.
///
/// # Safety
/// `thread` is a live Thread.
#[cfg(ruby_gte_3_3)]
pub(crate) unsafe fn tag_of(thread: u64) -> *mut c_void {
    match raw::KEY.load(Ordering::Relaxed) {
        0 => core::ptr::null_mut(),
        // SAFETY: the caller passes a live Thread; the VM created the key.
        key => unsafe { rb_sys::rb_internal_thread_specific_get(thread as rb_sys::VALUE, key - 1) },
    }
}

#[cfg(not(ruby_gte_3_3))]
pub(crate) unsafe fn hook_events(_hook: GvlHook) {}

#[cfg(not(ruby_gte_3_3))]
pub(crate) unsafe fn unhook_events() {}

#[cfg(not(ruby_gte_3_3))]
pub(crate) unsafe fn make_key() {}

#[cfg(not(ruby_gte_3_3))]
pub(crate) unsafe fn unavailable() -> Option<&'static str> {
    None
}

#[cfg(not(ruby_gte_3_3))]
pub(crate) unsafe fn tag(_thread: u64, _tag: *mut c_void) {}

#[cfg(not(ruby_gte_3_3))]
pub(crate) unsafe fn tag_of(_thread: u64) -> *mut c_void {
    core::ptr::null_mut()
}
