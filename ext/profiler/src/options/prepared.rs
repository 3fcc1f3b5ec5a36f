//! Options for sessions that are begun often. To read them is a quarter of a start whose code is not in the caches, as that of
//! a request's session never is.

use std::sync::{Arc, Mutex, PoisonError};

use magnus::value::Opaque;
use magnus::{
    gc, prelude::*, typed_data::Obj, DataTypeFunctions, Error, RHash, Ruby, TryConvert, TypedData, Value,
};

use crate::options::config::{Config, Threads};
use crate::vm;
use profiler_core::session::engine::Engine;

/// See the module.
#[derive(TypedData)]
#[magnus(class = "Profiler::Session::Prepared", free_immediately, mark)]
pub(crate) struct Prepared {
    options: Opaque<RHash>,
    /// The configuration that they gave.
    read: Mutex<Option<Arc<Config>>>,
}

impl DataTypeFunctions for Prepared {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.options);
    }
}

impl Prepared {
    /// `Session._prepared(options)`. They are checked when they are used.
    pub(crate) fn new(options: RHash) -> Self {
        Self { options: options.into(), read: Mutex::new(None) }
    }

    /// The options that `value` is, if it is such an object. No error is raised where it is not, as that would call Ruby.
    pub(crate) fn of(value: Value) -> Option<Obj<Self>> {
        value.is_kind_of(Self::class(&Ruby::get_with(value))).then(|| Obj::try_convert(value).ok()).flatten()
    }

    /// The configuration that they give now.
    ///
    /// # Errors
    /// As [`Config::from_ruby`].
    pub(crate) fn config(&self, ruby: &Ruby) -> Result<Arc<Config>, Error> {
        // Let go of before Ruby is asked for anything.
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(config) = read {
            if config.still_holds(ruby)? {
                return Ok(config);
            }
        }
        let config = Arc::new(Config::from_ruby(ruby, ruby.get_inner(self.options))?);
        *self.read.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&config));
        Ok(config)
    }
}

impl Config {
    /// Whether the same options would still come to this: Ractors and a compiler can come at any time, and compaction moves
    /// threads.
    fn still_holds(&self, ruby: &Ruby) -> Result<bool, Error> {
        let walks = self.engine == Engine::Safepoint || vm::process::unsafe_to_walk(ruby)?.is_none();
        Ok(walks && !self.measures.objects() && !matches!(self.threads, Threads::These(_)))
    }
}
