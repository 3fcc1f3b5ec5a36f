//! The labels of the running fiber, and of the thread that it runs on.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use magnus::{rb_sys::AsRawValue, typed_data::Obj, Error, Ruby};
use profiler_core::ids::{LabelSetId, ScopeId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::record::{push_label_switch, Header, State};

use super::fiber_ids;
use super::object::{labels_of, Labels};
use crate::capture::header::header_at;
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::threads::{Registry, ThreadState};
use crate::vm::fibers::{self, Local};

/// Whether the process has used labels.
pub(super) static USED: AtomicBool = AtomicBool::new(false);
/// Whether there are sessions, including paused ones.
pub(super) static RUNNING: AtomicBool = AtomicBool::new(false);
/// The number of open sessions that select by labels.
pub(super) static SELECTIVE: AtomicUsize = AtomicUsize::new(0);

/// Returns the labels of the running fiber. Inherited labels become its own.
///
/// # Errors
/// Exceptions that were delivered while Ruby was asked: nothing has changed then.
pub(super) fn current(ruby: &Ruby) -> Result<Option<Obj<Labels>>, Error> {
    let thread = ruby.thread_current().as_raw();
    // SAFETY: a `Ruby` proves that the GVL is held; the current thread is alive.
    let own = match unsafe { fibers::LABELS.get(thread) } {
        Local::Some(value) => return Ok(labels_of(value)),
        Local::Nothing => return Ok(None),
        Local::Unset => fibers::stored(ruby)?
            .and_then(labels_of)
            .filter(|it| ruby.get_inner(it.thread).as_raw() == thread), // a new thread has its creator's storage, but not its labels
    };
    // SAFETY: a `Ruby` proves that the GVL is held; the labels are alive, as we hold them.
    unsafe { fibers::LABELS.set(thread, own.map(|it| it.as_raw())) };
    Ok(own)
}

/// Returns the labels that the fiber on `thread` is known to carry. Does not call Ruby, so inherited labels
/// that were never read are missing.
pub(super) fn stored(thread: u64) -> Option<Obj<Labels>> {
    // SAFETY: the callers hold the GVL and pass a Thread that is alive.
    match unsafe { fibers::LABELS.get(thread) } {
        Local::Some(value) => labels_of(value),
        Local::Nothing | Local::Unset => None,
    }
}

/// Sets the labels of the calling thread from now on.
pub(super) fn publish(hub: &Hub, state: &ThreadState, labels: Option<Obj<Labels>>) {
    state.labels.object.store(labels.map_or(0, |it| it.as_raw()), Ordering::Relaxed);
    let scope = labels.map_or(ScopeId::NONE, |it| it.scope);
    let labels = labels.map_or(LabelSetId::NONE, |it| it.id(hub, fiber_ids::is_on()));
    if SELECTIVE.load(Ordering::Relaxed) == 0 {
        state.labels.scope.store(scope.0, Ordering::Relaxed);
        return state.labels.set.store(labels.0, Ordering::Relaxed);
    }
    let (cpu_ns, monotonic_ns) = (clock::thread_cpu_ns(), clock::monotonic_ns());
    // The state changes before the record is pushed: a tick in between already belongs to the new labels. A
    // tick between these two changes has the new scope with the old labels only if a fiber changes both at
    // once, and such a tick does not know its fiber.
    let other_scope = state.labels.scope.swap(scope.0, Ordering::Relaxed) != scope.0;
    if state.labels.set.swap(labels.0, Ordering::Relaxed) == labels.0 && !other_scope {
        return;
    }
    let walls = state.walls_at(monotonic_ns, cpu_ns);
    state.polled.apportion(&walls);
    let header = Header { labels, scope, walls, ..header_at(state, State::Running, monotonic_ns, cpu_ns) };
    hub.push_draining(&Registry, || push_label_switch(&hub.ring, &header));
    CAPTURE.note_record(hub);
}
