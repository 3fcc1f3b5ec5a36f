//! The stacks of a generation: a tree of frames in which parents always come before their children.
//!
//! A stack is one number, the node of its leaf; its callers are that node's ancestors. Consecutive stacks of
//! a thread share most of their frames, from the root on. So each stack is first compared with the thread's
//! previous one, and only the frames that differ are looked up in the tree. If many differ, the whole raw
//! stack is looked up. Each handle is kept once, as the GC has to mark it and the VM has to name it.
//!
//! The tree has at most half a million nodes. A stack that comes later keeps the part that is known, and the
//! rest becomes `(other)`.

use hashbrown::HashTable;

use crate::ids::{FrameId, FunctionId, Interner, StackId};
use crate::profile::{Frame, Node};
use crate::record::frame::{is_of_vm, RawFrame, Synthetic};
use crate::record::object_class::Class;
use crate::record::RawRecord;
use crate::tables::recent_stack::RecentStack;

/// A frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RawNode {
    /// The caller's node, which has a smaller id; `None` at the root.
    parent: Option<StackId>,
    /// The frame at the leaf end of this stack.
    frame: RawFrame,
}

/// The interned stacks of a generation.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    handles: Interner<u64, FunctionId>,
    nodes: Interner<RawNode, StackId>,
    /// The classes of the objects allocated there.
    classes: Interner<u64, FunctionId>,
    /// The handles of functions and classes that the VM knows, in the order in which they came.
    of_vm: Vec<u64>,
    /// The whole raw stacks, by the hash of their words. Equality is checked along the tree, so the raw
    /// stacks need not be kept.
    by_hash: HashTable<(u64, StackId)>,
    /// The most recent stacks of some threads.
    recent: [RecentStack; RECENT],
    /// The number of records whose stacks came when there were too many.
    refused: u64,
    /// The stack that [`Stacks::intern_frames`] added last, root first. The next one mostly begins with the
    /// same frames.
    last: Vec<(RawFrame, StackId)>,
}

/// The number of threads whose last stack is kept; others take their place.
const RECENT: usize = 8;
/// The number of frames that are walked through the tree before the whole stack is looked up, which has to
/// hash all of its words.
const WALKED: usize = 16;

/// The maximum number of nodes of the tree, which take about 16 MB. Random recursion creates thousands in a
/// second.
pub(crate) const MAX_NODES: usize = 1 << 19;
/// The maximum number of nodes, including those of [`Synthetic::Other`].
const MAX_WITH_OTHERS: usize = MAX_NODES + MAX_NODES / 4;

impl Stacks {
    /// Returns the id of the stack of `record`, or `None` if it has no frame. Once the tree is full, a new
    /// stack keeps its known part, from the root on, and the rest becomes [`Synthetic::Other`].
    pub fn intern(&mut self, record: &RawRecord<'_>) -> Option<StackId> {
        let slot = record.header.thread.0 as usize % RECENT;
        let mut recent = self.recent.get_mut(slot).map(std::mem::take).unwrap_or_default();
        let stack = self.intern_after(&mut recent, record.words());
        if let Some(kept) = self.recent.get_mut(slot) {
            *kept = recent;
        }
        stack
    }

    fn intern_after(&mut self, recent: &mut RecentStack, words: &[u64]) -> Option<StackId> {
        let shared = recent.shared(words);
        let base = recent.node(shared);
        let new = words.get(..words.len() - shared)?;
        if new.is_empty() {
            return base;
        }
        if new.len() <= WALKED {
            return self.walk(recent, shared, words);
        }
        let hash = hash_words(words);
        let same = |&(other_hash, stack): &(u64, StackId)| other_hash == hash && self.is(stack, new, base);
        if let Some(&(_, stack)) = self.by_hash.find(hash, same) {
            return Some(stack);
        }
        let refused = self.refused;
        let stack = self.walk(recent, shared, words)?;
        if self.refused == refused {
            self.by_hash.insert_unique(hash, (hash, stack), |&(hash, _)| hash);
        }
        Some(stack)
    }

    /// Adds the frames that `words` does not share with `recent` to the tree, and keeps `words` as the
    /// thread's most recent stack.
    fn walk(&mut self, recent: &mut RecentStack, shared: usize, words: &[u64]) -> Option<StackId> {
        let mut parent = recent.replace_by(words, shared);
        for word in words.iter().rev().skip(shared) {
            let node = RawNode { parent, frame: RawFrame::from_word(*word) };
            if self.nodes() >= MAX_NODES && self.nodes.find(&node).is_none() {
                *recent = RecentStack::default();
                return Some(self.intern_other(parent));
            }
            let stack = self.intern_node(node);
            recent.push(stack);
            parent = Some(stack);
        }
        parent
    }

    /// Returns the stack for all callees of `parent` that have no place in the tree.
    fn intern_other(&mut self, parent: Option<StackId>) -> StackId {
        self.refused += 1;
        let node = RawNode { parent, frame: Synthetic::Other.frame() };
        let has_place = self.nodes() < MAX_WITH_OTHERS || self.nodes.find(&node).is_some();
        self.intern_node(if has_place { node } else { RawNode { parent: None, ..node } })
    }

    /// Returns the number of records whose stacks were cut because there were too many.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Returns the id of the stack made of `frames`, root first, or `None` if there are no frames.
    pub fn intern_frames(&mut self, frames: impl Iterator<Item = RawFrame>) -> Option<StackId> {
        let mut known = 0;
        let mut parent = None;
        for frame in frames {
            match self.last.get(known) {
                Some(&(same, stack)) if same == frame => parent = Some(stack),
                _ => {
                    self.last.truncate(known);
                    let stack = self.intern_node(RawNode { parent, frame });
                    self.last.push((frame, stack));
                    parent = Some(stack);
                }
            }
            known += 1;
        }
        self.last.truncate(known);
        parent
    }

    /// Copies a stack of `other`. Returns its id here and its number of frames.
    pub(crate) fn copy(&mut self, other: &Self, stack: StackId) -> (StackId, usize) {
        let mut frames: Vec<RawFrame> = other.frames_of(stack).collect();
        frames.reverse();
        let depth = frames.len();
        (self.intern_frames(frames.into_iter()).unwrap_or(StackId(0)), depth)
    }

    /// Copies a stack of `other` with the handles that `new` returns for its own. Returns `None` if it has none
    /// for one of them.
    pub(crate) fn copy_as(
        &mut self,
        other: &Self,
        stack: StackId,
        mut new: impl FnMut(u64) -> Option<u64>,
    ) -> Option<StackId> {
        let renamed = |it: RawFrame| Some(RawFrame::new(new(it.handle())?, it.line() as i32));
        let mut frames: Vec<RawFrame> = other.frames_of(stack).map(renamed).collect::<Option<_>>()?;
        frames.reverse();
        self.intern_frames(frames.into_iter())
    }

    fn intern_node(&mut self, node: RawNode) -> StackId {
        let nodes = self.nodes();
        let stack = self.nodes.intern(node);
        if self.nodes() > nodes {
            let (known, handle) = (self.handles.rows().len(), node.frame.handle());
            let _: FunctionId = self.handles.intern(handle);
            if self.handles.rows().len() > known && is_of_vm(handle) {
                self.of_vm.push(handle);
            }
        }
        stack
    }

    /// Returns every handle once; a frame's [`FunctionId`] is an index in this slice.
    #[must_use]
    pub fn handles(&self) -> &[u64] {
        self.handles.rows()
    }

    /// Adds a class, which is kept as handles are.
    pub fn note_class(&mut self, class: Class) {
        if let Some(handle) = class.handle().filter(|it| self.classes.find(it).is_none()) {
            let _: FunctionId = self.classes.intern(handle);
            self.of_vm.push(handle);
        }
    }

    /// Returns the handles of functions and classes that the VM knows, each once, in the order in which they
    /// came.
    #[must_use]
    pub fn of_vm(&self) -> &[u64] {
        &self.of_vm
    }

    /// Returns the handles of all classes, each once.
    #[must_use]
    pub fn classes(&self) -> &[u64] {
        self.classes.rows()
    }

    /// Returns the number of nodes of the tree.
    #[must_use]
    pub fn nodes(&self) -> usize {
        self.nodes.rows().len()
    }

    /// Iterates over the frames of a stack, leaf first.
    pub fn frames_of(&self, stack: StackId) -> impl Iterator<Item = RawFrame> + '_ {
        let node = |id: StackId| self.nodes.get(id);
        std::iter::successors(node(stack), move |it| it.parent.and_then(node)).map(|it| it.frame)
    }

    /// Converts the stacks to handles, frames and nodes, by id.
    #[must_use]
    pub fn into_tables(mut self) -> (Vec<u64>, Vec<Frame>, Vec<Node>) {
        let mut frames: Interner<Frame, FrameId> = Interner::default();
        let mut node = |raw: RawNode| {
            let frame = Frame { function: self.handles.intern(raw.frame.handle()), line: raw.frame.line() };
            Node { parent: raw.parent, frame: frames.intern(frame) }
        };
        let nodes = self.nodes.into_rows().into_iter().map(&mut node).collect();
        (self.handles.into_rows(), frames.into_rows(), nodes)
    }

    /// Returns whether `stack` consists of the frames `new`, leaf first, on top of `base`.
    fn is(&self, stack: StackId, new: &[u64], base: Option<StackId>) -> bool {
        let mut at = Some(stack);
        for word in new {
            let Some(node) = at.and_then(|id| self.nodes.get(id)) else { return false };
            if node.frame.word() != *word {
                return false;
            }
            at = node.parent;
        }
        at == base
    }
}

/// Hashes words that differ mostly in the middle bits. Runs four chains side by side, because each step of a
/// chain waits for the step before.
fn hash_words(words: &[u64]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 / golden ratio: odd, with bits everywhere
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let (fours, rest) = words.split_at(words.len() / 4 * 4);
    let mut lanes = [1u64, 2, 3, 4];
    for four in fours.chunks_exact(4) {
        for (lane, word) in lanes.iter_mut().zip(four) {
            *lane = mix(*lane, *word);
        }
    }
    lanes.iter().chain(rest).fold(words.len() as u64, |hash, word| mix(hash, *word))
}

#[cfg(all(test, not(loom)))]
mod tests;
