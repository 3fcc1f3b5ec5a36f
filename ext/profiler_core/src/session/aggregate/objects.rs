//! Objects: what was made goes to the sums at once, what of it is alive is told when somebody asks.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Aggregate, Key, Weight};
use crate::ids::StackId;
use crate::record::detail::{Age, Detail};
use crate::record::sample::{Made, Stamp, State};
use crate::sampling::tracked::{Alive, TrackedId};

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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::{LabelSetId, ScopeId, ThreadId};
    use crate::record::class::Class;
    use crate::record::ring::Ring;
    use crate::record::sample::{push, Kind, RawSample, Walk, Walls};
    use crate::session::view::Measures;

    fn stamp() -> Stamp {
        Stamp {
            thread: ThreadId(1),
            state: State::Running,
            labels: LabelSetId::NONE,
            scope: ScopeId::NONE,
            cpu_ns: 0,
            monotonic_ns: 0,
            born_cpu_ns: 0,
            walls: Walls::default(),
        }
    }

    fn made(objects: u64, tracked: Option<TrackedId>) -> Made {
        Made { class: Class::of_handle(64), looks: 1, objects, bytes: 40 * objects, tracked }
    }

    #[test]
    fn a_record_comes_out_of_the_ring_as_it_went_in() {
        let ring = Ring::with_capacity(1024);
        let walk = Walk { handles: &[80, 96], lines: &[1, 2], rootless: false };
        for tracked in [None, Some(TrackedId { place: 7, generation: u32::MAX })] {
            push(&ring, Kind::Made(made(9, tracked)), &stamp(), walk, 2048).unwrap();
            let mut hand = Vec::new();
            assert!(ring.pop(&mut hand));
            let sample = RawSample::decode(&hand).unwrap();
            assert_eq!(sample.kind, Kind::Made(made(9, tracked)));
            assert_eq!(sample.handles().collect::<Vec<u64>>(), [80, 96, 64], "its class is kept as well");
        }
    }

    #[test]
    fn what_is_alive_is_what_this_session_saw_being_made() {
        let measures = Measures { heap: true, ..Measures::NONE };
        let mut aggregate = Aggregate::new(measures, 0, true, []);
        let id = |place, generation| TrackedId { place, generation };
        aggregate.made(&made(100, Some(id(0, 1))), &stamp(), Some(StackId(3)));
        aggregate.made(&made(50, Some(id(1, 1))), &stamp(), Some(StackId(4)));
        let alive = |id, objects, born| Alive { id, objects, bytes: 40 * objects, born };
        aggregate.note_alive(&[alive(id(0, 1), 100, 2)], 2);
        // The second is another that came to have its place; the third was never seen.
        aggregate.note_alive(&[alive(id(0, 1), 100, 2), alive(id(1, 2), 50, 2), alive(id(2, 1), 9, 2)], 5);
        let weights = aggregate.into_weights();
        let alive: Vec<_> =
            weights.iter().filter(|(key, _)| matches!(key.detail, Detail::Alive(..))).collect();
        assert_eq!(alive.len(), 1);
        assert_eq!(alive[0].0.stack, Some(StackId(3)));
        assert_eq!(alive[0].0.detail, Detail::Alive(Class::of_handle(64), Age::of(3)));
        assert_eq!((alive[0].1.objects, alive[0].1.bytes, alive[0].1.count), (100, 4_000, 0));
        assert_eq!(weights.len(), 3);
    }
}
