//! The current labels of each fiber, for `Profiler.label`.
//!
//! The labels of a fiber are kept with the fiber itself (`vm::fibers`), even if no session runs. While one
//! runs, the id of their set is also in the thread's state, where the handler reads it. A hook on the switch
//! of fibers copies it there. That hook is installed only while a session runs in a process that has used
//! labels. A fiber inherits the labels under which it was created. Before Ruby 3.2 its creation is not
//! reported, and it inherits those of the fiber that first resumed it. A thread inherits none. Ractors other
//! than the main one can set labels too, but no session sees them. The scope says which request a record
//! belongs to, and is kept in the same object. It is a number and no label, so there can be one per request.
//! Nor is the span of a trace a label: see `span`.
//!
//! The id of a set is valid for one table of sets; each object remembers its own id and the table of that id.
//! On a change the state is updated first and the label switch record is pushed second. A tick in between
//! already belongs to the new labels, and a tick too moves a thread into or out of a session's labels
//! (`core/session/state.rs`).
//!
//! A session that selects labels must know when a thread crosses into them and out, not only that some tick
//! fell inside. While there is such a session, each change of a thread's labels pushes a record without
//! frames, with the clocks of that instant. If the ring is full, the thread, which is in no handler, drains
//! it itself.
//!
//! A session that starts reads the labels of other threads from their fiber-local variables. A fiber that has
//! inherited its labels, but never read them, counts as without labels until it sets some or its thread
//! switches fibers.

use std::borrow::Cow;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use magnus::rb_sys::AsRawValue;
use magnus::{function, prelude::*, typed_data::Obj, Error, RHash, RModule, RString, Ruby, Value};
use profiler_core::ids::{LabelSetId, ScopeId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::profile::LabelSet;

use crate::errors::{argument_error, wrong_value};
use crate::shared::CAPTURE;
use crate::threads::{self, ThreadState};
use crate::vm;
use crate::vm::cached::define_class;
use crate::vm::fibers;
use crate::vm::threads::RubyThread;

mod current;
mod fiber_ids;
mod object;
mod parse;
mod span;
mod switch;
use current::{current, publish, stored, RUNNING, SELECTIVE, USED};
use object::{labels_of, Labels};
use parse::pairs;
pub(crate) use parse::set_from;
pub(crate) use span::keep_apart as keep_spans_apart;
pub(crate) use switch::RESYNC;

/// The number of labels that a fiber can have at once.
const MAX_LABELS: usize = 32;

/// The last scope that was assigned.
static LAST_SCOPE: AtomicU32 = AtomicU32::new(0);

/// Turns the labels that this fiber inherited into its own, so that [`refresh`] finds them without asking
/// Ruby.
///
/// # Errors
/// Same as for [`current`].
pub(crate) fn adopt_inherited(ruby: &Ruby) -> Result<(), Error> {
    if USED.load(Ordering::Relaxed) {
        fiber_ids::number_own(ruby, current(ruby)?);
    }
    Ok(())
}

/// Puts the labels of a live thread into its state, as a session begins to profile it. On another thread than
/// this one, a fiber has none if it has inherited its labels and these were never read.
pub(crate) fn refresh(hub: &Hub, state: &ThreadState, thread: &RubyThread) {
    if !USED.load(Ordering::Relaxed) {
        return;
    }
    let labels = stored(thread.object);
    state.labels.object.store(labels.map_or(0, |it| it.as_raw()), Ordering::Relaxed);
    state.labels.scope.store(labels.map_or(ScopeId::NONE, |it| it.scope).0, Ordering::Relaxed);
    state
        .labels
        .set
        .store(labels.map_or(LabelSetId::NONE, |it| it.id(hub, fiber_ids::is_on())).0, Ordering::Relaxed);
    span::publish(state, thread.object);
    if thread.current {
        state.labels.fiber.store(vm::state::current_fiber(), Ordering::Relaxed);
    }
}

/// Renews the ids of the labels of all threads if their table was replaced, which happens as a result is
/// taken. Needs the GVL.
pub(crate) fn renew(hub: &Hub) {
    /// The table that the threads' ids belong to.
    static TABLE: AtomicU64 = AtomicU64::new(0);
    if TABLE.swap(hub.labels_table(), Ordering::Relaxed) == hub.labels_table() {
        return;
    }
    for state in threads::live() {
        if let Some(labels) = labels_of(state.labels.object.load(Ordering::Relaxed)) {
            state.labels.set.store(labels.id(hub, fiber_ids::is_on()).0, Ordering::Relaxed);
        }
    }
}

/// Returns these labels on top of the current ones, if any session selects by labels.
///
/// # Errors
/// Same as for [`current`].
pub(crate) fn on_current<'a>(ruby: &Ruby, own: &'a LabelSet) -> Result<Cow<'a, LabelSet>, Error> {
    let around = if SELECTIVE.load(Ordering::Relaxed) > 0 { current(ruby)? } else { None };
    let pairs = || own.pairs().iter().cloned().map(|(name, value)| (name, Some(value)));
    Ok(around.map_or(Cow::Borrowed(own), |it| Cow::Owned(it.set.with(pairs()))))
}

/// Implements `Labels.enter(before, labels)`, which makes these labels current, on top of `before`, a result
/// of `Labels.current`. `Labels.leave(before)` undoes that, even after any exception here, including one that
/// arrives from outside when all is done.
fn enter(ruby: &Ruby, before: Option<Obj<Labels>>, labels: Value) -> Result<(), Error> {
    let Some(labels) = RHash::from_value(labels) else {
        return Err(wrong_value(ruby, labels, |value| {
            format!(
                "{value} is not a Hash of labels (allowed: names as Symbols or Strings, with their values)"
            )
        }));
    };
    let outer = before.map(|it| it.set.clone()).unwrap_or_default();
    let set = outer.with(pairs(ruby, labels)?);
    if set.pairs().len() > MAX_LABELS {
        let message = format!("{} labels at once are too many (allowed: {MAX_LABELS})", set.pairs().len());
        return Err(argument_error(ruby, message));
    }
    let scope = before.map_or(ScopeId::NONE, |it| it.scope);
    make_current(ruby, Labels::wrap(ruby, set, scope))
}

/// Implements `Labels.enter_scope(before, scope)`, which makes that scope current and keeps the labels. As
/// `Labels.enter`.
fn enter_scope(ruby: &Ruby, before: Option<Obj<Labels>>, scope: u32) -> Result<(), Error> {
    let set = before.map(|it| it.set.clone()).unwrap_or_default();
    make_current(ruby, Labels::wrap(ruby, set, ScopeId(scope)))
}

/// Implements `Labels.enter_span(trace_id, span_id)`: as [`span::enter`].
fn enter_span(ruby: &Ruby, trace_id: RString, span_id: RString) -> bool {
    let is_root = span::enter(ruby, trace_id, span_id);
    switch::hook(); // each time, as the first may have been another Ractor's
    is_root
}

/// Implements `Labels.new_scope`: returns a scope that none of the last four billion requests had.
fn new_scope() -> u32 {
    match LAST_SCOPE.fetch_add(1, Ordering::Relaxed).wrapping_add(1) {
        0 => new_scope(), // 0 means outside of every scope
        scope => scope,
    }
}

fn make_current(ruby: &Ruby, labels: Obj<Labels>) -> Result<(), Error> {
    USED.store(true, Ordering::Relaxed);
    switch::hook(); // each time, as the first may have been another Ractor's
    set_current(ruby, Some(labels))
}

/// Implements `Labels.leave(before)`, which restores the state before `enter` or `enter_scope`, even if it
/// raises an exception that was delivered.
fn leave(ruby: &Ruby, before: Option<Obj<Labels>>) -> Result<(), Error> {
    set_current(ruby, before)
}

/// Implements `Labels.to_h`: returns the current labels.
fn to_h(ruby: &Ruby) -> Result<RHash, Error> {
    pairs_of(ruby, current(ruby)?)
}

fn pairs_of(ruby: &Ruby, labels: Option<Obj<Labels>>) -> Result<RHash, Error> {
    let hash = ruby.hash_new();
    if let Some(labels) = labels {
        for (name, value) in labels.set.pairs() {
            hash.aset(ruby.to_symbol(name), value.as_str())?;
        }
    }
    Ok(hash)
}

/// Implements `Labels.of(thread)`: returns the labels that the fiber on any thread is known to carry. If a
/// fiber inherited its labels and never read them, none are returned.
fn of(ruby: &Ruby, thread: magnus::Thread) -> Result<RHash, Error> {
    pairs_of(ruby, stored(thread.as_raw()))
}

/// Sets the labels of the running fiber from now on. Ruby is called last, when all else is done.
fn set_current(ruby: &Ruby, labels: Option<Obj<Labels>>) -> Result<(), Error> {
    let thread = ruby.thread_current().as_raw();
    let labels = if fiber_ids::is_on() { fiber_ids::numbered(ruby, labels, stored(thread)) } else { labels };
    let value = labels.map(|it| it.as_raw());
    // SAFETY: a `Ruby` proves that the GVL is held; the object is live, as we hold it.
    unsafe { fibers::LABELS.set(thread, value) };
    let running = RUNNING.load(Ordering::Relaxed) && vm::process::on_main_ractor(); // others are not in the registry
    if let (true, Some(hub)) = (running, CAPTURE.hub()) {
        if let Some(state) = threads::current() {
            publish(hub, state, labels);
            state.labels.fiber.store(vm::state::current_fiber(), Ordering::Relaxed);
        }
    }
    // SAFETY: the object is live, as we hold it.
    unsafe { fibers::store(ruby, value) }
}

/// Notes that there are sessions from now on.
pub(crate) fn sessions_begin() {
    RUNNING.store(true, Ordering::Relaxed);
    switch::hook();
}

/// Notes that there is no session any more.
pub(crate) fn sessions_end() {
    RUNNING.store(false, Ordering::Relaxed);
    switch::unhook();
}

/// A session in a count, until it is dropped.
#[derive(Debug)]
pub(crate) struct Counted(&'static AtomicUsize);

impl Counted {
    fn in_count(of: &'static AtomicUsize) -> Self {
        of.fetch_add(1, Ordering::Relaxed);
        Self(of)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Numbers fibers for a session that records which one a sample belongs to, before it begins.
pub(crate) fn number_fibers() -> Counted {
    USED.store(true, Ordering::Relaxed);
    Counted::in_count(&fiber_ids::SESSIONS)
}

/// Keeps the labels of fibers apart, for a session that selects by them.
pub(crate) fn select() -> Counted {
    Counted::in_count(&SELECTIVE)
}

/// Defines the class.
pub(crate) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    let class = define_class::<Labels>(ruby, profiler, "Labels")?;
    class.define_singleton_method("current", function!(current, 0))?;
    class.define_singleton_method("enter", function!(enter, 2))?;
    class.define_singleton_method("enter_scope", function!(enter_scope, 2))?;
    span::init(ruby, profiler)?;
    class.define_singleton_method("enter_span", function!(enter_span, 2))?;
    class.define_singleton_method("leave_span", function!(span::leave, 0))?;
    class.define_singleton_method("new_scope", function!(new_scope, 0))?;
    class.define_singleton_method("leave", function!(leave, 1))?;
    class.define_singleton_method("to_h", function!(to_h, 0))?;
    class.define_singleton_method("of", function!(of, 1))?;
    Ok(())
}
