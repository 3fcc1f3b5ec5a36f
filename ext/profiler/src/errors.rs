//! Refusals of the core and wrong values from the user, as exceptions.

use magnus::{Error, Ruby, Value};
use profiler_core::error::Error as CoreError;

use crate::vm::door::inspect;
use crate::vm::exceptions::{error, exception};

/// Returns the exception for an error of the core.
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

/// Returns the exception for a wrong value from the user; `message` receives the result of `inspect`. An
/// exception that is delivered meanwhile is returned instead.
pub(crate) fn wrong_value(ruby: &Ruby, value: Value, message: impl FnOnce(String) -> String) -> Error {
    match inspect(value) {
        Ok(shown) => argument_error(ruby, message(shown)),
        Err(arrived) => arrived,
    }
}

/// Returns an ArgumentError for a wrong value from the user.
pub(crate) fn argument_error(ruby: &Ruby, message: impl Into<String>) -> Error {
    exception(ruby.exception_arg_error(), &message.into())
}
