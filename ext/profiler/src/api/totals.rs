//! The function `Native.totals`: what the profiler has done in this process, and its overhead.

use magnus::{function, Error, Object, RHash, RModule, Ruby};

use crate::capture::hook_loss;
use crate::sampler::{self, Totals};

/// Implements `Native.totals`: returns the number of sessions, their finest interval, the CPU time of
/// handlers and of our own threads (all in ns), and the number of ticks by their fates, in `counts`. Only for
/// the main Ractor.
fn totals(ruby: &Ruby) -> Result<RHash, Error> {
    let Totals { sessions, interval_ns, counts, handler_ns, threads_ns } = sampler::totals();
    let fates = ruby.hash_new();
    for (name, count) in counts.each() {
        fates.aset(ruby.to_symbol(name), count)?;
    }
    let all = ruby.hash_new();
    all.aset(ruby.to_symbol("sessions"), sessions)?;
    for (name, ns) in [("interval_ns", interval_ns), ("handler_ns", handler_ns), ("threads_ns", threads_ns)] {
        all.aset(ruby.to_symbol(name), ns)?;
    }
    all.aset(ruby.to_symbol("counts"), fates)?;
    Ok(all)
}

/// Defines the functions.
pub(crate) fn init(native: RModule) -> Result<(), Error> {
    native.define_singleton_method("hook_losses", function!(hook_loss::losses, 0))?;
    native.define_singleton_method("totals", function!(totals, 0))
}
