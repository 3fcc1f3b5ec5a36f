//! The span of a trace that a fiber is in.
//!
//! Spans begin and end more often than anything else here, so each fiber has one object for them, which
//! changes. As in OpenTelemetry, a new fiber is in no span.
//!
//! A span is not a label, as its ids are new with each request. A handler finds the span's ids in the state
//! of its thread (`threads/state/span.rs`). A counter tells it whether it interrupted a change, in which case
//! there is no span. The record carries the ids, four words, if there are any. A session that wants spans
//! keeps rows apart by them (`core/session/spans.rs`). Ids become labels of a sample only in the finished
//! profile.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{typed_data::Obj, Error, RModule, RString, Ruby, TryConvert, TypedData, Value};
use profiler_core::record::Span;

use super::current::{RUNNING, USED};
use crate::threads::{self, ThreadState};
use crate::vm;
use crate::vm::cached::define_class;
use crate::vm::fibers::{self, Local};

/// Whether a session has kept spans apart.
static KEPT_APART: AtomicBool = AtomicBool::new(false);

/// The span that a fiber is in.
#[derive(TypedData)]
#[magnus(class = "Profiler::FiberSpan", free_immediately, size)]
struct FiberSpan(Cell<Option<Span>>);

impl magnus::DataTypeFunctions for FiberSpan {}

/// Lets records carry spans from now on, before the first session that keeps them apart begins.
pub(crate) fn keep_apart() {
    KEPT_APART.store(true, Ordering::Relaxed);
}

/// Puts the span of the fiber that runs on `thread` into its state, where its handler reads it.
pub(super) fn publish(state: &ThreadState, thread: u64) {
    if KEPT_APART.load(Ordering::Relaxed) {
        state.labels.span.set(of(thread).and_then(|it| it.0.get()));
    }
}

/// Enters that span on the running fiber. The ids are the 16 and 8 bytes of OpenTelemetry; ids of other
/// lengths are ignored. The first span of a trace that is entered is the root of those that follow it.
/// Returns whether this one is a root.
pub(super) fn enter(ruby: &Ruby, trace_id: RString, span_id: RString) -> bool {
    let (Some(trace_id), Some(span_id)) = (bytes::<16>(trace_id), bytes::<8>(span_id)) else {
        leave();
        return false;
    };
    let thread = vm::state::current_thread();
    let own = of(thread).unwrap_or_else(|| begin(ruby, thread));
    let around = own.0.get().filter(|it| it.trace_id == trace_id);
    let root_id = around.map_or(span_id, |it| it.root_id);
    change(own, Some(Span { trace_id, span_id, root_id }));
    around.is_none()
}

/// Implements `Labels.leave_span`: the fiber is in no span from now on.
pub(super) fn leave() {
    if let Some(own) = of(vm::state::current_thread()) {
        change(own, None);
    }
}

/// Changes the span of the running fiber.
fn change(own: Obj<FiberSpan>, span: Option<Span>) {
    own.0.set(span);
    let is_read = RUNNING.load(Ordering::Relaxed) && KEPT_APART.load(Ordering::Relaxed);
    if is_read && vm::process::on_main_ractor() {
        if let Some(state) = threads::current() {
            state.labels.span.set(span);
        }
    }
}

/// Returns the object of the fiber that runs on `thread`, a live one, if it has one.
fn of(thread: u64) -> Option<Obj<FiberSpan>> {
    // SAFETY: the callers hold the GVL and pass a Thread that is alive.
    let Local::Some(value) = (unsafe { fibers::SPAN.get(thread) }) else { return None };
    // SAFETY: the VALUE was just read from a live fiber.
    Obj::try_convert(unsafe { Value::from_raw(value as _) }).ok()
}

/// Creates an object for the fiber that runs on `thread`, the current one.
fn begin(ruby: &Ruby, thread: u64) -> Obj<FiberSpan> {
    let own = ruby.obj_wrap(FiberSpan(Cell::new(None)));
    // SAFETY: a `Ruby` proves that the GVL is held; the object is live, as we hold it.
    unsafe { fibers::SPAN.set(thread, Some(own.as_raw())) };
    USED.store(true, Ordering::Relaxed);
    own
}

/// Returns the bytes of an id, if it has exactly `N`.
fn bytes<const N: usize>(id: RString) -> Option<[u8; N]> {
    // SAFETY: no Ruby code runs while the bytes are copied.
    unsafe { id.as_slice() }.try_into().ok()
}

/// Defines the class of the objects, which are never exposed.
pub(super) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    define_class::<FiberSpan>(ruby, profiler, "FiberSpan").map(drop)
}
