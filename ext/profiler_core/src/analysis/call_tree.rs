//! The call tree: each function once under each of its callers, whatever the line, with its weight there.

use std::cmp::Reverse;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{FunctionId, Id, StackId};
use crate::profile::{Profile, SampleType};

/// A function called by the node above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The function.
    pub function: FunctionId,
    /// The weight of the stacks that end here.
    pub self_weight: u64,
    /// The weight of the stacks that contain this call.
    pub total_weight: u64,
    /// The indices of the callees, the heaviest first.
    pub children: Vec<usize>,
}

/// The functions of a profile under their callers, with weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallTree {
    /// The sample type of the weights.
    pub of: SampleType,
    /// The weight of the whole profile.
    pub total: u64,
    /// All calls; callers come before their callees.
    pub nodes: Vec<TreeNode>,
    /// The indices of the calls without a caller, the heaviest first.
    pub roots: Vec<usize>,
}

/// Returns the call tree of `profile`, without calls that have no weight.
#[must_use]
pub fn call_tree(profile: &Profile, of: SampleType) -> CallTree {
    let calls = Calls::of(profile);
    let node =
        |it: &Call| TreeNode { function: it.function, self_weight: 0, total_weight: 0, children: Vec::new() };
    let mut nodes: Vec<TreeNode> = calls.all.iter().map(node).collect();
    let mut total: u64 = 0;
    for sample in &profile.samples {
        let weight = sample.weights.get(of);
        total = total.saturating_add(weight);
        let node = calls.place(sample.stack).and_then(|it| nodes.get_mut(it));
        node.into_iter().for_each(|it| it.self_weight = it.self_weight.saturating_add(weight));
    }
    let mut roots = Vec::new();
    for place in (0..nodes.len()).rev() {
        let Some(node) = nodes.get_mut(place) else { continue };
        node.total_weight = node.total_weight.saturating_add(node.self_weight);
        let weight = node.total_weight;
        if weight == 0 {
            continue;
        }
        let caller = calls.all.get(place).and_then(|it| it.caller);
        match caller.and_then(|it| nodes.get_mut(it)) {
            None => roots.push(place),
            Some(caller) => {
                caller.total_weight = caller.total_weight.saturating_add(weight);
                caller.children.push(place);
            }
        }
    }
    let weights: Vec<(u64, FunctionId)> = nodes.iter().map(|it| (it.total_weight, it.function)).collect();
    let key = |place: &usize| {
        let (weight, function) = weights.get(*place)?;
        let named = profile.function(*function).map(|it| (&it.name, &it.path, it.first_line));
        Some((Reverse(*weight), named))
    };
    roots.sort_by_cached_key(key);
    nodes.iter_mut().for_each(|it| it.children.sort_by_cached_key(key));
    CallTree { of, total, nodes, roots }
}

/// A function called by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The function.
    pub(crate) function: FunctionId,
    /// The index of the call that made this one, which is smaller.
    pub(crate) caller: Option<usize>,
}

/// All calls of a profile: stacks without lines.
pub(crate) struct Calls {
    /// The calls by index.
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

    /// Returns the index of the call in which a stack ends.
    pub(crate) fn place(&self, stack: StackId) -> Option<usize> {
        self.of_stacks.get(stack.index()).copied().flatten()
    }

    /// Iterates over the functions from that call to the root.
    pub(crate) fn functions(&self, place: usize) -> impl Iterator<Item = FunctionId> + '_ {
        let call = |place: usize| self.all.get(place).copied();
        std::iter::successors(call(place), move |it| it.caller.and_then(call)).map(|it| it.function)
    }
}
