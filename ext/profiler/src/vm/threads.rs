//! The Ruby threads that exist.

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{prelude::*, Error, IntoValue, RArray, RString, Ruby, TryConvert, Value};
use rb_sys::VALUE;

use crate::sys::native_thread;
use crate::vm::cached::CachedObject;
use crate::vm::door::{bind_call, call, protect, Name};
use crate::vm::methods::instance_method;
use crate::vm::modules::objects_of;

/// A Ruby thread, as Ruby describes it.
#[derive(Debug)]
pub(crate) struct RubyThread {
    /// The identity of the Thread object, for comparisons only.
    pub(crate) object: u64,
    /// The operating system's id; `None` before the thread first runs.
    pub(crate) native_id: Option<i32>,
    /// The result of `Thread#name`, or `main`, if names were requested.
    pub(crate) name: Option<String>,
    /// True for the calling thread.
    pub(crate) current: bool,
}

/// The threads that were alive when Ruby was asked. The objects stay live as long as this is on the machine's
/// stack. The threads may have ended since, as each question lets other threads run.
#[derive(Debug)]
pub(crate) struct LiveThreads {
    pub(crate) list: Vec<RubyThread>,

    holder: RArray,
}

impl LiveThreads {
    /// Keeps the objects live up to this point.
    pub(crate) fn release(self) {
        std::hint::black_box(self.holder.as_raw());
    }
}

/// Lets other threads run.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn pass(_ruby: &Ruby) -> Result<(), Error> {
    // SAFETY: a `Ruby` proves that the GVL is held.
    let passed = protect(|| unsafe {
        rb_sys::rb_thread_schedule();
        rb_sys::Qnil.into()
    });
    passed.map(|_| ())
}

/// Lists all living threads of the Ractor, with their names if requested. Overridden methods of Thread are
/// not called.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn list(ruby: &Ruby, names: NameChoice) -> Result<LiveThreads, Error> {
    let holder = all_threads(ruby)?;
    let query = ThreadQuery::new(ruby, names)?;
    let list = holder.into_iter().map(|thread| query.describe(thread)).collect::<Result<_, Error>>()?;
    Ok(LiveThreads { list, holder })
}

/// Lists all living threads without their names. Threads that have not begun are left out, unless `is_known`
/// returns true for them. They have a native thread, but no stack that could be walked.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn list_started(ruby: &Ruby, is_known: impl Fn(u64) -> bool) -> Result<LiveThreads, Error> {
    let LiveThreads { list, holder } = list(ruby, NameChoice::Omitted)?;
    let backtrace = BACKTRACE.value(ruby)?;
    let mut begun = Vec::with_capacity(list.len());
    for (place, thread) in list.into_iter().enumerate() {
        // Only the Array keeps a Thread that has ended since, and a compaction may have moved it.
        let object: Value = holder.entry(isize::try_from(place).unwrap_or_default())?;
        if thread.current || is_known(thread.object) || has_frames(backtrace, object)? {
            begun.push(thread);
        }
    }
    Ok(LiveThreads { list: begun, holder })
}

/// Returns whether Ruby shows a frame of the Thread.
fn has_frames(backtrace: Value, thread: Value) -> Result<bool, Error> {
    let ruby = Ruby::get_with(thread);
    let frames = bind_call(backtrace, [thread, 0.into_value_with(&ruby), 1.into_value_with(&ruby)])?;
    Ok(RArray::from_value(frames).is_some_and(|frames| !frames.is_empty()))
}

/// Returns the identities of all living threads of the Ractor.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn identities(ruby: &Ruby) -> Result<Vec<u64>, Error> {
    Ok(all_threads(ruby)?.into_iter().map(|thread| thread.as_raw()).collect())
}

/// Lists only the running thread.
///
/// # Errors
/// Same as for [`list`].
pub(crate) fn only_current(ruby: &Ruby, names: NameChoice) -> Result<LiveThreads, Error> {
    Ok(LiveThreads { list: vec![current(ruby, names)?], holder: ruby.ary_new() })
}

/// Describes the running thread.
///
/// # Errors
/// Same as for [`list`].
pub(crate) fn current(ruby: &Ruby, names: NameChoice) -> Result<RubyThread, Error> {
    ThreadQuery::new(ruby, names)?.describe(ruby.thread_current().as_value())
}

/// The choice whether names of threads are included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameChoice {
    Included,
    Omitted,
}

/// Returns the identity of the thread, or `None` if `value` is not a Thread.
pub(crate) fn identity(value: Value) -> Option<u64> {
    magnus::Thread::from_value(value).map(|thread| thread.as_raw())
}

/// Methods of Thread, even if a class of the app has replaced them.
static NATIVE_ID: CachedObject = CachedObject::new(|ruby| method(ruby, "native_thread_id"));
static NAME: CachedObject = CachedObject::new(|ruby| method(ruby, "name"));
static BACKTRACE: CachedObject = CachedObject::new(|ruby| method(ruby, "backtrace"));
/// The method `Thread.list` as Ruby defines it; nil if an app replaced it before we were loaded.
static LIST: CachedObject = CachedObject::new(own_list);

fn method(ruby: &Ruby, name: &str) -> Result<Value, Error> {
    instance_method(ruby, ruby.class_thread().as_value(), name)
}

/// Returns Ruby's own Method of `Thread.list`: the one without a source location.
fn own_list(ruby: &Ruby) -> Result<Value, Error> {
    static METHOD: Name = Name::new(c"method");
    static SOURCE: Name = Name::new(c"source_location");
    static SUPER: Name = Name::new(c"super_method");
    let mut list = call(ruby.class_thread().as_value(), &METHOD, [ruby.to_symbol("list").as_value()])?;
    while !list.is_nil() && !call(list, &SOURCE, [])?.is_nil() {
        list = call(list, &SUPER, [])?;
    }
    Ok(list)
}

/// Loads what this module keeps: see [`crate::boot::preload`].
pub(crate) fn preload(ruby: &Ruby) -> Result<(), Error> {
    [&NATIVE_ID, &NAME, &BACKTRACE, &LIST].into_iter().try_for_each(|it| it.value(ruby).map(drop))
}

fn all_threads(ruby: &Ruby) -> Result<RArray, Error> {
    let list = LIST.value(ruby)?;
    if list.is_nil() {
        // This includes threads that have ended, which have no native id.
        return objects_of(ruby, ruby.class_thread().as_value());
    }
    // SAFETY: the GVL is held; the call invokes a bound Method, which returns an Array.
    unsafe {
        let list = protect(|| rb_sys::rb_method_call(0, core::ptr::null(), list.as_raw()))?;
        RArray::try_convert(Value::from_raw(list))
    }
}

/// The methods that describe a thread.
struct ThreadQuery {
    native_id: Value,
    name: Value,
    names: NameChoice,
    main: VALUE,
    current: VALUE,
}

impl ThreadQuery {
    fn new(ruby: &Ruby, names: NameChoice) -> Result<Self, Error> {
        Ok(Self {
            native_id: NATIVE_ID.value(ruby)?,
            name: NAME.value(ruby)?,
            names,
            // SAFETY: a `Ruby` proves that the GVL is held.
            main: unsafe { rb_sys::rb_thread_main() },
            current: ruby.thread_current().as_raw(),
        })
    }

    fn describe(&self, thread: Value) -> Result<RubyThread, Error> {
        // In a forked child Ruby 3.1 still returns the id that the main thread had in the parent.
        let current = thread.as_raw() == self.current;
        Ok(RubyThread {
            object: thread.as_raw(),
            native_id: if current {
                Some(native_thread::cached_native_id())
            } else if thread.as_raw() == self.main {
                self.native_id_of(thread)?.map(native_thread::id_of_main)
            } else {
                self.native_id_of(thread)?
            },
            name: match self.names {
                NameChoice::Included => self.name_of(thread)?,
                NameChoice::Omitted => None,
            },
            current,
        })
    }

    /// Returns what Ruby says. On macOS an id may have more bits; only these are used there.
    fn native_id_of(&self, thread: Value) -> Result<Option<i32>, Error> {
        Ok(<Option<i64>>::try_convert(bind_call(self.native_id, [thread])?)?.map(|id| id as i32))
    }

    fn name_of(&self, thread: Value) -> Result<Option<String>, Error> {
        let own = RString::from_value(bind_call(self.name, [thread])?);
        // SAFETY: the GVL is held, and `name` is a live String.
        let own = own.map(|name| unsafe { super::text(name.as_raw()) });
        Ok(own.or_else(|| (thread.as_raw() == self.main).then(|| "main".to_owned())))
    }
}
