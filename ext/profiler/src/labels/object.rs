//! The labels and the scope of a fiber, as a Ruby object that is never exposed.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::value::Opaque;
use magnus::{gc, typed_data::Obj, DataTypeFunctions, Ruby, TryConvert, TypedData, Value};
use profiler_core::ids::{LabelSetId, ScopeId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::profile::LabelSet;

/// The labels and the scope of a fiber.
#[derive(TypedData)]
#[magnus(class = "Profiler::Labels", free_immediately, mark, size)]
pub(super) struct Labels {
    pub(super) set: LabelSet,
    pub(super) scope: ScopeId,
    /// The thread that the labels belong to. It is held, so no other thread can be at the same address.
    pub(super) thread: Opaque<magnus::Thread>,
    /// The fiber that has a number, and the number. The fiber is held and pinned for the same reason.
    pub(super) fiber: Option<(Opaque<Value>, u32)>,
    /// The table in which the set was interned, plus one and then doubled, plus one if fibers have numbers.
    /// The set's id there is in `id`.
    interned_in: AtomicU64,
    id: AtomicU32,
}

impl DataTypeFunctions for Labels {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.thread);
        if let Some((fiber, _)) = self.fiber {
            marker.mark(fiber);
        }
    }
}

impl Labels {
    /// Wraps labels for the running thread.
    pub(super) fn wrap(ruby: &Ruby, set: LabelSet, scope: ScopeId) -> Obj<Self> {
        Self::wrap_for(ruby, set, scope, None)
    }

    /// Wraps labels for the running fiber, which has the number `fiber`.
    pub(super) fn wrap_for(
        ruby: &Ruby,
        set: LabelSet,
        scope: ScopeId,
        fiber: Option<(Opaque<Value>, u32)>,
    ) -> Obj<Self> {
        let thread = ruby.thread_current().into();
        let (interned_in, id) = (AtomicU64::new(0), AtomicU32::new(0));
        ruby.obj_wrap(Self { set, scope, thread, fiber, interned_in, id })
    }

    /// Returns the number of the running fiber, if the labels have it.
    pub(super) fn number(&self, ruby: &Ruby, running: u64) -> Option<u32> {
        self.fiber.filter(|(fiber, _)| ruby.get_inner(*fiber).as_raw() == running).map(|(_, number)| number)
    }

    /// Returns the id of the set in the present table. `numbered` is true if a session distinguishes fibers.
    pub(super) fn id(&self, hub: &Hub, numbered: bool) -> LabelSetId {
        let interned_in = |table: u64| (table + 1) << 1 | u64::from(numbered);
        if self.interned_in.load(Ordering::Relaxed) != interned_in(hub.labels_table()) {
            let number = self.fiber.filter(|_| numbered).map_or(0, |(_, number)| number);
            let (table, id) = hub.intern_labels(&self.set, number);
            self.id.store(id.0, Ordering::Relaxed);
            self.interned_in.store(interned_in(table), Ordering::Relaxed);
        }
        LabelSetId(self.id.load(Ordering::Relaxed))
    }
}

/// Returns the labels behind a VALUE from a fiber or a thread's state; `None` if it is 0, or not ours.
pub(super) fn labels_of(value: u64) -> Option<Obj<Labels>> {
    if value == 0 {
        return None;
    }
    // SAFETY: the VALUE was just read from a live fiber or thread state, so its object is alive.
    let value = unsafe { Value::from_raw(value as _) };
    Obj::try_convert(value).ok()
}
