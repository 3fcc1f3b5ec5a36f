//! Refusals of the core and wrong values from the user, as exceptions.

use magnus::{Error, Ruby, Value};
use profiler_core::error::Error as CoreError;

use crate::vm::door::inspect;
use crate::vm::exceptions::{error, exception};

/// The exception for what the core says.
pub(crate) fn core_error(ruby: &Ruby, reason: &CoreError) -> Error {
    match reason {
        CoreError::UnknownFormat { .. }
        | CoreError::UnknownExtension { .. }
        | CoreError::Directory { .. }
        | CoreError::NotMeasured { .. }
        | CoreError::NoTimeline
        | CoreError::UnknownLabel { .. } => argument_error(ruby, reason.to_string()),
        _ => error(ruby, "FormatError", reason.to_string()),
    }
}

/// A wrong value from the user, shown as `inspect` has it in what `message` makes. What is delivered meanwhile comes first.
pub(crate) fn wrong_value(ruby: &Ruby, value: Value, message: impl FnOnce(String) -> String) -> Error {
    match inspect(value) {
        Ok(shown) => argument_error(ruby, message(shown)),
        Err(arrived) => arrived,
    }
}

/// A wrong value from the user.
pub(crate) fn argument_error(ruby: &Ruby, message: impl Into<String>) -> Error {
    exception(ruby.exception_arg_error(), &message.into())
}
