//! The ledger as text for people.

use std::fmt::Write;

use super::ledger::{Ledger, Snapshot, FILES, JEMALLOC, KIND_NAMES, SHARED};
use super::rows::{MallocCount, OwnerRow};
use crate::text::clean;
use crate::text::units::{bytes, count, counted, duration, percent};

/// The owners that are listed.
const OWNERS: usize = 25;
/// The files that are listed.
const FILE_ROWS: usize = 5;

/// Returns the words for the key of a kind.
pub(super) fn kind_words(key: &str) -> &str {
    let known = KIND_NAMES.iter().map(|it| (it.1, it.2)).chain([FILES, SHARED]).chain(JEMALLOC);
    known.into_iter().find(|it| it.0 == key).map_or(key, |it| it.1)
}

impl Ledger {
    /// Returns the ledger as text for people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("Process {}: {}\n{}\n", self.pid, clean(&self.program), clean(&self.ruby));
        let named = self.sum().saturating_sub(self.bytes("unnamed")).min(self.rss);
        let _ = writeln!(text, "RSS {}, of which {} have a name.", bytes(self.rss), percent(named, self.rss));
        if let Some(snapshot) = &self.snapshot {
            let _ = writeln!(
                text,
                "The process stood still for {} (GC {}, fork {}); its copy took {}.",
                duration(snapshot.gc_ns + snapshot.fork_ns),
                duration(snapshot.gc_ns),
                duration(snapshot.fork_ns),
                duration(snapshot.copy_ns)
            );
        }
        self.notes.iter().for_each(|it| text.push_str(&format!("Note: {it}\n")));
        for finding in &self.findings {
            let _ = writeln!(text, "\n* {}.\n  {}", finding.text, finding.remedy);
        }
        self.write_kinds(&mut text);
        if let Some(snapshot) = &self.snapshot {
            write_owners(&mut text, &snapshot.owners);
            snapshot.why.iter().for_each(|why| why.write(&mut text));
        }
        self.write_check(&mut text);
        text
    }

    fn write_kinds(&self, text: &mut String) {
        let _ = writeln!(text, "\n{:>12} {:>7} {:>9}  resident memory", "bytes", "share", "count");
        for row in &self.kinds {
            let number = if row.count == 0 { String::new() } else { count(row.count) };
            let _ = writeln!(
                text,
                "{:>12} {:>7} {number:>9}  {}",
                bytes(row.bytes),
                percent(row.bytes, self.rss),
                kind_words(&row.kind)
            );
            if row.kind == FILES.0 {
                for file in self.files.iter().take(FILE_ROWS) {
                    let _ = writeln!(text, "{:>32}  {:>10}  {}", "", bytes(file.bytes), clean(&file.path));
                }
            }
        }
    }

    /// Writes how well the sums agree with those of the kernel and of malloc.
    fn write_check(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "\nCheck: the rows add up to {}, the kernel says {} ({}).",
            bytes(self.sum()),
            bytes(self.rss),
            difference(self.sum(), self.rss)
        );
        match (&self.malloc, &self.snapshot) {
            (Some(malloc), Some(snapshot)) => write_walk(text, malloc, snapshot),
            (Some(malloc), None) => {
                let _ = writeln!(
                    text,
                    "malloc says that it has {} in use, {} free, and {} in large blocks, resident or not.",
                    bytes(malloc.in_use),
                    bytes(malloc.free),
                    bytes(malloc.mapped)
                );
            }
            (None, _) => {}
        }
        if let Some(count) = &self.jemalloc {
            let _ = writeln!(
                text,
                "jemalloc says that it has {} in use in {} of pages, {} resident at most, {} without memory, in {} arenas.",
                bytes(count.allocated),
                bytes(count.active),
                bytes(count.resident),
                bytes(count.retained),
                count.arenas
            );
        }
    }
}

fn write_walk(text: &mut String, malloc: &MallocCount, snapshot: &Snapshot) {
    let walked = &snapshot.walked;
    let _ = writeln!(
        text,
        "The walk found {} in use and {} free, malloc says {} ({}) and {} ({}).",
        bytes(walked.in_use + walked.mapped),
        bytes(walked.free),
        bytes(malloc.in_use + malloc.mapped),
        difference(walked.in_use + walked.mapped, malloc.in_use + malloc.mapped),
        bytes(malloc.free),
        difference(walked.free, malloc.free)
    );
}

fn write_owners(text: &mut String, owners: &[OwnerRow]) {
    let _ = writeln!(
        text,
        "\n{:>12} {:>11} {:>10} {:>10} {:>10}  owner",
        "bytes", "objects", "slots", "malloc", "behind"
    );
    for row in owners.iter().take(OWNERS) {
        let _ = writeln!(
            text,
            "{:>12} {:>11} {:>10} {:>10} {:>10}  {}",
            bytes(row.bytes),
            count(row.objects),
            bytes(row.slot_bytes),
            bytes(row.chunk_bytes),
            bytes(row.behind_bytes),
            clean(&row.name)
        );
    }
    let rest = owners.len().saturating_sub(OWNERS) as u64;
    if rest > 0 {
        let others = owners.iter().skip(OWNERS).map(|it| it.bytes).sum();
        let _ = writeln!(text, "{:>12}  {}", bytes(others), counted(rest, "more owner"));
    }
}

/// Formats the difference of two numbers of bytes: `+1.2%`.
fn difference(found: u64, said: u64) -> String {
    let sign = if found < said { '-' } else { '+' };
    format!("{sign}{}", percent(found.abs_diff(said), said.max(1)))
}

#[cfg(test)]
mod tests {
    use crate::memory::ledger::tests::with_kinds;

    #[test]
    fn says_what_has_no_name() {
        let mut ledger = with_kinds(&[("tops", 90 << 20, 16), ("unnamed", 10 << 20, 0)]);
        ledger.program = "ruby \u{202e}app.rb".into();
        let text = ledger.text();
        assert!(text.contains("RSS 100 MiB, of which 90.0% have a name."), "{text}");
        assert!(text.contains("    90.0 MiB   90.0%        16  malloc: free ends of arenas\n"), "{text}");
        assert!(text.contains("the rows add up to 100 MiB, the kernel says 100 MiB (+0.0%)"), "{text}");
        assert!(!text.contains('\u{202e}'));
    }
}
