//! A path to each object from what people know by name: a module, a global variable, a thread.
//!
//! It runs in a copy of the process, in tables that its caller makes. The path of an object is one of the
//! shortest, but one through objects of Ruby code comes before one through the VM's own, and that before one
//! through the stack of a thread or fiber.

use ::core::matches; // not in the prelude of Rust 1.85
use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

use super::graph::{filled, Graph, Root, Roots, TableKinds};
use super::index::Table;

/// The kind of a node, as far as the search is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeKind {
    /// A class that is not a singleton class, or a module.
    Module,
    /// Any other object that Ruby code can see.
    Visible,
    /// An object of the VM's own.
    Internal,
    /// A thread or fiber, with its stack.
    Stack,
}

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathStart {
    /// At another node.
    From(u32),
    /// With this node, a module.
    Module,
    /// With this node, to which the VM refers.
    Root(Root),
}

const UNREACHED: u32 = u32::MAX;
const MODULE: u32 = u32::MAX - 1;
const ROOTS: u32 = u32::MAX - 16;
/// The queues: visible objects, internal ones, stacks.
const QUEUES: usize = 3;

/// The paths to all nodes.
pub struct Paths<T: TableKinds> {
    from: T::Numbers,
}

impl<T: TableKinds> Paths<T> {
    /// Finds the paths. `kind` returns what a node is; `top` is the class Object, from which modules are
    /// named. `None` if there is no room.
    pub fn new(
        graph: &Graph<T::Numbers>,
        roots: &Roots<T::Numbers>,
        top: u32,
        kind: impl Fn(u32) -> NodeKind,
    ) -> Option<Self> {
        let mut search = Search::<T> {
            from: filled(graph.count(), UNREACHED)?,
            queues: [T::Numbers::default(), T::Numbers::default(), T::Numbers::default()],
            next: [0; QUEUES],
            has_room: true,
        };
        search.add_modules(graph, top, &kind);
        for root in Root::ALL {
            let (categories, nodes) = (roots.categories.rows(), roots.nodes.rows());
            for (category, node) in categories.iter().zip(nodes) {
                if *category == root as u32 {
                    search.reach(*node, ROOTS + root as u32, kind(*node));
                }
            }
            // The stacks of threads come after all else.
            let queues = if matches!(root, Root::Vm | Root::Stack) { QUEUES } else { QUEUES - 1 };
            if root != Root::Global {
                search.drain(graph, queues, &kind);
            }
        }
        search.has_room.then_some(Self { from: search.from })
    }

    /// Returns how the search came to a node. `None` if it did not.
    #[must_use]
    pub fn step(&self, node: u32) -> Option<PathStart> {
        match *self.from.rows().get(node as usize)? {
            UNREACHED => None,
            MODULE => Some(PathStart::Module),
            number if number >= ROOTS => {
                Root::ALL.get((number - ROOTS) as usize).map(|root| PathStart::Root(*root))
            }
            number => Some(PathStart::From(number)),
        }
    }
}

struct Search<T: TableKinds> {
    from: T::Numbers,
    queues: [T::Numbers; QUEUES],
    next: [usize; QUEUES],
    has_room: bool,
}

impl<T: TableKinds> Search<T> {
    /// Reaches a node from another, if it is the first to do so.
    fn reach(&mut self, node: u32, from: u32, kind: NodeKind) {
        let queue = match kind {
            NodeKind::Module | NodeKind::Visible => 0,
            NodeKind::Internal => 1,
            NodeKind::Stack => 2,
        };
        if let Some(place @ &mut UNREACHED) = self.from.rows_mut().get_mut(node as usize) {
            *place = from;
            self.has_room &= self.queues.get_mut(queue).is_some_and(|queue| queue.push(node));
        }
    }

    /// Begins at all modules that have a name: those to which modules refer, from Object on.
    fn add_modules(&mut self, graph: &Graph<T::Numbers>, top: u32, kind: &impl Fn(u32) -> NodeKind) {
        self.reach(top, MODULE, NodeKind::Module);
        let mut next = 0;
        while let Some(module) = self.queues.first().and_then(|queue| queue.rows().get(next)).copied() {
            next += 1;
            for target in graph.targets(module) {
                if kind(*target) == NodeKind::Module {
                    self.reach(*target, MODULE, NodeKind::Module);
                }
            }
        }
    }

    /// Follows the references of what is in the first of the queues, and of what that reaches.
    fn drain(&mut self, graph: &Graph<T::Numbers>, queues: usize, kind: &impl Fn(u32) -> NodeKind) {
        loop {
            let first = (0..queues).find(|queue| {
                let rows = self.queues.get(*queue).map_or(0, T::Numbers::count);
                self.next.get(*queue).is_some_and(|next| *next < rows)
            });
            let Some(queue) = first else { return };
            let Some(next) = self.next.get_mut(queue) else { return };
            let place = *next;
            *next += 1;
            let Some(node) = self.queues.get(queue).and_then(|queue| queue.rows().get(place)).copied() else {
                return;
            };
            for target in graph.targets(node) {
                self.reach(*target, node, kind(*target));
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::graph::tests::{graph, Vecs};
    use super::*;
    use ::std::{assert_eq, vec};

    #[test]
    fn prefers_what_people_know_by_name() {
        // Object (0) refers to a module (1), which holds 2. An internal object (3) and the long way by 8 lead
        // to 4. The stack of a thread (5) holds 6. A global variable holds 7.
        let graph =
            graph(&[&[1, 3], &[2, 3], &[8], &[4], &[], &[6, 7, 2], &[], &[], &[4], &[], &[0, 5, 7, 9]]);
        let kind = |node: u32| match node {
            0 | 1 => NodeKind::Module,
            3 => NodeKind::Internal,
            5 => NodeKind::Stack,
            _ => NodeKind::Visible,
        };
        let categories = [Root::Vm, Root::Vm, Root::Global, Root::Stack].map(|root| root as u32).to_vec();
        let roots = Roots { categories, nodes: vec![0, 5, 7, 9] };
        let paths = Paths::<Vecs>::new(&graph, &roots, 0, kind).unwrap();
        let steps: vec::Vec<_> = (0..11).map(|node| paths.step(node)).collect();
        let from = |node| Some(PathStart::From(node));
        assert_eq!(
            steps,
            [
                Some(PathStart::Module),
                Some(PathStart::Module),
                from(1),
                from(0),
                from(8),
                Some(PathStart::Root(Root::Vm)),
                from(5),
                Some(PathStart::Root(Root::Global)),
                from(2),
                Some(PathStart::Root(Root::Stack)),
                None
            ]
        );
    }
}
