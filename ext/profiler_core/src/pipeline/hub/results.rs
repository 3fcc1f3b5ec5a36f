//! The results of sessions: taken in one step, copied out of the tables in pieces, and resolved with names.
//!
//! Only taking the sums and changing generations have to be in step with what sessions record. A garbage
//! collection waits for the drain lock, so the other steps hold it for one piece at a time, and large values
//! are dropped outside of it.

use std::sync::atomic::Ordering;
use std::sync::MutexGuard;

use super::{finish, Hub};
use crate::pipeline::drain::{Drain, Earlier, OpenSession, SessionId};
use crate::pipeline::registry::{ThreadLife, ThreadRegistry};
use crate::profile::{Function, Profile};
use crate::result::ended_threads::EndedThreads;
use crate::result::part::Part;
use crate::result::taken::{Take, Taken, Unresolved};
use crate::tables::generations::Generation;
use crate::tables::name_cache::NameCache;

/// The number of handles whose names are copied before the lock is released in between: about 0.1 ms.
const PIECE: usize = 1_024;

impl Hub {
    /// Drains the ring, finishes `threads` (those alive, with their CPU clocks read before this call), and
    /// takes the sums of the session. If the session continues, it does so from `now_ns` on the monotonic
    /// clock. Returns `None` if it is not open.
    pub fn take(
        &self,
        session: SessionId,
        registry: &dyn ThreadRegistry,
        threads: &[ThreadLife],
        how: Take,
        now_ns: u64,
    ) -> Option<Taken> {
        self.catch_up(registry);
        let mut drain = self.lock();
        let Drain { sessions, generations, .. } = &mut *drain;
        let place = sessions.iter().position(|it| it.id == session)?;
        let (earlier, state) = match how {
            Take::Close => {
                let OpenSession { mut state, earlier, .. } = sessions.swap_remove(place);
                finish(&mut state, threads);
                (earlier, state)
            }
            Take::Rotate => {
                let OpenSession { state, earlier, .. } = sessions.get_mut(place)?;
                finish(state, threads);
                (std::mem::take(earlier), state.rotate(now_ns))
            }
            Take::Snapshot => {
                let OpenSession { state, earlier, .. } = sessions.get(place)?;
                let (mut copy, earlier) = (state.clone(), earlier.clone());
                finish(&mut copy, threads);
                for part in &earlier.parts {
                    // The copy needs names too.
                    let _ = generations.find(part.generation).map(Generation::enter);
                }
                (earlier, copy)
            }
        };
        Some(drain.result(earlier, state, threads, &self.labels()))
    }

    /// Copies what a result needs out of the tables. Needs no GVL.
    pub fn copy(&self, taken: Taken) -> Unresolved {
        taken.copied(|part| {
            part.sort();
            while self.lock().generations.find(part.generation).is_some_and(|it| part.copy_some(it)) {}
        })
    }

    /// Returns whether the tables can be renewed and are much larger than a result needs, which is `needed`
    /// handles.
    #[must_use]
    pub fn is_outgrown(&self, needed: usize) -> bool {
        self.lock().is_outgrown(needed, &self.labels())
    }

    /// Returns whether the tables can be renewed at all: there are sessions, and no rows that have to stay as
    /// they are.
    #[must_use]
    pub fn can_freeze_generation(&self) -> bool {
        let drain = self.lock();
        !drain.sessions.is_empty() && !drain.have_events()
    }

    /// Renews the tables: freezes the generation and gives label sets new ids, so that code that is gone is
    /// forgotten. Must be called with the GVL, when handles are nowhere but in the ring and here.
    pub fn freeze_generation(&self) {
        let mut drain = self.lock();
        let mut labels = self.labels();
        drain.freeze_generation(&mut labels);
        self.labels_table.fetch_add(1, Ordering::Relaxed);
        drop(labels);
        self.release(drain);
    }

    /// Resolves the result of a session with the names that it requested, in the order of
    /// [`Unresolved::unknown`]. Releases all handles when no session and no other result is left. Needs no
    /// GVL.
    pub fn resolve(&self, unresolved: Unresolved, names: Vec<(u64, Function)>) -> Profile {
        let named = |part: &Part, functions| self.names_of(part, functions);
        unresolved.resolve(names, named, &self.blocks, || self.release(self.lock()))
    }

    /// Returns the names of a part, including the new ones in `functions`. The part leaves its generation.
    fn names_of(&self, part: &Part, mut functions: Vec<(u64, Function)>) -> NameCache {
        let mut names = NameCache::default();
        let needed = part.handles();
        let mut pieces = needed.chunks(PIECE);
        loop {
            let mut drain = self.lock();
            let Some(generation) = drain.generations.find(part.generation) else { return names };
            if functions.is_empty() {
                match pieces.next() {
                    Some(piece) => names.copy(&generation.names, piece),
                    None => {
                        drain.generations.leave(part.generation);
                        return names;
                    }
                }
            } else {
                generation.names.learn(functions.drain(..functions.len().min(PIECE)));
            }
        }
    }

    /// Releases the result of a session without naming it.
    pub fn forget(&self, unresolved: Unresolved) {
        let mut drain = self.lock();
        unresolved.forget(&mut drain.generations);
        self.release(drain);
    }

    /// Removes a session and forgets it without naming its sums.
    pub fn discard(&self, session: SessionId) {
        let mut drain = self.lock();
        if let Some(place) = drain.sessions.iter().position(|it| it.id == session) {
            let Earlier { parts, .. } = drain.sessions.swap_remove(place).earlier;
            parts.iter().for_each(|it| drain.generations.leave(it.generation));
            self.release(drain);
        }
    }

    /// Releases the lock, and drops what is no longer needed.
    pub(super) fn release(&self, mut drain: MutexGuard<'_, Drain>) {
        self.end_if_unused(&mut drain);
        let unused = drain.generations.take_unused();
        drop(drain);
        drop(unused);
    }

    /// Forgets everything if neither a session nor a result is left.
    fn end_if_unused(&self, drain: &mut Drain) {
        if drain.sessions.is_empty() && !drain.generations.have_users() {
            drain.generations.start_over();
            drain.ended_threads = EndedThreads::default();
            drain.gvl_ticks.clear();
            let mut labels = self.labels();
            labels.clear();
            self.labels_table.fetch_add(1, Ordering::Relaxed);
        }
    }
}
