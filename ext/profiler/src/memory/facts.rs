//! The facts about Ruby and the threads that a census needs.

use std::fs::{read_dir, read_to_string};

use profiler_core::memory::census::RubyPage;
use profiler_core::memory::index::Table;
use profiler_core::memory::layout::ProcessFacts;

use super::allocator;
use crate::sys::mapped_table::MappedTable;
use crate::sys::native_thread::native_id;
use crate::vm::heap::{self, Sizes, TRANSIENT_BYTES};

/// The pages and classes of Ruby, and the stacks of threads.
#[derive(Debug)]
pub(super) struct HeapFacts {
    /// The addresses of the pages of Ruby's heap.
    bodies: MappedTable<u64>,
    /// The slots of these pages.
    pub(super) pages: MappedTable<RubyPage>,
    /// The classes, each with the one that represents it.
    pub(super) classes: MappedTable<(u64, u64)>,
    /// The stack pointers of other threads.
    pub(super) stacks: MappedTable<u64>,
    /// Whether malloc is not glibc's.
    other_malloc: bool,
}

impl HeapFacts {
    pub(super) fn new() -> Self {
        Self {
            bodies: MappedTable::new(),
            pages: MappedTable::new(),
            classes: MappedTable::new(),
            stacks: MappedTable::new(),
            other_malloc: allocator::refusal().is_some(),
        }
    }

    /// Lists the pages of Ruby's heap.
    ///
    /// # Safety
    /// The caller holds the GVL and is not in a GC.
    pub(super) unsafe fn list_pages(&mut self, sizes: &Sizes) {
        self.pages.clear();
        self.bodies.clear();
        let (pages, bodies) = (&mut self.pages, &mut self.bodies);
        // SAFETY: the caller holds the GVL and is not in a GC; the closure only writes to the profiler's
        // tables.
        unsafe {
            heap::each_page(|page| {
                // The first slots of a page come after a header that is shorter than a slot.
                bodies.push(page.first - page.first % sizes.page);
                pages.push(RubyPage { first: page.first, end: page.end, slot: page.slot });
            });
        }
        // The VM keeps its pages in this order. The census depends on it.
        self.pages.rows_mut().sort_unstable_by_key(|it| it.first);
        self.bodies.rows_mut().sort_unstable();
    }

    /// Lists the classes in the pages.
    ///
    /// # Safety
    /// The caller holds the GVL, and has collected and listed since other code ran.
    pub(super) unsafe fn list_classes(&mut self) {
        self.classes.clear();
        for page in self.pages.rows() {
            let slots = (page.first..page.end).step_by(page.slot.max(40) as usize);
            for slot in slots.take_while(|slot| slot + page.slot <= page.end) {
                // SAFETY: the caller holds the GVL and has just collected and listed this page.
                if let Some(real) = unsafe { heap::class_in(slot) } {
                    self.classes.push((slot, real));
                }
            }
        }
    }

    /// Lists the stack pointers of the other threads that wait, as the kernel has them.
    pub(super) fn list_stacks(&mut self) {
        self.stacks.clear();
        let own = native_id().to_string();
        let tasks = read_dir("/proc/self/task").into_iter().flatten().flatten();
        for task in tasks.filter(|task| task.file_name().to_str() != Some(&*own)) {
            // "202 0x.. ... 0x7f49b7d85670 0x7f49bb5c3f16": the last two are those of the stack and of the
            // code.
            let line = read_to_string(task.path().join("syscall")).unwrap_or_default();
            let pointer = line.split_ascii_whitespace().rev().nth(1).and_then(|it| it.strip_prefix("0x"));
            if let Some(pointer) = pointer.and_then(|it| u64::from_str_radix(it, 16).ok()) {
                self.stacks.push(pointer);
            }
        }
    }

    /// Returns the ranges of the tables.
    pub(super) fn ranges(&self) -> [(u64, u64); 4] {
        [self.bodies.range(), self.pages.range(), self.classes.range(), self.stacks.range()]
    }

    /// Returns the facts that are known in addition to the mappings.
    pub(super) fn known<'tables>(
        &'tables self,
        sizes: &Sizes,
        own: &'tables [(u64, u64)],
    ) -> ProcessFacts<'tables> {
        ProcessFacts {
            ruby_pages: self.bodies.rows(),
            ruby_page_bytes: sizes.page,
            own,
            stacks: self.stacks.rows(),
            transient_bytes: TRANSIENT_BYTES,
            other_malloc: self.other_malloc,
            is_running: false,
        }
    }
}
