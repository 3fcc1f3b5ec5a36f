//! The changes between two ledgers.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use super::ledger::Ledger;
use super::text::kind_words;
use crate::text::clean;
use crate::text::units::{bytes, count, signed_bytes};

/// The rows of each table that are listed.
const ROWS: usize = 20;
/// The smallest growth of a class, in bytes, that is worth a sentence.
const MIN_GROWTH: i64 = 1 << 20;
/// The kinds of free memory that malloc and Ruby keep.
const FREE: [&str; 5] = ["free_chunks", "tops", "cached", "free_slots", "empty_pages"];

/// The change of one row.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowChange {
    /// The key of a kind, or the name of an owner.
    pub name: String,
    /// Bytes before.
    pub before: u64,
    /// Bytes after.
    pub after: u64,
    /// Chunks, slots, or the owner's objects before.
    pub count_before: u64,
    /// Chunks, slots, or the owner's objects after.
    pub count_after: u64,
}

impl RowChange {
    /// Returns the bytes more.
    #[must_use]
    pub fn growth(&self) -> i64 {
        self.after as i64 - self.before as i64
    }
}

/// The changes between two ledgers.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LedgerDiff {
    /// Resident bytes before.
    pub rss_before: u64,
    /// Resident bytes after.
    pub rss_after: u64,
    /// The seconds between the two ledgers.
    pub seconds: f64,
    /// Kinds, the largest change first.
    pub kinds: Vec<RowChange>,
    /// Owners, the largest change first. Empty if one of the ledgers has none.
    pub owners: Vec<RowChange>,
    /// Notes for the reader.
    pub notes: Vec<String>,
}

impl LedgerDiff {
    /// Compares two ledgers.
    #[must_use]
    pub fn new(before: &Ledger, after: &Ledger) -> Self {
        let mut notes = Vec::new();
        if before.pid != after.pid {
            notes.push(format!("These are two processes, {} and {}.", before.pid, after.pid));
        }
        let kinds = |ledger: &Ledger| {
            ledger.kinds.iter().map(|it| (it.kind.clone(), it.bytes, it.count)).collect::<Vec<_>>()
        };
        let owners = |ledger: &Ledger| {
            let rows = ledger.snapshot.iter().flat_map(|it| &it.owners);
            rows.map(|it| (it.name.clone(), it.bytes, it.objects)).collect::<Vec<_>>()
        };
        let has_owners = before.snapshot.is_some() && after.snapshot.is_some();
        if before.snapshot.is_some() != after.snapshot.is_some() {
            notes.push("Only one of them has owners, so kinds of malloc's memory cannot be compared.".into());
        }
        Self {
            rss_before: before.rss,
            rss_after: after.rss,
            seconds: after.at - before.at,
            kinds: changes(kinds(before), kinds(after)),
            owners: if has_owners { changes(owners(before), owners(after)) } else { Vec::new() },
            notes,
        }
    }

    /// Returns the changes as one line of JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the changes as text for people.
    #[must_use]
    pub fn text(&self) -> String {
        let rss = RowChange { before: self.rss_before, after: self.rss_after, ..RowChange::default() };
        let mut text = format!(
            "RSS {} -> {} ({}) in {:.0} s.\n",
            bytes(self.rss_before),
            bytes(self.rss_after),
            signed_bytes(rss.growth()),
            self.seconds
        );
        self.notes.iter().for_each(|it| text.push_str(&format!("Note: {it}\n")));
        write_changes(&mut text, "resident memory", &self.kinds, |name| kind_words(name).to_owned());
        write_changes(&mut text, "owner", &self.owners, |name| clean(name).into_owned());
        if let Some(free) = self.grown_free() {
            let _ = writeln!(
                text,
                "\n{} of the growth are free memory, which malloc and Ruby keep: nothing holds it. The findings of profiler memory \
                 --owners PID say what returns it.",
                bytes(free.unsigned_abs())
            );
        }
        if let Some(class) = self.grown_class() {
            let _ = writeln!(
                text,
                "\nOf all classes, {0} grew most. profiler memory --why {0} PID shows what keeps its objects, and --why '*' which objects \
                 retain most.",
                class.name
            );
        }
        text
    }

    /// Returns by how much free memory grew, if that is at least half of the growth.
    fn grown_free(&self) -> Option<i64> {
        let rows = self.kinds.iter().filter(|it| FREE.contains(&&*it.name));
        let grown: i64 = rows.map(RowChange::growth).sum();
        let half = (self.rss_after as i64 - self.rss_before as i64) / 2;
        (grown >= half.max(MIN_GROWTH)).then_some(grown)
    }

    /// Returns the class that grew most, if it is a good part of the growth.
    fn grown_class(&self) -> Option<&RowChange> {
        let grown = self.owners.iter().filter(|it| is_class(&it.name)).max_by_key(|it| it.growth())?;
        let part = (self.rss_after as i64 - self.rss_before as i64) / 5;
        (grown.growth() >= part.max(MIN_GROWTH)).then_some(grown)
    }
}

/// Returns whether an owner is a class that has a name.
fn is_class(owner: &str) -> bool {
    owner.starts_with(char::is_uppercase) && owner.chars().all(|it| it.is_alphanumeric() || "_:".contains(it))
}

pub(super) fn changes(before: Vec<(String, u64, u64)>, after: Vec<(String, u64, u64)>) -> Vec<RowChange> {
    let mut all: BTreeMap<String, RowChange> = BTreeMap::new();
    for (name, bytes, number) in before {
        let row = all.entry(name.clone()).or_insert(RowChange { name, ..RowChange::default() });
        (row.before, row.count_before) = (bytes, number);
    }
    for (name, bytes, number) in after {
        let row = all.entry(name.clone()).or_insert(RowChange { name, ..RowChange::default() });
        (row.after, row.count_after) = (bytes, number);
    }
    let mut all: Vec<RowChange> = all.into_values().collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.growth().unsigned_abs()));
    all
}

fn write_changes(text: &mut String, title: &str, rows: &[RowChange], words: impl Fn(&str) -> String) {
    let rows: Vec<&RowChange> = rows.iter().filter(|it| it.growth() != 0).take(ROWS).collect();
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{:>12} {:>12} {:>12} {:>11}  {title}", "change", "before", "after", "count");
    for row in rows {
        let more = row.count_after as i64 - row.count_before as i64;
        let sign = if more < 0 { '-' } else { '+' };
        let _ = writeln!(
            text,
            "{:>12} {:>12} {:>12} {:>11}  {}",
            signed_bytes(row.growth()),
            bytes(row.before),
            bytes(row.after),
            format!("{sign}{}", count(more.unsigned_abs())),
            words(&row.name)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::ledger::tests::with_kinds;
    use crate::memory::ledger::Snapshot;
    use crate::memory::rows::OwnerRow;

    #[test]
    fn lists_what_grew_and_shrank() {
        let owner = |name: &str, bytes, objects| OwnerRow {
            name: name.into(),
            bytes,
            objects,
            ..OwnerRow::default()
        };
        let mut before = with_kinds(&[("tops", 4 << 20, 2), ("jit", 1 << 20, 0)]);
        let mut after =
            with_kinds(&[("tops", 1 << 20, 2), ("unreferenced", 9 << 20, 70), ("jit", 1 << 20, 0)]);
        assert!(LedgerDiff::new(&before, &after).owners.is_empty());
        before.snapshot = Some(Snapshot { owners: vec![owner("Foo", 100, 1)], ..Snapshot::default() });
        let diff = LedgerDiff::new(&before, &after);
        assert!(diff.owners.is_empty() && diff.notes.len() == 1, "{diff:?}");
        after.snapshot = Some(Snapshot {
            owners: vec![owner("Foo", 90, 1), owner("Bar", 7_000, 9)],
            ..Snapshot::default()
        });
        let diff = LedgerDiff::new(&before, &after);
        let names: Vec<_> = diff.kinds.iter().map(|it| (&*it.name, it.growth())).collect();
        assert_eq!(names, [("unreferenced", 9 << 20), ("tops", -(3 << 20)), ("jit", 0)]);
        assert_eq!(diff.owners.iter().map(|it| it.growth()).collect::<Vec<_>>(), [7_000, -10]);
        let text = diff.text();
        assert!(text.starts_with("RSS 5.00 MiB -> 11.0 MiB (+6.00 MiB) in 0 s.\n"), "{text}");
        assert!(
            text.contains("   -3.00 MiB     4.00 MiB     1.00 MiB          +0  malloc: free ends"),
            "{text}"
        );
        assert!(!text.contains("code of a JIT"), "{text}");
        assert!(!text.contains("--why"), "{text}");
    }

    #[test]
    fn says_that_free_memory_grew() {
        let before = with_kinds(&[("free_chunks", 50 << 20, 9), ("of_objects", 90 << 20, 9)]);
        let after =
            |free: u64, used: u64| with_kinds(&[("tops", free << 20, 9), ("of_objects", used << 20, 9)]);
        let text = LedgerDiff::new(&before, &after(90, 110)).text();
        assert!(text.contains("\n40.0 MiB of the growth are free memory"), "{text}");
        for (free, used) in [(70, 120), (40, 90), (50, 90)] {
            let text = LedgerDiff::new(&before, &after(free, used)).text();
            assert!(!text.contains("of the growth"), "{text}");
        }
    }

    #[test]
    fn names_the_class_that_grew_and_how_to_go_on() {
        let with_owners = |rss, owners: &[(&str, u64)]| {
            let mut ledger = with_kinds(&[("main_arena", rss, 1)]);
            let rows =
                owners.iter().map(|it| OwnerRow { name: it.0.into(), bytes: it.1, ..OwnerRow::default() });
            ledger.snapshot = Some(Snapshot { owners: rows.collect(), ..Snapshot::default() });
            ledger
        };
        let before = with_owners(20 << 20, &[("Shop::Order", 1 << 20)]);
        let grown = [("data of libz.so", 30 << 20), ("#<Class:0x1>", 30 << 20), ("Shop::Order", 9 << 20)];
        let text = LedgerDiff::new(&before, &with_owners(50 << 20, &grown)).text();
        assert!(
            text.contains("Shop::Order grew most. profiler memory --why Shop::Order PID shows"),
            "{text}"
        );
        for (rss, bytes) in [(90 << 20, 9 << 20), (21 << 20, 3 << 19), (50 << 20, 0)] {
            let text = LedgerDiff::new(&before, &with_owners(rss, &[("Shop::Order", bytes)])).text();
            assert!(!text.contains("--why"), "{text}");
        }
    }
}
