//! The values that a fiber carries, and the switch to another fiber.
//!
//! Labels are kept twice: as a fiber-local variable, which is cheap to read even for other threads, and from
//! Ruby 3.2 on in the fiber's storage, which a new fiber inherits. A span is only in a variable.
//!
//! Code that finds the variable unset reads the storage and copies its contents into the variable. If the
//! storage is empty, that too is recorded, so the storage is read once.
//!
//! A new Thread inherits its creator's storage as well, but not its labels. So the labels say which Thread
//! they belong to, and hold that Thread. An address alone could one day be that of another Thread, created
//! where a dead one was collected. For the same reason there is no table from fibers to labels: data attached
//! to a fiber dies with it.
//!
//! Ruby 3.1 has no storage. There a fiber that has not begun and has no labels of its own takes those of the
//! fiber before it, which is the one that resumes it. A fiber that has not begun is recognised by its empty
//! stack.

use std::ffi::c_int;

#[cfg(ruby_gte_3_2)]
use magnus::{prelude::*, rb_sys::AsRawValue, rb_sys::FromRawValue, Value};
use magnus::{Error, Ruby};
use rb_sys::{rb_event_flag_t, VALUE};

#[cfg(ruby_gte_3_2)]
use crate::vm::cached::CachedObject;
use crate::vm::door::{quietly, Name};
use crate::vm::events::ThreadHook;

/// Whether fibers have a storage that the fibers they create inherit.
pub(crate) const STORAGE: bool = cfg!(ruby_gte_3_2);

/// A fiber-local variable that the profiler sets.
#[derive(Debug)]
pub(crate) struct Variable(Name);

/// The labels of a fiber.
pub(crate) static LABELS: Variable = Variable(Name::new(c"__profiler_labels__"));
/// The span that a fiber is in.
pub(crate) static SPAN: Variable = Variable(Name::new(c"__profiler_span__"));

/// The contents of a fiber-local variable.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Local {
    /// The variable was never set.
    Unset,
    /// The variable was explicitly set to empty.
    Nothing,
    /// A VALUE.
    Some(u64),
}

impl Variable {
    /// Returns the variable's value on the fiber that runs on `thread`, a Thread. Calls no method.
    ///
    /// # Safety
    /// The caller holds the GVL; `thread` is a Thread of this Ractor.
    pub(crate) unsafe fn get(&self, thread: u64) -> Local {
        // SAFETY: the caller holds the GVL and passes a Thread of this Ractor. The call only reads a table,
        // and raises only if it gets no Thread.
        let value = unsafe { quietly(|| rb_sys::rb_thread_local_aref(thread as VALUE, self.0.id())) };
        match value {
            Some(value) if value == rb_sys::Qfalse as VALUE => Local::Nothing,
            Some(value) if value != rb_sys::Qnil as VALUE => Local::Some(value),
            _ => Local::Unset,
        }
    }

    /// Sets the variable on the fiber that runs on the current thread; `None` is stored as an explicit empty
    /// value. A frozen Thread keeps its value. Calls no method.
    ///
    /// # Safety
    /// The caller holds the GVL and runs on `thread`; `value` is a live object.
    pub(crate) unsafe fn set(&self, thread: u64, value: Option<u64>) {
        let value = value.map_or(rb_sys::Qfalse as VALUE, |value| value as VALUE);
        // SAFETY: the caller holds the GVL and runs on `thread`, and `value` is live. The message of a
        // FrozenError would call `inspect`, so a frozen Thread is checked for first.
        unsafe {
            if rb_sys::rb_obj_frozen_p(thread as VALUE) == rb_sys::Qfalse as VALUE {
                quietly(|| rb_sys::rb_thread_local_aset(thread as VALUE, self.0.id(), value));
            }
        }
    }
}

/// Returns the value that the current fiber inherited or was given, as a VALUE. Always `None` before Ruby
/// 3.2.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
#[cfg(ruby_gte_3_2)]
pub(crate) fn stored(ruby: &Ruby) -> Result<Option<u64>, Error> {
    static GET: Name = Name::new(c"[]");
    let value = super::door::call(FIBER.value(ruby)?, &GET, [key()])?;
    Ok((!value.is_nil()).then(|| value.as_raw()))
}

/// Stores `value` in the current fiber, which hands it on to the fibers that it creates from now on. A no-op
/// before Ruby 3.2.
///
/// # Errors Exceptions that other threads deliver during the call: the value is stored nevertheless, as the
/// VM delivers them after that.
///
/// # Safety
/// `value` is a live object.
#[cfg(ruby_gte_3_2)]
pub(crate) unsafe fn store(ruby: &Ruby, value: Option<u64>) -> Result<(), Error> {
    static SET: Name = Name::new(c"[]=");
    // SAFETY: the caller passes a live object.
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
    // SAFETY: the callers hold the GVL, and the id belongs to an interned name.
    unsafe { Value::from_raw(rb_sys::rb_id2sym(LABELS.0.id())) }
}

/// Loads what this module keeps: see [`crate::boot::preload`].
pub(crate) fn preload(_ruby: &Ruby) -> Result<(), Error> {
    #[cfg(ruby_gte_3_2)]
    FIBER.value(_ruby)?;
    Ok(())
}

/// Returns whether the running fiber has not begun its block: its stack is empty.
///
/// # Safety
/// The caller holds the GVL and runs Ruby.
pub(crate) unsafe fn is_new() -> bool {
    let (mut handle, mut line) = (0, 0);
    // SAFETY: there is space for the one frame that is requested.
    unsafe { super::frames::walk(&raw mut handle, &raw mut line, 1) == 0 }
}

/// Installs `hook`, which is then called on each thread after it has switched to another fiber.
///
/// # Safety
/// The caller holds the GVL; the hook neither raises nor releases it.
pub(crate) unsafe fn hook_switch(hook: ThreadHook) {
    // SAFETY: the caller holds the GVL; the hook is a plain function that lives as long as the process.
    unsafe { rb_sys::rb_add_event_hook(Some(hook), rb_sys::RUBY_EVENT_FIBER_SWITCH as rb_event_flag_t, 0) };
}

/// Removes a hook that [`hook_switch`] installed.
///
/// # Safety
/// The caller holds the GVL and is not inside the hook.
pub(crate) unsafe fn unhook_switch(hook: ThreadHook) {
    // SAFETY: the caller holds the GVL and is not inside the hook; removing a hook that is not installed is a
    // no-op.
    let _: c_int = unsafe { rb_sys::rb_remove_event_hook(Some(hook)) };
}
