//! `Profiler.label`: the current labels of each fiber.
//!
//! The labels of a fiber are kept with the fiber itself (`vm::fibers`), whether or not a session runs. While one runs, the id of
//! their set is also in the thread's state, where the handler reads it. A hook on the switch of fibers copies it there. That
//! hook is installed only while a session runs in a process that has used labels. A fiber inherits the labels under which it was
//! created. Before Ruby 3.2 nothing reports its creation, and it inherits those of the fiber that first resumed it. A thread
//! inherits none. Ractors other than the main one can set labels too, but no session sees them. The scope says to which request
//! a record belongs, and takes the same way in the same object. It is a number and no label, so there can be one per request.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use magnus::rb_sys::AsRawValue;
use magnus::{function, prelude::*, typed_data::Obj, Error, RHash, RModule, Ruby};
use profiler_core::ids::{LabelSetId, ScopeId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::record::{push_label_switch, Header, State};

use crate::capture::header::header_at;
use crate::errors::argument_error;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::{self, Registry, ThreadState};
use crate::vm;
use crate::vm::cached::define_class;
use crate::vm::events::thread_hook;
use crate::vm::fibers::{self, Local};
use crate::vm::jobs::Job;
use crate::vm::threads::RubyThread;

mod fiber_ids;
mod object;
mod parse;
use object::{labels_of, Labels};
use parse::pairs;
pub(crate) use parse::set_from;

/// Labels that a fiber can have at once.
const MAX_LABELS: usize = 32;

/// Whether the process has used labels.
static USED: AtomicBool = AtomicBool::new(false);
/// Whether there are sessions, paused or not.
static RUNNING: AtomicBool = AtomicBool::new(false);
/// Whether the hook on fibers is installed.
static HOOKED: AtomicBool = AtomicBool::new(false);
/// The number of open sessions that select by labels.
static VIEWS: AtomicUsize = AtomicUsize::new(0);
/// The scope that was given last.
static LAST_SCOPE: AtomicU32 = AtomicU32::new(0);

/// The labels of the fiber that runs here. What it inherited becomes its own.
///
/// # Errors
/// Exceptions that were delivered while Ruby was asked: nothing has changed then.
fn current(ruby: &Ruby) -> Result<Option<Obj<Labels>>, Error> {
    let thread = ruby.thread_current().as_raw();
    // SAFETY: a `Ruby` proves that the GVL is held; the current thread lives.
    let own = match unsafe { fibers::local(thread) } {
        Local::Some(value) => return Ok(labels_of(value)),
        Local::Nothing => return Ok(None),
        Local::Unset => fibers::stored(ruby)?
            .and_then(labels_of)
            .filter(|it| ruby.get_inner(it.thread).as_raw() == thread), // a new thread has its maker's storage, but not its labels
    };
    // SAFETY: as above.
    unsafe { fibers::set_local(thread, own.map(|it| it.as_raw())) };
    Ok(own)
}

/// The labels that the fiber on `thread` is known to carry. Asks Ruby nothing, so inherited labels that were never read are missing.
fn stored(thread: u64) -> Option<Obj<Labels>> {
    // SAFETY: the callers have the GVL, and a Thread that is alive.
    match unsafe { fibers::local(thread) } {
        Local::Some(value) => labels_of(value),
        Local::Nothing | Local::Unset => None,
    }
}

/// Makes the labels that this fiber inherited its own, so that [`refresh`] finds them without asking Ruby.
///
/// # Errors
/// As [`current`].
pub(crate) fn adopt_inherited(ruby: &Ruby) -> Result<(), Error> {
    if USED.load(Ordering::Relaxed) {
        fiber_ids::number_own(ruby, current(ruby)?);
    }
    Ok(())
}

/// Puts the labels of a live thread into its state, as a session begins to profile it. On another thread than this one, a fiber
/// has none if it has inherited its labels and these were never read.
pub(crate) fn refresh(hub: &Hub, state: &ThreadState, thread: &RubyThread) {
    if !USED.load(Ordering::Relaxed) {
        return;
    }
    let labels = stored(thread.object);
    state.labels_object.store(labels.map_or(0, |it| it.as_raw()), Ordering::Relaxed);
    state.scope.store(labels.map_or(ScopeId::NONE, |it| it.scope).0, Ordering::Relaxed);
    state
        .labels
        .store(labels.map_or(LabelSetId::NONE, |it| it.id(hub, fiber_ids::is_on())).0, Ordering::Relaxed);
    if thread.current {
        state.fiber.store(vm::state::current_fiber(), Ordering::Relaxed);
    }
}

/// Gives the labels of all threads new ids if their table was replaced, which happens as a result is taken. Needs the GVL.
pub(crate) fn renew(hub: &Hub) {
    /// The table whose ids the threads have.
    static TABLE: AtomicU64 = AtomicU64::new(0);
    if TABLE.swap(hub.labels_table(), Ordering::Relaxed) == hub.labels_table() {
        return;
    }
    for state in threads::live() {
        if let Some(labels) = labels_of(state.labels_object.load(Ordering::Relaxed)) {
            state.labels.store(labels.id(hub, fiber_ids::is_on()).0, Ordering::Relaxed);
        }
    }
}

/// `Labels.enter(before, labels)`: makes these current, on top of `before`, which `Labels.current` gave. `Labels.leave(before)`
/// undoes that, also after any exception here, even one that arrives from outside when all is done.
fn enter(ruby: &Ruby, before: Option<Obj<Labels>>, labels: RHash) -> Result<(), Error> {
    let outer = before.map(|it| it.set.clone()).unwrap_or_default();
    let set = outer.with(pairs(ruby, labels)?);
    if set.pairs().len() > MAX_LABELS {
        let message = format!("{} labels at once are too many (allowed: {MAX_LABELS})", set.pairs().len());
        return Err(argument_error(ruby, message));
    }
    let scope = before.map_or(ScopeId::NONE, |it| it.scope);
    make_current(ruby, Labels::wrap(ruby, set, scope))
}

/// `Labels.enter_scope(before, scope)`: makes that scope current and keeps the labels. As `Labels.enter`.
fn enter_scope(ruby: &Ruby, before: Option<Obj<Labels>>, scope: u32) -> Result<(), Error> {
    let set = before.map(|it| it.set.clone()).unwrap_or_default();
    make_current(ruby, Labels::wrap(ruby, set, ScopeId(scope)))
}

/// `Labels.new_scope`: a scope that no request of the last four billion had.
fn new_scope() -> u32 {
    match LAST_SCOPE.fetch_add(1, Ordering::Relaxed).wrapping_add(1) {
        0 => new_scope(), // this is outside every scope
        scope => scope,
    }
}

fn make_current(ruby: &Ruby, labels: Obj<Labels>) -> Result<(), Error> {
    USED.store(true, Ordering::Relaxed);
    hook(); // each time, as the first may have been another Ractor's
    set_current(ruby, Some(labels))
}

/// `Labels.leave(before)`: restores the state before `enter` or `enter_scope`, also if it raises an exception that arrives.
fn leave(ruby: &Ruby, before: Option<Obj<Labels>>) -> Result<(), Error> {
    set_current(ruby, before)
}

/// `Labels.to_h`: the labels that are current here.
fn to_h(ruby: &Ruby) -> Result<RHash, Error> {
    let hash = ruby.hash_new();
    if let Some(labels) = current(ruby)? {
        for (name, value) in labels.set.pairs() {
            hash.aset(ruby.to_symbol(name), value.as_str())?;
        }
    }
    Ok(hash)
}

/// Has the running fiber carry `labels` from now on. Ruby is asked last, when all else is done.
fn set_current(ruby: &Ruby, labels: Option<Obj<Labels>>) -> Result<(), Error> {
    let thread = ruby.thread_current().as_raw();
    let labels = if fiber_ids::is_on() { fiber_ids::numbered(ruby, labels, stored(thread)) } else { labels };
    let value = labels.map(|it| it.as_raw());
    // SAFETY: a `Ruby` proves that the GVL is held; the object is alive in our hands.
    unsafe { fibers::set_local(thread, value) };
    let running = RUNNING.load(Ordering::Relaxed) && vm::process::on_main_ractor(); // others are not in the registry
    if let (true, Some(hub)) = (running, CAPTURE.hub()) {
        if let Some(state) = threads::current() {
            publish(hub, state, labels);
            state.fiber.store(vm::state::current_fiber(), Ordering::Relaxed);
        }
    }
    // SAFETY: as above.
    unsafe { fibers::store(ruby, value) }
}

/// Gives the calling thread these labels from now on.
fn publish(hub: &Hub, state: &ThreadState, labels: Option<Obj<Labels>>) {
    state.labels_object.store(labels.map_or(0, |it| it.as_raw()), Ordering::Relaxed);
    let scope = labels.map_or(ScopeId::NONE, |it| it.scope);
    let labels = labels.map_or(LabelSetId::NONE, |it| it.id(hub, fiber_ids::is_on()));
    if VIEWS.load(Ordering::Relaxed) == 0 {
        state.scope.store(scope.0, Ordering::Relaxed);
        return state.labels.store(labels.0, Ordering::Relaxed);
    }
    let (cpu_ns, monotonic_ns) = (clock::thread_cpu_ns(), clock::monotonic_ns());
    // Before the record is pushed: a tick in between belongs to the new labels already. One between these two has a new
    // scope with old labels only where a fiber changes both at once, and such a tick does not know its fiber.
    let other_scope = state.scope.swap(scope.0, Ordering::Relaxed) != scope.0;
    if state.labels.swap(labels.0, Ordering::Relaxed) == labels.0 && !other_scope {
        return;
    }
    let walls = state.walls_at(monotonic_ns, cpu_ns);
    state.sampled.apportion(&walls);
    let header = Header { labels, scope, walls, ..header_at(state, State::Running, monotonic_ns, cpu_ns) };
    while push_label_switch(&hub.ring, &header).is_err() {
        hub.drain_batch(&Registry);
    }
}

thread_hook!(on_fiber_switch, |_event, thread| {
    // SAFETY: a hook on fibers runs with the GVL.
    let ruby = unsafe { Ruby::get_unchecked() };
    let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::current_native_cached()) else { return };
    match switched_to(&ruby, state, thread) {
        Ok(labels) => {
            publish(hub, state, fiber_ids::number_own(&ruby, labels));
            // Only now: a tick before this finds that it does not know whose labels these are.
            state.fiber.store(vm::state::current_fiber(), Ordering::Relaxed);
        }
        // The next tick finds that it does not know the fiber, and requests a job that corrects this.
        // SAFETY: all that is alive here are references.
        Err(arrived) => unsafe { vm::door::raise_from_hook(&arrived) },
    }
});

/// The job that corrects the labels after a switch that the hook did not see, as an exception that comes with a switch bypasses it.
pub(crate) static RESYNC: Job = Job::new(resync);

unsafe extern "C" fn resync(_data: *mut std::ffi::c_void) {
    // SAFETY: a job runs with the GVL.
    let ruby = unsafe { Ruby::get_unchecked() };
    if !HOOKED.load(Ordering::Relaxed) {
        return;
    }
    if let (Some(hub), Some(state)) = (CAPTURE.hub(), threads::current_native_cached()) {
        // The VM drops an exception in a job, so Ruby is asked nothing that could bring one.
        publish(hub, state, fiber_ids::number_own(&ruby, stored(vm::state::current_thread())));
        state.fiber.store(vm::state::current_fiber(), Ordering::Relaxed);
    }
}

/// The labels of the fiber that has just begun to run on this thread.
fn switched_to(ruby: &Ruby, state: &ThreadState, thread: u64) -> Result<Option<Obj<Labels>>, Error> {
    // SAFETY: a `Ruby` proves that the GVL is held; `thread` is the one that we are on.
    let inherits =
        unsafe { !fibers::STORAGE && matches!(fibers::local(thread), Local::Unset) && fibers::is_new() };
    if !inherits {
        return current(ruby);
    }
    // The labels of the fiber that ran before; the mark function keeps them.
    let labels = labels_of(state.labels_object.load(Ordering::Relaxed));
    // SAFETY: as above.
    unsafe { fibers::set_local(thread, labels.map(|it| it.as_raw())) };
    Ok(labels)
}

/// Notes that there are sessions from now on.
pub(crate) fn sessions_begin() {
    RUNNING.store(true, Ordering::Relaxed);
    hook();
}

/// Adds the hook where it is of use. The VM adds it to the calling Ractor, so only the main one may do that: threads of others
/// are not profiled, and none of them could remove it again.
fn hook() {
    let useful = RUNNING.load(Ordering::Relaxed) && USED.load(Ordering::Relaxed);
    if useful && vm::process::on_main_ractor() && !HOOKED.swap(true, Ordering::Relaxed) {
        threads::live().for_each(|state| state.fiber.store(0, Ordering::Relaxed));
        CAPTURE.fibers_watched.store(true, Ordering::Relaxed);
        // SAFETY: sessions start and labels are set with the GVL.
        unsafe { fibers::hook_switch(on_fiber_switch) };
    }
}

/// Notes that there is no session any more. The main Ractor then removes the hook.
pub(crate) fn sessions_end() {
    RUNNING.store(false, Ordering::Relaxed);
    if vm::process::on_main_ractor() && HOOKED.swap(false, Ordering::Relaxed) {
        CAPTURE.fibers_watched.store(false, Ordering::Relaxed);
        // SAFETY: sessions stop with the GVL, and never inside the hook.
        unsafe { fibers::unhook_switch(on_fiber_switch) };
    }
}

/// Counts a session that records the fiber of each sample in, before it begins, or out.
pub(crate) fn number_fibers(more: bool) {
    fiber_ids::count_session(more);
    if more {
        USED.store(true, Ordering::Relaxed);
    }
}

/// Counts a session that selects by labels in, or out.
pub(crate) fn views(more: bool) {
    if more {
        VIEWS.fetch_add(1, Ordering::Relaxed);
    } else {
        VIEWS.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Defines the class.
pub(crate) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    let class = define_class::<Labels>(ruby, profiler, "Labels")?;
    class.define_singleton_method("current", function!(current, 0))?;
    class.define_singleton_method("enter", function!(enter, 2))?;
    class.define_singleton_method("enter_scope", function!(enter_scope, 2))?;
    class.define_singleton_method("new_scope", function!(new_scope, 0))?;
    class.define_singleton_method("leave", function!(leave, 1))?;
    class.define_singleton_method("to_h", function!(to_h, 0))?;
    Ok(())
}
