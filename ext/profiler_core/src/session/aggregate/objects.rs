//! The objects and blocks of memory of a session: allocations are added to the sums immediately, and live
//! objects are counted on request.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Aggregate;
use crate::ids::{LabelSetId, SpanIndex, StackId, ThreadId};
use crate::record::detail::{Age, Detail};
use crate::record::object_class::Class;
use crate::record::{Allocation, Header, Kind, ObjectId, State};
use crate::sampling::live_objects::LiveObject;
use crate::session::key::{Key, RowSums};

/// The objects that a session knows in addition to its sums: at most one for each slot of the table of live
/// objects.
#[derive(Clone, Debug, Default)]
pub(super) struct SessionObjects {
    /// The generation and the key of the last object of each slot.
    objects: HashMap<u32, (u32, Key), FxBuildHasher>,
    live: HashMap<Key, RowSums, FxBuildHasher>,
}

impl SessionObjects {
    /// Takes the counted live objects. The next count covers the same objects.
    pub(super) fn rotate(&mut self) -> Self {
        Self { objects: HashMap::default(), live: std::mem::take(&mut self.live) }
    }

    /// Replaces the key of each object by the one that `new` returns for it.
    pub(super) fn rekey(&mut self, mut new: impl FnMut(&Key) -> Key) {
        self.objects.values_mut().for_each(|(_, key)| *key = new(key));
        for (key, weight) in std::mem::take(&mut self.live) {
            self.live.entry(new(&key)).or_default().add(&weight);
        }
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.objects.values().map(|(_, key)| key).chain(self.live.keys())
    }

    pub(super) fn into_live(self) -> impl Iterator<Item = (Key, RowSums)> {
        self.live.into_iter()
    }
}

/// The row of blocks for whose records there was no space.
const UNRECORDED: Key = Key {
    stack: None,
    thread: ThreadId::OTHERS,
    labels: LabelSetId::NONE,
    span: SpanIndex::NONE,
    state: State::Running,
    detail: Detail::Allocated(Class::NO_LIBRARY),
};

impl Aggregate {
    /// Counts allocations of objects or of memory, if the session measures them. Objects from before the
    /// session's start were drained before it. Memory is also allocated without the GVL, and so at any time.
    pub fn allocate(&mut self, kind: Kind, header: &Header, stack: Option<StackId>) {
        let allocation = match kind {
            Kind::Allocation(it) if self.measures.objects() => it,
            Kind::Malloc(it) if self.measures.native && header.monotonic_ns >= self.started_ns => it,
            _ => return,
        };
        self.now_ns = header.monotonic_ns;
        let (thread, labels, detail) = (header.thread, header.labels, Detail::Allocated(allocation.class));
        let span = self.span(header);
        let key = Key { stack, thread, labels, span, state: State::Running, detail };
        let Allocation { samples, objects, bytes, .. } = allocation;
        self.weigh(key, RowSums { count: samples.into(), objects, bytes, ..RowSums::default() });
        if let (true, Some(ObjectId { slot, generation })) = (self.measures.live(), allocation.object) {
            // An object outlives the span in which it was allocated.
            let key = Key { span: SpanIndex::NONE, ..key };
            self.objects.objects.insert(slot, (generation, key));
        }
    }

    /// Replaces the live objects with `live`, as they are after this number of garbage collections. Forgets
    /// all others. With `all`, those count as well for whose record there was no space.
    pub fn note_live(&mut self, live: &[LiveObject], collections: u64, all: bool) {
        self.objects.live.clear();
        let began_ns = self.began_ns;
        let SessionObjects { objects, live: sums } = &mut self.objects;
        let mut before = std::mem::take(objects);
        for object in live {
            let own = before.remove(&object.id.slot).filter(|(one, _)| *one == object.id.generation);
            let is_lost = all && !object.recorded && object.allocated_at >= began_ns;
            if let Some(own) = own {
                objects.insert(object.id.slot, own);
            }
            let lost = is_lost.then_some((0, UNRECORDED));
            // The other objects are in the table for other sessions.
            let Some(own) = own.or(lost) else { continue };
            let (_, key) = own;
            let Detail::Allocated(class) = key.detail else { continue };
            let age = Age::of(collections.saturating_sub(object.allocated_at));
            let detail = object.owner.map_or(Detail::Live(class, age), |it| Detail::Owned(class, it));
            let sum = sums.entry(Key { detail, ..key }).or_default();
            sum.objects += object.objects;
            sum.bytes += object.bytes;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::record::ring::Ring;
    use crate::record::{push, RawRecord, Walk};
    use crate::session::spec::Measures;

    fn header() -> Header {
        Header::new(ThreadId(1), 0)
    }

    fn allocation(objects: u64, object: Option<ObjectId>) -> Allocation {
        Allocation { class: Class::of_handle(64), samples: 1, objects, bytes: 40 * objects, object }
    }

    #[test]
    fn allocation_records_round_trip_through_the_ring() {
        let ring = Ring::with_capacity(1024);
        let walk = Walk { handles: &[80, 96], lines: &[1, 2], rootless: false };
        for object in [None, Some(ObjectId { slot: 7, generation: u32::MAX })] {
            let block = Kind::Malloc(Allocation { class: Class::library(3), ..allocation(9, object) });
            push(&ring, block, &header(), walk, 2048).unwrap();
            let mut scratch = Vec::new();
            assert!(ring.pop(&mut scratch));
            let record = RawRecord::decode(&scratch).unwrap();
            assert_eq!((record.kind, record.handles().collect::<Vec<u64>>()), (block, vec![80, 96]));
            push(&ring, Kind::Allocation(allocation(9, object)), &header(), walk, 2048).unwrap();
            let mut scratch = Vec::new();
            assert!(ring.pop(&mut scratch));
            let record = RawRecord::decode(&scratch).unwrap();
            assert_eq!(record.kind, Kind::Allocation(allocation(9, object)));
            assert_eq!(record.handles().collect::<Vec<u64>>(), [80, 96, 64], "its class is kept as well");
        }
    }

    #[test]
    fn each_session_counts_what_it_measures() {
        let counted = |measures, kind, at_ns| {
            let mut aggregate = Aggregate::new(measures, 5, true, []);
            aggregate.allocate(kind, &Header { monotonic_ns: at_ns, ..header() }, Some(StackId(3)));
            aggregate.into_weights().len()
        };
        let (objects, memory) =
            (Measures { heap: true, ..Measures::NONE }, Measures { native: true, ..Measures::NONE });
        let block = Allocation { class: Class::library(3), ..allocation(1, None) };
        assert_eq!(counted(objects, Kind::Allocation(allocation(1, None)), 0), 1);
        assert_eq!(counted(objects, Kind::Malloc(block), 6), 0);
        assert_eq!(counted(memory, Kind::Allocation(allocation(1, None)), 6), 0);
        assert_eq!(counted(memory, Kind::Malloc(block), 6), 1);
        assert_eq!(counted(memory, Kind::Malloc(block), 4), 0, "allocated before the session");
    }

    #[test]
    fn blocks_without_a_record_are_live_since_their_session_began() {
        let live_bytes = |all| {
            let mut aggregate = Aggregate::new(Measures { native: true, ..Measures::NONE }, 5, true, []);
            let id = |slot| ObjectId { slot, generation: 1 };
            let block = |slot, allocated_at, recorded| LiveObject {
                id: id(slot),
                objects: 1,
                bytes: 100 + u64::from(slot),
                allocated_at,
                recorded,
                owner: None,
            };
            for _ in 0..2 {
                aggregate.note_live(&[block(0, 4, false), block(1, 5, false), block(2, 6, true)], 0, all);
                aggregate.resume(9, []);
            }
            aggregate.into_weights().iter().map(|(_, weight)| weight.bytes).sum::<u64>()
        };
        assert_eq!((live_bytes(true), live_bytes(false)), (101, 0));
    }

    #[test]
    fn only_objects_allocated_in_the_session_are_live() {
        let measures = Measures { heap: true, ..Measures::NONE };
        let mut aggregate = Aggregate::new(measures, 0, true, []);
        let id = |slot, generation| ObjectId { slot, generation };
        aggregate.allocate(Kind::Allocation(allocation(100, Some(id(0, 1)))), &header(), Some(StackId(3)));
        aggregate.allocate(Kind::Allocation(allocation(50, Some(id(1, 1)))), &header(), Some(StackId(4)));
        let recorded = true;
        let live = |id, objects, allocated_at| LiveObject {
            id,
            objects,
            bytes: 40 * objects,
            allocated_at,
            recorded,
            owner: None,
        };
        aggregate.note_live(&[live(id(0, 1), 100, 2)], 2, true);
        // The second is another object that got its slot; the third was never seen.
        aggregate.note_live(&[live(id(0, 1), 100, 2), live(id(1, 2), 50, 2), live(id(2, 1), 9, 2)], 5, true);
        let weights = aggregate.into_weights();
        let live: Vec<_> = weights.iter().filter(|(key, _)| matches!(key.detail, Detail::Live(..))).collect();
        assert_eq!(live.len(), 1);
        assert_eq!(live[0].0.stack, Some(StackId(3)));
        assert_eq!(live[0].0.detail, Detail::Live(Class::of_handle(64), Age::of(3)));
        assert_eq!((live[0].1.objects, live[0].1.bytes, live[0].1.count), (100, 4_000, 0));
        assert_eq!(weights.len(), 3);
    }
}
