//! The stacks of an epoch: a tree of frames in which parents always come before their children.
//!
//! A stack is one number, the node of its leaf; its callers are that node's ancestors. Consecutive stacks of a thread share
//! most of their frames, from the root on. So each is first compared with the thread's last one, and only the frames that
//! differ are walked through the tree. Where many differ, the whole raw stack is looked up. Handles are kept once each: the
//! GC has to mark them, and the VM is asked to name them.

use hashbrown::HashTable;

use crate::ids::{FrameId, FunctionId, Interner, StackId};
use crate::pipeline::recent_stack::RecentStack;
use crate::profile::{Frame, Node};
use crate::record::frame::RawFrame;
use crate::record::object_class::Class;
use crate::record::RawRecord;

/// A frame and the stack that called it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct RawNode {
    /// The caller's node, which has a smaller id; nothing at the root.
    parent: Option<StackId>,
    /// The frame at the leaf end of this stack.
    frame: RawFrame,
}

/// The interned stacks of an epoch.
#[derive(Debug, Default)]
pub struct Stacks {
    handles: Interner<u64, FunctionId>,
    nodes: Interner<RawNode, StackId>,
    /// Classes of the objects that were allocated there.
    classes: Interner<u64, FunctionId>,
    /// Whole raw stacks, by the hash of their words. Equality is checked along the tree, so that
    /// nothing of the raw stack has to be kept.
    whole: HashTable<(u64, StackId)>,
    /// The last stacks of some threads.
    recent: [RecentStack; RECENT],
    /// The stack that [`Stacks::intern_frames`] put into the tree last, root first. The next one mostly begins like it.
    last: Vec<(RawFrame, StackId)>,
}

/// Threads whose last stack is kept; others take their place.
const RECENT: usize = 8;
/// Frames that are walked through the tree before the whole stack is looked up, as that hashes all of its words.
const WALKED: usize = 16;

impl Stacks {
    /// The id of the stack of `record`; nothing when it has no frame.
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
        let same = |&(its_hash, stack): &(u64, StackId)| its_hash == hash && self.is(stack, new, base);
        if let Some(&(_, stack)) = self.whole.find(hash, same) {
            return Some(stack);
        }
        let stack = self.walk(recent, shared, words)?;
        self.whole.insert_unique(hash, (hash, stack), |&(hash, _)| hash);
        Some(stack)
    }

    /// Puts the frames that `words` does not share with `recent` into the tree, and keeps it as the thread's last stack.
    fn walk(&mut self, recent: &mut RecentStack, shared: usize, words: &[u64]) -> Option<StackId> {
        let mut parent = recent.replace_by(words, shared);
        for word in words.iter().rev().skip(shared) {
            let stack = self.intern_node(RawNode { parent, frame: RawFrame::from_word(*word) });
            recent.push(stack);
            parent = Some(stack);
        }
        parent
    }

    /// The id of the stack made of `frames`, root first; nothing when there is none.
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

    fn intern_node(&mut self, node: RawNode) -> StackId {
        let nodes = self.nodes.rows().len();
        let stack = self.nodes.intern(node);
        if self.nodes.rows().len() > nodes {
            let _: FunctionId = self.handles.intern(node.frame.handle());
        }
        stack
    }

    /// Every handle, once each; a frame's [`FunctionId`] is a place here.
    #[must_use]
    pub fn handles(&self) -> &[u64] {
        self.handles.rows()
    }

    /// Notes a class: it is kept as handles are.
    pub fn note_class(&mut self, class: Class) {
        if let Some(handle) = class.handle() {
            let _: FunctionId = self.classes.intern(handle);
        }
    }

    /// The handles of all classes, once each.
    #[must_use]
    pub fn classes(&self) -> &[u64] {
        self.classes.rows()
    }

    /// The stack's frames, leaf first.
    pub fn frames_of(&self, stack: StackId) -> impl Iterator<Item = RawFrame> + '_ {
        let node = |id: StackId| self.nodes.get(id);
        std::iter::successors(node(stack), move |it| it.parent.and_then(node)).map(|it| it.frame)
    }

    /// Handles, frames and nodes, by id.
    #[must_use]
    pub fn into_tables(mut self) -> (Vec<u64>, Vec<Frame>, Vec<Node>) {
        let mut frames: Interner<Frame, FrameId> = Interner::default();
        let mut node = |it: RawNode| {
            let frame = Frame { function: self.handles.intern(it.frame.handle()), line: it.frame.line() };
            Node { parent: it.parent, frame: frames.intern(frame) }
        };
        let nodes = self.nodes.into_rows().into_iter().map(&mut node).collect();
        (self.handles.into_rows(), frames.into_rows(), nodes)
    }

    /// Whether `stack` is the frames `new`, leaf first, on top of `base`.
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

/// A hash for words of which most differ in the middle bits. Four chains side by side, as each step of
/// one waits for the step before.
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
mod tests {
    use super::*;
    use crate::ids::{Id, LabelSetId, ScopeId, ThreadId};
    use crate::record::ring::Ring;
    use crate::record::{push, Header, Kind, State, Walk, WallTimes};

    fn record(frames: &[(u64, i32)]) -> Vec<u64> {
        let ring = Ring::with_capacity(1024);
        let header = Header {
            thread: ThreadId(1),
            state: State::Running,
            labels: LabelSetId::NONE,
            scope: ScopeId::NONE,
            cpu_ns: 1,
            monotonic_ns: 1,
            born_cpu_ns: 0,
            walls: WallTimes::default(),
        };
        let (handles, lines): (Vec<u64>, Vec<i32>) = frames.iter().copied().unzip();
        push(&ring, Kind::Tick, &header, Walk { handles: &handles, lines: &lines, rootless: false }, 2048)
            .unwrap();
        let mut scratch = Vec::new();
        assert!(ring.pop(&mut scratch));
        scratch
    }

    fn intern(stacks: &mut Stacks, frames: &[(u64, i32)]) -> Option<StackId> {
        let words = record(frames);
        stacks.intern(&RawRecord::decode(&words).unwrap())
    }

    #[test]
    fn a_stack_is_one_number_and_its_callers_come_first() {
        let mut stacks = Stacks::default();
        let deep = intern(&mut stacks, &[(240, 3), (160, 2), (80, 1)]).unwrap();
        let other = intern(&mut stacks, &[(240, 4), (160, 2), (80, 1)]).unwrap();
        assert_ne!(deep, other, "another line is another frame");
        assert_eq!(intern(&mut stacks, &[(240, 3), (160, 2), (80, 1)]), Some(deep));

        assert_eq!(stacks.handles(), [80, 160, 240], "one handle each, whatever the lines");
        let (_, frames, nodes) = stacks.into_tables();
        assert_eq!(frames.len(), 4, "three functions, one of them on two lines");
        let parent = nodes[deep.index()].parent.unwrap();
        assert!(parent < deep);
        assert_eq!(nodes[other.index()].parent, Some(parent));
    }

    #[test]
    fn stacks_that_share_a_part_with_the_one_before_have_the_same_ids_as_in_any_other_order() {
        let mut word = 1_u64;
        let mut stacks = Stacks::default();
        let mut ids: std::collections::HashMap<Vec<(u64, i32)>, StackId> = std::collections::HashMap::new();
        let mut frames: Vec<(u64, i32)> = Vec::new(); // root first
        for _ in 0..2_000 {
            word = crate::rng::after(word);
            frames.truncate((word >> 8) as usize % (frames.len() + 1));
            let more = if word % 50 == 0 { 300 } else { (word >> 40) as usize % 25 };
            frames.extend((0..more).map(|at| (8 * (1 + (word >> 20) % 3), (at % 7) as i32)));
            let leaf_first: Vec<_> = frames.iter().rev().copied().collect();
            let id = intern(&mut stacks, &leaf_first);
            assert_eq!(id.is_some(), !frames.is_empty());
            let Some(id) = id else { continue };
            let seen: Vec<_> = stacks.frames_of(id).map(|it| (it.handle(), it.line() as i32)).collect();
            assert_eq!(seen, leaf_first);
            assert_eq!(*ids.entry(leaf_first).or_insert(id), id);
        }
        assert!(ids.len() > 500);
    }

    #[test]
    fn a_prefix_is_not_the_whole_and_nothing_is_no_stack() {
        let mut stacks = Stacks::default();
        let long = intern(&mut stacks, &[(160, 2), (80, 1)]);
        assert_ne!(intern(&mut stacks, &[(80, 1)]), long);
        assert_eq!(intern(&mut stacks, &[]), None);
    }
}
