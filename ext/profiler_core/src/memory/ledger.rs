//! The ledger: what people and programs read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::holders::Why;
use super::owner_name::owner_name;
use super::report::{Kinds, MemoryKind, OwnerSum, Report, ResidentSum, KINDS};
use super::rows::{
    ArenaRow, FileRow, HintRow, JemallocCount, KindRow, LedgerFinding, MallocCount, OwnerRow, SizeRow,
};
use super::smaps::{MappingSize, Smaps};
use super::why_report::WhyReport;
use crate::text::cut;

/// All kinds with their keys and their words, in the order in which they are listed if they are equally large.
pub(super) const KIND_NAMES: [(MemoryKind, &str, &str); KINDS - 1] = [
    (MemoryKind::OfObjects, "of_objects", "malloc: of Ruby objects"),
    (MemoryKind::OfLibraries, "of_libraries", "malloc: of libraries and the VM"),
    (MemoryKind::OfStacks, "of_stacks", "malloc: referenced only by stacks"),
    (MemoryKind::OfUnnamed, "of_unnamed", "malloc: referenced only by unnamed memory"),
    (MemoryKind::Unreferenced, "unreferenced", "malloc: unreferenced"),
    (MemoryKind::Free, "free_chunks", "malloc: free chunks"),
    (MemoryKind::Top, "tops", "malloc: free ends of arenas"),
    (MemoryKind::Cached, "cached", "malloc: free, kept by threads and fast bins"),
    (MemoryKind::Arena, "arenas", "malloc: its own data"),
    (MemoryKind::Broken, "not_walked", "malloc: not walked"),
    (MemoryKind::MainArena, "main_arena", "malloc: main arena"),
    (MemoryKind::ThreadArenas, "thread_arenas", "malloc: arenas of threads"),
    (MemoryKind::Blocks, "blocks", "malloc: large blocks"),
    (MemoryKind::LiveSlots, "live_slots", "Ruby heap: live objects"),
    (MemoryKind::FreeSlots, "free_slots", "Ruby heap: free slots"),
    (MemoryKind::EmptyPages, "empty_pages", "Ruby heap: empty pages"),
    (MemoryKind::RubyPages, "ruby_pages", "Ruby heap: pages"),
    (MemoryKind::MainStack, "main_stack", "stack of the main thread"),
    (MemoryKind::ThreadStacks, "thread_stacks", "stacks of threads"),
    (MemoryKind::FiberStacks, "fiber_stacks", "stacks of fibers"),
    (MemoryKind::Jit, "jit", "code of a JIT"),
    (MemoryKind::TransientHeap, "transient_heap", "Ruby's transient heap"),
    (MemoryKind::LibraryData, "library_data", "data of libraries"),
    (MemoryKind::Unnamed, "unnamed", "without a name"),
];

/// The key and the words of files, of which a snapshot knows nothing.
pub(super) const FILES: (&str, &str) = ("files", "code and files");
/// The keys and the words of what jemalloc says about its part of the memory that has no other name.
pub(super) const JEMALLOC: [(&str, &str); 3] = [
    ("jemalloc_blocks", "jemalloc: pages with blocks in use"),
    ("jemalloc_free", "jemalloc: free pages, which it keeps for a while"),
    ("jemalloc_data", "jemalloc: its own data"),
];
/// The key and the words of shared memory.
pub(super) const SHARED: (&str, &str) = ("shared", "shared memory");

/// The part of a ledger that only a snapshot finds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The time of the garbage collection, during which this process stood still, ns.
    pub gc_ns: u64,
    /// The time of the lists and the fork, during which it stood still as well, ns.
    pub fork_ns: u64,
    /// The time that the copy took.
    pub copy_ns: u64,
    /// The counts of the walk, as malloc counts.
    pub walked: MallocCount,
    /// Whole resident pages in free chunks, which `malloc_trim` would return.
    pub trimmable: u64,
    /// Chains of chunks that are broken.
    pub broken_chains: u64,
    /// Owners, the largest first.
    pub owners: Vec<OwnerRow>,
    /// Arenas, the main one first.
    pub arenas: Vec<ArenaRow>,
    /// Sizes of unreferenced chunks, the most bytes first.
    pub sizes: Vec<SizeRow>,
    /// Files to which unreferenced chunks refer, the most bytes first.
    pub hints: Vec<HintRow>,
    /// Why objects are alive. `None` if that was not asked for.
    #[serde(default)]
    pub why: Option<Why>,
}

/// The ledger of a process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ledger {
    /// The process.
    pub pid: u32,
    /// `RUBY_DESCRIPTION`.
    pub ruby: String,
    /// The command line.
    pub program: String,
    /// The time, seconds since 1970 UTC.
    pub at: f64,
    /// Resident bytes, by the kernel.
    pub rss: u64,
    /// Bytes in swap.
    pub swapped: u64,
    /// Bytes of address space.
    pub address_space: u64,
    /// Bytes of address space that nothing may touch: what malloc reserves for arenas of threads, and guards.
    #[serde(default)]
    pub reserved: u64,
    /// Resident memory by kind, the largest first.
    pub kinds: Vec<KindRow>,
    /// Files, the largest first.
    pub files: Vec<FileRow>,
    /// Malloc's own counts. `None` if it is not glibc's.
    pub malloc: Option<MallocCount>,
    /// The counts of jemalloc. `None` if malloc is another one.
    #[serde(default)]
    pub jemalloc: Option<JemallocCount>,
    /// The result of a snapshot. `None` if there was none.
    pub snapshot: Option<Snapshot>,
    /// Notes for the reader.
    pub notes: Vec<String>,
    /// The findings, the most bytes first.
    pub findings: Vec<LedgerFinding>,
}

impl Ledger {
    /// Creates a ledger with what the kernel says about mappings.
    #[must_use]
    pub fn new(smaps: &Smaps) -> Self {
        let mut ledger = Self {
            rss: smaps.rss,
            swapped: smaps.swap,
            address_space: smaps.size,
            reserved: smaps.reserved,
            ..Self::default()
        };
        ledger.add(FILES.0, ResidentSum { bytes: smaps.files.values().sum(), count: 0 });
        ledger.add(SHARED.0, ResidentSum { bytes: smaps.shared, count: 0 });
        // The rest of the data of libraries is found with the regions that can be written.
        ledger.add("library_data", ResidentSum { bytes: smaps.relocated, count: 0 });
        let written = |path: &str| smaps.written.get(path).copied().unwrap_or(0);
        let row = |(path, bytes): (&String, &u64)| FileRow {
            path: path.clone(),
            bytes: *bytes,
            written: written(path),
        };
        ledger.files = smaps.files.iter().map(row).filter(|it| it.bytes + it.written > 0).collect();
        ledger.files.sort_by_key(|it| std::cmp::Reverse(it.bytes + it.written));
        ledger
    }

    fn add(&mut self, kind: &str, sum: ResidentSum) {
        if let Some(row) = self.kinds.iter_mut().find(|row| row.kind == kind) {
            row.bytes += sum.bytes;
            row.count += sum.count;
        } else if sum.bytes > 0 {
            self.kinds.push(KindRow { kind: kind.to_owned(), bytes: sum.bytes, count: sum.count });
        }
    }

    /// Replaces the sums of the kernel by newer ones, of the instant of a snapshot.
    pub fn set_sums(&mut self, sums: &MappingSize) {
        (self.rss, self.swapped) = (sums.rss, sums.swap);
        let of_files = sums.rss.saturating_sub(sums.anonymous + self.bytes(SHARED.0));
        for row in self.kinds.iter_mut().filter(|row| row.kind == FILES.0) {
            row.bytes = of_files;
        }
    }

    /// Adds the sums of private memory.
    pub fn add_kinds(&mut self, kinds: &Kinds) {
        for (kind, key, _) in KIND_NAMES {
            self.add(key, kinds.get(kind as usize).copied().unwrap_or_default());
        }
    }

    /// Adds what jemalloc says: its pages are a part of what has no name.
    pub fn add_jemalloc(&mut self, count: JemallocCount) {
        self.jemalloc = Some(count);
        let mut left = self.bytes("unnamed");
        let kept = count.resident.saturating_sub(count.active + count.metadata);
        for ((key, _), said) in JEMALLOC.into_iter().zip([count.active, kept, count.metadata]) {
            let bytes = said.min(left);
            left -= bytes;
            self.add(key, ResidentSum { bytes, count: 0 });
        }
        self.kinds.iter_mut().filter(|row| row.kind == "unnamed").for_each(|row| row.bytes = left);
        self.notes.push(
            "malloc is jemalloc: what is in its pages is known only as far as it tells, and owners cannot be found".into(),
        );
    }

    /// Adds what a snapshot found. `name` returns the name of a class by its address.
    pub fn add_snapshot(&mut self, report: &Report, name: impl Fn(u64) -> Option<String>) {
        self.add_kinds(&report.kinds);
        let mut owners: BTreeMap<String, OwnerRow> = BTreeMap::new();
        for sum in report.owners.iter().filter(|it| it.is_used != 0) {
            let name = owner_name(sum.key, report, &name);
            let row = owners.entry(name.clone()).or_insert(OwnerRow { name, ..OwnerRow::default() });
            add_owner(row, sum);
        }
        let mut snapshot = Snapshot {
            walked: MallocCount {
                in_use: report.in_use_bytes,
                free: report.free_bytes,
                mapped: report.mapped_bytes,
            },
            trimmable: report.trimmable,
            broken_chains: report.broken_chains,
            owners: owners.into_values().filter(|it| it.bytes > 0).collect(),
            ..Snapshot::default()
        };
        snapshot.owners.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        let arenas = report.arenas.iter().filter(|it| it.is_used != 0);
        let arena = |it: &super::report::ArenaSum| ArenaRow {
            main: it.address == 0,
            used: it.used,
            free: it.free,
            top: it.top,
        };
        snapshot.arenas = arenas.map(arena).collect();
        snapshot.arenas.sort_by_key(|it| (!it.main, std::cmp::Reverse(it.used + it.free + it.top)));
        let sizes = report.sizes.iter().filter(|it| it.sum.count > 0);
        snapshot.sizes =
            sizes.map(|it| SizeRow { size: it.size, count: it.sum.count, bytes: it.sum.bytes }).collect();
        snapshot.sizes.sort_by_key(|it| std::cmp::Reverse((it.bytes, it.size)));
        let files = report.files.iter().filter(|it| it.hinted.count > 0);
        let hint = |it: &super::report::FileSum| HintRow {
            path: String::from_utf8_lossy(it.path()).into_owned(),
            count: it.hinted.count,
            bytes: it.hinted.bytes,
        };
        snapshot.hints = files.map(hint).collect();
        snapshot.hints.sort_by_key(|it| std::cmp::Reverse(it.bytes));
        self.snapshot = Some(snapshot);
    }

    /// Adds why the objects of a class are alive, to what a snapshot found.
    pub fn add_why(
        &mut self,
        class: String,
        why: &WhyReport,
        report: &Report,
        name: impl Fn(u64) -> Option<String>,
    ) {
        if let Some(snapshot) = &mut self.snapshot {
            snapshot.why = Some(Why::new(class, why, |key| owner_name(key, report, &name)));
        }
    }

    /// Returns the resident bytes of a kind, by its key.
    #[must_use]
    pub fn bytes(&self, kind: &str) -> u64 {
        self.kinds.iter().filter(|it| it.kind == kind).map(|it| it.bytes).sum()
    }

    /// Returns the number of things of a kind.
    #[must_use]
    pub fn count(&self, kind: &str) -> u64 {
        self.kinds.iter().filter(|it| it.kind == kind).map(|it| it.count).sum()
    }

    /// Returns the sum of all kinds. It differs from the resident bytes by what changed between two looks.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.kinds.iter().map(|it| it.bytes).sum()
    }

    /// Returns the ledger as one line of JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads a line of JSON.
    ///
    /// # Errors
    /// The reason why it is not a ledger.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refused = |why: String| format!("not a ledger of profiler memory --json: {}", cut(why));
        let ledger = serde_json::from_str(text).map_err(|why| refused(why.to_string()))?;
        let value = serde_json::from_str(text).map_err(|why| refused(why.to_string()))?;
        // Then no sum or difference of its numbers overflows.
        match sum_of(&value) {
            Some(sum) if sum <= i64::MAX as u64 => Ok(ledger),
            _ => Err(refused("its numbers are too large".into())),
        }
    }
}

/// Returns the sum of all integers in the value, or `None` if it has no place in 64 bits.
fn sum_of(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => Some(number.as_u64().unwrap_or_default()),
        Value::Array(values) => sum_of_all(values.iter()),
        Value::Object(values) => sum_of_all(values.values()),
        Value::Null | Value::Bool(_) | Value::String(_) => Some(0),
    }
}

fn sum_of_all<'a>(mut values: impl Iterator<Item = &'a Value>) -> Option<u64> {
    values.try_fold(0_u64, |sum, value| sum.checked_add(sum_of(value)?))
}

fn add_owner(row: &mut OwnerRow, sum: &OwnerSum) {
    row.bytes += sum.slots.bytes + sum.own.bytes + sum.behind.bytes;
    row.objects += sum.slots.count;
    row.slot_bytes += sum.slots.bytes;
    row.chunks += sum.own.count;
    row.chunk_bytes += sum.own.bytes;
    row.behind += sum.behind.count;
    row.behind_bytes += sum.behind.bytes;
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::memory::report::tests::empty;
    use crate::memory::report::{FILE, STACKS};

    /// A ledger with these kinds.
    pub(crate) fn with_kinds(kinds: &[(&str, u64, u64)]) -> Ledger {
        let row = |(kind, bytes, count): &(&str, u64, u64)| KindRow {
            kind: (*kind).to_owned(),
            bytes: *bytes,
            count: *count,
        };
        let rss = kinds.iter().map(|it| it.1).sum();
        Ledger { kinds: kinds.iter().map(row).collect(), rss, ..Ledger::default() }
    }

    #[test]
    fn names_owners_and_merges_those_of_one_name() {
        let mut report = empty();
        report.files[2].set_path(b"/usr/lib/libz.so.1");
        for (key, bytes) in [(0x7000, 10), (0x8000, 20), (0x1a7, 5), (STACKS, 1), (FILE + 2, 2), (0x9000, 0)]
        {
            let owner = report.owner(key);
            let row = report.owner_row(owner).unwrap();
            row.slots.add(bytes);
            row.behind = ResidentSum { bytes, count: 2 };
        }
        report.add(MemoryKind::Top, 7);
        let mut ledger = Ledger::new(&Smaps::default());
        ledger.add_snapshot(&report, |class| (class < 0x9000).then(|| "Foo".to_owned()));
        ledger.finish();
        let owners: Vec<_> = ledger.snapshot.as_ref().unwrap().owners.iter().collect();
        let named: Vec<_> = owners.iter().map(|it| (&*it.name, it.bytes, it.objects, it.behind)).collect();
        assert_eq!(
            named,
            [
                ("Foo", 60, 2, 4),
                ("(internal to Ruby) iseq (code)", 10, 1, 2),
                ("data of libz.so.1", 4, 1, 2),
                ("(stacks)", 2, 1, 2)
            ]
        );
        assert_eq!((ledger.bytes("tops"), ledger.sum()), (7, 7));
        let smaps =
            Smaps { files: [("/lib/a.so".to_owned(), 100)].into(), shared: 30, rss: 130, ..Smaps::default() };
        let mut newer = Ledger::new(&smaps);
        newer.set_sums(&MappingSize { rss: 1_000, anonymous: 850, swap: 5, ..MappingSize::default() });
        assert_eq!((newer.rss, newer.swapped, newer.bytes("files"), newer.sum()), (1_000, 5, 120, 150));
        assert_eq!(Ledger::parse(&ledger.json()), Ok(ledger));
        assert!(Ledger::parse("{}").unwrap_err().starts_with("not a ledger"));
        assert!(Ledger::parse(&ledger_with(&newer, 1 << 62)).is_ok());
        assert!(Ledger::parse(&ledger_with(&newer, u64::MAX)).unwrap_err().ends_with("too large"));
        assert!(Ledger::parse(&"x".repeat(100_000)).unwrap_err().len() < 400);
    }

    fn ledger_with(ledger: &Ledger, rss: u64) -> String {
        Ledger { rss, ..ledger.clone() }.json()
    }

    #[test]
    fn each_kind_has_one_name() {
        let mut keys: Vec<_> = KIND_NAMES.iter().map(|it| it.1).chain([FILES.0, SHARED.0]).collect();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), KINDS + 1);
        for (place, (kind, ..)) in KIND_NAMES.iter().enumerate() {
            assert_eq!(KIND_NAMES.iter().position(|it| it.0 == *kind), Some(place));
        }
    }
}
