//! The module `Profiler::Doctor`: the answers of the system and the VM that a session would get, without
//! starting one.

use magnus::{method, prelude::*, Error, RArray, RModule, Ruby, Value};
use profiler_core::profile::Note;
use profiler_core::ticking::engine::Engine;

use crate::before_3_3;
use crate::engine::{self, perf, setitimer, thread_timer};
use crate::options::{mode, wall};
use crate::sampler::timers;
use crate::sys::siginfo::TimerInfo;
use crate::sys::sigprof::{self, SignalOwner};
use crate::vm;

/// Implements `Doctor._engines`: returns `[name, refusal, note]` of each engine. The refusal states why the
/// engine is not available, and is nil if it is; the note states what a user should know about it. The
/// preferred engine depends on the options.
fn engines(ruby: &Ruby, _doctor: Value) -> Result<RArray, Error> {
    let engines = ruby.ary_new();
    for engine in Engine::ALL {
        let blind = engine == Engine::Perf && perf::probe().is_ok() && thread_timer::probe().is_err();
        engines.push((
            engine.name(),
            refusal(ruby, engine)?,
            blind.then(|| Note::KernelTimeUnseen {}.sentence()),
        ))?;
    }
    Ok(engines)
}

/// Returns the reason why a session would not start with that engine. The questions and their order are those
/// of a start.
fn refusal(ruby: &Ruby, engine: Engine) -> Result<Option<String>, Error> {
    let danger = vm::process::unsafe_to_walk(ruby)?;
    Ok(danger.filter(|_| engine != Engine::Safepoint).or_else(|| refused_by_system(engine)))
}

fn refused_by_system(engine: Engine) -> Option<String> {
    if let Some(why) = engine::needs_linux(engine) {
        return Some(why.into());
    }
    if sigprof::owner() == SignalOwner::Foreign {
        return Some("SIGPROF already has another handler".into());
    }
    if timers::timer_is_foreign(engine) {
        return Some("ITIMER_PROF is already in use".into());
    }
    let probed = match engine {
        // If stacks are taken later, these timers still request them.
        Engine::ThreadTimer | Engine::Safepoint => thread_timer::probe(),
        Engine::Ticker => {
            let errno = TimerInfo::refused()?;
            let why = std::io::Error::from_raw_os_error(errno);
            return Some(format!(
                "the system refuses signals to threads: {why}: check what the container allows"
            ));
        }
        Engine::Perf => perf::probe(),
        // An armed timer is ours. Disarming one that is not armed changes nothing.
        Engine::Setitimer if setitimer::is_armed() => Ok(()),
        Engine::Setitimer => setitimer::arm(0),
    };
    let errno = probed.err()?;
    let hint = match errno {
        libc::EACCES | libc::EPERM => ": check kernel.perf_event_paranoid, and what the container allows",
        libc::EAGAIN => ": the quota of pending signals is used up, see ulimit -i",
        _ => "",
    };
    Some(format!("the system refused a timer: {}{hint}", std::io::Error::from_raw_os_error(errno)))
}

/// Implements `Doctor._signal_owner`: returns who handles SIGPROF.
fn signal_owner(_ruby: &Ruby, _doctor: Value) -> &'static str {
    match sigprof::owner() {
        SignalOwner::Nobody => "nobody",
        SignalOwner::Us => "us",
        SignalOwner::Foreign => "foreign",
    }
}

/// Implements `Doctor._unsafe_to_walk`: returns why stacks can be taken only where Ruby checks its
/// interrupts, or nil if they can be taken anywhere.
fn unsafe_to_walk(ruby: &Ruby, _doctor: Value) -> Result<Option<String>, Error> {
    vm::process::unsafe_to_walk(ruby)
}

/// Implements `Doctor._waits`: returns how the waits of `:wall` are observed, or nil if they cannot be; and
/// the reason why not, or nil.
fn waits(ruby: &Ruby, _doctor: Value) -> Result<(Option<&'static str>, Option<String>), Error> {
    let why = wall::why_not(ruby)?;
    let seen = if before_3_3::NEEDED { "sampled" } else { "measured" };
    Ok((why.is_none().then_some(seen), why))
}

/// Implements `Doctor._objects`: returns why objects cannot be sampled, or nil if they can.
fn objects(ruby: &Ruby, _doctor: Value) -> Result<Option<&'static str>, Error> {
    mode::no_objects(ruby)
}

/// Defines the module.
pub(crate) fn init(profiler: RModule) -> Result<(), Error> {
    let doctor = profiler.define_module("Doctor")?.singleton_class()?;
    doctor.define_private_method("_engines", method!(engines, 0))?;
    doctor.define_private_method("_signal_owner", method!(signal_owner, 0))?;
    doctor.define_private_method("_objects", method!(objects, 0))?;
    doctor.define_private_method("_waits", method!(waits, 0))?;
    doctor.define_private_method("_unsafe_to_walk", method!(unsafe_to_walk, 0))?;
    Ok(())
}
