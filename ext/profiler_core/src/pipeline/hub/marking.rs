//! The handles that the garbage collector has to mark, and those that others keep alive.
//!
//! The hub marks its handles in each garbage collection. Handles that are known for some time are kept alive
//! by objects of the VM instead, which are visited in major collections only. Once a generation is gone, its
//! handles are no longer needed.

use super::Hub;
use crate::record::RawRecord;
use crate::tables::generations::Generation;

impl Hub {
    /// Marks every handle that may still be needed and that nobody else keeps alive: in the tables, in the
    /// scratch buffer, and in the ring. For the mark function of the GC, which must make sure that no handler
    /// is in the middle of a record.
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

    /// Returns whether a stack was cut because there were too many: the tables may then lack handles of
    /// records that were drained.
    #[must_use]
    pub fn has_refused(&self) -> bool {
        self.lock().generations.have_refused()
    }

    /// Returns whether a generation has `count` handles that nobody else keeps alive.
    #[must_use]
    pub fn has_unkept(&self, count: usize) -> bool {
        self.lock().generations.find_unkept(count).is_some()
    }

    /// Fills `handles` with handles of one generation that nobody else keeps alive, if there are enough of
    /// them, and returns the number of the generation. The generation lasts until [`Hub::keep`] and marks the
    /// handles until then.
    pub fn find_unkept(&self, handles: &mut [u64]) -> Option<u64> {
        let mut drain = self.lock();
        let (number, unkept) = drain.generations.find_unkept(handles.len())?;
        handles.copy_from_slice(unkept);
        drain.generations.find(number).map(Generation::enter)
    }

    /// Notes that `count` handles found by [`Hub::find_unkept`] are kept alive for as long as
    /// [`Hub::generations`] contains that number.
    pub fn keep(&self, generation: u64, count: usize) {
        let mut drain = self.lock();
        drain.generations.keep(generation, count);
        drain.generations.leave(generation);
        self.release(drain);
    }

    /// Returns whether the tables have outgrown the need, or sums of frozen generations wait for names. Waits
    /// for the drain lock only.
    #[must_use]
    pub fn wants_renewal(&self) -> bool {
        let drain = self.lock();
        let is_outgrown = || self.labels.try_lock().is_ok_and(|sets| drain.is_outgrown(0, &sets));
        drain.sessions.iter().any(|it| !it.earlier.parts.is_empty()) || is_outgrown()
    }

    /// Returns the numbers of the generations whose handles may still be needed.
    #[must_use]
    pub fn generations(&self) -> Vec<u64> {
        self.lock().generations.numbers().collect()
    }

    /// Returns the number of handles in the tables. For tests.
    #[must_use]
    pub fn handles(&self) -> usize {
        self.lock().generations.handles()
    }
}
