//! Dominators: the objects without which another would be garbage, and what each retains by that.
//!
//! The algorithm is that of semi-dominators (Semi-NCA), on numbers in the order of a search in depth. It runs
//! in a copy of the process, in tables that its caller makes.

use ::core::option::Option::{self, Some};
use ::core::prelude::rust_2021::*;

use super::graph::{filled, Graph, TableKinds};
use super::index::Table;

/// No number: the node is not reached.
pub const NONE: u32 = u32::MAX;

/// The dominators of the nodes that are reached from a root. *Numbers* are the nodes in the order of the
/// search: that of the root is 0, and the dominator of a number is smaller.
pub struct Dominators<T: TableKinds> {
    /// The node of each number.
    pub nodes: T::Numbers,
    /// The number of each node.
    pub numbers: T::Numbers,
    /// The number of the immediate dominator of each.
    pub immediate: T::Numbers,
    /// The bytes that each retains.
    pub retained: T::Sums,
}

fn get(rows: &[u32], place: u32) -> u32 {
    rows.get(place as usize).copied().unwrap_or(0)
}

fn set(rows: &mut [u32], place: u32, number: u32) {
    if let Some(row) = rows.get_mut(place as usize) {
        *row = number;
    }
}

impl<T: TableKinds> Dominators<T> {
    /// Finds the dominators of all that is reached from `root`. `weight` returns the bytes of a node. `None` if
    /// there is no room.
    pub fn new(graph: &Graph<T::Numbers>, root: u32, weight: impl Fn(u32) -> u64) -> Option<Self> {
        let mut found = Self {
            nodes: T::Numbers::default(),
            numbers: filled(graph.count(), NONE)?,
            immediate: T::Numbers::default(),
            retained: T::Sums::default(),
        };
        let mut parents = T::Numbers::default();
        found.search(graph, root, &mut parents)?;
        found.find(graph, parents.rows())?;
        found.add_up(weight)?;
        Some(found)
    }

    /// Numbers the nodes by a search in depth. `parents` becomes the number from which each was reached.
    fn search(&mut self, graph: &Graph<T::Numbers>, root: u32, parents: &mut T::Numbers) -> Option<()> {
        let mut cursors = T::Numbers::default();
        let (mut at, mut count) = (0, 1);
        set(self.numbers.rows_mut(), root, 0);
        let mut has_room = self.nodes.push(root) && parents.push(0) && cursors.push(0);
        while has_room {
            let targets = graph.targets(get(self.nodes.rows(), at));
            let cursor = get(cursors.rows(), at);
            let Some(target) = targets.get(cursor as usize) else {
                if at == 0 {
                    break;
                }
                at = get(parents.rows(), at);
                continue;
            };
            set(cursors.rows_mut(), at, cursor + 1);
            if get(self.numbers.rows(), *target) == NONE {
                set(self.numbers.rows_mut(), *target, count);
                has_room = self.nodes.push(*target) && parents.push(at) && cursors.push(0);
                at = count;
                count += 1;
            }
        }
        has_room.then_some(())
    }

    /// Finds the immediate dominators.
    fn find(&mut self, graph: &Graph<T::Numbers>, parents: &[u32]) -> Option<()> {
        let count = parents.len() as u32;
        let (firsts, sources) = self.sources(graph)?;
        let (firsts, sources) = (firsts.rows(), sources.rows());
        let mut forest = Forest::<T>::new(parents)?;
        let mut semi = filled::<_, T::Numbers>(parents.len(), 0)?;
        for number in (1..count).rev() {
            let mut best = get(parents, number);
            let range = get(firsts, number) as usize..get(firsts, number + 1) as usize;
            for source in sources.get(range).unwrap_or(&[]) {
                let candidate = if *source <= number { *source } else { forest.best(*source, number + 1) };
                best = best.min(candidate);
            }
            set(semi.rows_mut(), number, best);
            set(forest.best.rows_mut(), number, best);
        }
        for number in 0..count {
            let mut dominator = get(parents, number);
            while dominator > get(semi.rows(), number) {
                dominator = get(self.immediate.rows(), dominator);
            }
            if !self.immediate.push(dominator) {
                return Option::None;
            }
        }
        Some(())
    }

    /// Returns the numbers that refer to each number, with the index of the first for each.
    fn sources(&self, graph: &Graph<T::Numbers>) -> Option<(T::Numbers, T::Numbers)> {
        let (nodes, numbers_of) = (self.nodes.rows(), self.numbers.rows());
        let mut firsts = filled::<_, T::Numbers>(nodes.len() + 2, 0)?;
        let mut all = 0;
        // Two rows further, so that filling leaves each first where it belongs.
        for node in nodes {
            for target in graph.targets(*node) {
                let place = get(numbers_of, *target) + 2;
                let count = get(firsts.rows(), place) + 1;
                set(firsts.rows_mut(), place, count);
                all += 1;
            }
        }
        let mut sum = 0;
        for first in firsts.rows_mut() {
            sum += *first;
            *first = sum;
        }
        let mut sources = filled::<_, T::Numbers>(all, 0)?;
        for (number, node) in nodes.iter().enumerate() {
            for target in graph.targets(*node) {
                let place = get(numbers_of, *target) + 1;
                let next = get(firsts.rows(), place);
                set(sources.rows_mut(), next, number as u32);
                set(firsts.rows_mut(), place, next + 1);
            }
        }
        Some((firsts, sources))
    }

    /// Adds up what each retains.
    fn add_up(&mut self, weight: impl Fn(u32) -> u64) -> Option<()> {
        self.retained = filled(self.nodes.count(), 0)?;
        let retained = self.retained.rows_mut();
        for number in (0..self.nodes.count()).rev() {
            let own = self.nodes.rows().get(number).map_or(0, |node| weight(*node));
            let Some(sum) = retained.get_mut(number) else { continue };
            *sum += own;
            let sum = *sum;
            let dominator = get(self.immediate.rows(), number as u32) as usize;
            if let Some(place) = retained.get_mut(dominator).filter(|_| number > 0) {
                *place += sum;
            }
        }
        Some(())
    }

    /// Returns the number of a node, if it is reached.
    #[must_use]
    pub fn number(&self, node: u32) -> Option<u32> {
        self.numbers.rows().get(node as usize).copied().filter(|number| *number != NONE)
    }

    /// Returns the bytes that a node retains.
    #[must_use]
    pub fn retained_by(&self, node: u32) -> u64 {
        let place = self.number(node).and_then(|number| self.retained.rows().get(number as usize));
        place.copied().unwrap_or(0)
    }

    /// Returns the node that immediately dominates a node; the root for what no object dominates.
    #[must_use]
    pub fn dominator(&self, node: u32) -> Option<u32> {
        let number = self.immediate.rows().get(self.number(node)? as usize)?;
        self.nodes.rows().get(*number as usize).copied()
    }
}

/// The numbers that the loop above has finished, as trees whose paths are shortened when they are followed.
struct Forest<T: TableKinds> {
    ancestors: T::Numbers,
    /// The smallest semi-dominator between a number and its ancestor.
    best: T::Numbers,
    path: T::Numbers,
}

impl<T: TableKinds> Forest<T> {
    fn new(parents: &[u32]) -> Option<Self> {
        let mut ancestors = T::Numbers::default();
        let has_room = parents.iter().all(|parent| ancestors.push(*parent));
        has_room.then_some(())?;
        Some(Self { ancestors, best: filled(parents.len(), 0)?, path: filled(parents.len(), 0)? })
    }

    /// Returns the smallest semi-dominator from a number up to the last one that is at least `finished`.
    fn best(&mut self, number: u32, finished: u32) -> u32 {
        let (ancestors, best, path) = (self.ancestors.rows_mut(), self.best.rows_mut(), self.path.rows_mut());
        let (mut at, mut length) = (number, 0);
        while get(ancestors, at) >= finished {
            set(path, length, at);
            length += 1;
            at = get(ancestors, at);
        }
        let mut above = at;
        for place in (0..length).rev() {
            let below = get(path, place);
            set(ancestors, below, get(ancestors, above));
            set(best, below, get(best, below).min(get(best, above)));
            above = below;
        }
        get(best, number)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::graph::tests::{graph, Vecs};
    use super::*;
    use crate::rng;
    use ::std::vec::Vec;
    use ::std::{assert_eq, vec};

    /// Returns which nodes are reached if one of them is removed.
    fn reached(nodes: &[Vec<u32>], without: u32) -> Vec<bool> {
        let mut seen = vec![false; nodes.len()];
        let mut queue = vec![0];
        while let Some(node) = queue.pop() {
            if node == without || ::core::mem::replace(&mut seen[node as usize], true) {
                continue;
            }
            queue.extend(&nodes[node as usize]);
        }
        seen
    }

    #[test]
    fn finds_what_goes_when_a_node_is_removed() {
        for seed in 1..=300_u64 {
            let mut random = seed;
            let mut below = |bound: u64| {
                random = rng::after(random);
                (random >> 16) as u32 % bound as u32
            };
            let count = 2 + below(40);
            let node = |below: &mut dyn FnMut(u64) -> u32| -> Vec<u32> {
                (0..below(4)).map(|_| below(u64::from(count))).collect()
            };
            let nodes: Vec<Vec<u32>> = (0..count).map(|_| node(&mut below)).collect();
            let slices: Vec<&[u32]> = nodes.iter().map(|it| &**it).collect();
            let weight = |node: u32| u64::from(node) + 1;
            let found = Dominators::<Vecs>::new(&graph(&slices), 0, weight).unwrap();
            let all = reached(&nodes, NONE);
            for node in 0..count {
                let without = reached(&nodes, node);
                let lost = (0..count).filter(|it| all[*it as usize] && !without[*it as usize]);
                let expected: u64 = if all[node as usize] { lost.map(weight).sum() } else { 0 };
                assert_eq!(found.retained_by(node), expected, "seed {seed}, node {node}: {nodes:?}");
            }
        }
    }

    #[test]
    fn names_the_immediate_dominator() {
        let graph = graph(&[&[1, 2], &[3], &[3], &[4], &[3], &[0]]);
        let found = Dominators::<Vecs>::new(&graph, 0, |_| 1).unwrap();
        assert_eq!(
            [1, 2, 3, 4, 5].map(|node| found.dominator(node)),
            [Some(0), Some(0), Some(0), Some(3), Option::None]
        );
    }
}
