//! The spans of time that the app names, with [`mark`], and its requests.

use std::sync::atomic::Ordering;

use profiler_core::ids::ScopeId;
use profiler_core::profile::{LabelSet, Thread};

use crate::sampler::active::Active;
use crate::sampler::fork::enter;
use crate::sampler::markers::Span;
use crate::sys::clock;
use crate::{threads, vm};

/// Records a marker in the sessions that profile the calling thread: it did what it calls `name` since `started_ns` on the
/// monotonic clock. `info` returns the thread with its name.
pub(crate) fn mark(name: &str, started_ns: u64, info: impl FnOnce() -> Option<Thread>) {
    if !vm::process::on_main_ractor() {
        return; // no session profiles its threads, and the holder of the lock may wait for all Ractors to stop
    }
    let mut sampler = enter();
    if sampler.sessions.is_empty() {
        return;
    }
    let Some(state) = threads::current() else { return };
    let (me, scope) = (state.id(), ScopeId(state.scope.load(Ordering::Relaxed)));
    let (now_ns, at_ns) = (clock::monotonic_ns(), clock::realtime_ns());
    let Some(thread) = info() else { return };
    let span = Span { name, thread, started_ns, now_ns, at_ns };
    let is_own = |of: Option<ScopeId>| of.is_none_or(|it| it == scope);
    for it in sampler.sessions.iter_mut().filter(|it| !it.paused && it.profiles(me) && is_own(it.scope)) {
        it.markers.push(&span, it.start.monotonic_ns);
    }
    for it in sampler.slices.iter_mut().filter(|it| is_own(Some(it.scope))) {
        it.markers.push(&span, it.start.monotonic_ns);
    }
}

/// Counts a request that ends now on the calling thread in the sessions that profile it, but for those of single requests. `all` are
/// its labels with those around it, by which sessions select.
pub(crate) fn count_request(own: &LabelSet, all: &LabelSet, took_ns: u64) {
    let Some(me) = threads::current().map(|it| it.id()) else { return };
    let mut sampler = enter();
    let counts =
        |it: &&mut Active| !it.paused && it.scope.is_none() && it.profiles(me) && all.has_all(&it.labels);
    sampler.sessions.iter_mut().filter(counts).for_each(|it| it.requests.record(own, took_ns));
}
