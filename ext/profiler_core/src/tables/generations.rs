//! Generations: stacks, with handles for functions, and the names of these handles.
//!
//! A generation is frozen once it has grown well beyond what a result needs, and an empty one begins. So code
//! that is unloaded is forgotten while sessions run. A frozen generation lasts until all results that refer
//! to it have their names.
//!
//! A generation is frozen when it has 4,096 handles, and twice as many as both the result just taken and the
//! functions that came back in the generation before:
//!
//! * Each session keeps its sums so far as a part (`result/part.rs`) and continues from the same clocks. The
//!   stacks that its accounts and its live objects refer to are copied to the new generation. A property test
//!   plays random programs with and without frozen generations: all results are the same.
//! * A part that has its names becomes sums by content (`result/named_sums.rs`). They have the same bounds as
//!   a generation: beyond these, stacks and labels are `(other)`, with a note. Whoever takes a result names
//!   its own parts, and then some that other sessions wait for.
//! * A frozen generation is marked until no part and no result needs it. No generation is frozen while a
//!   session has events in its timeline, as events refer to stacks. Everything is forgotten at once when the
//!   last session has its names.
//!
//! ERB templates were evaluated for 60 s beside a session that was rotated every 5 s and one that was not.
//! Generations frozen at 400 handles kept 19 to 664 of them; without freezing there were 2,608 at the end.

use crate::profile::Function;
use crate::tables::name_cache::NameCache;
use crate::tables::stacks::Stacks;

/// The number of handles from which a generation may be frozen. The code behind them takes about 7 MB if it
/// was unloaded.
const MANY_HANDLES: usize = 4_096;

/// The number of nodes in the tree of stacks for each of these handles.
const NODES_PER_HANDLE: usize = 6;

/// The stacks, handles and names of some time.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    number: u64,
    pub(crate) stacks: Stacks,
    pub(crate) names: NameCache,
    /// The number of results that request names of this generation.
    users: usize,
    /// The number of its first handles that a keeper marks.
    kept: usize,
    /// The numbers of handles and nodes that live objects and accounts brought along from the generation
    /// before.
    moved: (usize, usize),
}

impl Generation {
    /// Counts one more result, and returns the number to pass to [`Generations::leave`].
    pub(crate) fn enter(&mut self) -> u64 {
        self.users += 1;
        self.number
    }

    /// Returns the handles that nobody else marks.
    fn unkept(&self) -> &[u64] {
        self.stacks.of_vm().get(self.kept..).unwrap_or(&[])
    }

    /// Returns the numbers of handles and nodes.
    fn size(&self) -> (usize, usize) {
        (self.stacks.handles().len() + self.stacks.classes().len(), self.stacks.nodes())
    }
}

/// The generations that are still needed.
#[derive(Debug)]
pub(crate) struct Generations {
    pub(crate) current: Generation,
    frozen: Vec<Generation>,
    /// Generations that are no longer needed. They are large, so the lock is released before they are
    /// dropped.
    unused: Vec<Generation>,
    /// The number of handles from which the current generation may be frozen.
    pub(crate) many: usize,
    /// The numbers of functions and nodes that the sums named last share with earlier sums: code that came
    /// back is code that stays.
    reused: (usize, usize),
}

impl Default for Generations {
    fn default() -> Self {
        let current = Generation::default();
        Self { current, frozen: Vec::new(), unused: Vec::new(), many: MANY_HANDLES, reused: (0, 0) }
    }
}

impl Generations {
    /// Returns the generation with this number, unless it was dropped as no longer needed.
    pub(crate) fn find(&mut self, number: u64) -> Option<&mut Generation> {
        let all = std::iter::once(&mut self.current).chain(&mut self.frozen);
        all.into_iter().find(|it| it.number == number)
    }

    /// Counts one result less. The last one releases a frozen generation.
    pub(crate) fn leave(&mut self, number: u64) {
        if let Some(generation) = self.find(number) {
            generation.users = generation.users.saturating_sub(1);
        }
        self.prune();
    }

    /// Returns whether there is a result without names.
    pub(crate) fn have_users(&self) -> bool {
        self.current.users > 0 || !self.frozen.is_empty()
    }

    /// Returns whether the current generation is much larger than what a result needs, which is `needed`
    /// handles, than what it began with, and than what comes back in each generation.
    pub(crate) fn is_outgrown(&self, needed: usize) -> bool {
        let many = self.many.max(2 * needed);
        let (moved, moved_nodes) = self.current.moved;
        let (reused, reused_nodes) = self.reused;
        let (handles, nodes) = self.current.size();
        handles >= many.max(2 * moved.max(reused))
            || nodes >= (NODES_PER_HANDLE * many).max(2 * moved_nodes.max(reused_nodes))
    }

    /// Notes the functions and nodes that the sums of a frozen generation share with earlier ones.
    pub(crate) fn note_reused(&mut self, (functions, nodes): (usize, usize)) {
        self.reused = (self.reused.0.max(functions), self.reused.1.max(nodes));
    }

    /// Freezes the current generation. `moved` copies what is still needed of it to the new one.
    pub(crate) fn freeze(&mut self, moved: impl FnOnce(&Generation, &mut Generation)) {
        let next = Generation { number: self.current.number + 1, ..Generation::default() };
        let frozen = std::mem::replace(&mut self.current, next);
        moved(&frozen, &mut self.current);
        self.current.moved = self.current.size();
        self.reused = (self.reused.0 / 2, self.reused.1 / 2);
        self.frozen.push(frozen);
        self.prune();
    }

    /// Forgets all generations, as no result refers to them.
    pub(crate) fn start_over(&mut self) {
        self.freeze(|_, _| ());
        self.reused = (0, 0);
        self.unused.append(&mut self.frozen);
    }

    /// Iterates over the generations, the current one first.
    fn all(&self) -> impl Iterator<Item = &Generation> + '_ {
        std::iter::once(&self.current).chain(&self.frozen)
    }

    /// Returns the number of all handles.
    pub(crate) fn handles(&self) -> usize {
        self.all().map(|it| it.stacks.of_vm().len()).sum()
    }

    /// Iterates over the handles that nobody else marks.
    pub(crate) fn unkept(&self) -> impl Iterator<Item = u64> + '_ {
        self.all().flat_map(Generation::unkept).copied()
    }

    /// Returns the name of a handle, if a generation has learnt it or it is synthetic.
    pub(crate) fn name(&self, handle: u64) -> Option<Function> {
        self.all().find_map(|it| it.names.get(handle))
    }

    /// Returns whether a stack was cut in one of the generations.
    pub(crate) fn have_refused(&self) -> bool {
        self.all().any(|it| it.stacks.refused() > 0)
    }

    /// Finds a generation with `count` handles that nobody else marks, and returns its number and these
    /// handles.
    pub(crate) fn find_unkept(&self, count: usize) -> Option<(u64, &[u64])> {
        self.all().find_map(|it| Some((it.number, it.unkept().get(..count)?)))
    }

    /// Notes that a keeper marks `count` more handles of a generation.
    pub(crate) fn keep(&mut self, number: u64, count: usize) {
        if let Some(generation) = self.find(number) {
            generation.kept += count;
        }
    }

    /// Iterates over the numbers of the generations.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> + '_ {
        self.all().map(|it| it.number)
    }

    /// Takes the generations that are no longer needed, to be dropped once the lock is released.
    #[must_use]
    pub(crate) fn take_unused(&mut self) -> Vec<Generation> {
        std::mem::take(&mut self.unused)
    }

    fn prune(&mut self) {
        let (used, unused) = std::mem::take(&mut self.frozen).into_iter().partition(|it| it.users > 0);
        self.frozen = used;
        self.unused.extend::<Vec<Generation>>(unused);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::record::frame::RawFrame;

    fn add(stacks: &mut Stacks, handles: std::ops::Range<u64>) {
        for number in handles {
            let _ = stacks.intern_frames(std::iter::once(RawFrame::from_word((number + 100) << 20)));
        }
    }

    #[test]
    fn a_generation_that_began_large_is_not_frozen_at_once() {
        let mut generations = Generations { many: 10, ..Generations::default() };
        add(&mut generations.current.stacks, 0..50);
        assert!(generations.is_outgrown(0) && !generations.is_outgrown(50));
        generations.freeze(|_, new| add(&mut new.stacks, 0..40));
        assert!(!generations.is_outgrown(0), "live objects brought these along");
        add(&mut generations.current.stacks, 40..79);
        assert!(!generations.is_outgrown(0));
        add(&mut generations.current.stacks, 79..80);
        assert!(generations.is_outgrown(0));
    }

    #[test]
    fn a_generation_grows_to_twice_what_comes_back() {
        let mut generations = Generations { many: 10, ..Generations::default() };
        generations.note_reused((15, 0));
        generations.note_reused((4, 0)); // another session had less of it
        add(&mut generations.current.stacks, 0..29);
        assert!(!generations.is_outgrown(0));
        add(&mut generations.current.stacks, 29..30);
        assert!(generations.is_outgrown(0));
        generations.freeze(|_, _| ());
        add(&mut generations.current.stacks, 0..14);
        assert!(generations.is_outgrown(0), "what came back once is needed half as much");
    }
}
