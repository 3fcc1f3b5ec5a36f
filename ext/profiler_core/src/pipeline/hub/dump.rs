//! Dumps: records that threads take on request and that belong to no session.
//!
//! Taking a dump needs no GVL. The handles of its frames are marked from the instant at which they are in the
//! ring until the dump ends.

use std::collections::BTreeSet;

use super::Hub;
use crate::ids::ThreadId;
use crate::pipeline::dumps::DumpedStack;
use crate::pipeline::registry::ThreadRegistry;
use crate::profile::Function;

impl Hub {
    /// Begins a dump. Records with its number belong to it until [`Hub::end_dump`].
    #[must_use]
    pub fn begin_dump(&self) -> u32 {
        self.lock().dumps.begin()
    }

    /// Ends a dump.
    pub fn end_dump(&self, number: u32) {
        self.lock().dumps.end(number);
    }

    /// Returns those of `threads` that have no stack in the dump yet.
    #[must_use]
    pub fn missing_in_dump(
        &self,
        number: u32,
        registry: &dyn ThreadRegistry,
        threads: impl Iterator<Item = ThreadId>,
    ) -> BTreeSet<ThreadId> {
        while self.drain_batch(registry) {}
        let drain = self.lock();
        threads.filter(|it| !drain.dumps.has(number, *it)).collect()
    }

    /// Returns the stacks that a dump has so far.
    #[must_use]
    pub fn dumped(&self, number: u32, registry: &dyn ThreadRegistry) -> Vec<DumpedStack> {
        while self.drain_batch(registry) {}
        self.lock().dumps.stacks(number).cloned().collect()
    }

    /// Returns the functions of the handles of a dump, if they are known or `describe` knows them. `describe`
    /// is called under the drain lock, which keeps garbage collection out, so it must neither wait nor call
    /// anything that could.
    pub fn name_dump(
        &self,
        number: u32,
        mut describe: impl FnMut(u64) -> Option<Function>,
    ) -> Vec<(u64, Function)> {
        let drain = self.lock();
        let handles = drain.dumps.stacks(number).flat_map(|it| &it.frames).map(|it| it.handle());
        let handles: BTreeSet<u64> = handles.collect();
        let name = |it: u64| drain.generations.name(it).or_else(|| describe(it)).map(|name| (it, name));
        handles.into_iter().filter_map(name).collect()
    }
}
