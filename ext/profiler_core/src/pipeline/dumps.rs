//! The dumps that are being taken: where each thread was when it was asked.

use std::collections::BTreeMap;

use crate::ids::ThreadId;
use crate::record::frame::RawFrame;
use crate::record::{Header, RawRecord};

/// The stack of a thread when a dump requested it, before names.
#[derive(Clone, Debug)]
pub struct DumpedStack {
    /// The thread, what it did, and its labels.
    pub header: Header,
    /// Whether it is known to have had the GVL.
    pub has_gvl: bool,
    /// The frames, leaf first.
    pub frames: Vec<RawFrame>,
}

/// The dumps whose handles are kept.
#[derive(Debug, Default)]
pub(crate) struct Dumps {
    last: u32,
    open: Vec<OpenDump>,
}

#[derive(Debug)]
struct OpenDump {
    number: u32,
    /// By thread: a thread that was asked twice has its last stack.
    stacks: BTreeMap<ThreadId, DumpedStack>,
}

impl Dumps {
    /// Begins a dump, and returns its number.
    pub(crate) fn begin(&mut self) -> u32 {
        self.last = self.last.wrapping_add(1) & 0x7fff_ffff; // as a signal carries it
        self.open.push(OpenDump { number: self.last, stacks: BTreeMap::new() });
        self.last
    }

    /// Adds a record of that dump. One that is over is left out.
    pub(crate) fn add(&mut self, number: u32, has_gvl: bool, record: &RawRecord<'_>) {
        let Some(dump) = self.open.iter_mut().find(|it| it.number == number) else { return };
        let stack = DumpedStack { header: record.header, has_gvl, frames: record.frames().collect() };
        dump.stacks.insert(record.header.thread, stack);
    }

    /// The stacks of a dump so far.
    pub(crate) fn stacks(&self, number: u32) -> impl Iterator<Item = &DumpedStack> {
        self.open.iter().filter(move |it| it.number == number).flat_map(|it| it.stacks.values())
    }

    /// Whether the thread is in that dump.
    pub(crate) fn has(&self, number: u32, thread: ThreadId) -> bool {
        self.open.iter().any(|it| it.number == number && it.stacks.contains_key(&thread))
    }

    /// Ends a dump: its handles are kept no more.
    pub(crate) fn end(&mut self, number: u32) {
        self.open.retain(|it| it.number != number);
    }

    /// The handles that have to be marked.
    pub(crate) fn handles(&self) -> impl Iterator<Item = u64> + '_ {
        self.open.iter().flat_map(|it| it.stacks.values()).flat_map(|it| &it.frames).map(|it| it.handle())
    }

    /// Forgets all dumps, in a forked child: they are the parent's.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }
}
