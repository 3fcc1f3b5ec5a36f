//! What a fiber carries: its labels and its scope, as a Ruby object that nobody gets to see.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use magnus::rb_sys::FromRawValue;
use magnus::value::Opaque;
use magnus::{gc, typed_data::Obj, DataTypeFunctions, Ruby, TryConvert, TypedData, Value};
use profiler_core::hub::Hub;
use profiler_core::ids::{LabelSetId, ScopeId};
use profiler_core::labels::LabelSet;

/// See the module.
#[derive(TypedData)]
#[magnus(class = "Profiler::Labels", free_immediately, mark, size)]
pub(super) struct Labels {
    pub(super) set: LabelSet,
    pub(super) scope: ScopeId,
    /// Whose they are. Held, and so never another thread that came to lie at the same address.
    pub(super) thread: Opaque<magnus::Thread>,
    /// The epoch in which the set was interned, plus one, and its id there.
    interned_in: AtomicU64,
    id: AtomicU32,
}

impl DataTypeFunctions for Labels {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.thread);
    }
}

impl Labels {
    /// For the thread that runs.
    pub(super) fn wrap(ruby: &Ruby, set: LabelSet, scope: ScopeId) -> Obj<Self> {
        let thread = ruby.thread_current().into();
        ruby.obj_wrap(Self { set, scope, thread, interned_in: AtomicU64::new(0), id: AtomicU32::new(0) })
    }

    /// The id of the set in this epoch.
    pub(super) fn id(&self, hub: &Hub) -> LabelSetId {
        if self.interned_in.load(Ordering::Relaxed) != hub.epoch() + 1 {
            let (epoch, id) = hub.intern_labels(&self.set);
            self.id.store(id.0, Ordering::Relaxed);
            self.interned_in.store(epoch + 1, Ordering::Relaxed);
        }
        LabelSetId(self.id.load(Ordering::Relaxed))
    }
}

/// A VALUE that came out of a fiber or a thread's state, if it is ours; 0 is none.
pub(super) fn labels_of(value: u64) -> Option<Obj<Labels>> {
    if value == 0 {
        return None;
    }
    // SAFETY: the VALUE was just read from a live fiber.
    let value = unsafe { Value::from_raw(value as _) };
    Obj::try_convert(value).ok()
}
