//! Answers of the VM that are kept for good.
//!
//! The VM may switch threads while it answers. A second thread that then waited for the first one's answer, as it would
//! in `OnceLock::get_or_init` and so in magnus' `Lazy`, would do so with the GVL, and neither would ever get on. So here
//! both ask, and the first answer stays. An error is no answer: it is passed on, and the next one asks again.

use std::sync::OnceLock;

use magnus::value::Opaque;
use magnus::{Error, Module, RClass, Ruby, TypedData, Value};

/// A question to the VM, and its answer once it has one.
#[derive(Debug)]
pub(crate) struct Cached<T> {
    answer: OnceLock<T>,
    load: fn(&Ruby) -> Result<T, Error>,
}

impl<T> Cached<T> {
    pub(crate) const fn new(load: fn(&Ruby) -> Result<T, Error>) -> Self {
        Self { answer: OnceLock::new(), load }
    }

    /// The answer.
    ///
    /// # Errors
    /// What the question raises, or what was delivered meanwhile.
    pub(crate) fn get(&self, ruby: &Ruby) -> Result<&T, Error> {
        if let Some(answer) = self.answer.get() {
            return Ok(answer);
        }
        let answer = (self.load)(ruby)?;
        Ok(self.answer.get_or_init(|| answer))
    }
}

/// The same for an object, which the GC leaves alone from then on.
pub(crate) struct CachedObject {
    answer: OnceLock<Opaque<Value>>,
    load: fn(&Ruby) -> Result<Value, Error>,
}

impl CachedObject {
    pub(crate) const fn new(load: fn(&Ruby) -> Result<Value, Error>) -> Self {
        Self { answer: OnceLock::new(), load }
    }

    /// The object.
    ///
    /// # Errors
    /// As [`Cached::get`].
    pub(crate) fn value(&self, ruby: &Ruby) -> Result<Value, Error> {
        if let Some(answer) = self.answer.get() {
            return Ok(ruby.get_inner(*answer));
        }
        let value = (self.load)(ruby)?;
        ruby.gc_register_mark_object(value);
        Ok(ruby.get_inner(*self.answer.get_or_init(|| value.into())))
    }
}

/// Defines a class of ours for what `T` wraps. Magnus reads what it keeps of it at once, as the extension is still
/// being loaded and nobody else can ask.
pub(crate) fn define_class<T: TypedData>(
    ruby: &Ruby,
    outer: impl Module,
    name: &str,
) -> Result<RClass, Error> {
    outer.define_class(name, ruby.class_object())?;
    Ok(T::class(ruby))
}
