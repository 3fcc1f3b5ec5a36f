//! The exceptions of the project, which Ruby defines (lib/profiler/errors.rb).

use magnus::{prelude::*, Error, ExceptionClass, RModule, Ruby};

/// `Profiler::<name>` with a message for the user.
pub(crate) fn error(ruby: &Ruby, name: &str, message: impl Into<String>) -> Error {
    let class = ruby
        .class_object()
        .const_get::<_, RModule>("Profiler")
        .and_then(|profiler| profiler.const_get::<_, ExceptionClass>(name))
        .unwrap_or_else(|_| ruby.exception_runtime_error());
    Error::new(class, message.into())
}
