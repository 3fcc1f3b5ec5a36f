//! The exceptions of the project, which Ruby defines (lib/profiler/errors.rb).

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{prelude::*, Error, Exception, ExceptionClass, RModule, Ruby, Value};

use super::door::protect;

/// `Profiler::<name>` with a message for the user.
pub(crate) fn error(ruby: &Ruby, name: &str, message: impl Into<String>) -> Error {
    let class = ruby
        .class_object()
        .const_get::<_, RModule>("Profiler")
        .and_then(|profiler| profiler.const_get::<_, ExceptionClass>(name))
        .unwrap_or_else(|_| ruby.exception_runtime_error());
    exception(class, &message.into())
}

/// An exception of that class, made at once: to make it calls Ruby, and magnus would do so where it can pass nothing on. What is
/// delivered meanwhile, as the end of the thread, comes in its place.
pub(crate) fn exception(class: ExceptionClass, message: &str) -> Error {
    // SAFETY: a class proves that the GVL is held. Ruby copies the bytes, which outlive the call.
    let made = protect(|| unsafe {
        let text = rb_sys::rb_utf8_str_new(message.as_ptr().cast(), message.len() as _);
        rb_sys::rb_exc_new_str(class.as_raw(), text)
    });
    match made {
        // SAFETY: it has just been made, and is on the stack.
        Ok(made) => match Exception::from_value(unsafe { Value::from_raw(made) }) {
            Some(made) => made.into(),
            None => Error::new(class, message.to_owned()), // an app has defined `new` otherwise
        },
        Err(arrived) => arrived,
    }
}
