//! The sums of a session before they have names: one part for each generation that the session has seen.
//!
//! The types prove that the names are resolved: an exporter takes a [`Profile`], and only resolving turns
//! these sums into one.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{RowId, ThreadId};
use crate::profile::{Function, Profile, Thread};
use crate::result::named_sums::NamedSums;
use crate::result::part::Part;
use crate::session::key::Key;
use crate::session::spec::Measures;
use crate::session::Recorder;
use crate::tables::block_names::BlockNames;
use crate::tables::generations::Generations;
use crate::tables::name_cache::NameCache;

/// The fate of the session whose sums are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// The session ends.
    Close,
    /// The session continues from the same clocks, without these sums.
    Rotate,
    /// The session continues and keeps the sums.
    Snapshot,
}

/// The sums of a session whose stacks are still in the tables of generations.
#[derive(Debug)]
#[must_use = "a generation stays alive until its results are resolved or forgotten"]
pub struct Taken {
    measures: Measures,
    /// The sums that already have names.
    named: NamedSums,
    /// The parts in chronological order.
    parts: Vec<Part>,
    threads: HashMap<ThreadId, Thread, FxBuildHasher>,
}

/// The sums of a session with their stacks, complete but for the names, with the right to request those.
#[derive(Debug)]
#[must_use = "a generation stays alive until its results are resolved or forgotten"]
pub struct Unresolved {
    /// The handles of each part that only the VM can name. They stay marked until
    /// [`Hub::resolve`](crate::pipeline::hub::Hub::resolve).
    pub unknown: Vec<u64>,
    /// The number of distinct handles of the last part.
    pub needed: usize,
    taken: Taken,
}

impl Taken {
    /// Combines these sums and parts; `info` returns the threads.
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

    /// Copies the stacks: `copy` has to copy everything that a part needs.
    pub(crate) fn copied(mut self, copy: impl FnMut(&mut Part)) -> Unresolved {
        self.parts.iter_mut().for_each(copy);
        let unknown = self.parts.iter().flat_map(|it| &it.unknown).copied().collect();
        Unresolved { unknown, needed: self.parts.last().map_or(0, Part::needed), taken: self }
    }
}

impl Unresolved {
    /// Resolves the sums to a profile. `functions` are the functions of the handles without a name, and
    /// `names` returns all names of a part, and `blocks` has those of blocks. `left` is called once no generation is needed any more.
    pub(crate) fn resolve(
        self,
        functions: Vec<(u64, Function)>,
        mut names: impl FnMut(&Part, Vec<(u64, Function)>) -> NameCache,
        blocks: &BlockNames,
        left: impl FnOnce(),
    ) -> Profile {
        let Taken { measures, named: mut sums, parts, threads } = self.taken;
        let mut functions = functions.into_iter();
        // The recorder of a timeline, and the keys of its rows in order, with their new ids. Only the last
        // part can have a timeline.
        let (mut recorder, mut rows): (Option<Box<Recorder>>, Vec<(Key, RowId)>) = (None, Vec::new());
        for mut part in parts {
            let names = names(&part, functions.by_ref().take(part.unknown.len()).collect());
            let timeline = part.recorder.take();
            // The keys are sorted.
            let keys = timeline.as_ref().map(|_| part.keys().copied().collect::<Vec<Key>>());
            let ids = sums.absorb(part, &names, blocks);
            if let Some(keys) = keys {
                (rows, recorder) = (keys.into_iter().zip(ids).collect(), timeline);
            }
        }
        left();
        let place = |key: &Key| {
            let found = rows.binary_search_by_key(key, |(key, _)| *key).ok()?;
            rows.get(found).map(|(_, row)| *row)
        };
        let timeline = recorder.map(|it| it.finish(place));
        Profile { timeline, ..sums.into_profile(measures, &threads) }
    }

    /// Leaves the generations without naming the sums.
    pub(crate) fn forget(self, generations: &mut Generations) {
        self.taken.parts.iter().for_each(|it| generations.leave(it.generation));
    }
}
