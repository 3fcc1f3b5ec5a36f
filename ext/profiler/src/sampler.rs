//! The one machine of the process: hooks, timers, ring and collector thread. It runs while there is
//! a session, and everything that it needs is made at the first start and then kept.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{unbounded, Sender};
use magnus::Ruby;
use profiler_core::collector::{collect, Command};
use profiler_core::counters::count;
use profiler_core::hub::{Closed, Hub, SessionId, ThreadLife};

use crate::capture::engine::{thread_timer, Engine};
use crate::capture::{clock, handler, sigaction, CAPTURE};
use crate::config::Config;
use crate::threads::{self, Registry};
use crate::vm::events::{exit_hook, thread_hook};
use crate::vm::threads::RubyThread;
use crate::{fork, mark, vm};

/// 512 KiB: some 700 records of 50 frames.
const RING_WORDS: usize = 64 * 1024;

/// What the lock guards. It is never held while the VM is called in a way that could switch threads.
#[derive(Debug)]
pub(crate) struct Sampler {
    commands: Option<Sender<Command>>,
    sessions: usize,
}

static SAMPLER: Mutex<Sampler> = Mutex::new(Sampler { commands: None, sessions: 0 });
static PREPARED: AtomicBool = AtomicBool::new(false);
static INTERVAL_NS: AtomicU64 = AtomicU64::new(0);
/// CPU time that the collector thread has used, ns.
static COLLECTOR_NS: AtomicU64 = AtomicU64::new(0);
/// The collector thread died of a bug. Sessions drain by themselves at stop, so they still end well.
static COLLECTOR_FAILED: AtomicBool = AtomicBool::new(false);

/// Why a session cannot start.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// One is running.
    AlreadyRunning,
    /// Somebody else handles SIGPROF.
    HandlerTaken,
    /// The kernel gives no timer; the errno.
    NoTimer(i32),
    /// There is no thread to be had for the collector.
    NoThread(std::io::Error),
}

pub(crate) fn lock() -> MutexGuard<'static, Sampler> {
    SAMPLER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// CPU time of the collector thread since the process began, ns.
pub(crate) fn collector_ns() -> u64 {
    COLLECTOR_NS.load(Ordering::Relaxed)
}

/// Whether the collector thread died.
pub(crate) fn collector_failed() -> bool {
    COLLECTOR_FAILED.load(Ordering::Relaxed)
}

/// The hub, made at the first call. Needs the GVL.
pub(crate) fn prepare() -> &'static Hub {
    if let Some(hub) = CAPTURE.hub() {
        return hub;
    }
    let hub: &'static Hub = Box::leak(Box::new(Hub::new(RING_WORDS)));
    CAPTURE.give_hub(hub);
    hub
}

/// What only has to happen once in a process and its children, before the first record.
///
/// # Safety
/// The caller holds the GVL.
unsafe fn install_for_good() {
    if PREPARED.swap(true, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the GVL is held; each of these is called this once.
    unsafe {
        vm::root::install(mark::mark);
        vm::jobs::register(handler::at_safepoint);
        vm::events::at_vm_exit(at_vm_exit);
        libc::pthread_key_create(&raw mut THREAD_KEY, Some(native_thread_exits));
    }
    fork::install();
}

impl Sampler {
    /// The collector thread and its commands are the parent's; the sender is leaked, as dropping it
    /// would touch what that thread may have held.
    pub(crate) fn reset_after_fork(&mut self) {
        std::mem::forget(self.commands.take());
        self.sessions = 0;
    }

    fn collector(&mut self, hub: &'static Hub) -> Result<&Sender<Command>, std::io::Error> {
        if self.commands.is_none() {
            let (sender, receiver) = unbounded();
            let body = move || {
                let report = || COLLECTOR_NS.store(clock::thread_cpu_ns(), Ordering::Relaxed);
                let collect = || collect(hub, &Registry, &receiver, &report);
                if std::panic::catch_unwind(std::panic::AssertUnwindSafe(collect)).is_err() {
                    COLLECTOR_FAILED.store(true, Ordering::Relaxed);
                }
            };
            COLLECTOR_NS.store(0, Ordering::Relaxed);
            let thread = std::thread::Builder::new().name("profiler".into());
            sigaction::without_signals(|| thread.spawn(body))?;
            self.commands = Some(sender);
        }
        self.commands.as_ref().ok_or_else(|| std::io::Error::other("the collector is gone"))
    }
}

/// Starts everything for one session. Needs the GVL.
pub(crate) fn start(ruby: &Ruby, config: &Config) -> Result<SessionId, magnus::Error> {
    let hub = prepare();
    let refuse = |refusal| Err(crate::session::refused(ruby, refusal));
    {
        let mut sampler = lock();
        if sampler.sessions > 0 {
            return refuse(Refusal::AlreadyRunning);
        }
        if sigaction::owner() == sigaction::Owner::Foreign {
            return refuse(Refusal::HandlerTaken);
        }
        if let Err(failure) = sampler.collector(hub) {
            return refuse(Refusal::NoThread(failure));
        }
        sampler.sessions += 1;
    }
    INTERVAL_NS.store(config.interval_ns, Ordering::Relaxed);
    CAPTURE.depth.store(config.depth, Ordering::Relaxed);
    CAPTURE.at_safepoints.store(config.engine == Engine::Safepoint, Ordering::Relaxed);
    // SAFETY: the GVL is held. Hooks first: a thread that is born while we ask for the list
    // registers itself.
    unsafe {
        install_for_good();
        vm::events::on_threads(on_thread_begin, on_thread_end);
    }
    let begun = vm::threads::list(ruby)
        .and_then(|threads| begin(hub, &threads).or_else(|errno| refuse(Refusal::NoTimer(errno))));
    if begun.is_err() {
        rest();
    }
    begun
}

fn begin(hub: &Hub, threads: &[RubyThread]) -> Result<SessionId, i32> {
    sigaction::install();
    for thread in threads {
        let Some(native_id) = thread.native_id else { continue };
        let Some(cpu_ns) = clock::cpu_ns_of(native_id) else { continue };
        if threads::register(thread.object, native_id, 0, cpu_ns).is_none() {
            count(&hub.counters.threads_refused);
        }
    }
    let clocks = threads::live().map(|state| {
        let cpu_ns = clock::cpu_ns_of(state.native_id());
        (state.id(), cpu_ns.unwrap_or_else(|| state.born_cpu_ns.load(Ordering::Relaxed)))
    });
    let session = hub.open(clock::monotonic_ns(), clocks.collect::<Vec<_>>());
    // Release pairs with the Acquire in the handler.
    CAPTURE.enabled.store(true, Ordering::Release);
    for state in threads::live().filter(|state| state.timer.load(Ordering::Relaxed) == 0) {
        if let Err(errno) = thread_timer::arm(state, INTERVAL_NS.load(Ordering::Relaxed)) {
            hub.discard(session);
            return Err(errno);
        }
    }
    if let Some(commands) = &lock().commands {
        let _ = commands.send(Command::Run);
    }
    Ok(session)
}

/// Ends a session: no tick comes after this, and all records are in. `named` are the threads as Ruby
/// knows them. Needs the GVL.
pub(crate) fn stop(session: SessionId, named: &[RubyThread]) -> Option<Closed> {
    quiet();
    let threads: Vec<ThreadLife> = threads::live()
        .map(|state| {
            let cpu_ns = clock::cpu_ns_of(state.native_id()).unwrap_or(0);
            let ruby = named.iter().find(|it| it.object == state.object());
            threads::life(state, cpu_ns, threads::info(state, ruby.and_then(|it| it.name.clone())))
        })
        .collect();
    let closed = CAPTURE.hub().and_then(|hub| hub.close(session, &Registry, &threads));
    rest();
    closed
}

/// Ends a session and throws away what it has.
pub(crate) fn discard(session: SessionId) {
    quiet();
    if let Some(hub) = CAPTURE.hub() {
        hub.discard(session);
    }
    rest();
}

/// Sends the collector to rest while a session runs, or back to work.
#[cfg(feature = "testing")]
pub(crate) fn hold_collector(hold: bool) {
    if let Some(commands) = &lock().commands {
        let _ = commands.send(if hold { Command::Rest } else { Command::Run });
    }
}

/// No more ticks; what is on its way finds capture off.
fn quiet() {
    CAPTURE.enabled.store(false, Ordering::Release);
    threads::live().for_each(thread_timer::disarm);
}

/// No session, no timers, no hooks; the handler stays and only counts.
fn rest() {
    quiet();
    // SAFETY: sessions start and stop with the GVL held, and never from within a hook.
    unsafe { vm::events::off_threads(on_thread_begin, on_thread_end) };
    threads::clear();
    let mut sampler = lock();
    sampler.sessions = sampler.sessions.saturating_sub(1);
    if let Some(commands) = &sampler.commands {
        let _ = commands.send(Command::Rest);
    }
}

thread_hook!(on_thread_begin, |thread| {
    let cpu_ns = clock::thread_cpu_ns();
    // Ruby 3.1 uses native threads again and can leave out the end of the Ruby thread before.
    if let Some(before) = threads::mine().filter(|state| state.object() != thread) {
        thread_timer::disarm(before);
        threads::retire(before, cpu_ns);
    }
    let me = threads::register(thread, clock::native_id(), clock::pthread_self(), cpu_ns);
    let armed = me.is_some_and(|state| {
        // SAFETY: the key was made at the first start. The value is an address that stays good.
        unsafe { libc::pthread_setspecific(THREAD_KEY, std::ptr::from_ref(state).cast()) };
        threads::keep_name(state);
        let has_timer = state.timer.load(Ordering::Relaxed) != 0;
        has_timer || thread_timer::arm(state, INTERVAL_NS.load(Ordering::Relaxed)).is_ok()
    });
    if let (false, Some(hub)) = (armed, CAPTURE.hub()) {
        count(&hub.counters.threads_refused);
    }
});

thread_hook!(on_thread_end, |_thread| {
    if let Some(state) = threads::mine() {
        end(state);
    }
});

fn end(state: &threads::ThreadState) {
    thread_timer::disarm(state);
    threads::keep_name(state);
    threads::retire(state, clock::thread_cpu_ns());
}

/// Ends threads whose end Ruby 3.1 left out.
static mut THREAD_KEY: libc::pthread_key_t = 0;

unsafe extern "C" fn native_thread_exits(state: *mut std::ffi::c_void) {
    let state = threads::at(state as usize);
    let is_mine = |state: &&threads::ThreadState| {
        state.is_live() && state.pthread.load(Ordering::Relaxed) == clock::pthread_self()
    };
    if let Some(state) = state.filter(is_mine) {
        end(state);
    }
}

// The VM goes: from here on its functions must not be called.
exit_hook!(at_vm_exit, quiet());
