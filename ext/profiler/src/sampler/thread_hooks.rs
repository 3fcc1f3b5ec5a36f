//! The hook on thread starts and exits, through which threads get and lose their timers while sessions run.
//!
//! If only objects are sampled, no thread gets a timer and there is no such hook, as the VM would check it
//! for each allocated object. A thread is then registered when it first allocates an object that is sampled.
//! Its exit is noticed when libc reports it, when another thread is met in its place, or when the next
//! session begins.

use std::sync::atomic::Ordering;

use magnus::{Error, Ruby};
use profiler_core::record::counters::count;
use profiler_core::ticking::plan::ThreadPlan;

use crate::capture::wait;
use crate::sampler::timers::{self, disarm};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::sys::native_thread;
use crate::sys::sigprof;
use crate::threads::{self, Lifecycle, ThreadState};
use crate::vm;
use crate::vm::events::thread_hook;

/// Prepares the registry for a session, which is `timed` or samples only objects. If it is timed, threads
/// that start from now on register themselves. If there was no hook so far, threads that have exited
/// unnoticed are retired.
///
/// # Errors
/// The exception that Ruby raises while it lists its threads. Nothing has changed then.
pub(crate) fn prepare_threads(ruby: &Ruby, timed: bool) -> Result<(), Error> {
    if threads::hooked() {
        return Ok(());
    }
    if threads::live().next().is_some() && !vm::process::shares_native_threads() {
        let next_id = threads::next_id();
        let alive = vm::threads::identities(ruby)?;
        retire_all_but(&alive, next_id);
    }
    if timed {
        threads::set_hooked(true);
        // SAFETY: sessions start with the GVL held, and never from within a hook.
        unsafe { vm::events::hook_threads(on_thread) };
    }
    Ok(())
}

/// Retires the threads that are not in `alive`, a list that was requested from Ruby when ids had reached
/// `next_id`. Threads that started while Ruby answered are younger, and stay.
pub(crate) fn retire_all_but(alive: &[u64], next_id: u32) {
    if vm::process::shares_native_threads() {
        return;
    }
    for state in threads::live().filter(|it| it.is_older_than(next_id) && !alive.contains(&it.object())) {
        close(state, threads::cpu_ns(state));
    }
}

/// Removes the hook, and the plan for threads that start.
pub(crate) fn hooks_off() {
    timers::keep_for_new_threads(ThreadPlan::default());
    if threads::set_hooked(false) {
        // SAFETY: sessions stop with the GVL held, and never from within a hook.
        unsafe { vm::events::unhook(on_thread) };
    }
}

/// Installs the calls for a thread that no hook reported: when the registry meets it, and when it exits.
pub(super) fn watch_registry() {
    threads::set_lifecycle(Lifecycle { begins: thread_begins, ends: end });
    threads::call_at_native_end(native_thread_ends);
}

thread_hook!(on_thread, |event, thread| {
    if vm::events::begins(event) {
        vm::state::find_stack(); // for ticks, which come only if this hook is installed
        thread_begins(thread);
    } else {
        keep_ruby_name();
        threads::recent_exits::note(thread);
        thread_ends();
    }
});

fn thread_begins(thread: u64) {
    let cpu_ns = clock::thread_cpu_ns();
    let here = threads::find_native();
    if here.is_some() && vm::process::shares_native_threads() {
        return; // there the native threads are profiled
    }
    // Ruby 3.1 reuses native threads and can omit the exit of the previous Ruby thread.
    if let Some(before) = here.filter(|state| state.object() != thread) {
        close(before, cpu_ns);
    }
    // SAFETY: the thread is the running one, with the GVL.
    if unsafe { vm::own_threads::is_own(thread) } {
        // SAFETY: the thread is the running one, with the GVL.
        unsafe { wait::tag_own(thread) };
        return;
    }
    let me = threads::register(thread, native_thread::native_id(), native_thread::pthread_self(), cpu_ns);
    let armed = me.is_some_and(|state| {
        state.reported.store(true, Ordering::Relaxed);
        threads::store_native(state);
        threads::keep_native_name(state);
        // SAFETY: the VM calls this first of all on a thread that begins, with the GVL. A thread is met later
        // only while no session measures time, and then this is a no-op.
        unsafe { wait::begin(state, timers::of_new_threads().wall_interval_ns) };
        timers::arm_new(state).is_ok()
    });
    if let (false, Some(hub)) = (armed, CAPTURE.hub()) {
        count(&hub.counters.threads_refused);
    }
}

/// Keeps the Ruby name of the calling thread, which ends: the kernel has only the first 15 bytes. An
/// exception that is delivered to the thread meanwhile is dropped, as Ruby would drop it from here on.
fn keep_ruby_name() {
    if vm::process::shares_native_threads() {
        return;
    }
    // SAFETY: the hook is called with the GVL.
    let ruby = unsafe { Ruby::get_unchecked() };
    let named = vm::threads::current(&ruby, vm::threads::NameChoice::Included);
    if let (Ok(Some(name)), Some(state)) = (named.map(|it| it.name), threads::find_native()) {
        threads::info(state, Some(name));
    }
}

fn thread_ends() {
    // If a native thread continues with other Ruby threads, it ends when libc reports its exit.
    if let (false, Some(state)) = (vm::process::shares_native_threads(), threads::find_native()) {
        end(state);
    }
}

/// Ends the state of the calling thread. From here on no signal may arrive: Ruby frees the alternate stack of
/// the handler with the Thread, possibly while the native thread is still ending. A tick that was decided on
/// earlier can arrive at any time.
fn end(state: &ThreadState) {
    if vm::process::ENDS_WITH_NATIVE && !vm::process::shares_native_threads() {
        sigprof::block_here();
    }
    threads::keep_native_name(state);
    close(state, clock::thread_cpu_ns());
}

fn close(state: &ThreadState, cpu_ns: u64) {
    state.perf.close_upgrades();
    disarm(state);
    state.off_cpu.close();
    threads::retire(state, cpu_ns);
}

/// Retires a thread whose exit Ruby 3.1 omitted.
unsafe extern "C" fn native_thread_ends(state: *mut std::ffi::c_void) {
    let state = threads::at(state as usize);
    let is_mine = |state: &&ThreadState| {
        state.is_live() && state.pthread.load(Ordering::Relaxed) == native_thread::pthread_self()
    };
    if let Some(state) = state.filter(is_mine) {
        end(state);
    }
}
