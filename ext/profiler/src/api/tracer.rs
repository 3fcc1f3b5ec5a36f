//! The class `Profiler::Tracer`: the native part of `Profiler::MethodTrace`.

use std::collections::HashMap;

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{
    function, gc, method, prelude::*, value::Opaque, DataTypeFunctions, Error, RArray, RHash, RModule, Ruby,
    TypedData, Value,
};
use profiler_core::profile::Function;
use profiler_core::record::WallTimes;
use profiler_core::trace::{
    CallSums, Caller, CallerSum, End, FinishedCalls, OpenCall, ShadowStacks, Summary,
};

use crate::naming;
use crate::naming::turns::Pace;
use crate::sampler::fork;
use crate::sys::clock;
use crate::trace::{self, Ended, TraceGroup, TraceLimits, TraceSums};
use crate::vm::cached::define_class;
use crate::vm::{root, state, tracepoints};

mod inside;

/// The percentiles of a result.
const PERCENTS: [(&str, f64); 4] = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// The class `Profiler::Tracer`. The trace is over when its object is garbage.
#[derive(TypedData)]
#[magnus(class = "Profiler::Tracer", free_immediately, mark)]
struct Tracer {
    tracer: &'static trace::Tracer,
    on_method: Opaque<Value>,
    on_raise: Opaque<Value>,
    /// The owner and the name of a C function, which the hook compares.
    c_function: Option<(Opaque<Value>, Opaque<Value>)>,
}

impl DataTypeFunctions for Tracer {
    fn mark(&self, marker: &gc::Marker) {
        marker.mark(self.on_method);
        marker.mark(self.on_raise);
        if let Some((owner, name)) = self.c_function {
            marker.mark(owner);
            marker.mark(name);
        }
        let pin_all = |sums: &mut TraceSums| {
            // SAFETY: the mark function is running; each of these was live when it was kept, and was marked
            // since.
            handles_of(sums).filter(|handle| *handle != 0).for_each(|handle| unsafe { root::pin(handle) });
        };
        // SAFETY: a mark function runs with the GVL held, and no hook is running, as hooks do not allocate.
        unsafe { self.tracer.with(pin_all) };
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        // SAFETY: an object is freed with the GVL held, while no hook runs.
        unsafe { self.tracer.free() };
    }
}

/// Iterates over the addresses of all objects that the sums refer to.
fn handles_of(sums: &TraceSums) -> impl Iterator<Item = u64> + '_ {
    let (callers, _) = sums.tally.callers();
    let classes = sums.tally.results().iter().chain(sums.tally.exceptions()).map(|(class, _)| *class);
    let open = sums.open.iter().flat_map(|call: &OpenCall| [call.fiber, call.caller.0, call.raised]);
    let finished = sums.finished.iter().flat_map(FinishedCalls::iter).flat_map(|call| match call.end {
        End::Returned(class) | End::Raised(class) => [call.fiber, class],
    });
    let inside = sums.inside.iter().flat_map(|stacks| stacks.addresses());
    let callers = callers.iter().map(|sum| sum.caller.0);
    callers.chain(classes).chain(open).chain(finished).chain(inside).chain([sums.on_calls])
}

impl Tracer {
    /// Implements `Tracer._new(calls, overhead, method, size, sibling)`: creates a trace. `calls` is the
    /// number of calls after which it ends, or nil. `overhead` is the share of a core above which its group
    /// ends. `method` has the lines at which the method returns, whether it has only one line, and for a C
    /// function its owner and original name. `size` is the number of traces in a new group. `sibling` is a
    /// trace of the group to join, or nil.
    fn new(
        ruby: &Ruby,
        calls: Option<u64>,
        overhead: f64,
        method: (Vec<u32>, bool, Option<(Value, Value)>),
        size: usize,
        sibling: Option<&Self>,
    ) -> Self {
        let (return_lines, one_line, c_function) = method;
        // SAFETY: methods run with the GVL, and the copy calls nothing of the VM.
        let group = sibling.and_then(|it| unsafe { it.tracer.with(|sums| sums.limits.group.clone()) });
        let group = group.unwrap_or_else(|| TraceGroup::new(size));
        let limits = TraceLimits { calls: calls.unwrap_or(u64::MAX), overhead, group };
        let tracer = trace::Tracer::new(limits, return_lines, one_line, c_function.is_some());
        let [on_method, on_raise] = trace::tracepoints(ruby, tracer, c_function);
        // SAFETY: the GVL is held, and nothing is called.
        unsafe { tracer.with(|sums| sums.on_raise = on_raise.as_raw()) };
        let c_function = c_function.map(|(owner, name)| (owner.into(), name.into()));
        Self { tracer, on_method: on_method.into(), on_raise: on_raise.into(), c_function }
    }

    /// Implements `tracer._tracepoints`: returns the TracePoint for the method and the one for exceptions,
    /// both to be enabled.
    fn tracepoints(ruby: &Ruby, tracer: &Self) -> (Value, Value) {
        (ruby.get_inner(tracer.on_method), ruby.get_inner(tracer.on_raise))
    }

    /// Implements `tracer._begin`: begins to measure.
    fn begin(&self) {
        // SAFETY: methods run with the GVL, and the clock calls nothing.
        unsafe { self.tracer.with(|sums| sums.began_ns = clock::monotonic_ns()) };
    }

    /// Implements `tracer._price(ns)`: sets what a call or return of another C function takes.
    fn price(&self, ns: u64) {
        // SAFETY: methods run with the GVL, and nothing is called.
        unsafe { self.tracer.with(|sums| sums.other_ns = ns) };
    }

    /// Implements `tracer._end`: disables the TracePoints. The sums stay.
    fn end(ruby: &Ruby, tracer: &Self) {
        let end = |sums: &mut TraceSums| {
            if sums.ended_ns == 0 {
                sums.ended_ns = clock::monotonic_ns();
            }
        };
        // SAFETY: methods run with the GVL; the clock calls nothing; both TracePoints are live.
        unsafe {
            tracer.tracer.with(end);
            tracepoints::disable(ruby.get_inner(tracer.on_method).as_raw());
            tracepoints::disable(ruby.get_inner(tracer.on_raise).as_raw());
            let on_calls = tracer.tracer.with(|sums| sums.on_calls).unwrap_or(0);
            if on_calls != 0 {
                tracepoints::disable(on_calls);
            }
        }
    }

    /// Implements `tracer._keep_finished`: keeps the newest finished call of each fiber for `_finished`.
    fn keep_finished(&self) {
        let calls = FinishedCalls::default();
        // SAFETY: methods run with the GVL, and nothing is called.
        unsafe { self.tracer.with(|sums| sums.finished = Some(calls)) };
    }

    /// Implements `tracer._restart`: lets the newest call of the running fiber begin now, as what came before
    /// was not the method's.
    fn restart(&self) {
        let fiber = state::current_fiber();
        // SAFETY: methods run with the GVL; the clocks call nothing.
        unsafe { self.tracer.with(|sums| trace::restart(sums, fiber)) };
    }

    /// Implements `tracer._finished`: looks up the finished call of the running fiber; nil if there is none.
    /// Returns three things: its duration and its times running, waiting, waiting for the GVL and in garbage
    /// collection, all in ns; whether it raised; and the class of what it returned or raised, which is nil
    /// for a throw.
    fn finished(&self) -> Option<(Vec<u64>, bool, Option<Value>)> {
        let fiber = state::current_fiber();
        // SAFETY: methods run with the GVL, and nothing is called.
        let call =
            unsafe { self.tracer.with(|sums| sums.finished.as_ref().and_then(|calls| calls.of(fiber))) };
        let call = call.flatten()?;
        let WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, gc_off_cpu_ns } = call.parts;
        let (has_raised, class) = match call.end {
            End::Returned(class) => (false, class),
            End::Raised(class) => (true, class),
        };
        // SAFETY: the mark function keeps the class alive as long as the call is kept.
        let class = (class != 0).then(|| unsafe { Value::from_raw(class as _) });
        Some((vec![call.ns, running_ns, waiting_ns, gvl_ns, gc_ns + gc_off_cpu_ns], has_raised, class))
    }

    /// Implements `tracer._logged(ns, last)`: ends the logging of a call, adds the time that it took, and
    /// ends the trace if that was the last call to log. Returns whether the trace is still running.
    fn logged(&self, took_ns: u64, is_last: bool) -> bool {
        let fiber = state::current_fiber();
        // SAFETY: methods run with the GVL; the clock and the end of a TracePoint call nothing.
        unsafe { self.tracer.with(|sums| trace::logged(sums, fiber, took_ns, is_last)) }.unwrap_or(false)
    }

    /// Implements `tracer._ended?`: returns whether the trace has ended, even by itself.
    fn has_ended(&self) -> bool {
        // SAFETY: methods run with the GVL, and nothing is called.
        unsafe { self.tracer.with(|sums| sums.ended_ns != 0) }.unwrap_or(true)
    }

    /// Implements `tracer._calls`: returns the number of calls that have begun.
    fn calls(&self) -> u64 {
        // SAFETY: methods run with the GVL, and nothing is called.
        unsafe { self.tracer.with(|sums| sums.calls) }.unwrap_or(0)
    }

    /// Implements `tracer._percentiles(percents)`: returns a duration in nanoseconds for each; nil if no call
    /// has ended.
    fn percentiles(&self, percents: Vec<f64>) -> Option<Vec<u64>> {
        // SAFETY: methods run with the GVL, and the sums call nothing of the VM.
        unsafe { self.tracer.with(|sums| sums.tally.durations.percentiles_ns(&percents)) }.flatten()
    }

    /// Implements `tracer._summary(name)`: returns all sums so far, with names.
    fn summary(ruby: &Ruby, tracer: &Self, name: String) -> Result<RHash, Error> {
        let summary = tracer.named(ruby, name)?;
        let hash = ruby.hash_new();
        let numbers = [
            ("calls", summary.calls),
            ("finished", summary.finished),
            ("raised", summary.raised),
            ("began_before", summary.began_before),
            ("duration_ns", summary.duration_ns),
            ("total_ns", summary.total_ns),
            ("shortest_ns", summary.range_ns.0),
            ("longest_ns", summary.range_ns.1),
            ("running_ns", summary.parts.running_ns),
            ("waiting_ns", summary.parts.waiting_ns),
            ("gvl_ns", summary.parts.gvl_ns),
            ("gc_ns", summary.parts.gc_ns + summary.parts.gc_off_cpu_ns),
            ("other_callers", summary.other_callers),
            ("other_classes", summary.other_classes),
            ("own_ns", summary.own_ns),
            ("other_functions", summary.others.map_or(0, |(number, _)| number)),
        ];
        for (name, number) in numbers {
            hash.aset(ruby.to_symbol(name), number)?;
        }
        let percentiles = ruby.hash_new();
        for (name, ns) in &summary.percentiles {
            percentiles.aset(ruby.to_symbol(name), *ns)?;
        }
        hash.aset(ruby.to_symbol("percentiles_ns"), percentiles)?;
        let callers = summary
            .callers
            .iter()
            .map(|caller| (&*caller.name, &*caller.place, caller.calls, caller.total_ns));
        hash.aset(ruby.to_symbol("callers"), ruby.ary_from_iter(callers))?;
        for (name, counts) in [("results", &summary.results), ("exceptions", &summary.exceptions)] {
            let counts = counts.iter().map(|(class, count)| (&**class, *count));
            hash.aset(ruby.to_symbol(name), ruby.ary_from_iter(counts))?;
        }
        let histogram =
            summary.histogram.iter().map(|bucket| (bucket.from_ns, bucket.below_ns, bucket.count));
        hash.aset(ruby.to_symbol("histogram"), ruby.ary_from_iter(histogram))?;
        hash.aset(ruby.to_symbol("exact"), summary.is_exact)?;
        hash.aset(ruby.to_symbol("ended"), summary.ended)?;
        if let Some(inside) = &summary.inside {
            inside::add_to(ruby, hash, inside)?;
        }
        Ok(hash)
    }

    /// Implements `tracer._text(name, columns, rows)`: returns the sums so far as text, with so many functions that ran
    /// inside.
    fn text(ruby: &Ruby, tracer: &Self, name: String, columns: usize, rows: usize) -> Result<String, Error> {
        Ok(tracer.named(ruby, name)?.text(columns, rows))
    }

    /// Implements `Tracer._table(pattern, names, tracers, left_out, columns)`: returns the sums of several
    /// traces as a table, beside the number of methods that could not be traced.
    fn table(
        pattern: String,
        names: Vec<String>,
        tracers: RArray,
        left_out: u64,
        columns: usize,
    ) -> Result<String, Error> {
        let mut methods = Vec::with_capacity(names.len());
        for (name, tracer) in names.into_iter().zip(tracers) {
            let tracer = <&Self>::try_convert(tracer)?;
            // SAFETY: methods run with the GVL, and the copies call nothing of the VM.
            let copied = unsafe { tracer.tracer.with(|sums| Copied::of(sums)) };
            let summary = copied.map(|it| it.summary).unwrap_or_default();
            methods.push(Summary { name, ..summary });
        }
        Ok(profiler_core::trace::table(&pattern, &methods, left_out, columns))
    }

    fn named(&self, ruby: &Ruby, name: String) -> Result<Summary, Error> {
        // SAFETY: methods run with the GVL, and the copies call nothing of the VM.
        let copied = unsafe { self.tracer.with(|sums| Copied::of(sums)) };
        let Some(Copied { mut summary, callers, results, exceptions, inside }) = copied else {
            return Ok(Summary { name, ..Summary::default() });
        };
        let handles: Vec<u64> = [&results, &exceptions]
            .into_iter()
            .flatten()
            .map(|(class, _)| *class)
            .chain(callers.iter().map(|sum| sum.caller.0))
            .filter(|handle| *handle != 0)
            .collect();
        // SAFETY: the trace marks the handles as long as `self` lives, which is an argument of the method.
        let functions = unsafe { naming::functions(ruby, &handles, Pace::AtOnce, fork::pid())? };
        let functions: HashMap<u64, Function> = handles.into_iter().zip(functions).collect();
        let class = |(class, count): &(u64, u64)| {
            (functions.get(class).map(|it| it.name.clone()).unwrap_or_default(), *count)
        };
        summary.name = name;
        summary.results = results.iter().map(class).collect();
        summary.exceptions = exceptions.iter().map(class).collect();
        summary.callers = callers.iter().map(|sum| caller(sum, functions.get(&sum.caller.0))).collect();
        if let Some(stacks) = inside {
            // SAFETY: the trace marks what the sums refer to as long as `self` lives.
            summary.inside = Some(unsafe { inside::named(ruby, &stacks)? });
        }
        Ok(summary)
    }
}

fn caller(sum: &CallerSum, function: Option<&Function>) -> Caller {
    let name = function.map(|it| it.name.clone()).unwrap_or_default();
    let place = match function {
        Some(caller) if caller.path != Function::CFUNC => format!("{}:{}", caller.path, sum.caller.1),
        _ => String::new(),
    };
    Caller { name, place, calls: sum.calls, total_ns: sum.total_ns }
}

/// The sums without their names, so that Ruby can be called while the trace continues.
struct Copied {
    summary: Summary,
    callers: Vec<CallerSum>,
    results: Vec<(u64, u64)>,
    exceptions: Vec<(u64, u64)>,
    inside: Option<Box<ShadowStacks>>,
}

impl Copied {
    fn of(sums: &TraceSums) -> Self {
        let CallSums { durations, parts, raised, began_before, .. } = &sums.tally;
        let now_ns = if sums.ended_ns == 0 { clock::monotonic_ns() } else { sums.ended_ns };
        let (callers, other_callers) = sums.tally.callers();
        let percentiles = durations.percentiles_ns(&PERCENTS.map(|(_, percent)| percent)).unwrap_or_default();
        let ended = sums.ended.map(|why| match why {
            Ended::Calls => "it reached its limit of calls".into(),
            Ended::Overhead => {
                let who = if sums.limits.group.size > 1 { "all traces together" } else { "it" };
                let share = (sums.limits.overhead * 1e4).round() / 100.0;
                format!("{who} took more than {share}% of a core")
            }
            Ended::Depth => "too many calls were open at once, for example in a deep recursion".into(),
        });
        let mut inside = sums.inside.clone();
        if let Some(stacks) = &mut inside {
            stacks.close(now_ns);
        }
        let summary = Summary {
            calls: sums.calls,
            finished: durations.count(),
            raised: *raised,
            began_before: *began_before,
            duration_ns: now_ns.saturating_sub(sums.began_ns),
            total_ns: durations.total_ns(),
            range_ns: durations.range_ns().unwrap_or_default(),
            percentiles: PERCENTS.iter().map(|(name, _)| *name).zip(percentiles).collect(),
            is_exact: durations.are_exact(),
            parts: *parts,
            other_callers,
            other_classes: sums.tally.other_classes(),
            histogram: durations.histogram(),
            own_ns: sums.own_ns,
            others: (sums.is_c_function || inside.is_some()).then_some((sums.others, sums.other_ns)),
            ended,
            ..Summary::default()
        };
        Self {
            summary,
            callers: callers.to_vec(),
            results: sums.tally.results().to_vec(),
            exceptions: sums.tally.exceptions().to_vec(),
            inside,
        }
    }
}

/// Defines the class.
pub(super) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    let class = define_class::<Tracer>(ruby, profiler, "Tracer")?;
    class.singleton_class()?.define_method("_new", function!(Tracer::new, 5))?;
    class.singleton_class()?.define_method("_table", function!(Tracer::table, 5))?;
    class.define_method("_tracepoints", method!(Tracer::tracepoints, 0))?;
    class.define_method("_count_inside", method!(inside::count, 0))?;
    class.define_method("_callgrind", method!(inside::callgrind, 1))?;
    class.define_method("_begin", method!(Tracer::begin, 0))?;
    class.define_method("_price", method!(Tracer::price, 1))?;
    class.define_method("_end", method!(Tracer::end, 0))?;
    class.define_method("_ended?", method!(Tracer::has_ended, 0))?;
    class.define_method("_keep_finished", method!(Tracer::keep_finished, 0))?;
    class.define_method("_restart", method!(Tracer::restart, 0))?;
    class.define_method("_finished", method!(Tracer::finished, 0))?;
    class.define_method("_logged", method!(Tracer::logged, 2))?;
    class.define_method("_calls", method!(Tracer::calls, 0))?;
    class.define_method("_percentiles", method!(Tracer::percentiles, 1))?;
    class.define_method("_summary", method!(Tracer::summary, 1))?;
    class.define_method("_text", method!(Tracer::text, 3))?;
    Ok(())
}
