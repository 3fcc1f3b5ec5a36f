//! The span of a trace that a fiber is in. It takes the way of the labels, and is no label: blocks of labels neither begin nor
//! end it.

use std::sync::atomic::{AtomicBool, Ordering};

use magnus::{typed_data::Obj, Error, RString, Ruby};
use profiler_core::ids::ScopeId;
use profiler_core::record::Span;

use super::current::{current, USED};
use super::object::Labels;
use super::{store_current, switch};

/// Whether a session has kept spans apart.
static KEPT_APART: AtomicBool = AtomicBool::new(false);

/// Has records carry spans from now on, before the first session that keeps them apart begins.
pub(crate) fn keep_apart() {
    KEPT_APART.store(true, Ordering::Relaxed);
}

/// The span that records under these labels carry.
pub(super) fn carried(labels: Option<Obj<Labels>>) -> Option<Span> {
    labels.and_then(|it| it.span).filter(|_| KEPT_APART.load(Ordering::Relaxed))
}

/// `Labels.enter_span(trace_id, span_id)`: the fiber is in that span from now on. The ids are the 16 and 8 bytes of
/// OpenTelemetry; others are no span. The span that is entered first of its trace is the root of those that follow it.
pub(super) fn enter_span(ruby: &Ruby, trace_id: RString, span_id: RString) -> Result<(), Error> {
    let before = current(ruby)?;
    let (Some(trace_id), Some(span_id)) = (bytes::<16>(trace_id), bytes::<8>(span_id)) else {
        return leave_span(ruby);
    };
    let around = before.and_then(|it| it.span).filter(|it| it.trace_id == trace_id);
    let root_id = around.map_or(span_id, |it| it.root_id);
    USED.store(true, Ordering::Relaxed);
    switch::hook();
    store_current(ruby, in_span(ruby, before, Some(Span { trace_id, span_id, root_id })))
}

/// `Labels.leave_span`: the fiber is in no span from now on.
pub(super) fn leave_span(ruby: &Ruby) -> Result<(), Error> {
    match current(ruby)? {
        Some(before) if before.span.is_some() => store_current(ruby, in_span(ruby, Some(before), None)),
        _ => Ok(()),
    }
}

/// `labels`, but in that span.
pub(super) fn in_span(ruby: &Ruby, labels: Option<Obj<Labels>>, span: Option<Span>) -> Option<Obj<Labels>> {
    if labels.and_then(|it| it.span) == span {
        return labels;
    }
    let (set, scope) = labels.map_or((Default::default(), ScopeId::NONE), |it| (it.set.clone(), it.scope));
    Some(Labels::wrap(ruby, set, scope, span))
}

/// The bytes of an id, if it has that many.
fn bytes<const N: usize>(id: RString) -> Option<[u8; N]> {
    // SAFETY: nothing runs in Ruby while the bytes are copied.
    unsafe { id.as_slice() }.try_into().ok()
}
