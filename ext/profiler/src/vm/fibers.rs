//! What a fiber carries with it, and the moment at which another one runs.
//!
//! A value is kept twice: as a fiber-local variable, which can be read cheaply and of other threads,
//! and from Ruby 3.2 on in the fiber's storage, which a fiber that is made inherits.

use std::ffi::{c_int, CStr};
use std::sync::atomic::{AtomicU64, Ordering};

#[cfg(ruby_gte_3_2)]
use magnus::{prelude::*, rb_sys::AsRawValue, Ruby};
use rb_sys::{rb_event_flag_t, ID, VALUE};

#[cfg(ruby_gte_3_2)]
use super::asked::Object;
use super::events::ThreadHook;

/// Whether fibers have a storage that those they make inherit.
pub(crate) const STORAGE: bool = cfg!(ruby_gte_3_2);

/// A name, whose id the VM is asked for once.
struct Name(&'static CStr, AtomicU64);

/// Name of the variable.
static KEY: Name = Name::new(c"__profiler_labels__");

impl Name {
    const fn new(name: &'static CStr) -> Self {
        Self(name, AtomicU64::new(0))
    }

    fn id(&self) -> ID {
        match self.1.load(Ordering::Relaxed) {
            0 => {
                // SAFETY: callers hold the GVL; the name is a C string. The id of an interned name lasts.
                let id = unsafe { rb_sys::rb_intern(self.0.as_ptr()) };
                self.1.store(id as u64, Ordering::Relaxed);
                id
            }
            known => known as ID,
        }
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
    let value = unsafe { super::quietly(|| rb_sys::rb_thread_local_aref(thread as VALUE, KEY.id())) };
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
    unsafe { super::quietly(|| rb_sys::rb_thread_local_aset(thread as VALUE, KEY.id(), value)) };
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
    unsafe { rb_sys::rb_id2sym(KEY.id()) }
}

/// `Fiber[key]` with one argument, `Fiber[key] = value` with two.
#[cfg(ruby_gte_3_2)]
unsafe fn storage(arguments: &[VALUE]) -> Option<VALUE> {
    static FIBER: Object = Object::new(|ruby| ruby.class_object().const_get("Fiber"));
    static GET: Name = Name::new(c"[]");
    static SET: Name = Name::new(c"[]=");
    let method = if arguments.len() == 1 { GET.id() } else { SET.id() };
    // SAFETY: the GVL is held.
    unsafe {
        let fiber = FIBER.value(&Ruby::get_unchecked()).as_raw() as VALUE;
        super::quietly(|| rb_sys::rb_funcallv(fiber, method, arguments.len() as c_int, arguments.as_ptr()))
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
