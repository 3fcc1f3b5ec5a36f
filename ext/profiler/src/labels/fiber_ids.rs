//! Numbers of fibers, for sessions that record which fiber a sample belongs to. A fiber has its number from
//! the time at which it was first seen running.
//!
//! A fiber gets its number at the first switch to it; the one that begins the session gets it immediately,
//! and another thread's first fiber once it switches. A set of labels on two fibers is two sets, and counts
//! as two towards the limit of sets. Each has a plain twin, without the number, for sessions that do not
//! record fibers (`SessionState::labels`).

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::typed_data::Obj;
use magnus::value::Opaque;
use magnus::{Ruby, Value};
use profiler_core::ids::ScopeId;

use crate::labels::object::Labels;
use crate::vm::{self, fibers};

/// The number of sessions that record fibers.
pub(super) static SESSIONS: AtomicUsize = AtomicUsize::new(0);
/// The last number that was assigned. It continues from session to session, as fibers keep their numbers.
static LAST: AtomicU32 = AtomicU32::new(0);

/// Returns whether a session records fibers.
pub(super) fn is_on() -> bool {
    SESSIONS.load(Ordering::Relaxed) > 0
}

/// Returns `labels` with the number of the running fiber, if a session records fibers: its number in
/// `before`, or a new one.
pub(super) fn numbered(
    ruby: &Ruby,
    labels: Option<Obj<Labels>>,
    before: Option<Obj<Labels>>,
) -> Option<Obj<Labels>> {
    if !is_on() {
        return labels;
    }
    let running = vm::state::current_fiber();
    if labels.is_some_and(|it| it.number(ruby, running).is_some()) {
        return labels;
    }
    let new = || LAST.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
    let number = before.and_then(|it| it.number(ruby, running)).unwrap_or_else(new);
    // SAFETY: the fiber is running, so it is alive.
    let fiber = Opaque::from(unsafe { Value::from_raw(running as _) });
    let (set, scope) = labels.map_or((Default::default(), ScopeId::NONE), |it| (it.set.clone(), it.scope));
    Some(Labels::wrap_for(ruby, set, scope, Some((fiber, number))))
}

/// Adds the number of the running fiber to its labels. Fibers that it creates inherit them, and get their own
/// number in turn.
pub(super) fn number_own(ruby: &Ruby, labels: Option<Obj<Labels>>) -> Option<Obj<Labels>> {
    let numbered = numbered(ruby, labels, None);
    if numbered.map(|it| it.as_raw()) != labels.map(|it| it.as_raw()) {
        // SAFETY: a `Ruby` proves that the GVL is held; the object is live, as we hold it.
        unsafe { fibers::LABELS.set(vm::state::current_thread(), numbered.map(|it| it.as_raw())) };
    }
    numbered
}
