//! Events of the app that running sessions are notified of: markers, ends of requests, a trap of SIGPROF, a
//! Ractor.

use std::sync::atomic::Ordering;

use magnus::{function, Error, Object, RHash, RModule, RString, Ruby};
use profiler_core::text::{cut, MAX_NAME_BYTES};

use crate::capture::allocation;
use crate::sampler::{self, fork};
use crate::shared::CAPTURE;
use crate::sys::clock;
use crate::vm::strings::lossy;
use crate::{labels, threads, vm};

/// Implements `Native.mark(name, started_ns)`: see `Profiler.marker`.
fn mark(ruby: &Ruby, name: RString, started_ns: u64) -> Result<(), Error> {
    fork::continue_after_fork();
    if !CAPTURE.enabled.load(Ordering::Relaxed) {
        return Ok(());
    }
    let me = vm::threads::current(ruby, vm::threads::NameChoice::Included)?;
    let name = if name.is_utf8_compatible_encoding() {
        // SAFETY: no Ruby code runs while the slice is read.
        let bytes = unsafe { name.as_slice() };
        // A long name is not copied as a whole: a character has 4 bytes at most.
        String::from_utf8_lossy(bytes.get(..MAX_NAME_BYTES + 4).unwrap_or(bytes)).into_owned()
    } else {
        lossy(ruby, name)
    };
    let name = cut(name);
    sampler::record_marker(&name, started_ns, || {
        threads::current().map(|state| threads::info(state, me.name))
    });
    Ok(())
}

/// Implements `Native.count_request(labels, began_ns)`: a request, or a job, with these labels ends now. It
/// began at `began_ns` on the monotonic clock.
fn count_request(ruby: &Ruby, labels: RHash, began_ns: u64) -> Result<(), Error> {
    fork::continue_after_fork();
    if !CAPTURE.enabled.load(Ordering::Relaxed) || !vm::process::on_main_ractor() {
        return Ok(());
    }
    let took_ns = clock::monotonic_ns().saturating_sub(began_ns);
    let own = labels::set_from(ruby, labels)?;
    let all = labels::on_current(ruby, &own)?;
    sampler::count_request(&own, &all, took_ns);
    Ok(())
}

/// Implements `Native.give_up_objects`: the app creates a Ractor. Returns true if that ends all sampling of
/// objects.
fn give_up_objects(ruby: &Ruby) -> bool {
    fork::continue_after_fork();
    if vm::events::GLOBAL_FREES {
        return false; // the frees of all Ractors are reported
    }
    let kills = vm::allocations::HOOK_KILLS_RACTORS && allocation::is_on();
    if allocation::is_tracking() {
        ruby.gc_start(); // so that unreachable objects do not count as live
    }
    if kills {
        sampler::give_up_objects(
            false,
            "a Ractor was created, and before Ruby 3.3 an allocation hook would crash it",
        );
    } else if allocation::is_tracking() {
        sampler::give_up_objects(
            true,
            "a Ractor was created, and a Ractor that collects garbage does not report what it frees",
        );
    }
    kills
}

/// Implements `Native.give_up`: the app takes SIGPROF.
fn give_up(ruby: &Ruby) -> Result<(), Error> {
    give_up_for(ruby, "the app trapped SIGPROF")
}

/// Implements `Native.give_up_to_callcc`: the app has loaded a library that replaces stacks.
fn give_up_to_callcc(ruby: &Ruby) -> Result<(), Error> {
    give_up_for(ruby, "the app loaded continuations (callcc), which replace a stack while it may be walked")
}

fn give_up_for(ruby: &Ruby, why: &'static str) -> Result<(), Error> {
    if !vm::process::on_main_ractor() {
        return sampler::give_up_elsewhere(ruby, why);
    }
    fork::continue_after_fork();
    sampler::give_up(why);
    Ok(())
}

/// Defines the functions.
pub(super) fn init(native: RModule) -> Result<(), Error> {
    native.define_singleton_method("mark", function!(mark, 2))?;
    native.define_singleton_method("count_request", function!(count_request, 2))?;
    native.define_singleton_method("give_up", function!(give_up, 0))?;
    native.define_singleton_method("give_up_to_callcc", function!(give_up_to_callcc, 0))?;
    native.define_singleton_method("give_up_objects", function!(give_up_objects, 0))
}
