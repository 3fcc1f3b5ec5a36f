//! TracePoints on the calls of one method, with a hook in native code.
//!
//! Ruby puts the events of such a TracePoint only into the code of that method: all other code runs as
//! before. Only Ruby can enable it (`TracePoint#enable(target:)`), which `lib/profiler/method_trace.rb` does.
//!
//! A C function has no code for that. Its TracePoint is one for all C functions, and the calls of the others
//! are only counted.
//!
//! What runs inside of a method is seen by a TracePoint for all calls of the process. The VM changes the code of all
//! methods as the first of these is enabled, and does not change it back. It calls this hook before one that belongs to
//! the code of a single method.
//!
//! While a hook of any TracePoint runs, the VM calls no other, so calls made by such a hook are not seen.

use core::ffi::c_void;

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{Ruby, Value};
use rb_sys::{rb_event_flag_t, VALUE};

/// An event for which a hook is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MethodEvent {
    /// The method was called; its frame is there.
    Call,
    /// The method returns this object, or an exception or a throw leaves it. The VM does not tell these
    /// apart, and reports nil in the second case.
    Return(u64),
    /// Code somewhere raised this exception.
    Raise(u64),
    /// The method rescued an exception.
    Rescue,
    /// Another C function was called or returned.
    Other,
}

/// The kind of what is called or returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Callee {
    /// A method that is written in Ruby. Its frame is there as the hook runs.
    Method,
    /// A C function. Its frame is not there yet as it is called.
    Function,
    /// A block of a method, or outside of methods. Its frame is there.
    Block,
}

/// An event of [`on_calls`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallEvent {
    /// True for a call, false for a return.
    pub(crate) is_call: bool,
    pub(crate) callee: Callee,
    event: *mut rb_sys::rb_trace_arg_t,
}

impl CallEvent {
    /// Returns the owner and the name of the method that is called or returns, or that has the block, as the addresses
    /// of a class or module and a Symbol. Both are 0 outside of methods. Allocates nothing.
    ///
    /// # Safety
    /// The hook that has this event is running.
    pub(crate) unsafe fn method(&self) -> (u64, u64) {
        // SAFETY: the hook is running, so the event's data are there.
        unsafe { method_of(self.event) }
    }
}

/// A hook for all calls: a function of the data that [`on_calls`] was given, the event, and the address of the
/// TracePoint.
pub(crate) type CallHook = unsafe fn(*const c_void, CallEvent, u64);

/// A hook: a function of the data that [`on_method`] or [`on_raise`] was given, the event, and the address of
/// the TracePoint.
pub(crate) type MethodHook = unsafe fn(*const c_void, MethodEvent, u64);

/// The event that code rescued an exception, which Rubies before 3.3 lack.
#[cfg(ruby_gte_3_3)]
const RESCUE: rb_event_flag_t = rb_sys::RUBY_EVENT_RESCUE as rb_event_flag_t;
#[cfg(not(ruby_gte_3_3))]
const RESCUE: rb_event_flag_t = 0;

/// The events that a method, or a C function, was called; and those that it returned.
const CALLS: rb_event_flag_t =
    rb_sys::RUBY_EVENT_CALL as rb_event_flag_t | rb_sys::RUBY_EVENT_C_CALL as rb_event_flag_t;
const RETURNS: rb_event_flag_t =
    rb_sys::RUBY_EVENT_RETURN as rb_event_flag_t | rb_sys::RUBY_EVENT_C_RETURN as rb_event_flag_t;

/// The events of blocks, and all of calls.
const BLOCKS: rb_event_flag_t =
    rb_sys::RUBY_EVENT_B_CALL as rb_event_flag_t | rb_sys::RUBY_EVENT_B_RETURN as rb_event_flag_t;
const C_FUNCTIONS: rb_event_flag_t =
    rb_sys::RUBY_EVENT_C_CALL as rb_event_flag_t | rb_sys::RUBY_EVENT_C_RETURN as rb_event_flag_t;

struct CallTarget {
    hook: CallHook,
    data: *const c_void,
}

struct Target {
    hook: MethodHook,
    data: *const c_void,
    /// The addresses of the owner and the name of a C function. They are only compared.
    function: Option<(VALUE, VALUE)>,
}

/// Creates a TracePoint for the calls, returns and rescues of a method, which is not enabled yet.
///
/// # Safety
/// `hook` accepts `data` as long as the process lives. It neither raises nor calls a method, and leaves the
/// GVL alone.
pub(crate) unsafe fn on_method(ruby: &Ruby, hook: MethodHook, data: *const c_void) -> Value {
    let events =
        rb_sys::RUBY_EVENT_CALL as rb_event_flag_t | rb_sys::RUBY_EVENT_RETURN as rb_event_flag_t | RESCUE;
    // SAFETY: the hook accepts `data` for the life of the process, and neither raises nor calls a method.
    unsafe { create(ruby, events, hook, data, None) }
}

/// Creates a TracePoint for the calls and returns of a C function by its owner and its original name, which
/// is not enabled yet. The hook is called for [`MethodEvent::Other`] too.
///
/// # Safety
/// Same as for [`on_method`].
pub(crate) unsafe fn on_c_function(
    ruby: &Ruby,
    owner: Value,
    name: Value,
    hook: MethodHook,
    data: *const c_void,
) -> Value {
    let function = Some((owner.as_raw(), name.as_raw()));
    // SAFETY: the hook accepts `data` for the life of the process, and neither raises nor calls a method.
    unsafe { create(ruby, C_FUNCTIONS, hook, data, function) }
}

/// Creates a TracePoint for the calls and returns of all methods, C functions and blocks of the process, which is not
/// enabled yet.
///
/// # Safety
/// Same as for [`on_method`].
pub(crate) unsafe fn on_calls(_gvl: &Ruby, hook: CallHook, data: *const c_void) -> Value {
    // Never freed: code may enable any TracePoint that it finds in ObjectSpace.
    let target = Box::into_raw(Box::new(CallTarget { hook, data }));
    // SAFETY: a `Ruby` proves that the GVL is held; the target lives for ever. The call allocates an object.
    unsafe {
        let events = CALLS | RETURNS | BLOCKS;
        let created = rb_sys::rb_tracepoint_new(rb_sys::Qnil as VALUE, events, Some(called), target.cast());
        Value::from_raw(created)
    }
}

/// Creates a TracePoint for all exceptions that are raised, which is not enabled yet.
///
/// # Safety
/// Same as for [`on_method`].
pub(crate) unsafe fn on_raise(ruby: &Ruby, hook: MethodHook, data: *const c_void) -> Value {
    // SAFETY: the hook accepts `data` for the life of the process, and neither raises nor calls a method.
    unsafe { create(ruby, rb_sys::RUBY_EVENT_RAISE as rb_event_flag_t, hook, data, None) }
}

unsafe fn create(
    _gvl: &Ruby,
    events: rb_event_flag_t,
    hook: MethodHook,
    data: *const c_void,
    function: Option<(VALUE, VALUE)>,
) -> Value {
    // Never freed: code may enable any TracePoint that it finds in ObjectSpace.
    let target = Box::into_raw(Box::new(Target { hook, data, function }));
    // SAFETY: a `Ruby` proves that the GVL is held; the target lives for ever. The call allocates an object.
    unsafe {
        Value::from_raw(rb_sys::rb_tracepoint_new(rb_sys::Qnil as VALUE, events, Some(call), target.cast()))
    }
}

unsafe extern "C" fn call(tracepoint: VALUE, target: *mut c_void) {
    // SAFETY: `create` passed a Target that lives for ever; inside a hook the VM has the event's data, and
    // these functions only read it, each for an event that has it.
    unsafe {
        let Target { hook, data, function } = &*target.cast::<Target>();
        let event = rb_sys::rb_tracearg_from_tracepoint(tracepoint);
        let is_other = |(owner, name): (VALUE, VALUE)| {
            rb_sys::rb_tracearg_method_id(event) != name || rb_sys::rb_tracearg_defined_class(event) != owner
        };
        let happened = match rb_sys::rb_tracearg_event_flag(event) {
            _ if function.is_some_and(is_other) => MethodEvent::Other,
            flag if flag & CALLS != 0 => MethodEvent::Call,
            flag if flag & RETURNS != 0 => {
                MethodEvent::Return(rb_sys::rb_tracearg_return_value(event) as u64)
            }
            flag if flag == rb_sys::RUBY_EVENT_RAISE as rb_event_flag_t => {
                MethodEvent::Raise(rb_sys::rb_tracearg_raised_exception(event) as u64)
            }
            _ => MethodEvent::Rescue,
        };
        hook(*data, happened, tracepoint);
    }
}

unsafe extern "C" fn called(tracepoint: VALUE, target: *mut c_void) {
    // SAFETY: `on_calls` passed a CallTarget that lives for ever; inside a hook the VM has the event's data.
    unsafe {
        let CallTarget { hook, data } = &*target.cast::<CallTarget>();
        let event = rb_sys::rb_tracearg_from_tracepoint(tracepoint);
        let flag = rb_sys::rb_tracearg_event_flag(event);
        let callee = match flag {
            _ if flag & BLOCKS != 0 => Callee::Block,
            _ if flag & C_FUNCTIONS != 0 => Callee::Function,
            _ => Callee::Method,
        };
        let is_call = flag & (CALLS | rb_sys::RUBY_EVENT_B_CALL as rb_event_flag_t) != 0;
        hook(*data, CallEvent { is_call, callee, event }, tracepoint);
    }
}

/// Returns the same as [`CallEvent::method`], for the event of any hook.
///
/// # Safety
/// The hook of this TracePoint is running.
pub(crate) unsafe fn method(tracepoint: u64) -> (u64, u64) {
    // SAFETY: the hook is running, so the event's data are there.
    unsafe { method_of(rb_sys::rb_tracearg_from_tracepoint(tracepoint as VALUE)) }
}

unsafe fn method_of(event: *mut rb_sys::rb_trace_arg_t) -> (u64, u64) {
    // SAFETY: the caller passes the data of an event whose hook is running. Both functions only read what is in the
    // frame or was passed with the event.
    let (owner, name) = unsafe {
        (rb_sys::rb_tracearg_defined_class(event) as u64, rb_sys::rb_tracearg_method_id(event) as u64)
    };
    if is_nil(owner) || is_nil(name) {
        return (0, 0);
    }
    (owner, name)
}

/// Disables a TracePoint. A no-op if it is not enabled. Allowed inside its own hook.
///
/// # Safety
/// The caller holds the GVL; `tracepoint` is a live TracePoint.
pub(crate) unsafe fn disable(tracepoint: u64) {
    // SAFETY: the caller holds the GVL and passes a live TracePoint.
    unsafe {
        if rb_sys::rb_tracepoint_enabled_p(tracepoint as VALUE) == rb_sys::Qtrue as VALUE {
            rb_sys::rb_tracepoint_disable(tracepoint as VALUE);
        }
    }
}

/// Returns whether an object is nil, which is what the VM reports as the result of a call that raised.
pub(crate) fn is_nil(object: u64) -> bool {
    object == rb_sys::Qnil as u64
}

/// Returns the line that the uppermost frame of Ruby code is at.
///
/// # Safety
/// The caller holds the GVL and runs Ruby.
pub(crate) unsafe fn current_line() -> u32 {
    // SAFETY: the caller holds the GVL and runs Ruby; the call only reads.
    u32::try_from(unsafe { rb_sys::rb_sourceline() }).unwrap_or(0)
}
