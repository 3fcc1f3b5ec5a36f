//! The result of a session before names: a part for each generation that the session has met.
//!
//! The type is the proof: an exporter takes a [`Profile`], and only resolving makes one of this.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{RowId, ThreadId};
use crate::pipeline::generations::Generations;
use crate::pipeline::named_sums::NamedSums;
use crate::pipeline::part::Part;
use crate::profile::{Function, Profile, Thread};
use crate::session::key::Key;
use crate::session::spec::Measures;
use crate::session::Recorder;

/// The result of a session, closed or so far. It has everything but names, and the right to request them.
#[derive(Debug)]
#[must_use = "a generation stays alive until its results are resolved or forgotten"]
pub struct Unresolved {
    /// The handles that only the VM can name, of each part; they stay marked until
    /// [`Hub::resolve`](super::hub::Hub::resolve).
    pub unknown: Vec<u64>,
    measures: Measures,
    /// The sums that have their names already.
    named: NamedSums,
    /// The parts, in the order of time.
    parts: Vec<Part>,
    threads: HashMap<ThreadId, Thread, FxBuildHasher>,
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

impl Unresolved {
    /// The result of these sums and parts; `info` has the threads.
    pub(crate) fn new(
        measures: Measures,
        named: NamedSums,
        parts: Vec<Part>,
        info: impl Fn(ThreadId) -> Option<Thread>,
    ) -> Self {
        let threads = named.threads().chain(parts.iter().flat_map(Part::threads));
        let threads = threads.filter_map(|id| Some((id, info(id)?))).collect();
        let unknown = parts.iter().flat_map(|it| &it.unknown).copied().collect();
        Self { unknown, measures, named, parts, threads }
    }

    /// Resolves the handles with `names`, which are in the order of [`Unresolved::unknown`], and leaves the generations.
    pub(crate) fn resolve(self, generations: &mut Generations, names: Vec<(u64, Function)>) -> Resolved {
        let Self { measures, named: mut sums, parts, threads, .. } = self;
        let mut names = names.into_iter();
        let (mut recorder, mut rows) = (None, Vec::new());
        for mut part in parts {
            if let Some(generation) = generations.find(part.generation) {
                generation.names.learn(names.by_ref().take(part.unknown.len()));
                let ids = sums.absorb(&part, &generation.names);
                if let Some(own) = part.recorder.take() {
                    // They came in the order of their keys.
                    rows = part.rows.iter().map(|(_, key, _)| *key).zip(ids).collect();
                    recorder = Some(own);
                }
            }
            generations.leave(part.generation);
        }
        Resolved { measures, sums, threads, recorder, rows }
    }

    /// Leaves the generations. Nothing is named.
    pub(crate) fn forget(self, generations: &mut Generations) {
        self.parts.iter().for_each(|it| generations.leave(it.generation));
    }
}
