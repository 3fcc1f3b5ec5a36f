//! The memory that a profile takes, as reported to a garbage collector.

use std::mem::size_of;

use crate::memory::history::{History, MemoryRow};
use crate::memory::rows::ClassRow;
use crate::profile::{Function, LabelSet, Marker, Merged, Note, Profile, Requests, Sample, Tally, Thread};

/// The bytes that a value owns on the heap, without the value itself.
trait Owned {
    fn owned(&self) -> usize;
}

impl Owned for String {
    fn owned(&self) -> usize {
        self.capacity()
    }
}

impl Owned for Note {
    /// Estimates the size by the sentence, as the texts of a note are about as long.
    fn owned(&self) -> usize {
        self.sentence().len()
    }
}

impl Owned for (String, String) {
    fn owned(&self) -> usize {
        self.0.owned() + self.1.owned()
    }
}

impl Owned for Function {
    fn owned(&self) -> usize {
        self.name.owned() + self.class_name.owned() + self.method_name.owned() + self.path.owned()
    }
}

impl Owned for Thread {
    fn owned(&self) -> usize {
        self.name.owned()
    }
}

impl Owned for Marker {
    fn owned(&self) -> usize {
        self.name.owned() + self.thread.owned()
    }
}

impl Owned for Sample {
    fn owned(&self) -> usize {
        self.labels.owned()
    }
}

impl Owned for Requests {
    fn owned(&self) -> usize {
        let row = size_of::<(LabelSet, Tally)>();
        self.iter().map(|(labels, _)| row + labels.pairs().iter().map(Owned::owned).sum::<usize>()).sum()
    }
}

impl Owned for ClassRow {
    fn owned(&self) -> usize {
        self.name.owned()
    }
}

impl Owned for MemoryRow {
    fn owned(&self) -> usize {
        let kinds: usize = self.kinds.keys().map(|kind| size_of::<(String, u64)>() + kind.owned()).sum();
        kinds + self.classes.owned()
    }
}

impl Owned for History {
    fn owned(&self) -> usize {
        let rows: usize = self.rows().iter().map(|row| size_of::<MemoryRow>() + row.owned()).sum();
        rows + self.ledgers().iter().map(|it| size_of::<String>() + it.owned()).sum::<usize>()
    }
}

impl<T: Owned> Owned for Vec<T> {
    fn owned(&self) -> usize {
        self.capacity() * size_of::<T>() + self.iter().map(Owned::owned).sum::<usize>()
    }
}

impl Profile {
    /// Returns the bytes of memory that the profile takes, itself included. Memory that the timelines of
    /// several profiles share counts in each of them.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let plain = self.sample_types.capacity() * item_size(&self.sample_types)
            + self.frames.capacity() * item_size(&self.frames)
            + self.stacks.capacity() * item_size(&self.stacks);
        let meta = &self.meta;
        let user: usize = meta.user.iter().map(|(name, value)| name.owned() + value.owned()).sum();
        size_of::<Self>()
            + plain
            + self.functions.owned()
            + self.threads.owned()
            + self.samples.owned()
            + self.markers.owned()
            + self.requests.owned()
            + self.memory.owned()
            + self.timeline.as_ref().map_or(0, |it| it.bytes())
            + meta.modes.owned()
            + meta.notes.owned()
            + meta.merged.iter().flat_map(Merged::texts).map(String::owned).sum::<usize>()
            + meta.program.owned()
            + user
    }
}

/// Returns the size of an item of a list.
fn item_size<T>(_list: &[T]) -> usize {
    size_of::<T>()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::StackId;
    use crate::profile::Weights;
    use crate::record::State;

    #[test]
    fn memory_owned_by_rows_is_counted() {
        let empty = Profile::default().bytes();
        let mut profile = Profile::default();
        let text = |bytes| "x".repeat(bytes);
        let labels = vec![(text(1_000), text(2_000))];
        let (stack, state, weights) = (StackId(0), State::Running, Weights::default());
        profile.samples = vec![Sample { stack, thread: 0, state, labels, weights }];
        profile.threads = vec![Thread { native_id: 1, name: text(4_000) }];
        let rows = size_of::<Sample>() + size_of::<(String, String)>() + size_of::<Thread>();
        assert_eq!(profile.bytes(), empty + rows + 7_000);
    }
}
