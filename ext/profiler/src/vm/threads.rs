//! The Ruby threads that exist.

use crate::capture::clock;
use magnus::{prelude::*, rb_sys::AsRawValue, Error, RArray, Ruby, Value};

/// A living Ruby thread.
#[derive(Debug)]
pub(crate) struct RubyThread {
    /// Identity of the Thread object, to compare and nothing else.
    pub(crate) object: u64,
    /// The operating system's id; nothing before it first runs.
    pub(crate) native_id: Option<i32>,
    /// `Thread#name`, or `main`.
    pub(crate) name: Option<String>,
}

/// All living threads of the Ractor. Overridden methods of Thread are not called.
pub(crate) fn list(ruby: &Ruby) -> Result<Vec<RubyThread>, Error> {
    let class = ruby.class_thread();
    let method = |name: &str| class.funcall::<_, _, Value>("instance_method", (name,));
    let (native_id, name) = (method("native_thread_id")?, method("name")?);
    let main: Value = class.funcall("main", ())?;
    let current: Value = class.funcall("current", ())?;
    let threads: RArray = class.funcall("list", ())?;
    threads
        .into_iter()
        .map(|thread| {
            let own_name: Option<magnus::RString> = name.funcall("bind_call", (thread,))?;
            let own_name = own_name.map(|name| {
                // SAFETY: the GVL is held, and `name` is a live String.
                unsafe { super::text(name.as_raw()) }
            });
            let is_main = thread.as_raw() == main.as_raw();
            // In a forked child Ruby 3.1 still gives the id that the thread had in the parent.
            let is_current = thread.as_raw() == current.as_raw();
            Ok(RubyThread {
                object: thread.as_raw(),
                native_id: match is_current {
                    true => Some(clock::native_id()),
                    false => native_id.funcall("bind_call", (thread,))?,
                },
                name: own_name.or_else(|| is_main.then(|| "main".to_owned())),
            })
        })
        .collect()
}
