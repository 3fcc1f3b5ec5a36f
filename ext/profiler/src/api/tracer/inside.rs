//! What ran inside of the traced calls, with names and as Ruby objects.

use magnus::rb_sys::AsRawValue;
use magnus::{Error, RArray, RHash, Ruby, Value};
use profiler_core::format::callgrind::write_inside;
use profiler_core::trace::{InnerFunction, Inside, ShadowStacks};

use super::Tracer;
use crate::naming;
use crate::sampler::fork;
use crate::trace;

/// Implements `tracer._count_inside`: also counts what runs inside of the calls. Returns a TracePoint for that, to be
/// enabled before the others.
pub(super) fn count(ruby: &Ruby, tracer: &Tracer) -> Value {
    let stacks = Box::<ShadowStacks>::default();
    let tracepoint = trace::tracepoint_inside(ruby, tracer.tracer);
    // SAFETY: methods run with the GVL, and nothing is called.
    unsafe {
        tracer.tracer.with(|sums| {
            sums.inside = Some(stacks);
            sums.on_calls = tracepoint.as_raw();
        });
    }
    tracepoint
}

/// Returns the names of sums that have been copied.
///
/// # Safety
/// The trace that they are copied from marks what they refer to until this returns.
pub(super) unsafe fn named(ruby: &Ruby, stacks: &ShadowStacks) -> Result<Inside, Error> {
    let graph = stacks.graph();
    let methods: Vec<_> = graph.functions().iter().skip(1).map(|sum| (sum.key, sum.handle)).collect();
    // SAFETY: the caller keeps what the sums refer to marked.
    let names = unsafe { naming::methods_of(ruby, &methods, fork::pid())? };
    Ok(Inside::of(graph, names, stacks.shortcomings()))
}

/// Implements `tracer._callgrind(name)`: returns the sums so far in the callgrind format; nil if none of what runs
/// inside are counted.
pub(super) fn callgrind(ruby: &Ruby, tracer: &Tracer, name: String) -> Result<Option<String>, Error> {
    let summary = tracer.named(ruby, name)?;
    let Some(inside) = summary.inside else { return Ok(None) };
    let mut file = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_inside(&summary.name, &inside, &mut file);
    Ok(Some(String::from_utf8_lossy(&file).into_owned()))
}

/// Adds the functions and the numbers of what they lack to a result.
pub(super) fn add_to(ruby: &Ruby, hash: RHash, inside: &Inside) -> Result<(), Error> {
    let functions = ruby.ary_new_capa(inside.functions.len());
    for inner in &inside.functions {
        functions.push(function(ruby, inner)?)?;
    }
    hash.aset(ruby.to_symbol("functions"), functions)?;
    let shortcomings = inside.shortcomings;
    for (name, number) in [
        ("unknown_callers", inside.other_callers),
        ("unfollowed", shortcomings.unfollowed),
        ("too_deep", shortcomings.beyond),
        ("unpaired", shortcomings.unpaired),
    ] {
        hash.aset(ruby.to_symbol(name), number)?;
    }
    Ok(())
}

fn function(ruby: &Ruby, inner: &InnerFunction) -> Result<RArray, Error> {
    let row = ruby.ary_new_capa(8);
    row.push(&*inner.function.name)?;
    row.push(&*inner.function.path)?;
    for number in
        [u64::from(inner.function.first_line), inner.calls, inner.blocks, inner.total_ns, inner.self_ns]
    {
        row.push(number)?;
    }
    let callers =
        inner.callers.iter().map(|caller| (caller.place, caller.calls, caller.blocks, caller.total_ns));
    row.push(ruby.ary_from_iter(callers))?;
    Ok(row)
}
