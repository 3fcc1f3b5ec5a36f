//! Who called whom: a function under each of its callers, with what it weighs there.

use std::cmp::Reverse;

use super::calls::{Call, Calls};
use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};

/// A function called by the one above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The function.
    pub function: FunctionId,
    /// Weight of the stacks that end here.
    pub self_weight: u64,
    /// And of those that go on.
    pub total_weight: u64,
    /// Places of those that it called, the heaviest first.
    pub children: Vec<usize>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// What was weighed.
    pub of: SampleType,
    /// Weight of all.
    pub total: u64,
    /// Callers come before whom they called.
    pub nodes: Vec<Node>,
    /// Places of those that nobody called, the heaviest first.
    pub roots: Vec<usize>,
}

/// The tree of `profile`, without what weighs nothing.
#[must_use]
pub fn tree(profile: &Profile, of: SampleType) -> Tree {
    let calls = Calls::of(profile);
    let node =
        |it: &Call| Node { function: it.function, self_weight: 0, total_weight: 0, children: Vec::new() };
    let mut nodes: Vec<Node> = calls.all.iter().map(node).collect();
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
    Tree { of, total, nodes, roots }
}
