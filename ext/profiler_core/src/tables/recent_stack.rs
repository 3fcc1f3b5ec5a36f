//! The most recent stack of a thread.

use crate::ids::StackId;

/// The number of words compared at once.
const BLOCK: usize = 64;

/// A raw stack and its nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentStack {
    /// The words as in a record, leaf first.
    words: Vec<u64>,
    /// The node of each frame, root first.
    nodes: Vec<StackId>,
}

impl RecentStack {
    /// Returns how many frames the stack shares, from the root on, with the one whose `words` are leaf first.
    pub(super) fn shared(&self, words: &[u64]) -> usize {
        // Compare whole blocks first: nearly all of a deep stack is the same as before.
        let blocks = words.rchunks_exact(BLOCK).zip(self.words.rchunks_exact(BLOCK));
        let shared = blocks.take_while(|(one, other)| one == other).count() * BLOCK;
        let rest = words.iter().rev().zip(self.words.iter().rev()).skip(shared);
        shared + rest.take_while(|(one, other)| one == other).count()
    }

    /// Returns the node of the first `frames` frames from the root, or `None` if `frames` is 0.
    pub(super) fn node(&self, frames: usize) -> Option<StackId> {
        self.nodes.get(frames.checked_sub(1)?).copied()
    }

    /// Replaces the stack by that of `words`, which shares the first `frames` frames. Returns their node. The
    /// nodes of the other frames have to be added with [`RecentStack::push`], root first.
    pub(super) fn replace_by(&mut self, words: &[u64], frames: usize) -> Option<StackId> {
        self.words.clear();
        self.words.extend_from_slice(words);
        self.nodes.truncate(frames);
        self.nodes.last().copied()
    }

    /// Adds the node of the next frame towards the leaf.
    pub(super) fn push(&mut self, node: StackId) {
        self.nodes.push(node);
    }
}
