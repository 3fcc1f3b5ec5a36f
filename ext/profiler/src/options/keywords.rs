//! The options of a session, as they come from Ruby.

use magnus::value::{Qfalse, Qtrue};
use magnus::{prelude::*, r_hash::ForEach, Error, RHash, Ruby, Symbol, Value};

use crate::errors::{wrong_value, Fault, Piece};

/// Defines [`Keywords`]: a field for each name, and the mapping from the name to the field.
macro_rules! options {
    ($($name:ident)+) => {
        /// The values of the options; `None` for an option that is absent or nil.
        #[derive(Default)]
        pub(super) struct Keywords {
            $(pub(super) $name: Option<Value>,)+
        }

        impl Keywords {
            fn field(&mut self, name: &str) -> Option<&mut Option<Value>> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }
        }

        const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

options! {
    mode interval frequency max_overhead every every_bytes threads labels static_labels depth engine gc ignore_gc timeline raw fibers spans
    owners trim_path name metadata
}

impl Keywords {
    /// Reads the keywords of `Profiler.start`.
    ///
    /// # Errors
    /// ArgumentError for an unknown keyword.
    pub(super) fn from_ruby(ruby: &Ruby, options: RHash) -> Result<Self, Error> {
        let mut keywords = Self::default();
        options.foreach(|key: Value, value: Value| {
            let name = Symbol::from_value(key).and_then(|key| key.name().ok());
            let Some(field) = name.and_then(|name| keywords.field(&name)) else {
                let allowed = NAMES.join(":, ");
                return Err(wrong_value(ruby, key, |name| {
                    format!("unknown keyword: {name} (allowed: {allowed}:)")
                }));
            };
            *field = Some(value).filter(|value| !value.is_nil());
            Ok(ForEach::Continue)
        })?;
        // A false value has no effect, even beside gc: and without time.
        keywords.ignore_gc = keywords.ignore_gc.filter(|value| value.to_bool());
        Ok(keywords)
    }
}

/// Returns the value of an option that has two names.
///
/// # Errors
/// ArgumentError if both are present.
pub(super) fn either(
    ruby: &Ruby,
    [first, second]: [(&'static str, Option<Value>); 2],
) -> Result<Option<Value>, Error> {
    if first.1.is_some() && second.1.is_some() {
        let same = Piece::text(" mean the same: pass only one of them");
        let pieces = &[Piece::text(" and "), Piece::Option(second.0), same];
        return Err(Fault { option: first.0, value: None, pieces }.argument_error(ruby));
    }
    Ok(first.1.or(second.1))
}

/// Returns the value of an option that is true or false; false if it is absent.
///
/// # Errors
/// ArgumentError for any other value.
pub(super) fn flag(ruby: &Ruby, option: &'static str, value: Option<Value>) -> Result<bool, Error> {
    match value {
        None => Ok(false),
        Some(value) if Qtrue::from_value(value).is_some() => Ok(true),
        Some(value) if Qfalse::from_value(value).is_some() => Ok(false),
        Some(_) => {
            let pieces = &[Piece::text(" is not a choice (allowed: true, false)")];
            Err(Fault { option, value, pieces }.argument_error(ruby))
        }
    }
}
