//! Stacks without lines: a function stands once under each of its callers.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{FunctionId, Id, StackId};
use crate::profile::Profile;

/// A function called by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The function.
    pub(crate) function: FunctionId,
    /// The place of the call that it was made in, a smaller one.
    pub(crate) caller: Option<usize>,
}

/// All calls of a profile.
pub(crate) struct Calls {
    /// By place.
    pub(crate) all: Vec<Call>,
    of_stacks: Vec<Option<usize>>,
}

impl Calls {
    pub(crate) fn of(profile: &Profile) -> Self {
        let mut places: HashMap<(Option<usize>, FunctionId), usize, FxBuildHasher> = HashMap::default();
        let mut all: Vec<Call> = Vec::new();
        let mut of_stacks: Vec<Option<usize>> = Vec::with_capacity(profile.stacks.len());
        for stack in &profile.stacks {
            let caller = stack.parent.and_then(|it| of_stacks.get(it.index()).copied().flatten());
            let Some(frame) = profile.frame(stack.frame) else {
                of_stacks.push(caller);
                continue;
            };
            let function = frame.function;
            let place = *places.entry((caller, function)).or_insert_with(|| {
                all.push(Call { function, caller });
                all.len() - 1
            });
            of_stacks.push(Some(place));
        }
        Self { all, of_stacks }
    }

    /// The place of the call that a stack ends in.
    pub(crate) fn place(&self, stack: StackId) -> Option<usize> {
        self.of_stacks.get(stack.index()).copied().flatten()
    }

    /// The functions from that call to the root.
    pub(crate) fn functions(&self, place: usize) -> impl Iterator<Item = FunctionId> + '_ {
        let call = |place: usize| self.all.get(place).copied();
        std::iter::successors(call(place), move |it| it.caller.and_then(call)).map(|it| it.function)
    }
}
