//! The reader of the Firefox Profiler's processed profiles, as written by vernier, by other tools and by us.

mod columns;
mod header;
mod samples;
mod stacks;
mod tables;

use std::collections::{BTreeSet, HashSet};

use serde::Deserialize;

use super::json::parse;
use super::texts::Word;
use crate::error::Error;
use crate::format::input::{AtMost, Builder, SampleKey};
use crate::ids::ThreadId;
use crate::profile::{Note, Profile, SampleType, Weights};
use crate::record::State;
use header::{FileMeta, Writer};
use samples::{SampleTimes, Samples};
use stacks::StackPlaces;
use tables::{Tables, Used};

/// The maximum number of threads.
const MAX_THREADS: usize = 100_000;

#[derive(Deserialize)]
struct File {
    meta: FileMeta,
    #[serde(default)]
    shared: Tables,
    threads: AtMost<Thread, MAX_THREADS>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thread {
    #[serde(default)]
    name: String,
    process_name: Option<String>,
    #[serde(default)]
    pid: Word,
    #[serde(default)]
    tid: Word,
    unregister_time: Option<f64>,
    samples: Samples,
    js_allocations: Option<Samples>,
    native_allocations: Option<Samples>,
    stack_table: Option<tables::StackTable>,
    frame_table: Option<tables::FrameTable>,
    func_table: Option<tables::FuncTable>,
    string_array: Option<super::texts::Texts>,
}

impl Thread {
    fn take_tables(&mut self) -> Tables {
        Tables {
            stack_table: self.stack_table.take(),
            frame_table: self.frame_table.take(),
            func_table: self.func_table.take(),
            string_array: self.string_array.take(),
        }
    }

    /// Returns the number with which the thread's id begins, or 0.
    fn native_id(&self) -> u64 {
        let id = self.tid.text();
        let end = id.find(|it: char| !it.is_ascii_digit()).unwrap_or(id.len());
        id.get(..end).and_then(|it| it.parse().ok()).unwrap_or(0)
    }
}

pub(super) fn read(text: &str) -> Result<Profile, Error> {
    let File { meta: header, shared, threads } = parse(text)?;
    if header.preprocessed_profile_version.is_none() {
        return Err(Error::Unreadable {
            format: "a profile of Firefox that the Firefox Profiler has not saved",
        });
    }
    let threads = threads.0;
    let mut reader = Reader::new(&header, &threads, text.len());
    let first = threads.first();
    let (pid, program) =
        first.map_or((0, None), |it| (it.pid.text().parse().unwrap_or(0), it.process_name.clone()));
    let is_vernier = header.origin() == Writer::Vernier;
    let mut together = None;
    for mut thread in threads {
        let own = thread.take_tables();
        if own.are_shared() {
            let stacks = match &mut together {
                Some(stacks) => stacks,
                none => none.insert(StackPlaces::new(Used::of(&shared, &shared)?, is_vernier)),
            };
            reader.thread(&thread, stacks)?;
        } else {
            reader.thread(&thread, &mut StackPlaces::new(Used::of(&own, &shared)?, is_vernier))?;
        }
    }
    reader.finish(pid, program.unwrap_or_default())
}

struct Reader<'file> {
    builder: Builder,
    header: &'file FileMeta,
    /// The times of samples, if they have any.
    times: Option<SampleTimes>,
    types: BTreeSet<SampleType>,
    /// The native ids and names of threads.
    threads: HashSet<(u64, String)>,
    /// The last native id given to a thread that shares its own id and its name with another thread.
    numbered: u64,
    /// The times of the first sample and of the end of the last one, ns.
    from_ns: u64,
    to_ns: u64,
    has_allocations: bool,
}

impl<'file> Reader<'file> {
    fn new(header: &'file FileMeta, threads: &[Thread], bytes: usize) -> Self {
        // The samples of vernier's custom mode are taken when the program asks for them, at any time.
        let is_custom = matches!(threads, [only] if only.name == "custom");
        let times = (header.origin() == Writer::Vernier && !is_custom)
            .then(|| SampleTimes::of(threads.iter().map(|it| &it.samples), header.interval.unwrap_or(1.0)));
        Self {
            builder: Builder::new(bytes),
            header,
            times,
            types: BTreeSet::new(),
            threads: HashSet::new(),
            numbered: 0,
            from_ns: u64::MAX,
            to_ns: 0,
            has_allocations: false,
        }
    }

    fn thread(&mut self, thread: &Thread, stacks: &mut StackPlaces<'_>) -> Result<(), Error> {
        let mut native_id = thread.native_id();
        while !self.threads.insert((native_id, thread.name.clone())) {
            self.numbered += 1;
            native_id = self.numbered;
        }
        let id = self.builder.thread(native_id, &thread.name)?;
        self.samples(thread, id, stacks)?;
        let is_vernier = self.header.origin() == Writer::Vernier;
        match &thread.js_allocations {
            Some(allocations) if is_vernier => self.allocations(allocations, id, stacks)?,
            Some(_) => self.has_allocations = true,
            None => {}
        }
        self.has_allocations |= thread.native_allocations.is_some();
        Ok(())
    }

    fn samples(&mut self, thread: &Thread, id: ThreadId, stacks: &mut StackPlaces<'_>) -> Result<(), Error> {
        let samples = &thread.samples;
        samples.check()?;
        let (of, unit) = self.measure(samples)?;
        self.types.insert(of);
        let times = self.times.filter(|_| of == SampleType::Samples);
        let cpu_unit_ns = self.header.cpu_unit_ns().filter(|_| self.header.origin() == Writer::Other);
        let begin_ns = samples.first_ns().unwrap_or(0);
        let mut end_ns = begin_ns;
        for place in 0..samples.stack.len() {
            // A sample without a stack is a gap.
            let Some(at) = samples.stack.get(place) else { continue };
            let mut weights = Weights::default();
            weights.set(of, samples.weight(place, unit)?);
            if let Some(times) = &times {
                let wall_ns = times.ns(samples, place, thread.unregister_time)?;
                end_ns = end_ns.saturating_add(wall_ns);
                weights.set(SampleType::Wall, wall_ns);
            }
            if let Some(unit_ns) = cpu_unit_ns {
                weights.set(SampleType::Cpu, samples.cpu_ns(place, unit_ns));
            }
            let state = self.header.state(stacks.category(at));
            self.add(at, id, state, weights, stacks)?;
        }
        if times.is_some() && samples.stack.len() > 0 {
            self.from_ns = self.from_ns.min(begin_ns);
            self.to_ns = self.to_ns.max(end_ns);
        }
        Ok(())
    }

    /// Returns the sample type of a thread's weights, and their unit.
    fn measure(&self, samples: &Samples) -> Result<(SampleType, f64), Error> {
        let (of, unit) = match samples.weight_type.as_deref() {
            None | Some("samples") => (SampleType::Samples, 1.0),
            Some("tracing-ms") => (SampleType::Wall, 1e6),
            Some("bytes") if self.header.origin() == Writer::Vernier => (SampleType::InuseSpace, 1.0),
            Some("bytes") => (SampleType::AllocSpace, 1.0),
            Some(other) => {
                return Err(Error::malformed(format!(
                    "samples in {other:?}, which is not a unit of the Firefox Profiler"
                )))
            }
        };
        let ours = self.header.sample_type();
        let fits = |it: &SampleType| it.name_and_unit().1 == of.name_and_unit().1;
        Ok((ours.filter(fits).unwrap_or(of), unit))
    }

    /// Adds the objects sampled by vernier.
    fn allocations(
        &mut self,
        samples: &Samples,
        id: ThreadId,
        stacks: &mut StackPlaces<'_>,
    ) -> Result<(), Error> {
        samples.check()?;
        self.has_allocations = true;
        self.types.insert(SampleType::AllocObjects);
        for place in 0..samples.stack.len() {
            let Some(at) = samples.stack.get(place) else { continue };
            let mut weights = Weights::default();
            weights.set(SampleType::AllocObjects, samples.weight(place, 1.0)?);
            self.add(at, id, State::Running, weights, stacks)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        at: usize,
        thread: ThreadId,
        state: State,
        mut weights: Weights,
        stacks: &mut StackPlaces<'_>,
    ) -> Result<(), Error> {
        let stack = stacks.stack(at, &mut self.builder)?;
        let wall_ns = weights.get(SampleType::Wall);
        match state {
            State::Gvl if wall_ns > 0 => weights.set(SampleType::GvlWait, wall_ns),
            State::Gc if wall_ns > 0 => weights.set(SampleType::Gc, wall_ns),
            _ => {}
        }
        let parts = [SampleType::Cpu, SampleType::Wall, SampleType::GvlWait, SampleType::Gc];
        self.types.extend(parts.into_iter().filter(|it| weights.get(*it) > 0));
        self.builder.add(SampleKey { stack, thread, state, labels: Vec::new() }, &weights)
    }

    fn finish(mut self, pid: u32, program: String) -> Result<Profile, Error> {
        let mut meta = self.header.meta(&mut self.builder.budget)?;
        meta.pid = pid;
        meta.program = program;
        meta.notes = self.notes();
        if self.header.origin() == Writer::Vernier {
            let is_heap = self.types.contains(&SampleType::InuseSpace);
            meta.modes = vec![if is_heap { "heap" } else { "wall" }.to_owned()];
            meta.duration_ns = self.to_ns.saturating_sub(self.from_ns);
        }
        Ok(self.builder.finish(self.types.into_iter().collect(), meta))
    }

    fn notes(&self) -> Vec<Note> {
        let origin = self.header.origin();
        let format = match origin {
            Writer::Vernier if self.types.contains(&SampleType::InuseSpace) => {
                "a file of vernier: its bytes are those that were live at the end"
            }
            Writer::Vernier if self.times.is_none() => "a file of vernier, whose samples have no time",
            Writer::Vernier => {
                "a file of vernier: a sample weighs the time until the next one of its thread, the last one mean intervals"
            }
            Writer::Ours => {
                "a file for the Firefox Profiler: of one sample type, without labels, and runnable is shown as gvl"
            }
            Writer::Other => "a file for the Firefox Profiler",
        };
        let mut notes = vec![Note::ReadFrom { format: format.into() }];
        if self.has_allocations {
            let text = match origin {
                Writer::Vernier => {
                    "its alloc_objects are the sampled objects: it does not say how many each one stands for"
                }
                Writer::Ours | Writer::Other => "its allocations beside the samples are left out",
            };
            notes.push(Note::Text(text.into()));
        }
        notes
    }
}
