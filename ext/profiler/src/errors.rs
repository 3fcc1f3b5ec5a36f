//! Refusals of the core and wrong values from the user, as exceptions.

use std::borrow::Cow;
use std::fmt::Display;

use magnus::{prelude::*, Error, ExceptionClass, Ruby, Value};
use profiler_core::error::Error as CoreError;

use crate::vm::describe::describe;
use crate::vm::exceptions::{class_of_error, error, exception, with_variable};

/// A piece of what is wrong with an option. Each interface spells the pieces in its own way: Ruby as
/// `mode: :cpu`, the command line as `--mode cpu` (`lib/profiler/option_fault.rb`).
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text(Cow<'static, str>),
    /// The name of another option.
    Option(&'static str),
    /// The name of a Symbol that is allowed.
    Choice(&'static str),
    /// Several of the choices.
    Several,
}

impl Piece {
    pub(crate) fn text(text: impl Into<Cow<'static, str>>) -> Self {
        Self::Text(text.into())
    }

    /// Returns the choices with commas in between.
    pub(crate) fn choices(names: &[&'static str]) -> Vec<Self> {
        let mut pieces = Vec::new();
        for (number, name) in names.iter().enumerate() {
            if number > 0 {
                pieces.push(Self::text(", "));
            }
            pieces.push(Self::Choice(name));
        }
        pieces
    }

    /// Returns what a value is not, and the choices that are allowed.
    pub(crate) fn none_of(wrong: impl Display, names: &[&'static str], several: bool) -> Vec<Self> {
        let mut pieces = vec![Self::text(format!("{wrong} (allowed: "))];
        pieces.extend(Self::choices(names));
        if several {
            pieces.extend([Self::text(", "), Self::Several]);
        }
        pieces.push(Self::text(")"));
        pieces
    }

    /// The kind and the text, for Ruby.
    fn in_ruby(&self) -> (&'static str, &str) {
        match self {
            Self::Text(text) => ("text", text),
            Self::Option(name) => ("option", name),
            Self::Choice(name) => ("choice", name),
            Self::Several => ("several", ""),
        }
    }

    fn spell(&self, message: &mut String) {
        match self {
            Self::Text(text) => message.push_str(text),
            Self::Option(name) => message.extend([*name, ":"]),
            Self::Choice(name) => message.extend([":", *name]),
            Self::Several => message.push_str("an Array of these"),
        }
    }
}

/// A wrong value of an option of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault<'a> {
    pub(crate) option: &'static str,
    /// `None` if the option is wrong with any value.
    pub(crate) value: Option<Value>,
    /// The rest of the sentence, after the value.
    pub(crate) pieces: &'a [Piece],
}

impl Fault<'_> {
    /// Returns the ArgumentError for it. An exception that is delivered during the call is returned instead.
    pub(crate) fn argument_error(self, ruby: &Ruby) -> Error {
        self.exception(ruby, ruby.exception_arg_error())
    }

    /// Returns the `Profiler::Unsupported` for it, as [`Fault::argument_error`] does.
    pub(crate) fn unsupported(self, ruby: &Ruby) -> Error {
        self.exception(ruby, class_of_error(ruby, "Unsupported"))
    }

    fn exception(self, ruby: &Ruby, class: ExceptionClass) -> Error {
        match self.message(ruby) {
            Ok(message) => self.keep_in(ruby, exception(class, &message)),
            Err(arrived) => arrived,
        }
    }

    fn message(self, ruby: &Ruby) -> Result<String, Error> {
        let mut message = format!("{}:", self.option);
        if let Some(value) = self.value {
            message.push(' ');
            message.push_str(&describe(ruby, value)?);
        }
        self.pieces.iter().for_each(|piece| piece.spell(&mut message));
        Ok(message)
    }

    /// Adds the option, its value and the pieces to the exception.
    fn keep_in(self, ruby: &Ruby, error: Error) -> Error {
        let pieces = ruby.ary_from_iter(self.pieces.iter().map(Piece::in_ruby));
        let fault = ruby.ary_new_from_values(&[
            ruby.str_new(self.option).as_value(),
            self.value.unwrap_or_else(|| ruby.qnil().as_value()),
            pieces.as_value(),
        ]);
        with_variable(error, c"@profiler_fault", fault.as_value())
    }
}

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

/// Returns the exception for a wrong value from the user; `message` receives its description. An
/// exception that is delivered during the call is returned instead.
pub(crate) fn wrong_value(ruby: &Ruby, value: Value, message: impl FnOnce(String) -> String) -> Error {
    match describe(ruby, value) {
        Ok(shown) => argument_error(ruby, message(shown)),
        Err(arrived) => arrived,
    }
}

/// Returns an ArgumentError for a wrong value from the user.
pub(crate) fn argument_error(ruby: &Ruby, message: impl Into<String>) -> Error {
    exception(ruby.exception_arg_error(), &message.into())
}
