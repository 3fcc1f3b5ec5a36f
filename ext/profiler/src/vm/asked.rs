//! What the VM is asked once, and its answer kept for good.
//!
//! The VM may switch threads while it answers. A second thread that then waited for the first one's answer, as it would
//! in `OnceLock::get_or_init` and so in magnus' `Lazy`, would do so with the GVL, and neither would ever get on. So here
//! both ask, and the first answer stays.

use std::sync::OnceLock;

use magnus::value::{Opaque, OpaqueId};
use magnus::{prelude::*, Error, Module, RClass, Ruby, TypedData, Value};

/// See the module.
#[derive(Debug)]
pub(crate) struct Asked<T, A = T> {
    answer: OnceLock<T>,
    ask: fn(&Ruby) -> A,
}

/// An object, which the GC leaves alone from then on; nil if it is not to be had.
pub(crate) type Object = Asked<Opaque<Value>, Result<Value, Error>>;

impl<T, A> Asked<T, A> {
    pub(crate) const fn new(ask: fn(&Ruby) -> A) -> Self {
        Self { answer: OnceLock::new(), ask }
    }

    fn once(&self, ruby: &Ruby, keep: impl FnOnce(A) -> T) -> &T {
        if let Some(answer) = self.answer.get() {
            return answer;
        }
        let answer = keep((self.ask)(ruby));
        self.answer.get_or_init(|| answer)
    }
}

impl<T> Asked<T> {
    pub(crate) fn get(&self, ruby: &Ruby) -> &T {
        self.once(ruby, |answer| answer)
    }
}

impl Object {
    pub(crate) fn value(&self, ruby: &Ruby) -> Value {
        let kept = self.once(ruby, |answer| {
            let value = answer.unwrap_or_else(|_| ruby.qnil().as_value());
            ruby.gc_register_mark_object(value);
            value.into()
        });
        ruby.get_inner(*kept)
    }
}

/// Defines a class of ours for what `T` wraps. What magnus keeps of it, it is asked for at once, as the extension is still
/// being loaded and nobody else can ask.
pub(crate) fn define_class<T: TypedData>(
    ruby: &Ruby,
    outer: impl Module,
    name: &str,
) -> Result<RClass, Error> {
    outer.define_class(name, ruby.class_object())?;
    Ok(T::class(ruby))
}

/// The id of the method by which an UnboundMethod is called on an object.
pub(crate) fn bind_call(ruby: &Ruby) -> OpaqueId {
    static ID: Asked<OpaqueId> = Asked::new(|ruby| ruby.intern("bind_call").into());
    *ID.get(ruby)
}
