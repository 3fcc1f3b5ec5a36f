//! The values that a fiber carries, and the switch to another fiber.
//!
//! Labels are kept twice: as a fiber-local variable, which can be read cheaply and of other threads,
//! and from Ruby 3.2 on in the fiber's storage, which a new fiber inherits. A span is in a variable alone.
//!
//! Code that finds nothing in the variable reads the storage and copies that into the variable. "Nothing" is stored as
//! such, so the storage is read once.
//!
//! A new Thread inherits its creator's storage as well, but not its labels. So the labels say which Thread they belong
//! to, and hold that Thread. An address alone would one day be that of another Thread, created where a dead one was
//! collected. For the same reason nothing here is a table from fibers to labels: data attached to a fiber dies with it.
//!
//! Ruby 3.1 has no storage. There a fiber that has not begun and has no labels of its own takes those of the fiber
//! before it, which is the one that resumes it. A fiber that has not begun is known by its empty stack.

use std::ffi::c_int;

#[cfg(ruby_gte_3_2)]
use magnus::{prelude::*, rb_sys::AsRawValue, rb_sys::FromRawValue, Value};
use magnus::{Error, Ruby};
use rb_sys::{rb_event_flag_t, VALUE};

#[cfg(ruby_gte_3_2)]
use crate::vm::cached::CachedObject;
use crate::vm::door::{quietly, Name};
use crate::vm::events::ThreadHook;

/// Whether fibers have a storage that those they make inherit.
pub(crate) const STORAGE: bool = cfg!(ruby_gte_3_2);

/// A fiber-local variable of ours.
#[derive(Debug)]
pub(crate) struct Variable(Name);

/// The labels of a fiber.
pub(crate) static LABELS: Variable = Variable(Name::new(c"__profiler_labels__"));
/// The span that it is in.
pub(crate) static SPAN: Variable = Variable(Name::new(c"__profiler_span__"));

/// The contents of a fiber-local variable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Local {
    /// Nothing was ever stored.
    Unset,
    /// It was stored that there is nothing.
    Nothing,
    /// A VALUE.
    Some(u64),
}

impl Variable {
    /// Its value on the fiber that runs on `thread`, a Thread. Calls no method.
    ///
    /// # Safety
    /// The caller holds the GVL; `thread` is a Thread of this Ractor.
    pub(crate) unsafe fn get(&self, thread: u64) -> Local {
        // SAFETY: as promised. Only reads a table; raises for no Thread.
        let value = unsafe { quietly(|| rb_sys::rb_thread_local_aref(thread as VALUE, self.0.id())) };
        match value {
            Some(value) if value == rb_sys::Qfalse as VALUE => Local::Nothing,
            Some(value) if value != rb_sys::Qnil as VALUE => Local::Some(value),
            _ => Local::Unset,
        }
    }

    /// Sets it on the fiber that runs on the current thread; nothing is stored as such. A frozen
    /// Thread keeps what it has. Calls no method.
    ///
    /// # Safety
    /// The caller holds the GVL and runs on `thread`; `value` is a live object.
    pub(crate) unsafe fn set(&self, thread: u64, value: Option<u64>) {
        let value = value.map_or(rb_sys::Qfalse as VALUE, |value| value as VALUE);
        // SAFETY: as promised. The message of a FrozenError would call `inspect`, so it is not let come to that.
        unsafe {
            if rb_sys::rb_obj_frozen_p(thread as VALUE) == rb_sys::Qfalse as VALUE {
                quietly(|| rb_sys::rb_thread_local_aset(thread as VALUE, self.0.id(), value));
            }
        }
    }
}

/// The value that the current fiber inherited or was given, as a VALUE. Nothing before Ruby 3.2.
///
/// # Errors
/// Exceptions that were delivered meanwhile.
#[cfg(ruby_gte_3_2)]
pub(crate) fn stored(ruby: &Ruby) -> Result<Option<u64>, Error> {
    static GET: Name = Name::new(c"[]");
    let value = super::door::call(FIBER.value(ruby)?, &GET, [key()])?;
    Ok((!value.is_nil()).then(|| value.as_raw()))
}

/// Has the current fiber, and those that it makes from now on, carry `value`. Does nothing before
/// Ruby 3.2.
///
/// # Errors
/// Exceptions that were delivered meanwhile: the value is carried all the same, as the VM delivers when that is done.
///
/// # Safety
/// `value` is a live object.
#[cfg(ruby_gte_3_2)]
pub(crate) unsafe fn store(ruby: &Ruby, value: Option<u64>) -> Result<(), Error> {
    static SET: Name = Name::new(c"[]=");
    // SAFETY: as promised.
    let value = unsafe { Value::from_raw(value.map_or(rb_sys::Qnil as VALUE, |value| value as VALUE)) };
    super::door::call(FIBER.value(ruby)?, &SET, [key(), value]).map(drop)
}

#[cfg(not(ruby_gte_3_2))]
pub(crate) fn stored(_ruby: &Ruby) -> Result<Option<u64>, Error> {
    Ok(None)
}

#[cfg(not(ruby_gte_3_2))]
pub(crate) unsafe fn store(_ruby: &Ruby, _value: Option<u64>) -> Result<(), Error> {
    Ok(())
}

#[cfg(ruby_gte_3_2)]
static FIBER: CachedObject = CachedObject::new(|ruby| ruby.class_object().const_get("Fiber"));

#[cfg(ruby_gte_3_2)]
fn key() -> Value {
    // SAFETY: the callers hold the GVL, and the id is of an interned name.
    unsafe { Value::from_raw(rb_sys::rb_id2sym(LABELS.0.id())) }
}

/// See [`crate::boot::preload`].
pub(crate) fn preload(_ruby: &Ruby) -> Result<(), Error> {
    #[cfg(ruby_gte_3_2)]
    FIBER.value(_ruby)?;
    Ok(())
}

/// Whether the fiber that runs has not begun its block: its stack is empty.
///
/// # Safety
/// The caller holds the GVL and runs Ruby.
pub(crate) unsafe fn is_new() -> bool {
    let (mut handle, mut line) = (0, 0);
    // SAFETY: there is space for the one frame that is requested.
    unsafe { super::frames::walk(&raw mut handle, &raw mut line, 1) == 0 }
}

/// Calls `hook` on each thread when another fiber has begun to run there.
///
/// # Safety
/// The caller holds the GVL; the hook neither raises nor lets go of it.
pub(crate) unsafe fn hook_switch(hook: ThreadHook) {
    // SAFETY: a plain function that lives as long as the process.
    unsafe { rb_sys::rb_add_event_hook(Some(hook), rb_sys::RUBY_EVENT_FIBER_SWITCH as rb_event_flag_t, 0) };
}

/// Undoes [`hook_switch`].
///
/// # Safety
/// The caller holds the GVL and is not inside the hook.
pub(crate) unsafe fn unhook_switch(hook: ThreadHook) {
    // SAFETY: removing what is not there does nothing.
    let _: c_int = unsafe { rb_sys::rb_remove_event_hook(Some(hook)) };
}
