//! The Ruby threads that exist.

use magnus::value::OpaqueId;
use magnus::{prelude::*, rb_sys::AsRawValue, Error, RArray, Ruby, Value};

use super::asked::{self, Object};

/// A living Ruby thread.
#[derive(Debug)]
pub(crate) struct RubyThread {
    /// Identity of the Thread object, to compare and nothing else.
    pub(crate) object: u64,
    /// The operating system's id; nothing before it first runs.
    pub(crate) native_id: Option<i32>,
    /// `Thread#name`, or `main`; where it was asked for.
    pub(crate) name: Option<String>,
    /// It is the one that runs.
    pub(crate) current: bool,
}

/// All living threads of the Ractor, with their names if they are wanted. Overridden methods of Thread are not called.
pub(crate) fn list(ruby: &Ruby, names: Names) -> Result<Vec<RubyThread>, Error> {
    let ask = Ask::new(ruby, names);
    alive(ruby)?.into_iter().map(|thread| ask.about(thread)).collect()
}

/// The identities of all living threads of the Ractor. They live until another one gets a turn, which none does in here.
pub(crate) fn identities(ruby: &Ruby) -> Result<Vec<u64>, Error> {
    Ok(alive(ruby)?.into_iter().map(|thread| thread.as_raw()).collect())
}

fn alive(ruby: &Ruby) -> Result<RArray, Error> {
    ruby.class_thread().funcall("list", ())
}

/// The thread that runs.
pub(crate) fn current(ruby: &Ruby, names: Names) -> Result<RubyThread, Error> {
    Ask::new(ruby, names).about(ruby.thread_current().as_value())
}

/// Whether threads are asked for their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    Wanted,
    Unwanted,
}

/// The thread's identity, if `value` is one.
pub(crate) fn identity(value: Value) -> Option<u64> {
    magnus::Thread::from_value(value).map(|thread| thread.as_raw())
}

/// Methods of Thread, whatever a class of the app has made of them. Made once.
static NATIVE_ID: Object = Object::new(|ruby| method(ruby, "native_thread_id"));
static NAME: Object = Object::new(|ruby| method(ruby, "name"));

fn method(ruby: &Ruby, name: &str) -> Result<Value, Error> {
    ruby.class_thread().funcall("instance_method", (name,))
}

/// What is asked of a thread.
struct Ask {
    bind_call: OpaqueId,
    native_id: Value,
    name: Value,
    names: Names,
    main: u64,
    current: u64,
}

impl Ask {
    fn new(ruby: &Ruby, names: Names) -> Self {
        // SAFETY: a `Ruby` proves that the GVL is held.
        let main = unsafe { rb_sys::rb_thread_main() } as u64;
        Self {
            bind_call: asked::bind_call(ruby),
            native_id: NATIVE_ID.value(ruby),
            name: NAME.value(ruby),
            names,
            main,
            current: ruby.thread_current().as_raw(),
        }
    }

    fn about(&self, thread: Value) -> Result<RubyThread, Error> {
        let object = thread.as_raw();
        // In a forked child Ruby 3.1 still gives the id that the thread had in the parent.
        let current = object == self.current;
        Ok(RubyThread {
            object,
            native_id: match current {
                true => Some(crate::threads::own_native_id()),
                false => self.native_id.funcall(self.bind_call, (thread,))?,
            },
            name: match self.names {
                Names::Wanted => self.name_of(thread)?,
                Names::Unwanted => None,
            },
            current,
        })
    }

    fn name_of(&self, thread: Value) -> Result<Option<String>, Error> {
        let own: Option<magnus::RString> = self.name.funcall(self.bind_call, (thread,))?;
        // SAFETY: the GVL is held, and `name` is a live String.
        let own = own.map(|name| unsafe { super::text(name.as_raw()) });
        Ok(own.or_else(|| (thread.as_raw() == self.main).then(|| "main".to_owned())))
    }
}
