//! The handles that the garbage collector has to mark, and those that are kept by others.
//!
//! What the hub marks, it marks in each garbage collection. Handles that came long ago are kept by objects of the VM in its
//! place, which are visited in major collections only. A generation that is gone needs them no more.

use super::Hub;
use crate::record::RawRecord;
use crate::tables::generations::Generation;

impl Hub {
    /// Marks every handle that anybody may still ask about and nobody else keeps: in the tables, in the scratch buffer, and in
    /// the ring. For the mark function of the GC, which must see to it that no handler is in the middle of a record.
    pub fn each_live_handle(&self, mut mark: impl FnMut(u64)) {
        let mut drain = self.lock();
        drain.generations.unkept().for_each(&mut mark);
        drain.dumps.handles().for_each(&mut mark);
        let scratch = &mut drain.scratch;
        let mut at = self.ring.oldest();
        while let Some(next) = self.ring.peek(at, scratch) {
            RawRecord::decode(scratch).iter().flat_map(RawRecord::handles).for_each(&mut mark);
            at = next;
        }
        scratch.clear();
    }

    /// Whether a stack was cut, as there are too many: the tables may lack handles of records that were drained.
    #[must_use]
    pub fn has_refused(&self) -> bool {
        self.lock().generations.have_refused()
    }

    /// Whether that many handles of a generation are kept by nobody else.
    #[must_use]
    pub fn has_unkept(&self, count: usize) -> bool {
        self.lock().generations.find_unkept(count).is_some()
    }

    /// Fills `handles` with handles of one generation that nobody else keeps, if there are so many. Returns its number. The
    /// generation lasts until [`Hub::keep`], and marks them until then.
    pub fn find_unkept(&self, handles: &mut [u64]) -> Option<u64> {
        let mut drain = self.lock();
        let (number, unkept) = drain.generations.find_unkept(handles.len())?;
        handles.copy_from_slice(unkept);
        drain.generations.find(number).map(Generation::enter)
    }

    /// Notes that the handles that [`Hub::find_unkept`] found are kept, `count` of them, for as long as [`Hub::generations`] has
    /// that number.
    pub fn keep(&self, generation: u64, count: usize) {
        let mut drain = self.lock();
        drain.generations.keep(generation, count);
        drain.generations.leave(generation);
        self.release(drain);
    }

    /// Whether the tables have outgrown what is needed, or sums of frozen ones wait for names. Waits for the drain lock alone.
    #[must_use]
    pub fn wants_renewal(&self) -> bool {
        let drain = self.lock();
        let is_outgrown = || self.labels.try_lock().is_ok_and(|sets| drain.is_outgrown(0, &sets));
        drain.sessions.iter().any(|it| !it.earlier.parts.is_empty()) || is_outgrown()
    }

    /// The numbers of the generations of which somebody may still ask about handles.
    #[must_use]
    pub fn generations(&self) -> Vec<u64> {
        self.lock().generations.numbers().collect()
    }

    /// The number of handles in the tables. For tests.
    #[must_use]
    pub fn handles(&self) -> usize {
        self.lock().generations.handles()
    }
}
