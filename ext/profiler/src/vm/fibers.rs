//! What a fiber carries with it, and the moment at which another one runs.
//!
//! A value is kept twice: as a fiber-local variable, which can be read cheaply and of other threads,
//! and from Ruby 3.2 on in the fiber's storage, which a fiber that is made inherits.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use rb_sys::{rb_event_flag_t, ID, VALUE};

use super::events::ThreadHook;

/// Whether fibers have a storage that those they make inherit.
pub(crate) const STORAGE: bool = cfg!(ruby_gte_3_2);

/// Name of the variable.
const KEY: &std::ffi::CStr = c"__profiler_labels__";

fn key() -> ID {
    static KEY_ID: AtomicU64 = AtomicU64::new(0);
    match KEY_ID.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: callers hold the GVL; the name is a C string. The id of an interned name lasts.
            let id = unsafe { rb_sys::rb_intern(KEY.as_ptr()) };
            KEY_ID.store(id as u64, Ordering::Relaxed);
            id
        }
        known => known as ID,
    }
}

/// What a fiber-local variable holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Local {
    /// Nothing was ever stored.
    Unset,
    /// It was stored that there is nothing.
    Nothing,
    /// A VALUE.
    Some(u64),
}

/// The variable of the fiber that runs on `thread`, a Thread.
///
/// # Safety
/// The caller holds the GVL; `thread` is a live Thread of this Ractor that has not ended.
pub(crate) unsafe fn local(thread: u64) -> Local {
    // SAFETY: as promised. Only reads a table; raises for no live thread.
    let value = unsafe { super::quietly(|| rb_sys::rb_thread_local_aref(thread as VALUE, key())) };
    match value {
        Some(value) if value == rb_sys::Qfalse as VALUE => Local::Nothing,
        Some(value) if value != rb_sys::Qnil as VALUE => Local::Some(value),
        _ => Local::Unset,
    }
}

/// Sets the variable of the fiber that runs on the current thread; nothing is stored as such. A frozen
/// Thread keeps what it has.
///
/// # Safety
/// The caller holds the GVL and runs on `thread`; `value` is a live object.
pub(crate) unsafe fn set_local(thread: u64, value: Option<u64>) {
    let value = value.map_or(rb_sys::Qfalse as VALUE, |value| value as VALUE);
    // SAFETY: as promised; FrozenError is dropped.
    unsafe { super::quietly(|| rb_sys::rb_thread_local_aset(thread as VALUE, key(), value)) };
}

/// What the current fiber inherited or was given, as a VALUE. Nothing before Ruby 3.2.
///
/// # Safety
/// The caller holds the GVL and may allocate.
pub(crate) unsafe fn stored() -> Option<u64> {
    // SAFETY: as promised.
    let value = unsafe { storage(&[symbol()]) }?;
    (value != rb_sys::Qnil as VALUE).then_some(value as u64)
}

/// Has the current fiber, and those that it makes from now on, carry `value`. Does nothing before
/// Ruby 3.2.
///
/// # Safety
/// The caller holds the GVL and may allocate; `value` is a live object.
pub(crate) unsafe fn store(value: Option<u64>) {
    let value = value.map_or(rb_sys::Qnil as VALUE, |value| value as VALUE);
    // SAFETY: as promised.
    let _ = unsafe { storage(&[symbol(), value]) };
}

unsafe fn symbol() -> VALUE {
    // SAFETY: the GVL is held, and the id is of an interned name.
    unsafe { rb_sys::rb_id2sym(key()) }
}

/// `Fiber[key]` with one argument, `Fiber[key] = value` with two.
#[cfg(ruby_gte_3_2)]
unsafe fn storage(arguments: &[VALUE]) -> Option<VALUE> {
    let method = if arguments.len() == 1 { c"[]" } else { c"[]=" };
    // SAFETY: the GVL is held. Fiber is a constant of the VM, which is asked for anew each time since
    // nothing else keeps the class where it is.
    unsafe {
        super::quietly(|| {
            let fiber = rb_sys::rb_const_get(rb_sys::rb_cObject, rb_sys::rb_intern(c"Fiber".as_ptr()));
            let method = rb_sys::rb_intern(method.as_ptr());
            rb_sys::rb_funcallv(fiber, method, arguments.len() as c_int, arguments.as_ptr())
        })
    }
}

#[cfg(not(ruby_gte_3_2))]
unsafe fn storage(_arguments: &[VALUE]) -> Option<VALUE> {
    None
}

/// Whether the fiber that runs has not begun its block: its stack is empty.
///
/// # Safety
/// The caller holds the GVL and runs Ruby.
pub(crate) unsafe fn newborn() -> bool {
    let (mut handle, mut line) = (0, 0);
    // SAFETY: room for the one frame that is asked for.
    unsafe { super::frames::walk(&raw mut handle, &raw mut line, 1) == 0 }
}

/// Calls `hook` on each thread when another fiber has begun to run there.
///
/// # Safety
/// The caller holds the GVL; the hook neither raises nor lets go of it.
pub(crate) unsafe fn on_switch(hook: ThreadHook) {
    // SAFETY: a plain function that lives as long as the process.
    unsafe { rb_sys::rb_add_event_hook(Some(hook), rb_sys::RUBY_EVENT_FIBER_SWITCH as rb_event_flag_t, 0) };
}

/// Undoes [`on_switch`].
///
/// # Safety
/// The caller holds the GVL and is not inside the hook.
pub(crate) unsafe fn off_switch(hook: ThreadHook) {
    // SAFETY: removing what is not there does nothing.
    let _: c_int = unsafe { rb_sys::rb_remove_event_hook(Some(hook)) };
}
