//! The names that the sums of running sessions wait for, in frozen generations.

use super::Hub;
use crate::pipeline::drain::{Drain, OpenSession};
use crate::profile::Function;
use crate::result::part::Part;

/// Some handles of a frozen generation, which lasts until they are passed to [`Hub::name_pending`] or
/// [`Hub::forget_pending`].
#[derive(Debug)]
#[must_use = "a generation stays alive until its pending handles are named or forgotten"]
pub struct Pending {
    generation: u64,
    /// The handles.
    pub handles: Vec<u64>,
}

impl Hub {
    /// Returns handles that the sums of running sessions wait for: at most `most`, all of one generation.
    #[must_use]
    pub fn pending(&self, most: usize) -> Option<Pending> {
        while self.copy_some_pending() {}
        let mut drain = self.lock();
        let Drain { generations, sessions, .. } = &mut *drain;
        let number = sessions.iter().flat_map(|it| &it.earlier.parts).map(|it| it.generation).min()?;
        let generation = generations.find(number)?;
        let parts = sessions.iter().flat_map(|it| &it.earlier.parts).filter(|it| it.generation == number);
        let mut handles: Vec<u64> = parts.flat_map(|it| generation.names.unknown(&it.unknown)).collect();
        handles.sort_unstable();
        handles.dedup();
        handles.truncate(most);
        Some(Pending { generation: generation.enter(), handles })
    }

    /// Returns the handles without a name that [`Hub::freeze_generation`] would forget with the places of live
    /// objects.
    pub fn places_without_names(&self) -> Pending {
        let mut drain = self.lock();
        let handles = drain.handles_by_name();
        let generation = &mut drain.generations.current;
        let handles = generation.names.unknown(&handles);
        Pending { generation: generation.enter(), handles }
    }

    /// Copies a piece of what those sums need. Returns whether there may be more.
    fn copy_some_pending(&self) -> bool {
        let mut drain = self.lock();
        let Drain { generations, sessions, .. } = &mut *drain;
        let mut parts = sessions.iter_mut().flat_map(|it| &mut it.earlier.parts);
        let Some(part) = parts.find(|it| !it.is_copied()) else { return false };
        let Some(generation) = generations.find(part.generation) else { return false };
        part.copy_some(generation);
        true
    }

    /// Names handles. Sums whose handles all have names leave their generation.
    pub fn name_pending(&self, pending: Pending, functions: Vec<Function>) {
        let mut drain = self.lock();
        let Drain { generations, sessions, .. } = &mut *drain;
        let number = pending.generation;
        if let Some(generation) = generations.find(number) {
            generation.names.learn(pending.handles.into_iter().zip(functions));
            let (mut absorbed, mut reused) = (0, Vec::new());
            for OpenSession { earlier, .. } in sessions {
                let is_named = |part: &Part| {
                    part.generation == number
                        && part.is_copied()
                        && generation.names.unknown(&part.unknown).is_empty()
                };
                let parts = std::mem::take(&mut earlier.parts);
                let (named, waiting): (Vec<_>, Vec<_>) = parts.into_iter().partition(is_named);
                earlier.parts = waiting;
                absorbed += named.len();
                for part in named {
                    earlier.named.absorb(part, &generation.names, &self.blocks);
                    reused.push(earlier.named.reused());
                }
            }
            reused.into_iter().for_each(|it| generations.note_reused(it));
            (0..absorbed).for_each(|_| generations.leave(number));
        }
        generations.leave(number);
        self.release(drain);
    }

    /// Releases pending handles without naming them.
    pub fn forget_pending(&self, pending: Pending) {
        self.name_pending(Pending { handles: Vec::new(), ..pending }, Vec::new());
    }
}
