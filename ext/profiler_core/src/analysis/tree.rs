//! Who called whom: a function under each of its callers, with what it weighs there.

use std::cmp::Reverse;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{FunctionId, Id};
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
    let mut places: HashMap<(Option<usize>, FunctionId), usize, FxBuildHasher> = HashMap::default();
    let mut nodes: Vec<Node> = Vec::new();
    let mut parents: Vec<Option<usize>> = Vec::new();
    let mut went: Vec<Option<usize>> = Vec::with_capacity(profile.stacks.len());
    for stack in &profile.stacks {
        let parent = stack.parent.and_then(|it| went.get(it.index()).copied().flatten());
        let Some(frame) = profile.frame(stack.frame) else {
            went.push(parent);
            continue;
        };
        let place = *places.entry((parent, frame.function)).or_insert_with(|| {
            nodes.push(Node {
                function: frame.function,
                self_weight: 0,
                total_weight: 0,
                children: Vec::new(),
            });
            parents.push(parent);
            nodes.len() - 1
        });
        went.push(Some(place));
    }
    let mut total: u64 = 0;
    for sample in &profile.samples {
        let weight = sample.weights.get(of);
        total = total.saturating_add(weight);
        let place = went.get(sample.stack.index()).copied().flatten();
        let node = place.and_then(|it| nodes.get_mut(it));
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
        match parents.get(place).copied().flatten().and_then(|it| nodes.get_mut(it)) {
            None => roots.push(place),
            Some(parent) => {
                parent.total_weight = parent.total_weight.saturating_add(weight);
                parent.children.push(place);
            }
        }
    }
    let key = |place: &usize| {
        let node = nodes.get(*place);
        let named = node.and_then(|it| profile.function(it.function));
        (
            Reverse(node.map_or(0, |it| it.total_weight)),
            named.map(|it| (it.name.clone(), it.path.clone(), it.first_line)),
        )
    };
    roots.sort_by_cached_key(key);
    let sorted: Vec<Vec<usize>> = nodes
        .iter()
        .map(|it| {
            let mut children = it.children.clone();
            children.sort_by_cached_key(key);
            children
        })
        .collect();
    nodes.iter_mut().zip(sorted).for_each(|(node, children)| node.children = children);
    Tree { of, total, nodes, roots }
}
