//! The result of a session before names: a part for each generation that the session has met.
//!
//! The type is the proof: an exporter takes a [`Profile`], and only resolving makes one of this.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{RowId, ThreadId};
use crate::profile::{Function, Profile, Thread};
use crate::result::named_sums::NamedSums;
use crate::result::part::Part;
use crate::session::key::Key;
use crate::session::spec::Measures;
use crate::session::Recorder;
use crate::tables::generations::Generations;
use crate::tables::name_cache::NameCache;

/// The result of a session, closed or so far, whose stacks are still in the tables of generations.
#[derive(Debug)]
#[must_use = "a generation stays alive until its results are resolved or forgotten"]
pub struct Uncopied {
    measures: Measures,
    /// The sums that have their names already.
    named: NamedSums,
    /// The parts, in the order of time.
    parts: Vec<Part>,
    threads: HashMap<ThreadId, Thread, FxBuildHasher>,
}

/// The result of a session. It has everything but names, and the right to request them.
#[derive(Debug)]
#[must_use = "a generation stays alive until its results are resolved or forgotten"]
pub struct Unresolved {
    /// The handles that only the VM can name, of each part; they stay marked until
    /// [`Hub::resolve`](crate::pipeline::hub::Hub::resolve).
    pub unknown: Vec<u64>,
    /// The number of distinct handles of the last part.
    pub needed: usize,
    result: Uncopied,
}

/// A resolved result, of which the profile is still to be made.
#[derive(Debug)]
#[must_use = "there is a profile to be made"]
pub(crate) struct Resolved {
    measures: Measures,
    sums: NamedSums,
    threads: HashMap<ThreadId, Thread, FxBuildHasher>,
    recorder: Option<Box<Recorder>>,
    /// The rows of the recorder, in order, and their new ids.
    rows: Vec<(Key, RowId)>,
}

impl Resolved {
    /// The profile, with its timeline.
    pub(crate) fn finish(self) -> Profile {
        let place = |key: &Key| {
            let found = self.rows.binary_search_by_key(key, |(key, _)| *key).ok()?;
            self.rows.get(found).map(|(_, row)| *row)
        };
        let timeline = self.recorder.map(|it| it.finish(place));
        Profile { timeline, ..self.sums.into_profile(self.measures, &self.threads) }
    }
}

impl Uncopied {
    /// The result of these sums and parts; `info` has the threads.
    pub(crate) fn new(
        measures: Measures,
        named: NamedSums,
        parts: Vec<Part>,
        info: impl Fn(ThreadId) -> Option<Thread>,
    ) -> Self {
        let threads = named.threads().chain(parts.iter().flat_map(Part::threads));
        let threads = threads.filter_map(|id| Some((id, info(id)?))).collect();
        Self { measures, named, parts, threads }
    }

    /// The result, once `copy` has copied all of each part.
    pub(crate) fn copied(mut self, copy: impl FnMut(&mut Part)) -> Unresolved {
        self.parts.iter_mut().for_each(copy);
        let unknown = self.parts.iter().flat_map(|it| &it.unknown).copied().collect();
        Unresolved { unknown, needed: self.parts.last().map_or(0, Part::needed), result: self }
    }
}

impl Unresolved {
    /// Resolves the handles with the names that `names` has for each part, and the functions of its handles that had no names.
    pub(crate) fn resolve(
        self,
        functions: Vec<(u64, Function)>,
        mut names: impl FnMut(&Part, Vec<(u64, Function)>) -> NameCache,
    ) -> Resolved {
        let Uncopied { measures, named: mut sums, parts, threads } = self.result;
        let mut functions = functions.into_iter();
        let (mut recorder, mut rows) = (None, Vec::new());
        for mut part in parts {
            let names = names(&part, functions.by_ref().take(part.unknown.len()).collect());
            let timeline = part.recorder.take();
            // They come in the order of their keys.
            let keys = timeline.as_ref().map(|_| part.keys().copied().collect::<Vec<Key>>());
            let ids = sums.absorb(part, &names);
            if let Some(keys) = keys {
                (rows, recorder) = (keys.into_iter().zip(ids).collect(), timeline);
            }
        }
        Resolved { measures, sums, threads, recorder, rows }
    }

    /// Leaves the generations. Nothing is named.
    pub(crate) fn forget(self, generations: &mut Generations) {
        self.result.parts.iter().for_each(|it| generations.leave(it.generation));
    }
}
