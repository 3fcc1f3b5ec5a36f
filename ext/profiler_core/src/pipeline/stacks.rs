//! The stacks of an epoch: a tree of frames in which parents always come before their children.
//!
//! A stack is one number, the node of its leaf; its callers are that node's ancestors. Most samples
//! repeat a stack that was seen before, so the whole raw stack is looked up first, and only a new
//! one is walked through the tree. Handles are kept once each: they are what the GC has to mark and
//! what the VM is asked to name.

use hashbrown::HashTable;

use crate::ids::{FrameId, FunctionId, Interner, StackId};
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
    /// Classes of what was made there.
    classes: Interner<u64, FunctionId>,
    /// Whole raw stacks, by the hash of their words. Equality is checked along the tree, so that
    /// nothing of the raw stack has to be kept.
    whole: HashTable<(u64, StackId)>,
    /// The stack that was last put into the tree, root first. The next new one mostly begins like it.
    last: Vec<(RawFrame, StackId)>,
}

impl Stacks {
    /// The id of the stack of `record`; nothing when it has no frame.
    pub fn intern(&mut self, record: &RawRecord<'_>) -> Option<StackId> {
        let hash = hash_words(record.words());
        let same = |&(its_hash, stack): &(u64, StackId)| its_hash == hash && self.is(stack, record);
        if let Some(&(_, stack)) = self.whole.find(hash, same) {
            return Some(stack);
        }
        let stack = self.intern_frames(record.frames().rev())?;
        self.whole.insert_unique(hash, (hash, stack), |&(hash, _)| hash);
        Some(stack)
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

    /// Whether the stack of `record` is this stack. Both run from the leaf, so they end together or differ.
    fn is(&self, stack: StackId, record: &RawRecord<'_>) -> bool {
        self.frames_of(stack).eq(record.frames())
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
    fn a_prefix_is_not_the_whole_and_nothing_is_no_stack() {
        let mut stacks = Stacks::default();
        let long = intern(&mut stacks, &[(160, 2), (80, 1)]);
        assert_ne!(intern(&mut stacks, &[(80, 1)]), long);
        assert_eq!(intern(&mut stacks, &[]), None);
    }
}
