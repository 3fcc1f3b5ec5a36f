//! Answers of the VM that are kept for good.
//!
//! The VM may switch threads while it answers. In `OnceLock::get_or_init`, and so in magnus' `Lazy`, a second
//! thread would wait for the first one's answer. It would do so with the GVL, and neither could ever
//! continue. So here both threads ask, and the first answer is kept. An error is not kept: it is passed on,
//! and the next caller asks again.

use std::sync::OnceLock;

use magnus::value::Opaque;
use magnus::{Error, Module, RClass, Ruby, TypedData, Value};

/// A question to the VM, and its answer once there is one.
#[derive(Debug)]
pub(crate) struct Cached<T> {
    answer: OnceLock<T>,
    load: fn(&Ruby) -> Result<T, Error>,
}

impl<T> Cached<T> {
    pub(crate) const fn new(load: fn(&Ruby) -> Result<T, Error>) -> Self {
        Self { answer: OnceLock::new(), load }
    }

    /// Returns the answer, after asking the VM if necessary.
    ///
    /// # Errors
    /// The exception that the question raises, or one that was delivered during the call.
    pub(crate) fn get(&self, ruby: &Ruby) -> Result<&T, Error> {
        if let Some(answer) = self.answer.get() {
            return Ok(answer);
        }
        let answer = (self.load)(ruby)?;
        Ok(self.answer.get_or_init(|| answer))
    }
}

/// A question whose answer is an object, which is never freed or moved from then on.
pub(crate) struct CachedObject {
    answer: OnceLock<Opaque<Value>>,
    load: fn(&Ruby) -> Result<Value, Error>,
}

impl CachedObject {
    pub(crate) const fn new(load: fn(&Ruby) -> Result<Value, Error>) -> Self {
        Self { answer: OnceLock::new(), load }
    }

    /// Returns the object, after asking the VM if necessary.
    ///
    /// # Errors
    /// Same as for [`Cached::get`].
    pub(crate) fn value(&self, ruby: &Ruby) -> Result<Value, Error> {
        if let Some(answer) = self.answer.get() {
            return Ok(ruby.get_inner(*answer));
        }
        let value = (self.load)(ruby)?;
        ruby.gc_register_mark_object(value);
        Ok(ruby.get_inner(*self.answer.get_or_init(|| value.into())))
    }
}

/// Defines a class for the objects that wrap a `T`. Magnus looks the class up at once, while the
/// extension is still being loaded and no other thread can ask for it.
pub(crate) fn define_class<T: TypedData>(
    ruby: &Ruby,
    outer: impl Module,
    name: &str,
) -> Result<RClass, Error> {
    outer.define_class(name, ruby.class_object())?;
    Ok(T::class(ruby))
}
