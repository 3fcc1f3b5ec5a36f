//! Why objects are alive: what refers to those of a class, or to the largest of all, and how much they
//! retain.
//!
//! It runs in a copy of the process, after the census. The result is a [`WhyReport`], which two processes
//! share.

use ::core::matches; // not in the prelude of Rust 1.85
use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

use super::census::CensusInput;
use super::dominators::Dominators;
use super::graph::{filled, slot_at, Graph, Places, Root, Roots, TableKinds, Vm};
use super::index::{Index, Table};
use super::owners::{number, Owners, NOBODY};
use super::pages::{Memory, Source};
use super::paths::{NodeKind, PathStart, Paths};
use super::slots::{HeapSlot, Turn, CLASS, DATA, MODULE};
use super::why_report::{HolderGroup, Step, WhyReport, AT_MODULE, GROUPS, STEPS};

/// The largest number of classes, from the object on, that distinguish the group of a path.
const CHAIN: usize = 12;
/// The largest number of steps of a path that are searched for these classes.
const MAX_CHAIN_STEPS: usize = 200;
/// The smallest share of all bytes, in percent, that an object must retain to be listed among the largest.
const MIN_SHARE: u64 = 1;
/// An object is not listed if one below it retains at least this share of the object's bytes, in percent.
const MAX_SHARE_BELOW: u64 = 80;

/// The objects that the question is about.
#[derive(Clone, Copy, Debug, Default)]
pub struct Question<'tables> {
    /// The addresses of classes; empty for the objects that retain most.
    pub classes: &'tables [u64],
    /// The class Object.
    pub object: u64,
    /// The classes Thread and Fiber.
    pub stacks: [u64; 2],
}

/// All that is known about the objects.
struct Objects<'tables, 'memory, T: TableKinds, M> {
    memory: &'tables Memory<'memory, M>,
    facts: &'tables CensusInput<'tables>,
    question: Question<'tables>,
    places: Places<'tables, T::Numbers>,
}

/// Answers the question. `None` if there is no room; the report is not whole then.
pub fn explain<T: TableKinds, M: Source>(
    memory: &Memory<'_, M>,
    facts: &CensusInput<'_>,
    index: Index<'_>,
    question: Question<'_>,
    vm: &mut impl Vm,
    report: &mut WhyReport,
) -> Option<()> {
    let places = Places::new(facts.pages, T::Numbers::default())?;
    let objects = Objects::<T, M> { memory, facts, question, places };
    let mut weights = objects.weights(index, report)?;
    let mut graph = objects.graph(vm, report)?;
    let roots = objects.roots(vm, &mut graph)?;
    report.references = graph.references() as u64;
    let top = objects.places.count();
    let weight = |node: u32| weights.rows().get(node as usize).copied().unwrap_or(0);
    let dominators = Dominators::<T>::new(&graph, top, weight)?;
    let object = objects.places.find(question.object)?;
    let paths = Paths::<T>::new(&graph, &roots, object, |node| objects.kind(node))?;
    // The weights are no longer needed: the table says from here on what is inside of another object.
    weights.rows_mut().iter_mut().for_each(|row| *row = 0);
    if question.classes.is_empty() {
        objects.group_largest(&dominators, weights.rows_mut(), report);
    } else {
        objects.group(&dominators, &paths, weights.rows_mut(), report);
    }
    for place in 0..GROUPS {
        if let Some(group) = report.groups.get_mut(place).filter(|group| group.count > 0) {
            objects.write_path(&dominators, &paths, group);
        }
    }
    report.is_whole = 1;
    Some(())
}

impl<T: TableKinds, M: Source> Objects<'_, '_, T, M> {
    fn slot(&self, node: u32) -> Option<HeapSlot> {
        slot_at(self.memory, self.places.slot(node)?.0)
    }

    /// Returns the class of an object, skipping singleton classes.
    fn real_class(&self, slot: &HeapSlot) -> u64 {
        let classes = self.facts.classes;
        let place = classes.binary_search_by_key(&slot.class, |it| it.0).ok();
        place.and_then(|place| classes.get(place)).map_or(0, |it| it.1)
    }

    /// Returns what a node is to the search for paths.
    fn kind(&self, node: u32) -> NodeKind {
        let Some((address, _)) = self.places.slot(node) else { return NodeKind::Internal };
        let Some(slot) = slot_at(self.memory, address) else { return NodeKind::Internal };
        if !slot.is_visible() {
            return NodeKind::Internal;
        }
        match slot.kind {
            MODULE => NodeKind::Module,
            CLASS => {
                let classes = self.facts.classes;
                let place = classes.binary_search_by_key(&address, |it| it.0).ok();
                let is_real = place.and_then(|place| classes.get(place)).is_some_and(|it| it.0 == it.1);
                if is_real {
                    NodeKind::Module
                } else {
                    NodeKind::Visible
                }
            }
            DATA if self.question.stacks.contains(&self.real_class(&slot)) => NodeKind::Stack,
            _ => NodeKind::Visible,
        }
    }

    /// Gives chunks to the objects that refer to them, and have their turn.
    fn adopt(&self, turn: Turn, owners: &mut Owners<'_>) {
        let word_at = |address: u64| self.memory.word(address);
        let is_in_library = |address| self.facts.is_in_library(self.memory, address);
        self.places.each(self.memory, |node, address, bytes, slot| {
            let third = word_at(address + 16).unwrap_or(0);
            let Some(slot) = slot.filter(|slot| slot.turn(third, is_in_library) == turn) else { return };
            let words = slot.references((bytes / 8) as usize) as u64;
            (0..words).filter_map(|word| word_at(address + 16 + word * 8)).for_each(|word| {
                owners.adopt(word, node + 1, slot.contents());
            });
        });
    }

    /// Returns the bytes of each object: its slot, and the memory of malloc that it has.
    fn weights(&self, index: Index<'_>, report: &mut WhyReport) -> Option<T::Sums> {
        let chunks = index.chunks();
        let (mut owners, mut queue) =
            (filled::<_, T::Numbers>(chunks.len(), NOBODY)?, filled::<_, T::Numbers>(chunks.len(), 0)?);
        let mut found = Owners::new(index, owners.rows_mut(), queue.rows_mut());
        for turns in Turn::ALL {
            turns.iter().for_each(|turn| self.adopt(*turn, &mut found));
            found.propagate(self.memory);
        }
        let mut weights = filled::<_, T::Sums>(self.places.count() as usize + 1, 0)?;
        let mut add = |node: u32, bytes: u64| {
            if let Some(weight) = weights.rows_mut().get_mut(node as usize) {
                *weight += bytes;
                report.bytes += bytes;
            }
        };
        self.places.each(self.memory, |node, _, bytes, slot| {
            if slot.is_some() {
                add(node, bytes);
            }
        });
        for (chunk, owner) in chunks.iter().zip(owners.rows()) {
            if let Some(node) = number(*owner).checked_sub(1) {
                add(node, self.memory.resident(chunk.at, chunk.end()));
            }
        }
        Some(weights)
    }

    /// Asks the VM for the references of all objects.
    fn graph(&self, vm: &mut impl Vm, report: &mut WhyReport) -> Option<Graph<T::Numbers>> {
        let mut graph = Graph::new(T::Numbers::default(), T::Numbers::default());
        let mut has_room = true;
        self.places.each(self.memory, |_, address, _, slot| {
            has_room &= graph.node(|targets| {
                if slot.is_some() {
                    report.objects += 1;
                    vm.references(address, &mut |target| {
                        if let Some(target) = self.places.find(target) {
                            has_room &= targets.push(target);
                        }
                    });
                }
            });
        });
        has_room.then_some(graph)
    }

    /// Asks the VM for its own references, which become those of the last node.
    fn roots(&self, vm: &mut impl Vm, graph: &mut Graph<T::Numbers>) -> Option<Roots<T::Numbers>> {
        let mut roots = Roots { categories: T::Numbers::default(), nodes: T::Numbers::default() };
        let mut has_room = true;
        has_room &= graph.node(|targets| {
            vm.roots(&mut |root, target| {
                if let Some(target) = self.places.find(target) {
                    has_room &= targets.push(target);
                    has_room &= roots.categories.push(root as u32) && roots.nodes.push(target);
                }
            });
        });
        has_room.then_some(roots)
    }

    /// Groups the objects of the wanted classes by the classes on their paths.
    fn group(
        &self,
        dominators: &Dominators<T>,
        paths: &Paths<T>,
        inside: &mut [u64],
        report: &mut WhyReport,
    ) {
        let is_wanted = |node: u32| {
            self.slot(node).is_some_and(|slot| {
                slot.is_visible() && self.question.classes.contains(&self.real_class(&slot))
            })
        };
        // The dominator of a number comes before it.
        for place in 0..dominators.nodes.count() {
            let Some(node) = dominators.nodes.rows().get(place).copied() else { continue };
            let Some(dominator) = dominators.dominator(node).filter(|_| place > 0) else { continue };
            let is_inside = inside.get(dominator as usize).is_some_and(|it| *it != 0);
            let wanted = is_wanted(node);
            if let Some(row) = inside.get_mut(node as usize) {
                *row = u64::from(is_inside || wanted);
            }
            if wanted {
                let retained = dominators.retained_by(node);
                report.count += 1;
                report.retained += if is_inside { 0 } else { retained };
                report.add(self.reason(paths, node), node, retained, is_inside);
            }
        }
    }

    /// Returns a hash of the classes on the path of an object, each once, and of where it begins.
    fn reason(&self, paths: &Paths<T>, node: u32) -> u64 {
        let mut seen = [0; CHAIN];
        let (mut count, mut at, mut hash) = (0, node, 17_u64);
        let mut mix = |word: u64| hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        for _ in 0..MAX_CHAIN_STEPS {
            match paths.step(at) {
                Some(PathStart::From(next)) => at = next,
                Some(PathStart::Module) => {
                    mix(u64::from(at));
                    break;
                }
                Some(PathStart::Root(root)) => {
                    mix(u64::MAX - root as u64);
                    break;
                }
                None => break,
            }
            let key = self.slot(at).map_or(0, |slot| self.key(&slot));
            if count < CHAIN && !seen.contains(&key) {
                if let Some(place) = seen.get_mut(count) {
                    *place = key;
                }
                count += 1;
                mix(key);
            }
        }
        hash
    }

    /// Lists the objects that retain most, each as a group.
    fn group_largest(&self, dominators: &Dominators<T>, below: &mut [u64], report: &mut WhyReport) {
        let all = dominators.retained.rows().first().copied().unwrap_or(0);
        // A number comes after its dominator.
        for place in (1..dominators.nodes.count()).rev() {
            let Some(node) = dominators.nodes.rows().get(place).copied() else { continue };
            let retained = dominators.retained_by(node);
            let largest_below = below.get(node as usize).copied().unwrap_or(0);
            if let Some(row) = dominators.dominator(node).and_then(|it| below.get_mut(it as usize)) {
                *row = (*row).max(retained);
            }
            let is_large = retained.saturating_mul(100) >= all.saturating_mul(MIN_SHARE);
            let is_last = largest_below.saturating_mul(100) < retained.saturating_mul(MAX_SHARE_BELOW);
            let is_data = matches!(self.kind(node), NodeKind::Visible | NodeKind::Stack);
            if is_large && is_last && is_data {
                report.count += 1;
                report.add(u64::from(node).wrapping_mul(0x9e37_79b9_7f4a_7c15), node, retained, false);
            }
        }
    }

    fn key(&self, slot: &HeapSlot) -> u64 {
        super::census::key_of(slot, self.facts.classes)
    }

    /// Writes the path of the group's example.
    fn write_path(&self, dominators: &Dominators<T>, paths: &Paths<T>, group: &mut HolderGroup) {
        const HALF: usize = STEPS / 2;
        let mut length = 1;
        let mut at = group.example as u32;
        loop {
            match paths.step(at) {
                Some(PathStart::From(next)) => (at, length) = (next, length + 1),
                Some(PathStart::Module) => {
                    group.root = AT_MODULE;
                    break;
                }
                Some(PathStart::Root(root)) => {
                    group.root = root as u64;
                    break;
                }
                None => {
                    group.root = Root::Vm as u64;
                    break;
                }
            }
        }
        group.length = length as u64;
        at = group.example as u32;
        let mut dominator = Some(at);
        for place in 0..length {
            let is_dominator = dominator == Some(at);
            if is_dominator {
                dominator = dominators.dominator(at);
            }
            let kept = if place < HALF || length <= STEPS {
                Some(place)
            } else {
                (STEPS + place).checked_sub(length)
            };
            let step = kept.filter(|kept| place < HALF || length <= STEPS || *kept >= HALF);
            if let Some(step) = step.and_then(|kept| group.steps.get_mut(kept)) {
                *step = self.step(dominators, at, is_dominator);
            }
            match paths.step(at) {
                Some(PathStart::From(next)) => at = next,
                _ => break,
            }
        }
    }

    fn step(&self, dominators: &Dominators<T>, node: u32, is_dominator: bool) -> Step {
        let (address, _) = self.places.slot(node).unwrap_or_default();
        Step {
            address,
            flags: self.memory.word(address).unwrap_or(0),
            class: self.memory.word(address + 8).unwrap_or(0),
            key: self.slot(node).map_or(0, |slot| self.key(&slot)),
            retained: dominators.retained_by(node),
            is_dominator: u64::from(is_dominator),
        }
    }
}
