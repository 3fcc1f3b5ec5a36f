//! The registry of Ruby threads: a slab of states that are never freed, only reused.
//!
//! A timer carries the address of its thread's state into the handler, and a signal can arrive after the end
//! of the thread, or of the session. So a state stays readable for ever. It says in which phase of its life
//! it is, and which thread it belongs to.
//!
//! ```text
//! Free -> Claimed -> Live -> Ended -> Taken -> Free
//!      register()        retire()   take_ended(), by whoever drains
//! ```
//!
//! A pass through the states visits only those that are not free, each of which has a bit set (`slab.rs`).
//!
//! A Thread outlives its state. At the end of a thread, Ruby calls its hooks and only then reports the
//! exception that ended it. That report runs Ruby code, and a session that begins meanwhile meets the thread
//! again. The mark function keeps the Thread of each live state, so that tags and walks find valid memory.
//! From Ruby 3.3 on the event EXITED ends the state. On other Rubies the next list of threads ends it, or the
//! next thread on that native thread, or libc.

use std::sync::atomic::{
    AtomicU32,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use profiler_core::pipeline::registry::{ThreadLife, ThreadRegistry};
use profiler_core::profile::Thread;
use profiler_core::text::cut;

use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::threads::state::{CLAIMED, ENDED, LIVE, TAKEN};

mod current;
pub(crate) mod gvl_holder;
pub(crate) mod own;
pub(crate) mod recent_exits;
mod slab;
mod state;
mod walls;
pub(crate) use current::{
    call_at_native_end, current, current_native, current_native_cached, end_current, find_native, hooked,
    keep_native_name, set_hooked, set_lifecycle, store_native, Lifecycle,
};
#[cfg(feature = "testing")]
pub(crate) use slab::in_use;
pub(crate) use slab::{at, handler_ns, live, ticks};
pub(crate) use state::{cpu_ns, ThreadState};
pub(crate) use walls::{any_waits_for_gvl, repoll_all};

static NEXT_ID: AtomicU32 = AtomicU32::new(0);

/// Returns the id that the next registered thread will get.
pub(crate) fn next_id() -> u32 {
    NEXT_ID.load(Relaxed)
}

/// Registers a thread; one that is already registered keeps its state. Returns `None` if the registry is
/// full.
///
/// `object` is the Ruby Thread, which is alive; the mark function keeps it alive as long as the state is
/// live. `pthread` is 0 if unknown. Runs with the GVL, so only one call at a time. Allocates no memory.
pub(crate) fn register(
    object: u64,
    native_id: i32,
    pthread: usize,
    cpu_ns: u64,
) -> Option<&'static ThreadState> {
    let same = |it: &&ThreadState| it.native_id() == native_id && it.object() == object;
    if let Some(state) = live().find(same) {
        if pthread != 0 {
            state.pthread.store(pthread, Relaxed);
        }
        return Some(state);
    }
    let state = slab::claim()?;
    state.begin_life(NEXT_ID.fetch_add(1, Relaxed), object, native_id, pthread, cpu_ns);
    // Release pairs with the Acquire in `is_live`.
    state.phase.store(LIVE, Release);
    Some(state)
}

/// Ends a thread whose CPU clock reads `cpu_ns`. Its timer is gone by now, and its last record is in the
/// ring.
pub(crate) fn retire(state: &ThreadState, cpu_ns: u64) {
    let now_ns = clock::monotonic_ns();
    state.ended_cpu_ns.store(cpu_ns, Relaxed);
    state.ended_ns.store(now_ns, Relaxed);
    state.walls_off();
    // Release pairs with the Acquire in `take_ended`.
    let _ = state.phase.compare_exchange(LIVE, ENDED, Release, Relaxed);
    if let Some(hub) = CAPTURE.hub() {
        CAPTURE.wake_collector(hub); // which frees the state
    }
}

/// Forgets, in a forked child, every thread except the one that forked, which was `me` in the parent and gets
/// a new life. Returns `None` if it was not registered.
pub(crate) fn start_over(me: Option<&'static ThreadState>) -> Option<&'static ThreadState> {
    let Some(me) = me else {
        clear();
        return None;
    };
    let (object, pthread) = (me.object(), me.pthread.load(Relaxed));
    let (labels, scope, span) =
        (me.labels.set.load(Relaxed), me.labels.scope.load(Relaxed), me.labels.span.get());
    let (fiber, labels_object) = (me.labels.fiber.load(Relaxed), me.labels.object.load(Relaxed));
    clear();
    let state = register(object, native_thread::native_id(), pthread, 0)?;
    state.labels.set.store(labels, Relaxed);
    state.labels.fiber.store(fiber, Relaxed);
    state.labels.object.store(labels_object, Relaxed);
    state.labels.scope.store(scope, Relaxed);
    state.labels.span.set(span);
    store_native(state);
    Some(state)
}

/// Forgets all threads, as no session runs any more.
pub(crate) fn clear() {
    for state in slab::in_use() {
        let is = |phase| state.phase.compare_exchange(phase, CLAIMED, AcqRel, Relaxed).is_ok();
        // A state that was taken is freed by the thread that drains.
        if is(LIVE) || is(ENDED) {
            state.timer.number.forget();
            state.off_cpu.close();
            slab::free(state);
        }
    }
}

/// The registry from the view of the thread that drains.
#[derive(Debug)]
pub(crate) struct Registry;

impl ThreadRegistry for Registry {
    fn take_ended(&self, into: &mut Vec<ThreadLife>) {
        // Acquire pairs with the Release in `retire`. The state is taken before it is read, as otherwise
        // `clear` could free it, and the next thread could begin in it.
        let take =
            |state: &&ThreadState| state.phase.compare_exchange(ENDED, TAKEN, Acquire, Relaxed).is_ok();
        for state in slab::in_use().filter(take) {
            let (cpu_ns, ended_ns) = (state.ended_cpu_ns.load(Relaxed), state.ended_ns.load(Relaxed));
            into.push(ThreadLife {
                last: state.header_with_clocks(ended_ns, cpu_ns),
                info: kept_info(state),
            });
            slab::free(state);
        }
    }
}

/// Returns the life of a thread up to now, when its CPU clock reads `cpu_ns`.
pub(crate) fn life(state: &ThreadState, cpu_ns: u64, info: Thread) -> ThreadLife {
    ThreadLife { last: state.header_with_clocks(clock::monotonic_ns(), cpu_ns), info }
}

/// Returns the name of a live thread for reports: the first 256 bytes of `ruby_name` if there is one, else
/// the operating system's name. A name from Ruby is kept for the time after the thread's end.
pub(crate) fn info(state: &ThreadState, ruby_name: Option<String>) -> Thread {
    if let Some(name) = &ruby_name {
        state.name.set(name.as_bytes());
    }
    let native_name = || {
        if state.pthread.load(Relaxed) == native_thread::pthread_self() {
            return native_thread::native_name().to_vec();
        }
        native_thread::name_of(state.native_id())
    };
    let name = ruby_name.unwrap_or_else(|| {
        // Ruby 3.1 no longer lists a thread that an exception has ended, and does not report its end.
        let name = native_name();
        if state.name.has_cut(&name) {
            text(&state.name.get())
        } else {
            text(&name)
        }
    });
    Thread { native_id: native_id(state), name: cut(name) }
}

/// Returns the name of an ended thread for reports: the one that was kept.
fn kept_info(state: &ThreadState) -> Thread {
    Thread { native_id: native_id(state), name: cut(text(&state.name.get())) }
}

/// Returns the text before the first zero.
fn text(bytes: &[u8]) -> String {
    let name = bytes.split(|byte| *byte == 0).next().unwrap_or(&[]);
    String::from_utf8_lossy(name).into_owned()
}

fn native_id(state: &ThreadState) -> u64 {
    u64::try_from(state.native_id()).unwrap_or(0)
}
