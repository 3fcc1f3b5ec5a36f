//! The dumps in progress: where each thread was when it was asked.

use std::collections::BTreeMap;

use crate::ids::ThreadId;
use crate::record::frame::RawFrame;
use crate::record::{Header, RawRecord};

/// The stack of a thread for a dump, before it has names.
#[derive(Clone, Debug)]
pub struct DumpedStack {
    /// The thread, its state and its labels.
    pub header: Header,
    /// Whether the thread is known to have held the GVL.
    pub has_gvl: bool,
    /// The frames, leaf first.
    pub frames: Vec<RawFrame>,
}

/// The dumps in progress, whose handles are kept alive.
#[derive(Debug, Default)]
pub(crate) struct Dumps {
    last: u32,
    open: Vec<OpenDump>,
}

#[derive(Debug)]
struct OpenDump {
    number: u32,
    /// The stacks by thread. A thread that was asked twice has its last stack here.
    stacks: BTreeMap<ThreadId, DumpedStack>,
}

impl Dumps {
    /// Begins a dump and returns its number.
    pub(crate) fn begin(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1) & 0x7fff_ffff; // as a signal carries it
        self.open.push(OpenDump { number: self.last, stacks: BTreeMap::new() });
        self.last
    }

    /// Adds a record to the dump with this number. Ignores it if the dump has ended.
    pub(crate) fn add(&mut self, number: u32, has_gvl: bool, record: &RawRecord<'_>) {
        let Some(dump) = self.open.iter_mut().find(|it| it.number == number) else { return };
        let stack = DumpedStack { header: record.header, has_gvl, frames: record.frames().collect() };
        dump.stacks.insert(record.header.thread, stack);
    }

    /// Iterates over the stacks that a dump has so far.
    pub(crate) fn stacks(&self, number: u32) -> impl Iterator<Item = &DumpedStack> {
        self.open.iter().filter(move |it| it.number == number).flat_map(|it| it.stacks.values())
    }

    /// Returns whether the dump has a stack of the thread.
    pub(crate) fn has(&self, number: u32, thread: ThreadId) -> bool {
        self.open.iter().any(|it| it.number == number && it.stacks.contains_key(&thread))
    }

    /// Ends a dump. Its handles are no longer kept alive.
    pub(crate) fn end(&mut self, number: u32) {
        self.open.retain(|it| it.number != number);
    }

    /// Iterates over the handles that have to be marked.
    pub(crate) fn handles(&self) -> impl Iterator<Item = u64> + '_ {
        self.open.iter().flat_map(|it| it.stacks.values()).flat_map(|it| &it.frames).map(|it| it.handle())
    }

    /// Forgets all dumps in a forked child: they belong to the parent.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }
}
