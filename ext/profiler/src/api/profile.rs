//! The class `Profiler::Profile`: a finished profile, for Ruby.

use std::sync::Arc;

use magnus::{
    function, method, prelude::*, DataTypeFunctions, Error, Exception, RArray, RHash, RModule, Ruby,
    TypedData, Value,
};
use profiler_core::analysis::anonymize::anonymize;
use profiler_core::analysis::gc;
use profiler_core::analysis::group_by::group_by;
use profiler_core::analysis::top::{top, Order};
use profiler_core::analysis::trim_paths::trim_paths;
use profiler_core::ids::Id;
use profiler_core::profile::timeline::Timeline;
use profiler_core::profile::{Profile as CoreProfile, SampleType};

use crate::errors::{argument_error, core_error};
use crate::naming;
use crate::options::gc_place;
use crate::vm::cached::define_class;
use crate::vm::exceptions;
use crate::vm::memory::External;
use crate::vm::strings::named;
use crate::vm::without_gvl::check_interrupts;

mod diff;
mod files;
mod findings;
mod memory;
mod merge;
mod options;
mod periods;
mod query;
mod requires;
mod tables;
mod timeline;
mod upload;
mod work;

/// A finished profile, with the native memory that it occupies.
#[derive(Debug, TypedData)]
#[magnus(class = "Profiler::Profile", free_immediately, size)]
pub(crate) struct Profile {
    /// The profile itself, shared with work that continues without the GVL: see [`work`].
    pub(super) core: Arc<CoreProfile>,
    memory: External,
}

impl DataTypeFunctions for Profile {
    fn size(&self) -> usize {
        size_of::<Self>() + self.memory.bytes()
    }
}

impl Profile {
    /// Wraps a profile. Called with the GVL.
    pub(crate) fn new(profile: CoreProfile) -> Self {
        // SAFETY: the caller holds the GVL, and so does the GC, which drops the value.
        let memory = unsafe { External::new(profile.bytes()) };
        Self { core: Arc::new(profile), memory }
    }

    /// Implements `profile._gc(place)`: returns the profile with its garbage collection at that place.
    fn gc(ruby: &Ruby, rb_self: &Self, place: Value) -> Result<Self, Error> {
        let place = gc_place(ruby, place)?;
        rb_self.derive(ruby, move |it| gc::place(it, place))
    }

    /// Implements `profile._trim_path(roots)`: returns the profile with short paths.
    fn trim_path(ruby: &Ruby, rb_self: &Self, roots: RArray) -> Result<Self, Error> {
        let roots: Vec<String> = roots.into_iter().filter_map(|root| named(ruby, root)).collect();
        rb_self.derive(ruby, move |it| trim_paths(it, &roots))
    }

    /// Implements `profile._anonymize`: returns the profile with numbers in place of names.
    fn anonymize(ruby: &Ruby, rb_self: &Self) -> Result<Self, Error> {
        rb_self.derive(ruby, anonymize)
    }

    /// Implements `Native.rows(profile)`: returns one array per sample: frames, thread id, thread name,
    /// state, labels, weights.
    fn rows(ruby: &Ruby, rb_self: &Self) -> Result<RArray, Error> {
        let profile = &rb_self.core;
        let functions = profile.functions.iter().map(|function| {
            let text = |text: &str| {
                let text = ruby.str_new(text);
                text.freeze();
                text
            };
            (
                text(&function.name),
                text(&function.class_name),
                text(&function.method_name),
                text(&function.path),
            )
        });
        // A Ruby array keeps the strings alive while the frames are built.
        let functions =
            ruby.ary_from_iter(functions.map(|(a, b, c, d)| ruby.ary_new_from_values(&[a, b, c, d])));
        let frames = ruby.ary_new_capa(profile.frames.len());
        for frame in &profile.frames {
            let function: RArray = functions.entry(frame.function.index() as isize)?;
            let row = ruby.ary_from_iter(function);
            row.push(frame.line)?;
            let kind = profile.function(frame.function).map_or("synthetic", |it| it.kind().name());
            row.push(ruby.to_symbol(kind))?;
            frames.push(row)?;
        }
        let rows = ruby.ary_new_capa(profile.samples.len());
        for sample in &profile.samples {
            // This takes seconds for a large profile.
            check_interrupts(ruby)?;
            let stack = ruby.ary_new();
            let mut node = profile.stacks.get(sample.stack.index());
            while let Some(inner) = node {
                stack.push(inner.frame.index())?;
                node = inner.parent.and_then(|parent| profile.stacks.get(parent.index()));
            }
            let labels = ruby.hash_new();
            for (name, value) in &sample.labels {
                labels.aset(name.as_str(), value.as_str())?;
            }
            let thread = profile.threads.get(sample.thread);
            let weights = ruby.ary_from_iter(SampleType::ALL.map(|it| sample.weights.get(it)));
            let row = ruby.ary_new_capa(6);
            row.push(stack)?;
            row.push(thread.map_or(0, |it| it.native_id))?;
            row.push(thread.map_or("", |it| it.name.as_str()))?;
            row.push(ruby.to_symbol(sample.state.name()))?;
            row.push(labels)?;
            row.push(weights)?;
            rows.push(row)?;
        }
        let both = ruby.ary_new_capa(2);
        both.push(frames)?;
        both.push(rows)?;
        Ok(both)
    }

    /// Implements `profile._top(limit, by_total, options)`: returns `[name, path, first_line, self, total]`
    /// in the unit of `type`; a limit of 0 means all.
    fn top(
        ruby: &Ruby,
        rb_self: &Self,
        limit: usize,
        by_total: bool,
        options: RHash,
    ) -> Result<RArray, Error> {
        let profile = &rb_self.core;
        let of = options::sample_type(ruby, profile, options)?;
        let all = rb_self.ask(ruby, move |it| top(it, of, order(by_total)).rows)?;
        let limit = if limit == 0 { all.len() } else { limit };
        let rows = ruby.ary_new();
        for ranked in all.into_iter().take(limit) {
            let Some(function) = profile.function(ranked.function) else { continue };
            let row = ruby.ary_new_capa(5);
            row.push(function.name.as_str())?;
            row.push(function.path.as_str())?;
            row.push(function.first_line)?;
            row.push(ranked.self_weight)?;
            row.push(ranked.total_weight)?;
            rows.push(row)?;
        }
        Ok(rows)
    }

    /// Implements `profile._by(label, limit, options)`: returns `[value, weight, heaviest, requests]`, where
    /// `heaviest` is `[name, path, first_line, self]` or nil, and `requests` is `[count, mean, largest]` (ns)
    /// or nil; a limit of 0 means all.
    fn by(ruby: &Ruby, rb_self: &Self, label: String, limit: usize, options: RHash) -> Result<RArray, Error> {
        let profile = &rb_self.core;
        let of = options::sample_type_by(ruby, profile, &label, options)?;
        let all = rb_self.ask(ruby, move |it| group_by(it, &label, of))?;
        let all = all.map_err(|reason| core_error(ruby, &reason))?.rows;
        let limit = if limit == 0 { all.len() } else { limit };
        let rows = ruby.ary_new();
        for group in all.into_iter().take(limit) {
            let row = ruby.ary_new_capa(4);
            row.push(group.name())?;
            row.push(group.weight)?;
            let named = |(id, own)| profile.function(id).map(|function| (function, own));
            row.push(match group.heaviest.and_then(named) {
                None => ruby.qnil().as_value(),
                Some((function, own)) => {
                    let heaviest = ruby.ary_new_capa(4);
                    heaviest.push(function.name.as_str())?;
                    heaviest.push(function.path.as_str())?;
                    heaviest.push(function.first_line)?;
                    heaviest.push(own)?;
                    heaviest.as_value()
                }
            })?;
            row.push(group.requests.map(|it| (it.count, it.mean_ns(), it.largest_ns)))?;
            rows.push(row)?;
        }
        Ok(rows)
    }

    /// Implements `profile.stats`: returns every figure of the header, by name.
    fn stats(ruby: &Ruby, rb_self: &Self) -> Result<RHash, Error> {
        let profile = &rb_self.core;
        let stats = ruby.hash_new();
        let set = |name: &str, value: u64| stats.aset(ruby.to_symbol(name), value);
        set("interval_ns", profile.meta.interval_ns)?;
        set("effective_interval_ns", profile.effective_interval_ns())?;
        set("duration_ns", profile.meta.duration_ns)?;
        set("threads", profile.threads.len() as u64)?;
        set("samples", profile.total().get(SampleType::Samples))?;
        set("requests", profile.requests.count())?;
        set("cpu_ns", profile.total().get(SampleType::Cpu))?;
        set("every", profile.meta.every)?;
        set("every_bytes", profile.meta.every_bytes)?;
        set("objects", profile.total().get(SampleType::AllocObjects))?;
        set("object_bytes", profile.total().get(SampleType::AllocSpace))?;
        set("live_objects", profile.total().get(SampleType::InuseObjects))?;
        set("live_bytes", profile.total().get(SampleType::InuseSpace))?;
        set("vm_objects", profile.stats.vm_objects)?;
        set("wall_ns", profile.total().get(SampleType::Wall))?;
        for (name, count) in profile.stats.counts.each() {
            set(name, count)?;
        }
        set("dropped", profile.stats.counts.dropped())?;
        set("timeline_kept", profile.timeline.as_ref().map_or(0, |it| it.len() as u64))?;
        set("timeline_bytes", profile.timeline.as_ref().map_or(0, |it| it.bytes() as u64))?;
        set("timeline_dropped", profile.timeline.as_ref().map_or(0, Timeline::dropped))?;
        set("handler_ns", profile.stats.handler_ns)?;
        set("collector_ns", profile.stats.collector_ns)?;
        set("unseen_cpu_ns", profile.stats.unseen_cpu_ns)?;
        set("run_delay_ns", profile.stats.run_delay_ns)?;
        set("throttled_ns", profile.stats.throttled_ns)?;
        set("stop_ns", profile.stats.stop_ns)?;
        set("names_ns", profile.stats.names_ns)?;
        Ok(stats)
    }

    /// Implements `profile.meta`: returns how the profile was taken.
    fn meta(ruby: &Ruby, rb_self: &Self) -> Result<RHash, Error> {
        let facts = &rb_self.core.meta;
        let meta = ruby.hash_new();
        let set = |name: &str, value: &str| meta.aset(ruby.to_symbol(name), value);
        set("engine", &facts.engine)?;
        set("ruby", &facts.ruby)?;
        set("program", &facts.program)?;
        set("profiler_version", &facts.profiler_version)?;
        meta.aset(
            ruby.to_symbol("modes"),
            ruby.ary_from_iter(facts.modes.iter().map(|mode| ruby.to_symbol(mode))),
        )?;
        meta.aset(ruby.to_symbol("started_at_ns"), facts.started_at_ns)?;
        meta.aset(ruby.to_symbol("pid"), facts.pid)?;
        meta.aset(ruby.to_symbol("notes"), ruby.ary_from_iter(facts.sentences()))?;
        let user = ruby.hash_new();
        facts.user.iter().try_for_each(|(name, value)| user.aset(name.as_str(), value.as_str()))?;
        meta.aset(ruby.to_symbol("metadata"), user)?;
        Ok(meta)
    }
}

fn order(by_total: bool) -> Order {
    if by_total {
        Order::TotalWeight
    } else {
        Order::SelfWeight
    }
}

/// Implements `Native.name_of(method)`: returns the name that a profile has for a Method or UnboundMethod.
fn name_of(ruby: &Ruby, method: Value) -> Result<String, Error> {
    naming::name_of(ruby, method)?.ok_or_else(|| {
        let class = method.class();
        argument_error(ruby, format!("a {class} has no name in profiles (allowed: Method, UnboundMethod)"))
    })
}

/// Implements `Native.class_name(klass)`: returns the name that a profile has for a class.
fn class_name(ruby: &Ruby, class: Value) -> Result<String, Error> {
    naming::class_name(ruby, class).ok_or_else(|| argument_error(ruby, "not a class"))
}

/// Implements `Native.message_of(exception)`: returns the message with which it was created. Calls no method.
fn message_of(exception: Exception) -> Value {
    exceptions::message_of(exception)
}

/// Defines the class, and the functions that the gem itself calls.
pub(crate) fn init(ruby: &Ruby, profiler: RModule, native: RModule) -> Result<(), Error> {
    let class = define_class::<Profile>(ruby, profiler, "Profile")?;
    let own = class.singleton_class()?;
    native.define_singleton_method("parse", function!(Profile::parse, 1))?;
    own.define_private_method("_merge", function!(Profile::merge, 1))?;
    native.define_singleton_method("prepare_directory", function!(files::prepare_directory, 1))?;
    native.define_singleton_method("concat", function!(Profile::concat, 2))?;
    native.define_singleton_method("diff", function!(Profile::diff, 3))?;
    native.define_singleton_method("diff_text", function!(Profile::diff_text, 3))?;
    native.define_singleton_method("diff_svg", function!(Profile::diff_svg, 3))?;
    native.define_singleton_method("diff_page", function!(Profile::diff_page, 3))?;
    native.define_singleton_method("period", function!(Profile::period, 2))?;
    native.define_singleton_method("page_of_periods", function!(Profile::page_of_periods, 2))?;
    native.define_singleton_method("name_of", function!(name_of, 1))?;
    native.define_singleton_method("class_name", function!(class_name, 1))?;
    native.define_singleton_method("message_of", function!(message_of, 1))?;
    class.define_private_method("_gc", method!(Profile::gc, 1))?;
    class.define_private_method("_trim_path", method!(Profile::trim_path, 1))?;
    class.define_private_method("_anonymize", method!(Profile::anonymize, 0))?;
    class.define_private_method("_write", method!(Profile::write, 2))?;
    class.define_private_method("_write_file", method!(Profile::write_file, 3))?;
    class.define_private_method("_upload", method!(Profile::upload, 2))?;
    class.define_private_method("_report", method!(Profile::report, 1))?;
    class.define_private_method("_types", method!(Profile::types, 0))?;
    native.define_singleton_method("default_type", function!(Profile::default_type, 1))?;
    native.define_singleton_method("too_short", function!(Profile::too_short, 1))?;
    native.define_singleton_method("overhead", function!(Profile::overhead, 1))?;
    native.define_singleton_method("functions", function!(Profile::functions, 1))?;
    native.define_singleton_method("threads", function!(Profile::threads, 1))?;
    native.define_singleton_method("filter", function!(Profile::filter, 2))?;
    native.define_singleton_method("with_memory", function!(Profile::with_memory, 3))?;
    native.define_singleton_method("memory_of", function!(Profile::memory_of, 1))?;
    native.define_singleton_method("memory_summary", function!(Profile::memory_summary, 1))?;
    native.define_singleton_method("with_labels", function!(Profile::with_labels, 4))?;
    native.define_singleton_method("tree", function!(Profile::tree, 2))?;
    native.define_singleton_method("method_details", function!(Profile::method, 3))?;
    native.define_singleton_method("ranking", function!(Profile::ranking, 3))?;
    native.define_singleton_method("tree_text", function!(Profile::tree_text, 2))?;
    native.define_singleton_method("requires_text", function!(Profile::requires_text, 2))?;
    native.define_singleton_method("requires", function!(Profile::requires, 1))?;
    native.define_singleton_method("requires_diff", function!(Profile::requires_diff, 2))?;
    native.define_singleton_method("requires_diff_text", function!(Profile::requires_diff_text, 3))?;
    native.define_singleton_method("markers_text", function!(Profile::markers_text, 2))?;
    native.define_singleton_method("methods_text", function!(Profile::methods_text, 3))?;
    native.define_singleton_method("sources_text", function!(Profile::sources_text, 3))?;
    native.define_singleton_method("lines", function!(Profile::lines, 2))?;
    native.define_singleton_method("rows", function!(Profile::rows, 1))?;
    class.define_private_method("_markers", method!(Profile::markers, 0))?;
    class.define_private_method("_marker_sums", method!(Profile::marker_sums, 1))?;
    class.define_private_method("_timeline_size", method!(Profile::timeline_size, 0))?;
    native.define_singleton_method("timeline_chunk", function!(Profile::timeline_chunk, 2))?;
    class.define_private_method("_top", method!(Profile::top, 3))?;
    class.define_private_method("_by", method!(Profile::by, 3))?;
    class.define_private_method("_findings", method!(Profile::findings, 0))?;
    class.define_method("without_idle", method!(Profile::without_idle, 0))?;
    native.define_singleton_method("findings_text", function!(Profile::findings_text, 2))?;
    class.define_method("stats", method!(Profile::stats, 0))?;
    class.define_method("meta", method!(Profile::meta, 0))?;
    Ok(())
}
