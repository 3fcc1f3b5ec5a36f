//! A dump while it is being taken.
//!
//! Running threads are asked all at the same time, by a signal to each. The stacks of threads that wait do
//! not change, so a thread with the GVL reads them, and none of their system calls is interrupted. Before
//! Ruby 3.3 no thread can read the stack of another one, nor is it known which threads wait: there all are
//! asked. All are asked as well if the GVL cannot be acquired.
//!
//! The records of threads that were asked go through the ring like all others, but to no session: the drain
//! keeps them (`core/pipeline/dumps.rs`), and their handles are marked until the dump ends.
//!
//! Without the GVL a name is one that some generation has learnt, or else what can be read of code. That
//! happens under the drain lock, for which the mark function waits, and only if `rb_during_gc` returns false
//! under it: so no object is moved or freed meanwhile. The name of a C function is a Symbol; its table may
//! change at any instant, so it is not read.

use std::collections::{BTreeSet, HashMap};
use std::thread::sleep;
use std::time::{Duration, Instant};

use magnus::{Error, Ruby};
use profiler_core::control::dump::{Dump, DumpedFrame, DumpedThread};
use profiler_core::ids::{LabelSetId, ThreadId};
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::DumpedStack;
use profiler_core::profile::Function;
use profiler_core::record::State;

use super::process;
use crate::before_3_3;
use crate::capture::dump;
use crate::naming;
use crate::naming::turns::{Pace, Turns};
use crate::sys::siginfo::TimerInfo;
use crate::sys::system_call::may_be_interrupted;
use crate::sys::{clock, sigprof, NEEDS_LINUX};
use crate::threads::{self, Registry, ThreadState};
use crate::vm;
use crate::vm::threads::NameChoice;

/// The time for which answers are awaited.
const PATIENCE: Duration = Duration::from_millis(100);
/// The pause before answers are counted again.
const PAUSE: Duration = Duration::from_micros(200);
/// The time after which a thread is asked again: it may have been in the middle of a garbage collection.
const AGAIN: Duration = Duration::from_millis(5);
/// The number of threads that are asked together.
const TOGETHER: usize = 20;
/// The pause after such a group before Ruby 3.3, if there are more. A thread that waits in a system call
/// takes the GVL there once the signal has arrived. A thread with the GVL keeps it for 100 ms, and then waits
/// for all threads that arrived meanwhile: 80 here, about 4 ms.
const REST: Duration = Duration::from_millis(25);
/// The number of copies of the process that are made to read a stack.
const COPIES: usize = 10;
/// The number of attempts to name functions between two garbage collections.
const TRIES: u32 = 50;

/// A thread at the start of the dump.
#[derive(Debug)]
struct Asked {
    state: &'static ThreadState,
    id: ThreadId,
    doing: State,
    for_ns: Option<u64>,
    at_least: bool,
    labels: LabelSetId,
    holds_gvl: bool,
    /// Whether the thread waits, without the GVL or for it.
    waits: bool,
}

/// A dump that is being taken. It keeps its handles alive as long as it exists.
#[derive(Debug)]
pub(crate) struct Taking {
    hub: &'static Hub,
    number: u32,
    pid: u32,
    at_ns: u64,
    threads: Vec<Asked>,
}

/// The names that Ruby has for the contents of a dump.
#[derive(Debug)]
pub(crate) struct DumpNames {
    stacks: Vec<DumpedStack>,
    names: HashMap<u64, Function>,
    /// The names of threads, by object.
    threads: HashMap<u64, String>,
    ruby: String,
}

impl Drop for Taking {
    fn drop(&mut self) {
        if self.is_from_this_process() {
            self.hub.end_dump(self.number);
        }
    }
}

impl Taking {
    /// Begins a dump, and asks the threads that run. Needs no GVL.
    pub(super) fn begin(hub: &'static Hub) -> Self {
        let now_ns = clock::monotonic_ns();
        let holder = threads::gvl_holder::running().map(ThreadState::id);
        let threads = threads::live().map(|state| Asked::now(state, now_ns, holder)).collect();
        let (number, pid, at_ns) = (hub.begin_dump(), std::process::id(), clock::realtime_ns());
        let taking = Self { hub, number, pid, at_ns, threads };
        taking.ask(|it| !it.waits);
        taking
    }

    fn is_from_this_process(&self) -> bool {
        self.pid == std::process::id()
    }

    /// Asks the threads for which `wanted` returns true, a group at a time. If they cannot be asked on this
    /// system, their stacks are read with the GVL, and are missing without it.
    fn ask(&self, wanted: impl Fn(&Asked) -> bool) {
        if NEEDS_LINUX.is_some() {
            return;
        }
        let wanted: Vec<&Asked> = self.threads.iter().filter(|it| wanted(it)).collect();
        let mut till = Instant::now() + PATIENCE;
        let mut rest = false;
        for some in wanted.chunks(TOGETHER) {
            if rest {
                sleep(REST);
                till += REST;
            }
            rest = self.ask_some(some, till) && before_3_3::NEEDED;
        }
    }

    /// Asks the threads of the group that have not answered, until all have or the time is up, but at least
    /// once. Returns false if all had answered before.
    fn ask_some(&self, some: &[&Asked], till: Instant) -> bool {
        let mut asked_at: Option<Instant> = None;
        while sigprof::owner() == sigprof::SignalOwner::Us {
            let there = some.iter().filter(|it| it.is_alive());
            let missing = self.hub.missing_in_dump(self.number, &Registry, there.map(|it| it.id));
            if missing.is_empty() || (asked_at.is_some() && Instant::now() > till) {
                break;
            }
            if asked_at.is_none_or(|it| it.elapsed() > AGAIN) {
                some.iter().filter(|it| missing.contains(&it.id)).for_each(|it| it.ask(self.number));
                asked_at = Some(Instant::now());
            }
            sleep(PAUSE);
        }
        asked_at.is_some()
    }

    /// Reads the stacks of threads that are blocked with the GVL, and are not sent a signal, in a copy of the
    /// process.
    fn copy_blocked(&self) {
        if before_3_3::NEEDED {
            return;
        }
        let blocked = |it: &&Asked| it.doing == State::Blocked && it.is_alive();
        let ids = self.threads.iter().filter(blocked).map(|it| it.id);
        let missing = self.hub.missing_in_dump(self.number, &Registry, ids);
        for asked in self.threads.iter().filter(|it| missing.contains(&it.id)) {
            // A call that sleeps again and again may run while the copy is made.
            _ = (0..COPIES).any(|_| dump::record_blocked(self.hub, asked.state, self.number));
        }
    }

    /// Reads the stacks of the threads that have not been asked, and names all functions, in turns with other
    /// threads.
    ///
    /// # Errors
    /// Exceptions that other threads deliver during the call.
    pub(crate) fn name(&self, ruby: &Ruby) -> Result<DumpNames, Error> {
        let listed = vm::threads::list(ruby, NameChoice::Included)?;
        let mut turns = Turns::new(Pace::Yielding, self.pid);
        self.read_waiting(ruby, &mut turns)?;
        let stacks = self.hub.dumped(self.number, &Registry);
        let mut names: HashMap<u64, Function> =
            self.hub.name_dump(self.number, |_| None).into_iter().collect();
        let unknown: BTreeSet<u64> = stacks.iter().flat_map(|it| &it.frames).map(|it| it.handle()).collect();
        let unknown: Vec<u64> = unknown.into_iter().filter(|it| !names.contains_key(it)).collect();
        // SAFETY: the handles belong to this process, and this dump keeps them marked.
        let functions = unsafe { naming::functions(ruby, &unknown, Pace::Yielding, self.pid)? };
        names.extend(unknown.into_iter().zip(functions));
        let threads = listed.list.iter().filter_map(|it| Some((it.object, it.name.clone()?))).collect();
        listed.release();
        Ok(DumpNames { stacks, names, threads, ruby: vm::process::description(ruby) })
    }

    /// Reads the stacks that are still missing, if Ruby can read those of other threads. A thread whose state
    /// is live has not ended.
    fn read_waiting(&self, ruby: &Ruby, turns: &mut Turns) -> Result<(), Error> {
        if before_3_3::NEEDED {
            return Ok(());
        }
        let ids = self.threads.iter().filter(|it| it.is_alive()).map(|it| it.id);
        let missing = self.hub.missing_in_dump(self.number, &Registry, ids);
        for asked in self.threads.iter().filter(|it| missing.contains(&it.id)) {
            turns.give(ruby)?;
            if asked.is_alive() {
                // SAFETY: the GVL is held, and the thread is alive.
                unsafe { dump::record_of(self.hub, asked.state, self.number, asked.state.walls.doing().0) };
            }
        }
        Ok(())
    }

    /// Returns the dump with Ruby's names. Needs no GVL.
    pub(crate) fn with(&self, named: &DumpNames) -> Dump {
        let name = |it: &Asked| named.threads.get(&it.state.object()).cloned();
        let threads = self.threads(&named.stacks, &named.names, name);
        self.dump(&named.ruby, threads, true, Vec::new())
    }

    /// Returns the dump without Ruby's names: the threads that wait are asked as well, and functions have the
    /// names that are known without Ruby.
    pub(super) fn finish_without_ruby(&self, ruby: &str) -> Dump {
        self.ask(|_| true);
        self.copy_blocked();
        let stacks = self.hub.dumped(self.number, &Registry);
        let mut names = HashMap::new();
        for _ in 0..TRIES {
            let mut in_gc = false;
            let named = self.hub.name_dump(self.number, |handle| {
                in_gc = in_gc || vm::state::during_gc();
                if in_gc {
                    return None;
                }
                // SAFETY: this is called under the drain lock, for which the mark function waits, so no
                // garbage collection gets past it; this dump keeps the handle.
                let found = unsafe { vm::frames::describe_without_gvl(handle) }?;
                Some(Function { path: found.path?, ..Function::named(&found.label?) })
            });
            names = named.into_iter().collect();
            if !in_gc {
                break;
            }
            sleep(PAUSE);
        }
        // Ruby has no other name for the main thread, and the kernel has that of the program.
        let name = |it: &Asked| (u32::try_from(it.state.native_id()) == Ok(self.pid)).then(|| "main".into());
        let threads = self.threads(&stacks, &names, name);
        let why = "could not acquire the GVL within 1 s: methods are shown without their classes, and C functions may have no name";
        self.dump(ruby, threads, false, vec![why.into()])
    }

    fn threads(
        &self,
        stacks: &[DumpedStack],
        names: &HashMap<u64, Function>,
        name: impl Fn(&Asked) -> Option<String>,
    ) -> Vec<DumpedThread> {
        let last_with_gvl = stacks
            .iter()
            .filter(|it| it.has_gvl)
            .max_by_key(|it| it.header.monotonic_ns)
            .map(|it| it.header.thread);
        let is_known = self.threads.iter().any(|it| it.holds_gvl);
        let thread = |asked: &Asked| {
            let info = threads::info(asked.state, name(asked));
            let stack = stacks.iter().find(|stack| stack.header.thread == asked.id);
            let doing = stack.map_or(asked.doing, |it| it.header.state);
            let labels = self.hub.labels_of(stack.map_or(asked.labels, |it| it.header.labels));
            DumpedThread {
                native_id: info.native_id,
                name: info.name,
                state: doing.name().into(),
                for_ns: asked.for_ns.filter(|_| doing == asked.doing),
                at_least: asked.at_least && doing == asked.doing,
                has_gvl: if is_known { asked.holds_gvl } else { last_with_gvl == Some(asked.id) },
                labels: labels.pairs().to_vec(),
                frames: stack.map_or_else(Vec::new, |it| frames(it, names)),
                missing: stack.is_none().then(|| why_missing(asked).into()),
            }
        };
        self.threads.iter().filter(|it| it.is_alive()).map(thread).collect()
    }

    fn dump(&self, ruby: &str, threads: Vec<DumpedThread>, named: bool, mut notes: Vec<String>) -> Dump {
        if sigprof::owner() != sigprof::SignalOwner::Us {
            notes.push("SIGPROF has another handler, so threads cannot be asked where they are".into());
        }
        if let Some(errno) = TimerInfo::refused() {
            let why = std::io::Error::from_raw_os_error(errno);
            notes.push(format!("the system refuses signals to threads ({why}), so running threads cannot be asked where they are"));
        }
        let mut dump = Dump {
            pid: self.pid,
            ruby: ruby.into(),
            program: process::program(),
            at: self.at_ns as f64 / 1e9,
            named,
            notes,
            threads,
        };
        dump.sort();
        dump
    }
}

impl Asked {
    fn now(state: &'static ThreadState, now_ns: u64, holder: Option<ThreadId>) -> Self {
        let (doing, since_ns, at_least) = state.walls.doing();
        let since_ns = Some(since_ns).filter(|it| *it != 0);
        let id = state.id();
        let waits = !before_3_3::NEEDED && state.walls.is_suspended();
        let doing = if doing != State::Running || !clock::is_asleep(state.native_id()) {
            doing
        } else if holder == Some(id) {
            State::Blocked
        } else if before_3_3::NEEDED {
            // On these Rubies it is unknown who has the GVL, and far more threads wait without it.
            State::Waiting
        } else {
            doing
        };
        Self {
            state,
            id,
            doing,
            for_ns: since_ns.map(|it| now_ns.saturating_sub(it)),
            at_least,
            labels: state.labels.set_id(),
            holds_gvl: holder == Some(id) && matches!(doing, State::Running | State::Blocked | State::Gc),
            waits,
        }
    }

    /// Returns whether the thread is still the same one, and alive.
    fn is_alive(&self) -> bool {
        self.state.is_live() && self.state.id() == self.id
    }

    /// Sends the signal. A thread that begins to wait lets it arrive first, so that it interrupts no system
    /// call. A thread that waits in a call which would end early gets no signal: if it has the GVL, it
    /// answers when the call returns.
    fn ask(&self, number: u32) {
        // Before Ruby 3.3 a thread that polls is treated as one that waits without the GVL, as by the ticker.
        if !may_be_interrupted(self.state.native_id(), self.waits || before_3_3::NEEDED) {
            if !self.waits {
                dump::ask_blocked(self.state, number);
            }
            return;
        }
        if !self.waits && !before_3_3::NEEDED {
            self.state.ticker.signal.announce();
            if self.state.walls.is_suspended() {
                return self.state.ticker.signal.retract();
            }
        }
        dump::ask(self.state, number);
    }
}

fn why_missing(asked: &Asked) -> &'static str {
    match asked.doing {
        State::Gc => "it collects garbage",
        State::Blocked => "it is blocked in C code, and answers when that returns",
        State::Waiting if before_3_3::NEEDED => "it is in a call that a signal would end early",
        _ if asked.is_alive() && NEEDS_LINUX.is_some() => "without the GVL it can be asked only on Linux",
        _ if asked.is_alive() => "it did not answer",
        _ => "it has ended",
    }
}

fn frames(stack: &DumpedStack, names: &HashMap<u64, Function>) -> Vec<DumpedFrame> {
    let frame = |it: &profiler_core::record::frame::RawFrame| match names.get(&it.handle()) {
        Some(function) => {
            DumpedFrame { name: function.name.clone(), path: function.path.clone(), line: it.line() }
        }
        None => DumpedFrame { name: "(C function)".into(), path: Function::CFUNC.into(), line: 0 },
    };
    stack.frames.iter().map(frame).collect()
}
