//! The memory of processes over time: rows of kinds, as a continuous session or a recording takes them, and
//! whole ledgers.
//!
//! A row is what can be known without a copy of the process: the kinds of resident memory, what malloc says
//! about itself, and the classes with the most slots. A profile keeps rows and ledgers in the fields 5211 and
//! 5212 of its file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::diff::{changes, RowChange};
use super::ledger::Ledger;
use super::rows::{ClassRow, MallocCount};
use super::text::kind_words;
use crate::text::clean;
use crate::text::units::{bytes, duration, signed_bytes};

/// The largest number of rows that are kept. If there are more, every second one is dropped.
const MAX_ROWS: usize = 1_440;
/// The largest number of whole ledgers that are kept: the newest.
const MAX_LEDGERS: usize = 16;
/// The kinds, and the owners, in a summary.
const LINES: usize = 5;

/// The memory of a process at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryRow {
    /// The time, ns since 1970 UTC.
    pub at_ns: u64,
    /// The process.
    pub pid: u32,
    /// Resident bytes, by the kernel.
    pub rss: u64,
    /// Bytes in swap.
    pub swapped: u64,
    /// The CPU time that the row took, ns. The process ran meanwhile.
    pub cpu_ns: u64,
    /// Malloc's own counts. `None` if it is not glibc's.
    pub malloc: Option<MallocCount>,
    /// Resident bytes by the key of the kind.
    pub kinds: BTreeMap<String, u64>,
    /// The classes with the most bytes in slots of Ruby's heap, the largest first.
    pub classes: Vec<ClassRow>,
}

impl MemoryRow {
    /// Creates the row of a ledger.
    #[must_use]
    pub fn new(ledger: &Ledger, at_ns: u64, classes: Vec<ClassRow>) -> Self {
        let kinds = ledger.kinds.iter().map(|it| (it.kind.clone(), it.bytes)).collect();
        Self {
            at_ns,
            pid: ledger.pid,
            rss: ledger.rss,
            swapped: ledger.swapped,
            cpu_ns: 0,
            malloc: ledger.malloc,
            kinds,
            classes,
        }
    }

    /// Returns the row as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The rows of a profile in the order of their times, and its ledgers as JSON.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    rows: Vec<MemoryRow>,
    ledgers: Vec<String>,
}

impl History {
    /// Creates a history. Rows are put in order and limited in number.
    #[must_use]
    pub fn new(rows: Vec<MemoryRow>, ledgers: Vec<String>) -> Self {
        let mut history = Self { rows, ledgers };
        history.rows.sort_by_key(|it| (it.at_ns, it.pid));
        history.rows.dedup();
        history.thin_out();
        let excess = history.ledgers.len().saturating_sub(MAX_LEDGERS);
        history.ledgers.drain(..excess);
        history
    }

    /// Reads rows and ledgers, each of which is JSON.
    ///
    /// # Errors
    /// The reason why one of them is none.
    pub fn parse(rows: &[String], ledgers: Vec<String>) -> Result<Self, String> {
        let rows: Result<Vec<MemoryRow>, _> = rows.iter().map(|row| serde_json::from_str(row)).collect();
        ledgers.iter().try_for_each(|it| Ledger::parse(it).map(|_| ()))?;
        Ok(Self::new(rows.map_err(|why| format!("not a row of memory: {why}"))?, ledgers))
    }

    /// Returns the rows as a list in JSON.
    #[must_use]
    pub fn rows_json(&self) -> String {
        serde_json::to_string(&self.rows).unwrap_or_default()
    }

    /// Returns the rows in the order of their times.
    #[must_use]
    pub fn rows(&self) -> &[MemoryRow] {
        &self.rows
    }

    /// Returns the ledgers as JSON.
    #[must_use]
    pub fn ledgers(&self) -> &[String] {
        &self.ledgers
    }

    /// Returns whether there is neither a row nor a ledger.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.ledgers.is_empty()
    }

    /// Adds those of other periods or processes.
    pub fn add(&mut self, other: &Self) {
        if other.is_empty() {
            return;
        }
        let Self { mut rows, mut ledgers } = std::mem::take(self);
        rows.extend_from_slice(&other.rows);
        ledgers.extend_from_slice(&other.ledgers);
        *self = Self::new(rows, ledgers);
    }

    /// Returns the rows without names of the program.
    #[must_use]
    pub(crate) fn anonymous(&self) -> Self {
        let bare = |row: &MemoryRow| MemoryRow { pid: 0, classes: Vec::new(), ..row.clone() };
        Self { rows: self.rows.iter().map(bare).collect(), ledgers: Vec::new() }
    }

    /// Drops every second row of each process until few enough are left, but never the first and the last.
    fn thin_out(&mut self) {
        while self.rows.len() > MAX_ROWS {
            let mut last: BTreeMap<u32, usize> = BTreeMap::new();
            self.rows.iter().enumerate().for_each(|(place, row)| {
                last.insert(row.pid, place);
            });
            let mut numbers: BTreeMap<u32, usize> = BTreeMap::new();
            let before = self.rows.len();
            let mut places = 0..;
            self.rows.retain(|row| {
                let is_last = places.next() == last.get(&row.pid).copied();
                let number = numbers.entry(row.pid).or_default();
                *number += 1;
                *number % 2 == 1 || is_last
            });
            if self.rows.len() == before {
                self.rows.truncate(MAX_ROWS); // there are more processes than rows
            }
        }
    }

    /// Returns what stands out, in lines: of the process that is the largest at the end, how much it grew since
    /// its first row, which kinds grew, who has the memory, and the findings.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        let mut ends: BTreeMap<u32, (&MemoryRow, &MemoryRow)> = BTreeMap::new();
        for row in &self.rows {
            ends.entry(row.pid).and_modify(|it| it.1 = row).or_insert((row, row));
        }
        let processes = ends.len();
        let Some((pid, (first, last))) = ends.into_iter().max_by_key(|(_, (_, last))| last.rss) else {
            return Vec::new();
        };
        let grown = match last.at_ns - first.at_ns {
            0 => String::new(),
            ns => format!(", {} in {}", signed_bytes(growth(last.rss, first.rss)), duration(ns)),
        };
        let which = match processes {
            1 => String::new(),
            _ => format!(" of process {pid}, the largest of {processes}"),
        };
        let mut lines = vec![format!("RSS {}{which}{grown}", bytes(last.rss))];
        for change in kind_changes(first, last).iter().filter(|it| it.growth() != 0).take(LINES) {
            let words = kind_words(&change.name);
            lines.push(format!("{:>12} {:>12}  {words}", signed_bytes(change.growth()), bytes(change.after)));
        }
        let ledgers = self.ledgers.iter().rev().filter_map(|it| Ledger::parse(it).ok());
        let ledger = ledgers.into_iter().find(|it| it.pid == pid);
        let owners = ledger.iter().flat_map(|it| it.snapshot.iter().flat_map(|it| &it.owners));
        let mut names: Vec<String> =
            owners.take(LINES).map(|it| format!("{} {}", clean(&it.name), bytes(it.bytes))).collect();
        let mut title = "owners";
        if names.is_empty() {
            title = "slots of Ruby's heap";
            names = class_changes(first, last);
        }
        if !names.is_empty() {
            lines.push(format!("{title}: {}", names.join(", ")));
        }
        for finding in ledger.iter().flat_map(|it| &it.findings).take(2) {
            lines.push(format!("{}. {}", finding.text, finding.remedy));
        }
        if ledger.is_none() {
            lines.push(
                "profiler memory --owners PID shows who has the memory of malloc while the process runs"
                    .into(),
            );
        }
        lines
    }
}

fn growth(after: u64, before: u64) -> i64 {
    (after as i64).saturating_sub(before as i64)
}

/// Returns the classes with the most slots at the end, with what they grew if they were among those at the start.
fn class_changes(first: &MemoryRow, last: &MemoryRow) -> Vec<String> {
    let text = |class: &ClassRow| {
        let before = first.classes.iter().find(|it| it.name == class.name);
        let grown = before.map(|it| growth(class.bytes, it.bytes)).filter(|it| *it != 0);
        let grown = grown.map_or_else(String::new, |it| format!(" ({})", signed_bytes(it)));
        format!("{} {}{grown}", clean(&class.name), bytes(class.bytes))
    };
    last.classes.iter().take(LINES).map(text).collect()
}

fn kind_changes(first: &MemoryRow, last: &MemoryRow) -> Vec<RowChange> {
    let rows = |row: &MemoryRow| row.kinds.iter().map(|(kind, bytes)| (kind.clone(), *bytes, 0)).collect();
    changes(rows(first), rows(last))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::memory::ledger::tests::with_kinds;
    use crate::memory::ledger::Snapshot;
    use crate::memory::rows::OwnerRow;

    fn row(at_ns: u64, pid: u32, rss: u64) -> MemoryRow {
        let kinds = BTreeMap::from([("main_arena".to_owned(), rss)]);
        MemoryRow { at_ns, pid, rss, kinds, ..MemoryRow::default() }
    }

    #[test]
    fn stays_bounded_and_keeps_the_ends_of_each_process() {
        let rows: Vec<MemoryRow> =
            (0..10_000).flat_map(|minute| [row(minute, 1, minute), row(minute, 2, 7)]).collect();
        let mut history = History::default();
        for part in rows.chunks(500) {
            history.add(&History::new(part.to_vec(), vec!["{}".into()]));
        }
        assert!(history.rows().len() <= MAX_ROWS && history.rows().len() > MAX_ROWS / 4);
        let of = |pid| history.rows().iter().filter(move |it| it.pid == pid).map(|it| it.at_ns);
        for pid in [1, 2] {
            assert_eq!((of(pid).next(), of(pid).next_back()), (Some(0), Some(9_999)));
            assert!(of(pid).zip(of(pid).skip(1)).all(|(one, next)| one < next));
        }
        assert_eq!(history.ledgers().len(), MAX_LEDGERS);
        let processes = (0..3_000).map(|pid| row(5, pid, 1)).collect();
        assert_eq!(History::new(processes, Vec::new()).rows().len(), MAX_ROWS);
    }

    #[test]
    fn says_what_grew_and_who_has_it() {
        let class = |name: &str, bytes| ClassRow { name: name.into(), objects: bytes / 40, bytes };
        let mut rows = vec![row(0, 9, 10 << 20), row(60_000_000_000, 9, 30 << 20), row(7, 8, 1)];
        rows[0].classes = vec![class("Order", 1 << 20)];
        rows[1].classes = vec![class("Order", 8 << 20), class("New", 80)];
        assert_eq!(
            History::new(rows.clone(), Vec::new()).summary(),
            [
                "RSS 30.0 MiB of process 9, the largest of 2, +20.0 MiB in 60.0 s",
                "   +20.0 MiB     30.0 MiB  malloc: main arena",
                "slots of Ruby's heap: Order 8.00 MiB (+7.00 MiB), New 80 B",
                "profiler memory --owners PID shows who has the memory of malloc while the process runs"
            ]
        );
        let owner = OwnerRow { name: "Order".into(), bytes: 9 << 20, ..OwnerRow::default() };
        let mut ledger = with_kinds(&[("unreferenced", 50 << 20, 10)]);
        ledger.pid = 9;
        ledger.snapshot = Some(Snapshot { owners: vec![owner], ..Snapshot::default() });
        ledger.finish();
        rows.pop();
        let summary = History::new(rows, vec![ledger.json()]).summary();
        assert_eq!(summary[0], "RSS 30.0 MiB, +20.0 MiB in 60.0 s");
        assert_eq!(summary[2], "owners: Order 9.00 MiB");
        assert!(summary[3].starts_with("50.0 MiB of malloc in 10 blocks that nothing refers to. C code"));
        assert!(History::default().summary().is_empty());
    }
}
