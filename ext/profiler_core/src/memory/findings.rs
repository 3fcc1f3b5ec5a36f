//! Findings about a ledger, each with a remedy.

use super::holders::StepRow;
use super::ledger::{Ledger, Snapshot};
use super::rows::{LedgerFinding, OwnerRow};
use super::slots::INTERNAL;
use crate::text::clean;
use crate::text::units::{bytes, count, counted, percent};

/// The smallest amount that is worth a finding, in bytes and as a share of the resident memory.
const MIN_BYTES: u64 = 4 << 20;
const MIN_SHARE: f64 = 0.05;
/// The smallest amount of memory without a reference that is called a leak: the walk is wrong about less.
const MIN_LEAK: u64 = 1 << 20;
/// The share of the resident memory from which on the objects of one class are worth a finding.
const MIN_CLASS_SHARE: f64 = 0.25;
/// The loaded code that is worth a finding, in bytes and as a share of the resident memory: each program has some.
const MIN_CODE: u64 = 16 << 20;
const MIN_CODE_SHARE: f64 = 0.15;
/// The types of the VM's own objects that exist for code, by the names of [`type_name`](super::slots::type_name).
const CODE: [&str; 10] = [
    "iseq (code)",
    "Class",
    "Module",
    "inclusion of a module",
    "method entry",
    "scope of constants",
    "call info",
    "call cache",
    "constant cache",
    "syntax tree",
];
/// The address space without memory that is worth a finding, in bytes and as a multiple of the resident memory.
const MIN_ABSENT: u64 = 1 << 30;
const MIN_ABSENT_TIMES: u64 = 8;

impl Ledger {
    /// Finishes the ledger: sorts its rows, and finds what stands out.
    pub fn finish(&mut self) {
        self.kinds.sort_by_key(|it| std::cmp::Reverse(it.bytes));
        self.findings = all(self);
    }
}

/// Returns all findings, the most resident bytes first.
fn all(ledger: &Ledger) -> Vec<LedgerFinding> {
    let mut all: Vec<LedgerFinding> = Vec::new();
    if let Some(snapshot) = &ledger.snapshot {
        all.extend(leak(ledger, snapshot));
        all.extend(tops(ledger, snapshot));
        all.extend(free_pages(ledger, snapshot));
        all.extend(fragments(ledger, snapshot));
        all.extend(code(ledger, snapshot));
        all.extend(retained(ledger, snapshot).or_else(|| class(ledger, snapshot)));
    }
    all.extend(jemalloc(ledger));
    all.extend(empty_pages(ledger));
    all.extend(jit(ledger));
    all.extend(swap(ledger));
    all.sort_by_key(|it| std::cmp::Reverse(it.bytes));
    all.extend(address_space(ledger)); // the last one, as it is no memory
    all
}

fn is_worth_reporting(bytes: u64, ledger: &Ledger) -> bool {
    bytes >= MIN_BYTES && bytes as f64 >= ledger.rss as f64 * MIN_SHARE
}

fn finding(kind: &str, bytes: u64, text: String, remedy: impl Into<String>) -> LedgerFinding {
    LedgerFinding { kind: kind.to_owned(), bytes, text, remedy: remedy.into() }
}

/// Memory that nothing refers to: a leak of C code.
fn leak(ledger: &Ledger, snapshot: &Snapshot) -> Option<LedgerFinding> {
    let leaked = ledger.bytes("unreferenced");
    // Memory that is referenced only from a part that was not walked looks lost.
    if leaked < MIN_LEAK || ledger.bytes("not_walked") * 10 > leaked {
        return None;
    }
    let chunks = ledger.count("unreferenced");
    let mut text =
        format!("{} of malloc in {} that nothing refers to", bytes(leaked), counted(chunks, "block"));
    let sizes: Vec<String> = snapshot
        .sizes
        .iter()
        .take(3)
        .filter(|it| it.bytes * 10 >= leaked)
        .map(|it| format!("{} of {}", count(it.count), bytes(it.size)))
        .collect();
    if !sizes.is_empty() {
        text.push_str(&format!(" ({})", sizes.join(", ")));
    }
    let hint = snapshot.hints.iter().find(|it| it.bytes * 2 >= leaked);
    let remedy = match hint {
        Some(hint) => format!(
            "C code lost them, probably {}: {} of them refer to its code or constants. Update it, or look for a missing free \
             where it is used.",
            file_name(&hint.path),
            percent(hint.bytes, leaked)
        ),
        None => "C code lost them: a gem's extension or a library. Take a second ledger after some work; if this grows, leave out \
                 one gem with an extension after the other."
            .to_owned(),
    };
    let lines = "profiler record --pid PID --mode native --owners shows the line that allocates them.";
    Some(finding("leak", leaked, text, format!("{remedy} {lines}")))
}

/// The free ends of the arenas of threads, which malloc keeps.
fn tops(ledger: &Ledger, snapshot: &Snapshot) -> Option<LedgerFinding> {
    let of_threads = snapshot.arenas.iter().filter(|it| !it.main);
    let number = of_threads.clone().filter(|it| it.top > 0).count();
    let tops: u64 = of_threads.map(|it| it.top).sum();
    is_worth_reporting(tops, ledger).then(|| {
        finding(
            "tops",
            tops,
            format!(
                "{} are free at the ends of {}, which malloc keeps and malloc_trim does not return",
                bytes(tops),
                counted(number as u64, "arena")
            ),
            "Set MALLOC_ARENA_MAX=2 in the environment of the process, or MALLOC_MMAP_THRESHOLD_=131072, which keeps large blocks out \
             of the arenas.",
        )
    })
}

/// Whole free pages inside of arenas.
fn free_pages(ledger: &Ledger, snapshot: &Snapshot) -> Option<LedgerFinding> {
    let free = |main| snapshot.arenas.iter().filter(|it| it.main == main).map(|it| it.free).sum::<u64>();
    let mut remedy = "malloc_trim(0), a function of libc that Fiddle can call, returns them to the system at once. Later work may need \
                      them again."
        .to_owned();
    if free(false) > free(true) {
        remedy.push_str(" Most are in arenas of threads: MALLOC_ARENA_MAX=2 in the environment of the process leaves fewer.");
    }
    is_worth_reporting(snapshot.trimmable, ledger).then(|| {
        let text = format!("{} are whole pages in free blocks of malloc", bytes(snapshot.trimmable));
        finding("free_pages", snapshot.trimmable, text, remedy)
    })
}

/// Free memory that is in no whole page.
fn fragments(ledger: &Ledger, snapshot: &Snapshot) -> Option<LedgerFinding> {
    let free = ledger.bytes("free_chunks").saturating_sub(snapshot.trimmable);
    is_worth_reporting(free, ledger).then(|| {
        finding(
            "fragments",
            free,
            format!("{} of malloc are free in pieces smaller than a page: fragmentation", bytes(free)),
            "malloc uses them before it asks the system for more, but cannot return them: each page also has a block in use.",
        )
    })
}

/// The object that retains most of what was asked for: a cache, or a list that only grows.
fn retained(ledger: &Ledger, snapshot: &Snapshot) -> Option<LedgerFinding> {
    let paths = snapshot.why.iter().flat_map(|why| &why.holders).map(|holder| &holder.path);
    let step = paths.filter_map(|path| holder(path)).max_by_key(|step| step.retained)?;
    is_worth_reporting(step.retained, ledger).then(|| {
        finding(
            "retained",
            step.retained,
            format!("{} would be free without one object of class {}", bytes(step.retained), clean(&step.class)),
            "The list of what is alive, below, shows how it is reached. Limit its size if it is a cache, or drop what it no longer \
             needs.",
        )
    })
}

/// Returns the object of a path that holds the rest of it together: the last one that retains nearly as much as any.
fn holder(path: &[StepRow]) -> Option<&StepRow> {
    let dominators = || path.iter().filter(|step| step.is_dominator);
    let most = dominators().map(|step| step.retained).max()?;
    dominators().rfind(|step| step.retained as f64 >= most as f64 * 0.9)
}

/// The class that has the most memory, if that is a large part of all.
fn class(ledger: &Ledger, snapshot: &Snapshot) -> Option<LedgerFinding> {
    // Owners that are no class have names in parentheses.
    let is_class = |owner: &&OwnerRow| owner.objects > 0 && !owner.name.starts_with('(');
    let owner = snapshot.owners.iter().filter(is_class).max_by_key(|owner| owner.bytes)?;
    let is_large = owner.bytes as f64 >= ledger.rss as f64 * MIN_CLASS_SHARE;
    (is_large && is_worth_reporting(owner.bytes, ledger)).then(|| {
        let (name, objects) = (clean(&owner.name), counted(owner.objects, "object"));
        // An anonymous class cannot be asked for by its name.
        let wanted = if name.starts_with(char::is_uppercase) { &*name } else { "'*'" };
        finding(
            "class",
            owner.bytes,
            format!("{} belong to {objects} of class {name}, with their memory of malloc", bytes(owner.bytes)),
            format!(
                "profiler memory --why {wanted} PID shows what keeps them alive, and profiler record --pid PID --mode heap where they \
                 are allocated."
            ),
        )
    })
}

/// The code that was loaded, with its classes and methods.
fn code(ledger: &Ledger, snapshot: &Snapshot) -> Option<LedgerFinding> {
    let is_code =
        |owner: &&OwnerRow| owner.name.strip_prefix(INTERNAL).is_some_and(|name| CODE.contains(&name));
    let code: u64 = snapshot.owners.iter().filter(is_code).map(|owner| owner.bytes).sum();
    (code >= MIN_CODE && code as f64 >= ledger.rss as f64 * MIN_CODE_SHARE).then(|| {
        finding(
            "code",
            code,
            format!("{} are Ruby code that was loaded, with its classes, methods and caches", bytes(code)),
            "profiler boot --mode native -- COMMAND shows how much each required file holds. Leave out gems that are not needed, or \
             load them before workers are forked, which then share most of this memory.",
        )
    })
}

/// Free memory of jemalloc: whole pages, and the rest of pages that also have blocks in use.
fn jemalloc(ledger: &Ledger) -> Vec<LedgerFinding> {
    let Some(count) = &ledger.jemalloc else { return Vec::new() };
    let kept = ledger.bytes("jemalloc_free");
    let mut found = Vec::new();
    if is_worth_reporting(kept, ledger) {
        found.push(finding(
            "jemalloc_free",
            kept,
            format!("{} are free pages of jemalloc, which it returns after some seconds", bytes(kept)),
            "MALLOC_CONF=background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0 in the environment of the process returns them \
             sooner, also if nothing runs.",
        ));
    }
    let fragments = count.active.saturating_sub(count.allocated);
    if is_worth_reporting(fragments, ledger) {
        found.push(finding(
            "jemalloc_fragments",
            fragments,
            format!("{} are free in pages of jemalloc that also have blocks in use", bytes(fragments)),
            format!(
                "It has {}. With fewer there is less of it: MALLOC_CONF=narenas:2",
                counted(count.arenas, "arena")
            ),
        ));
    }
    found
}

/// Pages of Ruby's heap without a live object.
fn empty_pages(ledger: &Ledger) -> Option<LedgerFinding> {
    let empty = ledger.bytes("empty_pages");
    is_worth_reporting(empty, ledger).then(|| {
        finding(
            "empty_pages",
            empty,
            format!("{} are pages of Ruby's heap without a live object", bytes(empty)),
            "Ruby keeps them for the next objects: something allocated many at once. Look for it with profiler record --mode allocations.",
        )
    })
}

/// Code of a JIT.
fn jit(ledger: &Ledger) -> Option<LedgerFinding> {
    let code = ledger.bytes("jit");
    is_worth_reporting(code, ledger).then(|| {
        finding(
            "jit",
            code,
            format!("{} are for code of a JIT", bytes(code)),
            "Limit it with Ruby's option --yjit-exec-mem-size, in MiB.",
        )
    })
}

/// Memory in swap.
fn swap(ledger: &Ledger) -> Option<LedgerFinding> {
    is_worth_reporting(ledger.swapped, ledger).then(|| {
        finding(
            "swap",
            ledger.swapped,
            format!("{} of the process are in swap, besides its resident memory", bytes(ledger.swapped)),
            "The machine, or the limit of its cgroup, has too little memory for what runs there.",
        )
    })
}

/// Address space without memory, for readers who wonder about the size that `ps` shows.
fn address_space(ledger: &Ledger) -> Option<LedgerFinding> {
    let absent = ledger.address_space.saturating_sub(ledger.rss + ledger.swapped);
    (absent >= MIN_ABSENT && absent / MIN_ABSENT_TIMES >= ledger.rss).then(|| {
        let mut remedy = "The system gives memory to what is touched, so nothing has to be done: look at RSS, and not at VSZ or VIRT."
            .to_owned();
        if ledger.reserved * 2 >= absent {
            remedy.push_str(&format!(
                " {} are reserved, mostly 64 MiB for each arena of malloc: should a limit of address space (ulimit -v) be reached, \
                 set MALLOC_ARENA_MAX=2 in the environment of the process.",
                bytes(ledger.reserved)
            ));
        }
        let text = format!("{} of address space are not resident, and need no memory", bytes(absent));
        finding("address_space", absent, text, remedy)
    })
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests;
