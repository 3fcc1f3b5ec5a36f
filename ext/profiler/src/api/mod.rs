//! The Ruby classes: what an app calls, and what it gets. This file is a table of contents; each class has a
//! file of its own.
//!
//! No decision about sampling is made here.

use magnus::{function, Error, Module, Object, RHash, RModule, Ruby, Value};

mod app_events;
mod attachment;
mod control;
mod doctor;
mod formats;
mod ledger;
mod profile;
mod self_check;
mod session;
#[cfg(feature = "testing")]
pub(crate) mod testing;
mod totals;
mod tracer;

use crate::before_3_3::resolver;
use crate::sys::{clock, interrupts, sender, usage};
use crate::vm::without_gvl;
use crate::{threads, vm};

/// Implements `Native.clock(real)`: returns seconds since 1970 UTC, or on the monotonic clock. An app can
/// replace the clocks of Ruby, but not these.
fn clock_s(real: bool) -> f64 {
    let ns = if real { clock::realtime_ns() } else { clock::monotonic_ns() };
    ns as f64 / 1e9
}

/// Implements `Native.clock_ns`: returns nanoseconds on the monotonic clock.
fn clock_ns() -> u64 {
    clock::monotonic_ns()
}

/// Implements `Native.usage_of_children`: returns the resources of the child processes that have ended, by
/// name.
fn usage_of_children(ruby: &Ruby) -> Result<RHash, Error> {
    let usage = usage::of_children();
    let all = ruby.hash_new();
    for (name, value) in [
        ("user_ns", usage.user_ns),
        ("system_ns", usage.system_ns),
        ("peak_bytes", usage.peak_bytes),
        ("minor_faults", usage.minor_faults),
        ("major_faults", usage.major_faults),
        ("voluntary_switches", usage.voluntary_switches),
        ("forced_switches", usage.forced_switches),
    ] {
        all.aset(ruby.to_symbol(name), value)?;
    }
    Ok(all)
}

/// Implements `Native.describe(object)`: returns a description of any object, for a message.
fn describe(ruby: &Ruby, object: Value) -> Result<String, Error> {
    vm::describe::describe(ruby, object)
}

/// Defines the classes.
pub(crate) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    let native = profiler.define_module("Native")?; // private: sig/profiler/native.rbs
    vm::own_threads::define_class(ruby, profiler)?;
    native.define_singleton_method("own_thread_begins", function!(threads::own::begin, 0))?;
    native.define_singleton_method("addresses_of", function!(resolver::addresses_of, 1))?;
    native.define_singleton_method("set_deadline", function!(without_gvl::set_deadline, 1))?;
    native.define_singleton_method("hold_interrupts", function!(interrupts::hold, 1))?;
    native.define_singleton_method("describe", function!(describe, 1))?;
    native.define_singleton_method("clock", function!(clock_s, 1))?;
    native.define_singleton_method("clock_ns", function!(clock_ns, 0))?;
    native.define_singleton_method("usage_of_children", function!(usage_of_children, 0))?;
    native.define_singleton_method("own_thread_ends", function!(threads::own::end, 0))?;
    native.define_singleton_method("count_from_processes", function!(sender::count_from_processes, 1))?;
    native.define_singleton_method("came_from_process?", function!(sender::came_from_process, 1))?;
    session::init(ruby, profiler, native)?;
    profile::init(ruby, profiler, native)?;
    app_events::init(native)?;
    self_check::init(native)?;
    formats::init(native)?;
    doctor::init(profiler)?;
    totals::init(native)?;
    ledger::init(native)?;
    control::init(ruby, profiler)?;
    tracer::init(ruby, profiler)?;
    attachment::init(ruby, profiler)?;
    #[cfg(feature = "testing")]
    testing::init(profiler)?;
    Ok(())
}
