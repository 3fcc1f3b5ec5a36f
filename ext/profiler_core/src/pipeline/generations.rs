//! The generations: stacks, with handles for functions, and the names of these.
//!
//! A generation is frozen once it has grown well beyond what a result needs, and an empty one begins. So code that is unloaded is
//! forgotten while sessions run. A frozen generation lasts until all results that are of it have their names.

use crate::pipeline::name_cache::NameCache;
use crate::pipeline::stacks::Stacks;

/// The handles at which a generation may be frozen. The code behind them takes some 7 MB, if it was unloaded.
const MANY_HANDLES: usize = 4_096;

/// Nodes of the tree of stacks for each of these handles.
const NODES_PER_HANDLE: usize = 6;

/// The stacks and names of some time.
#[derive(Debug, Default)]
pub(crate) struct Generation {
    number: u64,
    pub(crate) stacks: Stacks,
    pub(crate) names: NameCache,
    /// Results that request names of this generation.
    users: usize,
}

impl Generation {
    /// Counts one more result, and returns the number to [`Generations::leave`] by.
    pub(crate) fn enter(&mut self) -> u64 {
        self.users += 1;
        self.number
    }
}

/// The generations that somebody needs.
#[derive(Debug)]
pub(crate) struct Generations {
    pub(crate) current: Generation,
    frozen: Vec<Generation>,
    /// The handles at which the present one may be frozen.
    pub(crate) many: usize,
}

impl Default for Generations {
    fn default() -> Self {
        Self { current: Generation::default(), frozen: Vec::new(), many: MANY_HANDLES }
    }
}

impl Generations {
    /// The generation of that number, unless nobody needed it any more.
    pub(crate) fn find(&mut self, number: u64) -> Option<&mut Generation> {
        let all = std::iter::once(&mut self.current).chain(&mut self.frozen);
        all.into_iter().find(|it| it.number == number)
    }

    /// Counts one result less. The last one lets go of a frozen generation.
    pub(crate) fn leave(&mut self, number: u64) {
        if let Some(generation) = self.find(number) {
            generation.users = generation.users.saturating_sub(1);
        }
        self.prune();
    }

    /// Whether there is a result without names.
    pub(crate) fn have_users(&self) -> bool {
        self.current.users > 0 || !self.frozen.is_empty()
    }

    /// Whether the present generation is much larger than what a result needs, of which this is the number of handles.
    pub(crate) fn is_outgrown(&self, needed: usize) -> bool {
        let many = self.many.max(2 * needed);
        let stacks = &self.current.stacks;
        stacks.handles().len() + stacks.classes().len() >= many || stacks.nodes() >= NODES_PER_HANDLE * many
    }

    /// Freezes the present generation. `moved` takes what is needed on from its stacks to the new ones.
    pub(crate) fn freeze(&mut self, moved: impl FnOnce(&Stacks, &mut Stacks)) {
        let next = Generation { number: self.current.number + 1, ..Generation::default() };
        let frozen = std::mem::replace(&mut self.current, next);
        moved(&frozen.stacks, &mut self.current.stacks);
        self.frozen.push(frozen);
        self.prune();
    }

    /// Forgets all generations, as no result is of them.
    pub(crate) fn start_over(&mut self) {
        self.freeze(|_, _| ());
        self.frozen.clear();
    }

    /// All handles of functions and classes.
    pub(crate) fn handles(&self) -> impl Iterator<Item = u64> + '_ {
        let stacks = std::iter::once(&self.current).chain(&self.frozen).map(|it| &it.stacks);
        stacks.flat_map(|it| it.handles().iter().chain(it.classes())).copied()
    }

    fn prune(&mut self) {
        self.frozen.retain(|it| it.users > 0);
    }
}
