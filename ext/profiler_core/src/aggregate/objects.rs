//! Objects: what was made goes to the sums at once, what of it is alive is told when somebody asks.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Aggregate, Key, Weight};
use crate::detail::{Age, Detail};
use crate::ids::StackId;
use crate::sample::{Made, Stamp, State};
use crate::tracked::{Alive, TrackedId};

/// What a session knows of objects besides its sums. No more than there are places to follow objects in.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    /// By place: the last that was made there, and where.
    followed: HashMap<u32, (u32, Key), FxBuildHasher>,
    alive: HashMap<Key, Weight, FxBuildHasher>,
}

impl Objects {
    pub(super) fn into_alive(self) -> impl Iterator<Item = (Key, Weight)> {
        self.alive.into_iter()
    }
}

impl Aggregate {
    /// Counts objects that were made. Those from before the start have come before it.
    pub fn made(&mut self, made: &Made, stamp: &Stamp, stack: Option<StackId>) {
        if !self.measures.objects() {
            return;
        }
        self.now_ns = stamp.monotonic_ns;
        let (thread, labels, detail) = (stamp.thread, stamp.labels, Detail::Made(made.class));
        let key = Key { stack, thread, labels, state: State::Running, detail };
        let Made { looks, objects, bytes, .. } = *made;
        self.weigh(key, Weight { count: looks.into(), objects, bytes, ..Weight::default() });
        if let (true, Some(TrackedId { place, generation })) = (self.measures.heap, made.tracked) {
            self.objects.followed.insert(place, (generation, key));
        }
    }

    /// Of what was made these are alive, after so many garbage collections. What was said before is forgotten.
    pub fn note_alive(&mut self, alive: &[Alive], collections: u64) {
        self.objects.alive.clear();
        let Objects { followed, alive: sums } = &mut self.objects;
        for it in alive {
            // Others are followed for other sessions.
            let Some((_, key)) = followed.get(&it.id.place).filter(|(one, _)| *one == it.id.generation)
            else {
                continue;
            };
            let Detail::Made(class) = key.detail else { continue };
            let age = Age::of(collections.saturating_sub(it.born));
            let sum = sums.entry(Key { detail: Detail::Alive(class, age), ..*key }).or_default();
            sum.objects += it.objects;
            sum.bytes += it.bytes;
        }
    }
}
