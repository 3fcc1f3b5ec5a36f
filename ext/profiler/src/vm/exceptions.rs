//! The exceptions of the project, which Ruby defines (lib/profiler/errors.rb).

use std::ffi::CStr;

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{prelude::*, Error, Exception, ExceptionClass, RModule, Ruby, Value};

use super::door::protect;

/// Creates a `Profiler::<name>` with a message for the user.
pub(crate) fn error(ruby: &Ruby, name: &str, message: impl Into<String>) -> Error {
    exception(class_of_error(ruby, name), &message.into())
}

/// Adds an instance variable to an exception. An exception that is delivered during the call is returned instead.
pub(crate) fn with_variable(error: Error, name: &'static CStr, value: Value) -> Error {
    let Some(exception) = error.value() else { return error };
    // SAFETY: a Value proves that the GVL is held; both objects are on the stack, and the name lives for ever.
    let set = protect(|| unsafe {
        rb_sys::rb_ivar_set(exception.as_raw(), rb_sys::rb_intern(name.as_ptr()), value.as_raw())
    });
    set.err().unwrap_or(error)
}

/// Returns the message with which an exception was created, whatever object it is; nil if there was none. No
/// method is called, unlike by `message` and `to_s`, which the app may have overridden.
pub(crate) fn message_of(exception: Exception) -> Value {
    // SAFETY: an Exception proves that the GVL is held, and is on the stack. The name is a literal. `mesg` is
    // the variable in which Ruby's own exceptions keep their message; an object without it has nil.
    unsafe { Value::from_raw(rb_sys::rb_attr_get(exception.as_raw(), rb_sys::rb_intern(c"mesg".as_ptr()))) }
}

/// Returns the class `Profiler::<name>`.
pub(crate) fn class_of_error(ruby: &Ruby, name: &str) -> ExceptionClass {
    ruby.class_object()
        .const_get::<_, RModule>("Profiler")
        .and_then(|profiler| profiler.const_get::<_, ExceptionClass>(name))
        .unwrap_or_else(|_| ruby.exception_runtime_error())
}

/// Creates an exception of that class at once. Creating one calls Ruby, and magnus would do so at a point
/// where it cannot pass an error on. An exception that is delivered meanwhile, such as the end of the thread,
/// is returned instead.
pub(crate) fn exception(class: ExceptionClass, message: &str) -> Error {
    // SAFETY: a class proves that the GVL is held. Ruby copies the bytes, which outlive the call.
    let made = protect(|| unsafe {
        let text = rb_sys::rb_utf8_str_new(message.as_ptr().cast(), message.len() as _);
        rb_sys::rb_exc_new_str(class.as_raw(), text)
    });
    match made {
        // SAFETY: the exception has just been created, and is on the stack.
        Ok(made) => match Exception::from_value(unsafe { Value::from_raw(made) }) {
            Some(made) => made.into(),
            None => Error::new(class, message.to_owned()), // an app has redefined `new`
        },
        Err(arrived) => arrived,
    }
}
