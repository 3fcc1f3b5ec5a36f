//! The site of allocations, and how it becomes a record.

use ::core::ffi::c_int;
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use ::profiler_core::ids::{LabelSetId, ScopeId, ThreadId};
use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::object_class::Class;
use ::profiler_core::record::{push, Allocation, Header, Kind, Span, Walk};

use crate::capture::walk::WALK_LIMIT;
use crate::shared::CAPTURE;
use crate::threads::{self, Registry};
use crate::vm;

/// The thread that represents the profiler's own threads: their allocations are counted, but belong to no
/// session.
pub(super) const OWN: ThreadId = ThreadId(u32::MAX - 1);
/// The thread that represents one that the registry does not know.
const UNKNOWN: ThreadId = ThreadId(u32::MAX);

/// True while a thread of the program works for the profiler: see [`super::as_own_work`].
pub(super) static OWN_WORK: AtomicBool = AtomicBool::new(false);

/// The number of objects that our own threads and [`super::as_own_work`] have allocated while objects were
/// counted.
static OWN_OBJECTS: AtomicU64 = AtomicU64::new(0);

/// Returns the number of objects that our own threads have allocated, in windows that are closed. The caller
/// holds the GVL.
pub(crate) fn own_objects() -> u64 {
    OWN_OBJECTS.load(Ordering::Relaxed)
}

/// The site of allocations, without the frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) thread: ThreadId,
    pub(super) labels: LabelSetId,
    pub(super) scope: ScopeId,
    pub(super) span: Option<Span>,
    pub(super) class: Class,
}

/// Handles and lines of the frames of a stack.
pub(super) type Frames<'slot> = (&'slot [u64], &'slot [c_int]);

impl Site {
    /// Returns the site of an allocation on the calling thread.
    #[inline]
    pub(super) fn here(class: Class) -> Self {
        if OWN_WORK.load(Ordering::Relaxed) {
            return Self::of(&Header::new(OWN, 0), class);
        }
        let Some(state) = threads::current() else {
            // SAFETY: the GVL is held, and the current thread is alive.
            let own = unsafe { vm::own_threads::is_own(vm::state::current_thread()) };
            return Self::of(&Header::new(if own { OWN } else { UNKNOWN }, 0), class);
        };
        Self::of(&state.header(0), class)
    }

    fn of(header: &Header, class: Class) -> Self {
        let Header { thread, labels, scope, span, .. } = *header;
        Self { thread, labels, scope, span, class }
    }
}

/// Pushes a record into the ring. A full ring is drained here, at most 64 records at a time, as this thread can
/// wait for no other one to do so. The holder of the drain lock needs nothing from this thread. If draining
/// makes no space, the record is dropped and counted.
pub(super) fn send(
    hub: &Hub,
    site: &Site,
    (handles, lines): (&[u64], &[c_int]),
    allocation: &Allocation,
    monotonic_ns: u64,
) {
    if site.thread == OWN {
        OWN_OBJECTS.fetch_add(allocation.objects, Ordering::Relaxed);
        return;
    }
    let Site { thread, labels, scope, span, .. } = *site;
    let header = Header { labels, scope, span, ..Header::new(thread, monotonic_ns) };
    let depth = CAPTURE.depth.load(Ordering::Relaxed);
    let rootless = handles.len() >= WALK_LIMIT;
    let walk = Walk { handles, lines, rootless };
    let kind = Kind::Allocation(*allocation);
    if !hub.push_draining(&Registry, || push(&hub.ring, kind, &header, walk, depth)) {
        return;
    }
    CAPTURE.note_record(hub);
    if rootless || handles.len() > depth {
        count(&hub.counters.truncated);
    }
}
