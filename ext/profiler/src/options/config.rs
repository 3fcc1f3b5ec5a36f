//! The options of a session, checked. A wrong value raises an ArgumentError that names the value and the
//! allowed ones.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use magnus::{prelude::*, r_hash::ForEach, Error, RArray, RHash, Ruby, Symbol, Value};
use profiler_core::analysis::gc::Place;
use profiler_core::ids::ScopeId;
use profiler_core::profile::{LabelSet, Note};
use profiler_core::sampling::allocation_sampler::Window;
use profiler_core::session::spec::{Measures, SessionSpec};
use profiler_core::ticking::engine::Engine;

use crate::before_3_3;
use crate::engine::{self, perf, thread_timer};
use crate::errors::{argument_error, Fault, Piece};
use crate::options::keywords::{either, flag, Keywords};
use crate::options::numbers::{integer, share};
use crate::options::{mode, trim_path, wall};
use crate::sys::siginfo::TimerInfo;
use crate::sys::{clock, NEEDS_LINUX};
use crate::vm;
use crate::vm::describe::describe;
use crate::vm::strings::{named, own_text};

const INTERVAL_US: RangeInclusive<i64> = 50..=1_000_000;
const FREQUENCY_HZ: RangeInclusive<i64> = 1..=20_000;
const MAX_OVERHEAD: RangeInclusive<f64> = 0.0001..=0.5;
const DEPTH: RangeInclusive<i64> = 128..=10_000;
const DEFAULT_INTERVAL_US: i64 = 1_000;
const DEFAULT_DEPTH: i64 = 2_048;

/// The threads that a session profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ThreadChoice {
    /// All threads, including future ones.
    All,
    /// The thread that starts the session.
    Current,
    /// Certain threads, by identity.
    These(Vec<u64>),
}

/// The bounds of a session.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bounds {
    /// Whether the session ends with a block on the thread that starts it.
    pub(crate) block: bool,
    /// The scope that the session is limited to, on the threads that enter it: see `Session#join`.
    pub(crate) scope: Option<ScopeId>,
    /// Whether only the slices of the session have samples. A forked child without such slices does not
    /// continue it.
    pub(crate) slices: bool,
    /// Whether the session samples objects in windows, none of which is open yet.
    pub(crate) windows: bool,
    /// Whether the session has no samples. It exists so that threads, and their waits, are known.
    pub(crate) watch: bool,
    /// Whether the session begins settled: it records from `Session#unsettle` on.
    pub(crate) settled: bool,
}

impl Bounds {
    /// Reads the keywords of `Session.begin`.
    ///
    /// # Errors
    /// ArgumentError for another keyword, TypeError for a scope that is not an Integer.
    pub(crate) fn from_ruby(ruby: &Ruby, bounds: RHash) -> Result<Self, Error> {
        let mut parsed = Self::default();
        bounds.foreach(|name: Symbol, value: Value| {
            match &*name.name()? {
                "bound" => parsed.block = value.to_bool(),
                "scope" => parsed.scope = Option::<u32>::try_convert(value)?.map(ScopeId),
                "slices" => parsed.slices = value.to_bool(),
                "windows" => parsed.windows = value.to_bool(),
                "watch" => parsed.watch = value.to_bool(),
                "settled" => parsed.settled = value.to_bool(),
                other => return Err(argument_error(ruby, format!("unknown keyword: {other}"))),
            }
            Ok(ForEach::Continue)
        })?;
        Ok(parsed)
    }
}

/// A session's options.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// The definition of the session, without its threads and scope.
    pub(crate) spec: SessionSpec,
    /// The interval of the ticks in nanoseconds; 0 for a session of objects only, and for one without
    /// samples.
    pub(crate) interval_ns: u64,
    /// The largest share of the process's CPU time that sessions may take; `None` means no limit.
    pub(crate) max_overhead: Option<f64>,
    /// The sampling window of objects; 0 objects for a session of time only.
    pub(crate) every: Window,
    pub(crate) depth: usize,
    pub(crate) threads: ThreadChoice,
    /// The place where garbage collection is shown, if not under its cause.
    pub(crate) gc: Option<Place>,
    /// The directories at which paths are cut off; `None` if paths stay as they are.
    pub(crate) trim_path: Option<Vec<String>>,
    /// The labels for every sample.
    pub(crate) static_labels: LabelSet,
    pub(crate) engine: Engine,
    /// Whether the engine was requested by name, so that no other one may replace it.
    pub(crate) engine_requested: bool,
    pub(crate) metadata: BTreeMap<String, String>,
    /// Whether to look for the owners of live memory from malloc.
    pub(crate) owners: bool,
    /// Notes about these choices for the reader of the profile.
    pub(crate) notes: Vec<Note>,
}

impl Config {
    /// Reads the keywords of `Profiler.start`.
    ///
    /// # Errors
    /// ArgumentError for an unknown keyword or a wrong value, Unsupported for a measurement that is
    /// impossible here.
    pub(crate) fn from_ruby(ruby: &Ruby, options: RHash) -> Result<Self, Error> {
        let keywords = Keywords::from_ruby(ruby, options)?;
        let mut notes = Vec::new();
        let measures = mode::measures(ruby, keywords.mode)?;
        let every = mode::every(ruby, measures, keywords.every, keywords.every_bytes)?;
        if !measures.timed() {
            let of_time = [
                ("interval", keywords.interval),
                ("frequency", keywords.frequency),
                ("engine", keywords.engine),
                ("gc", keywords.gc),
                ("ignore_gc", keywords.ignore_gc),
            ];
            mode::only_with(ruby, of_time, "time, which needs ", ["cpu", "wall"])?;
        }
        let (interval_ns, requested) = if measures.timed() {
            let interval_ns = interval_ns(ruby, keywords.interval, keywords.frequency)?;
            (interval_ns, requested_engine(ruby, keywords.engine)?)
        } else {
            (0, None)
        };
        let required = labels(ruby, "labels", keywords.labels)?;
        if required != LabelSet::EMPTY {
            let labels = required.pairs().iter().map(|(name, value)| format!("{name}={value}")).collect();
            notes.push(Note::OnlyUnderLabels { labels });
        }
        Ok(Self {
            spec: SessionSpec {
                measures,
                threads: None,
                labels: required,
                scope: None,
                fibers: flag(ruby, "fibers", keywords.fibers)?,
                spans: flag(ruby, "spans", keywords.spans)?,
                timeline: timeline(ruby, keywords.timeline, keywords.raw)?,
            },
            interval_ns,
            max_overhead: share(ruby, "max_overhead", keywords.max_overhead, &MAX_OVERHEAD)?,
            every,
            depth: integer(ruby, "depth", keywords.depth, &DEPTH)?.unwrap_or(DEFAULT_DEPTH) as usize,
            threads: threads(ruby, keywords.threads)?,
            static_labels: labels(ruby, "static_labels", keywords.static_labels)?,
            engine: engine(ruby, measures, interval_ns, requested, &mut notes)?,
            engine_requested: requested.is_some(),
            metadata: metadata(ruby, keywords.metadata, keywords.name)?,
            owners: mode::owners(ruby, measures, keywords.owners)?,
            gc: gc(ruby, keywords.gc, keywords.ignore_gc)?,
            trim_path: trim_path::roots(ruby, keywords.trim_path)?,
            notes,
        })
    }

    /// Returns the options of a session without samples, which does not tick.
    pub(crate) fn without_ticks(self) -> Self {
        Self { interval_ns: 0, ..self }
    }

    /// Fails if a share of the CPU time is requested that cannot be guaranteed. `windows` is true if objects
    /// are sampled in windows only.
    ///
    /// # Errors
    /// ArgumentError.
    pub(crate) fn check_overhead(&self, ruby: &Ruby, windows: bool) -> Result<(), Error> {
        let Self { spec: SessionSpec { measures, .. }, max_overhead: Some(share), .. } = self else {
            return Ok(());
        };
        let (what, in_windows) = match (measures.heap, measures.objects(), windows) {
            _ if measures.native => ("memory is sampled", false),
            (true, ..) => ("live objects are tracked", false),
            (_, true, false) => ("objects are sampled all the time", true),
            _ => return Ok(()),
        };
        let mut pieces = vec![
            Piece::text(format!(" cannot be kept where {what} (allowed: ")),
            Piece::Option("mode"),
            Piece::text(" "),
        ];
        pieces.extend(Piece::choices(&["cpu", "wall"]));
        if in_windows {
            let rest = Piece::text(" in Profiler.continuous");
            pieces.extend([Piece::text("; "), Piece::Choice("allocations"), rest]);
        }
        pieces.push(Piece::text(")"));
        let value = Some(ruby.float_from_f64(*share).as_value());
        Err(Fault { option: "max_overhead", value, pieces: &pieces }.argument_error(ruby))
    }
}

fn interval_ns(ruby: &Ruby, interval: Option<Value>, frequency: Option<Value>) -> Result<u64, Error> {
    either(ruby, [("interval", interval), ("frequency", frequency)])?;
    let interval_us = integer(ruby, "interval", interval, &INTERVAL_US)?;
    let frequency_hz = integer(ruby, "frequency", frequency, &FREQUENCY_HZ)?;
    Ok(match (interval_us, frequency_hz) {
        (_, Some(hz)) => 1_000_000_000 / hz as u64,
        (us, None) => us.unwrap_or(DEFAULT_INTERVAL_US) as u64 * 1_000,
    })
}

fn threads(ruby: &Ruby, value: Option<Value>) -> Result<ThreadChoice, Error> {
    let Some(value) = value else { return Ok(ThreadChoice::All) };
    let wrong = || {
        let mut pieces = vec![Piece::text(" is not a choice (allowed: ")];
        pieces.extend(Piece::choices(&["all", "current"]));
        pieces.push(Piece::text(", a Thread, an Array of Threads)"));
        Fault { option: "threads", value: Some(value), pieces: &pieces }.argument_error(ruby)
    };
    if let Some(name) = Symbol::from_value(value) {
        return match name.name().as_deref() {
            Ok("all") => Ok(ThreadChoice::All),
            Ok("current") => Ok(ThreadChoice::Current),
            _ => Err(wrong()),
        };
    }
    let these: Option<Vec<u64>> = match RArray::from_value(value) {
        Some(array) => array.into_iter().map(vm::threads::identity).collect(),
        None => vm::threads::identity(value).map(|thread| vec![thread]),
    };
    these.filter(|these| !these.is_empty()).map(ThreadChoice::These).ok_or_else(wrong)
}

fn gc(ruby: &Ruby, place: Option<Value>, ignored: Option<Value>) -> Result<Option<Place>, Error> {
    either(ruby, [("gc", place), ("ignore_gc", ignored)])?;
    let ignored = flag(ruby, "ignore_gc", ignored)?;
    Ok(place.map(|it| gc_place(ruby, it)).transpose()?.or(ignored.then_some(Place::Ignore)))
}

fn timeline(ruby: &Ruby, timeline: Option<Value>, raw: Option<Value>) -> Result<bool, Error> {
    either(ruby, [("timeline", timeline), ("raw", raw)])?;
    Ok(flag(ruby, "timeline", timeline)? || flag(ruby, "raw", raw)?)
}

/// Returns the place of garbage collection with that name.
pub(crate) fn gc_place(ruby: &Ruby, value: Value) -> Result<Place, Error> {
    let named = Symbol::from_value(value).and_then(|name| Place::from_name(&name.name().ok()?));
    named.ok_or_else(|| {
        let pieces = &Piece::none_of(" is not allowed", &["root", "ignore"], false);
        Fault { option: "gc", value: Some(value), pieces }.argument_error(ruby)
    })
}

fn labels(ruby: &Ruby, option: &'static str, value: Option<Value>) -> Result<LabelSet, Error> {
    let Some(given) = value else { return Ok(LabelSet::EMPTY) };
    match RHash::from_value(given) {
        Some(labels) => crate::labels::set_from(ruby, labels),
        None => Err(not_a(ruby, option, given, "a Hash")),
    }
}

fn not_a(ruby: &Ruby, option: &'static str, value: Value, what: &str) -> Error {
    let pieces = &[Piece::text(format!(" is not {what}"))];
    Fault { option, value: Some(value), pieces }.argument_error(ruby)
}

/// Returns the engine that was named, by the option or else by PROFILER_ENGINE.
fn requested_engine(ruby: &Ruby, value: Option<Value>) -> Result<Option<Engine>, Error> {
    let named = |name: &str| Engine::ALL.into_iter().find(|engine| engine.name() == name);
    let names = Engine::ALL.map(Engine::name);
    if let Some(value) = value {
        let engine = Symbol::from_value(value).and_then(|name| named(&name.name().ok()?));
        return engine.map(Some).ok_or_else(|| {
            let pieces = &Piece::none_of(" is not an engine", &names, false);
            Fault { option: "engine", value: Some(value), pieces }.argument_error(ruby)
        });
    }
    let name = std::env::var_os("PROFILER_ENGINE").unwrap_or_default();
    if name.is_empty() {
        return Ok(None);
    }
    let message = || format!("PROFILER_ENGINE={name:?} is not an engine (allowed: {})", names.join(", "));
    name.to_str().and_then(named).map(Some).ok_or_else(|| argument_error(ruby, message()))
}

fn engine(
    ruby: &Ruby,
    measures: Measures,
    interval_ns: u64,
    requested: Option<Engine>,
    notes: &mut Vec<Note>,
) -> Result<Engine, Error> {
    if !measures.timed() {
        return Ok(Engine::ThreadTimer); // not used
    }
    let danger = vm::process::unsafe_to_walk(ruby)?;
    let engine = match (requested, &danger) {
        (Some(requested), Some(why)) if requested != Engine::Safepoint => {
            let pieces = &Piece::none_of(format!(" is not safe here: {why}"), &["safepoint"], false);
            let value = Some(ruby.to_symbol(requested.name()).as_value());
            return Err(Fault { option: "engine", value, pieces }.argument_error(ruby));
        }
        (Some(engine), _) => engine,
        (None, Some(_)) => Engine::Safepoint,
        (None, None) if NEEDS_LINUX.is_some() => Engine::Setitimer,
        // The ticker polls all threads here, so it can send the ticks as well.
        (None, None) if measures.wall && before_3_3::NEEDED => Engine::Ticker,
        // Timers on CPU clocks tick no finer than the kernel.
        (None, None) if interval_ns >= clock::kernel_tick_ns() => Engine::ThreadTimer,
        (None, None) if perf::probe().is_ok() => Engine::Perf,
        // This engine is coarser than requested, but it ends no system call, as the ticker may.
        (None, None) => Engine::ThreadTimer,
    };
    let engine = with_signals(ruby, engine, requested.is_some(), measures)?;
    if let Some(why) = engine::needs_linux(engine) {
        let mut pieces = vec![Piece::text(format!(" cannot be used here: {why} ("))];
        match danger {
            Some(why) => pieces.push(Piece::text(why)),
            None => pieces.extend([Piece::text("allowed: "), Piece::Choice("setitimer")]),
        }
        pieces.push(Piece::text(")"));
        let value = Some(ruby.to_symbol(engine.name()).as_value());
        return Err(Fault { option: "engine", value, pieces: &pieces }.unsupported(ruby));
    }
    if measures.wall {
        let wall = ruby.to_symbol("wall").as_value();
        let note = wall::note(engine, danger.as_deref())
            .map_err(|why| mode::unmeasurable(ruby, wall, &why.to_string(), &["cpu"]))?;
        notes.extend(note);
    }
    if engine == Engine::Perf && thread_timer::probe().is_err() {
        notes.push(Note::KernelTimeUnseen {});
    }
    if engine == Engine::Safepoint {
        notes.push(Note::WalkedAtSafepoints { why: danger.map(Into::into) });
    }
    Ok(engine)
}

/// Returns the engine, or another one if a sandbox refuses the signals of the ticker.
fn with_signals(ruby: &Ruby, engine: Engine, requested: bool, measures: Measures) -> Result<Engine, Error> {
    if engine != Engine::Ticker {
        return Ok(engine);
    }
    let Some(errno) = TimerInfo::refused() else { return Ok(engine) };
    let why = format!("the system refuses signals to threads ({})", std::io::Error::from_raw_os_error(errno));
    if requested {
        let pieces = &Piece::none_of(format!(" cannot be used here: {why}"), &["thread_timer"], false);
        let value = Some(ruby.to_symbol("ticker").as_value());
        return Err(Fault { option: "engine", value, pieces }.unsupported(ruby));
    }
    if measures.wall && before_3_3::NEEDED {
        let wall = ruby.to_symbol("wall").as_value();
        return Err(mode::unmeasurable(ruby, wall, &why, &["cpu"]));
    }
    Ok(Engine::ThreadTimer)
}

/// Returns the metadata, with the profile's name under the key `name`.
fn metadata(
    ruby: &Ruby,
    value: Option<Value>,
    name: Option<Value>,
) -> Result<BTreeMap<String, String>, Error> {
    let mut metadata = BTreeMap::new();
    // A BasicObject has no to_s.
    let text = |object: Value| own_text(ruby, object)?.map_or_else(|| describe(ruby, object), Ok);
    if let Some(value) = value {
        let Some(hash) = RHash::from_value(value) else {
            return Err(not_a(ruby, "metadata", value, "a Hash"));
        };
        hash.foreach(|key: Value, value: Value| {
            metadata.insert(text(key)?, text(value)?);
            Ok(ForEach::Continue)
        })?;
    }
    if let Some(name) = name {
        let Some(name) = named(ruby, name) else {
            return Err(not_a(ruby, "name", name, "a String or a Symbol"));
        };
        metadata.insert(profiler_core::profile::NAME.to_owned(), name);
    }
    Ok(metadata)
}
