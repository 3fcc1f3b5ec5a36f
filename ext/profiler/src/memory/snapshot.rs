//! A copy of the process at one instant of the VM, and what it found.

use std::fs::read_to_string;
use std::time::{Duration, Instant};

use magnus::{Error, Ruby};
use profiler_core::memory::index::Table;
use profiler_core::memory::report::{MemoryKind, Report, DONE};
use profiler_core::memory::rows::MallocCount;
use profiler_core::memory::sampled::OwnedBlock;
use profiler_core::memory::smaps::{MappingSize, Smaps};
use profiler_core::memory::why::Question;
use profiler_core::memory::why_report::WhyReport;

use super::copy::SampledBlocks;
use super::facts::HeapFacts;
use super::live::smaps;
use super::{allocator, copy, headroom, pause};
use crate::naming;
use crate::sys::snapshot::{self, Page, Running};
use crate::vm;
use crate::vm::door::ensure_stack;
use crate::vm::exceptions::error;
use crate::vm::heap::{self, Sizes};
use crate::vm::objects::Pinned;
use crate::vm::without_gvl::without_gvl;

/// The time that a copy may take.
const PATIENCE: Duration = Duration::from_secs(45);
/// The number of collections that are tried until none begins before the copy.
const COLLECTIONS: u32 = 5;
/// The number of copies that are made if other threads change malloc's arenas at that instant.
const COPIES: u32 = 4;
/// The largest share of the resident memory that may stay unwalked.
const MAX_UNWALKED_SHARE: f64 = 0.005;
/// The room for classes at first, which few programs need.
const CLASSES: usize = 16_384;

/// A copy that has finished.
pub(super) struct Finished {
    page: Page<Report>,
    why: Option<Page<WhyReport>>,
    blocks: Option<Page<SampledBlocks>>,
    facts: HeapFacts,
    /// Keeps the classes alive and in place.
    _classes: Pinned,
    /// The kernel's sums at that instant.
    pub(super) sums: Option<MappingSize>,
    /// Malloc's own counts at the instant of the copy.
    pub(super) malloc: Option<MallocCount>,
    /// Whether the free chunks that threads keep are marked.
    pub(super) knows_kept_chunks: bool,
    /// True if no garbage was collected, as the program has disabled the GC.
    pub(super) has_garbage: bool,
    pub(super) gc_ns: u64,
    pub(super) fork_ns: u64,
    pub(super) copy_ns: u64,
}

impl Finished {
    /// Returns what the copy found.
    pub(super) fn report(&self) -> &Report {
        // SAFETY: the copy has ended, so nobody writes to the page.
        unsafe { &*self.page.as_ptr() }
    }

    /// Returns why objects are alive, if that was asked for.
    pub(super) fn why(&self) -> Option<&WhyReport> {
        // SAFETY: the copy has ended, so nobody writes to the page.
        self.why.as_ref().map(|page| unsafe { &*page.as_ptr() })
    }

    /// Returns the sampled blocks with their owners, if these were wanted.
    pub(super) fn blocks(&self) -> &[OwnedBlock] {
        // SAFETY: the copy has ended, so nobody writes to the page.
        self.blocks.as_ref().map_or(&[], |page| unsafe { &*page.as_ptr() }.rows())
    }

    /// Returns the bytes of malloc's arenas that could not be walked.
    pub(super) fn not_walked(&self) -> u64 {
        self.report().kinds.get(MemoryKind::Broken as usize).map_or(0, |sum| sum.bytes)
    }

    /// Returns the name of a class by the address that it had.
    pub(super) fn class_name(&self, class: u64) -> Option<String> {
        let rows = self.facts.classes.rows();
        rows.binary_search_by_key(&class, |it| it.0).ok()?;
        // SAFETY: the GVL is held, as it was by the caller of `take`; all listed classes that represent
        // others are pinned.
        Some(unsafe { naming::name_of_class(class) })
    }
}

/// What a ledger with owners may cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// Whether the process is copied even if it is large, or near the memory limit of its cgroup.
    pub(crate) force: bool,
    /// The longest time for which the process may stand still. `None` for any.
    pub(crate) max_pause: Option<Duration>,
}

/// What a snapshot is taken for.
#[derive(Clone, Copy)]
struct Purpose<'wanted> {
    /// Why objects are alive.
    question: Option<Question<'wanted>>,
    /// Whether the owners of sampled blocks are wanted.
    blocks: bool,
    /// The longest time for which the process may stand still. `None` for any.
    max_pause: Option<Duration>,
    /// Resident bytes of the process.
    rss: u64,
}

/// Why there is no snapshot.
pub(crate) enum NoSnapshot {
    /// The name of the exception, and the reason.
    Refused(&'static str, String),
    /// An exception that another thread delivered.
    Arrived(Error),
}

impl From<Error> for NoSnapshot {
    fn from(arrived: Error) -> Self {
        Self::Arrived(arrived)
    }
}

impl NoSnapshot {
    /// Returns the exception for the caller.
    pub(super) fn exception(self, ruby: &Ruby) -> Error {
        match self {
            Self::Refused(name, why) => error(ruby, name, why),
            Self::Arrived(arrived) => arrived,
        }
    }
}

/// Takes a snapshot and waits for what the copy of the process finds. If other threads changed malloc's arenas at that instant, another
/// copy is made. The times of all copies are summed.
pub(super) fn take(
    ruby: &Ruby,
    sizes: &Sizes,
    limits: Limits,
    question: Option<Question<'_>>,
    blocks: bool,
) -> Result<(Finished, Smaps), NoSnapshot> {
    let refused = |why: String| NoSnapshot::Refused("Unsupported", why);
    if let Some(why) = allocator::refusal() {
        return Err(refused(format!("no owners can be found: {why}")));
    }
    if vm::process::has_ractors(ruby)? {
        let why = "no owners can be found while other Ractors run: they could be changing objects";
        return Err(refused(why.into()));
    }
    let smaps = without_gvl(ruby, |_| smaps())?.map_err(|why| NoSnapshot::Refused("Error", why))?;
    let refusal = pause::refusal_of_pagemap()
        .or_else(|| (!limits.force).then(|| headroom::refusal(smaps.rss)).flatten())
        .or_else(|| limits.max_pause.and_then(|limit| pause::refusal(limit, pause::slots(ruby), smaps.rss)));
    if let Some(why) = refusal {
        return Err(refused(why));
    }
    let purpose = Purpose { question, blocks, max_pause: limits.max_pause, rss: smaps.rss };
    let (mut gc_ns, mut fork_ns, mut copies) = (0, 0, 0);
    loop {
        let mut found = copy_once(ruby, sizes, purpose)?;
        (gc_ns, fork_ns, copies) = (gc_ns + found.gc_ns, fork_ns + found.fork_ns, copies + 1);
        if found.not_walked() as f64 <= smaps.rss as f64 * MAX_UNWALKED_SHARE || copies == COPIES {
            (found.gc_ns, found.fork_ns) = (gc_ns, fork_ns);
            return Ok((found, smaps));
        }
    }
}

/// Makes one copy and waits for what it finds.
fn copy_once(ruby: &Ruby, sizes: &Sizes, purpose: Purpose<'_>) -> Result<Finished, NoSnapshot> {
    ensure_stack(ruby)?;
    let refused = |why: &str| NoSnapshot::Refused("Error", format!("no owners were found: {why}"));
    let no_memory = |why: std::io::Error| refused(&format!("no memory for the report: {why}"));
    // SAFETY: zeros are an empty report.
    let page = unsafe { Page::<Report>::new() }.map_err(no_memory)?;
    // SAFETY: zeros are an empty report.
    let why = purpose.question.map(|_| unsafe { Page::<WhyReport>::new() }).transpose().map_err(no_memory)?;
    // SAFETY: zeros are an empty list.
    let blocks = purpose.blocks.then(|| unsafe { Page::<SampledBlocks>::new() });
    let blocks = blocks.transpose().map_err(no_memory)?;
    let tcache_key = allocator::tcache_key();
    let mut facts = HeapFacts::new();
    // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC.
    let mut classes = unsafe { Pinned::with_capacity_for(CLASSES) };
    let mut listed = None;
    for _ in 0..COLLECTIONS {
        listed = list(sizes, &mut facts, &mut classes, &purpose)?;
        if listed.is_some() {
            break;
        }
    }
    let listed = listed
        .ok_or_else(|| refused("another thread collected garbage before each attempt to copy the process"))?;
    facts.stacks.push(std::ptr::from_ref(&listed) as u64); // of this thread: what is above is the callers'
    let request = copy::CensusRequest {
        facts: &facts,
        sizes: *sizes,
        tcache_key,
        report: page.as_ptr(),
        question: purpose.question.zip(why.as_ref().map(Page::as_ptr)),
        blocks: blocks.as_ref().map(Page::as_ptr),
    };
    // SAFETY: `open` and `take` neither allocate, lock nor panic; this process does not touch the report
    // before the copy has ended.
    let running = unsafe { snapshot::begin(copy::open, |pagemap| copy::take(request, pagemap)) };
    let running = running.ok_or_else(|| refused("the system refuses a copy of the process"))?;
    let fork_ns = listed.began.elapsed().as_nanos() as u64;
    let copy_ns = wait(ruby, running)?;
    let found = Finished {
        page,
        why,
        blocks,
        facts,
        _classes: classes,
        sums: listed.sums,
        malloc: listed.malloc,
        knows_kept_chunks: tcache_key != 0,
        has_garbage: listed.has_garbage,
        gc_ns: listed.gc_ns,
        fork_ns,
        copy_ns,
    };
    let (when, or) = match found.report().stage {
        DONE if found.why().is_none_or(|why| why.is_whole != 0) => return Ok(found),
        DONE => (
            "while it followed the references of objects".to_owned(),
            "a mark function of a C extension failed in it",
        ),
        stage => (format!("in step {stage}"), "/proc/self/pagemap cannot be read"),
    };
    let patience = PATIENCE.as_secs();
    Err(refused(&format!(
        "the copy of the process ended {when}: it took longer than {patience} s, had no memory, or {or}"
    )))
}

/// What was read in the hold of the GVL in which the copy is made.
struct Listed {
    malloc: Option<MallocCount>,
    sums: Option<MappingSize>,
    has_garbage: bool,
    gc_ns: u64,
    /// When listing began.
    began: Instant,
}

/// Collects garbage and lists what the copy needs. Returns `None` if another collection began in between, or
/// if there are more classes than `classes` had room for. From here to the copy, in one hold of the GVL, no
/// object is allocated.
///
/// The caller has the GVL, outside of a GC.
fn list(
    sizes: &Sizes,
    facts: &mut HeapFacts,
    classes: &mut Pinned,
    purpose: &Purpose<'_>,
) -> Result<Option<Listed>, NoSnapshot> {
    let began = Instant::now();
    // SAFETY: the caller has the GVL, outside of a GC.
    let (before, is_clean) = unsafe { (heap::collections(), heap::collect()) };
    let gc_ns = began.elapsed().as_nanos() as u64;
    if !is_clean {
        return Ok(None);
    }
    let why_not = purpose.max_pause.and_then(|limit| pause::refusal_after_gc(limit, gc_ns, purpose.rss));
    if let Some(why) = why_not {
        return Err(NoSnapshot::Refused("Unsupported", why));
    }
    let began = Instant::now();
    // SAFETY: the caller has the GVL, and the collection above has swept everything.
    let collections = unsafe {
        let collections = heap::collections();
        facts.list_pages(sizes);
        facts.list_classes();
        collections
    };
    classes.clear();
    let mut all = facts.classes.rows().iter().filter(|(class, real)| class == real);
    if !all.all(|(class, _)| classes.push(*class)) {
        // SAFETY: the caller has the GVL, outside of a GC.
        *classes = unsafe { Pinned::with_capacity_for(facts.classes.count() * 2) };
        return Ok(None);
    }
    facts.list_stacks();
    let malloc = allocator::count();
    let sums = read_to_string("/proc/self/smaps_rollup").ok().and_then(|text| Smaps::parse_sums(&text));
    // SAFETY: the caller has the GVL; the call reads a number.
    let is_undisturbed = unsafe { heap::collections() } == collections;
    Ok(is_undisturbed.then_some(Listed { malloc, sums, has_garbage: collections == before, gc_ns, began }))
}

/// Waits without the GVL until the copy ends. Returns the nanoseconds that it took.
fn wait(ruby: &Ruby, copy: Running) -> Result<u64, Error> {
    let began = Instant::now();
    // The report's stage says whether it ended well.
    without_gvl(ruby, move |_| copy.has_ended_well(PATIENCE))?;
    Ok(began.elapsed().as_nanos() as u64)
}
