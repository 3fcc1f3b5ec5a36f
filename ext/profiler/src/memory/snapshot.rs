//! A copy of the process at one instant of the VM, and what it found.

use std::fs::read_to_string;
use std::time::{Duration, Instant};

use magnus::{Error, Ruby};
use profiler_core::memory::index::Table;
use profiler_core::memory::report::{Kind, Report, DONE};
use profiler_core::memory::rows::MallocCount;
use profiler_core::memory::smaps::{MappingSize, Smaps};
use profiler_core::memory::why::Question;
use profiler_core::memory::why_report::WhyReport;

use super::facts::Facts;
use super::{allocator, copy, pause};
use crate::naming;
use crate::sys::snapshot::{self, Page, Running};
use crate::vm::door::ensure_stack;
use crate::vm::exceptions::error;
use crate::vm::heap::{self, Sizes};
use crate::vm::objects::Pinned;
use crate::vm::without_gvl::without_gvl;

/// The time that a copy may take.
const PATIENCE: Duration = Duration::from_secs(45);
/// The number of collections that are tried until none begins before the copy.
const COLLECTIONS: u32 = 5;
/// The room for classes at first, which few programs need.
const CLASSES: usize = 16_384;

/// A copy that has finished.
pub(super) struct Finished {
    page: Page<Report>,
    why: Option<Page<WhyReport>>,
    facts: Facts,
    /// Keeps the classes alive and in place.
    _classes: Pinned,
    /// The kernel's sums at that instant.
    pub(super) sums: Option<MappingSize>,
    /// Malloc's own counts at the instant of the copy.
    pub(super) malloc: Option<MallocCount>,
    /// True if the free chunks that threads keep are marked.
    pub(super) knows_kept_chunks: bool,
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

    /// Returns the bytes of malloc's arenas that could not be walked.
    pub(super) fn not_walked(&self) -> u64 {
        self.report().kinds.get(Kind::Broken as usize).map_or(0, |sum| sum.bytes)
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

/// Takes a snapshot and waits for what the copy finds, and for the answer to a question.
///
/// # Errors
/// Exceptions that other threads deliver during the call. `Profiler::Error` with the reason.
pub(super) fn take(
    ruby: &Ruby,
    sizes: &Sizes,
    question: Option<Question<'_>>,
    max_pause: Option<Duration>,
    rss: u64,
) -> Result<Finished, Error> {
    ensure_stack(ruby)?;
    let refused = |why: String| error(ruby, "Error", format!("no owners were found: {why}"));
    // SAFETY: zeros are an empty report.
    let page = unsafe { Page::<Report>::new() }
        .map_err(|why| refused(format!("no memory for the report: {why}")))?;
    // SAFETY: zeros are an empty report.
    let why = question
        .map(|_| unsafe { Page::<WhyReport>::new() })
        .transpose()
        .map_err(|why| refused(format!("no memory for the report: {why}")))?;
    let tcache_key = allocator::tcache_key();
    let mut facts = Facts::new();
    // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC.
    let mut classes = unsafe { Pinned::with_capacity_for(CLASSES) };
    for _ in 0..COLLECTIONS {
        let begun = Instant::now();
        // From here to the copy, in one hold of the GVL, no object is allocated.
        // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC.
        let is_clean = unsafe { heap::collect() };
        let gc_ns = begun.elapsed().as_nanos() as u64;
        if !is_clean {
            continue;
        }
        if let Some(why) = max_pause.and_then(|limit| pause::refusal_after_gc(limit, gc_ns, rss)) {
            return Err(error(ruby, "Unsupported", why));
        }
        let begun = Instant::now();
        // SAFETY: a `Ruby` proves that the GVL is held, and the collection above has swept everything.
        let collections = unsafe {
            let collections = heap::collections();
            facts.list_pages(sizes);
            facts.list_classes();
            collections
        };
        classes.clear();
        let mut all = facts.classes.rows().iter().filter(|(class, real)| class == real);
        if !all.all(|(class, _)| classes.push(*class)) {
            // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC.
            classes = unsafe { Pinned::with_capacity_for(facts.classes.count() * 2) };
            continue;
        }
        facts.list_stacks();
        facts.stacks.push(std::ptr::from_ref(&begun) as u64); // of this thread: what is above is the callers'
        let malloc = allocator::count();
        let sums = read_to_string("/proc/self/smaps_rollup").ok().and_then(|text| Smaps::parse_sums(&text));
        // SAFETY: a `Ruby` proves that the GVL is held; the call reads a number.
        if unsafe { heap::collections() } != collections {
            continue;
        }
        let request = copy::CensusRequest {
            facts: &facts,
            sizes: *sizes,
            tcache_key,
            report: page.as_ptr(),
            question: question.zip(why.as_ref().map(Page::as_ptr)),
        };
        // SAFETY: `open` and `take` neither allocate, lock nor panic; this process does not touch the report
        // before the copy has ended.
        let running = unsafe { snapshot::begin(copy::open, |pagemap| copy::take(request, pagemap)) };
        let running = running.ok_or_else(|| refused("the system refuses a copy of the process".into()))?;
        let fork_ns = begun.elapsed().as_nanos() as u64;
        let copy_ns = wait(ruby, running)?;
        let knows_kept_chunks = tcache_key != 0;
        let found = Finished {
            page,
            why,
            facts,
            _classes: classes,
            sums,
            malloc,
            knows_kept_chunks,
            gc_ns,
            fork_ns,
            copy_ns,
        };
        return match found.report().stage {
            DONE if found.why().is_some_and(|why| why.is_whole == 0) => Err(refused(format!(
                "the copy of the process ended while it followed the references of objects: it took longer than {} s, had no memory, or a mark \
                 function of a C extension failed in it",
                PATIENCE.as_secs()
            ))),
            DONE => Ok(found),
            stage => Err(refused(format!(
                "the copy of the process ended in step {stage}: it took longer than {} s, had no memory, or /proc/self/pagemap cannot be \
                 read",
                PATIENCE.as_secs()
            ))),
        };
    }
    Err(refused("another thread collected garbage before each attempt to copy the process".into()))
}

/// Waits without the GVL until the copy ends. Returns the nanoseconds that it took.
fn wait(ruby: &Ruby, copy: Running) -> Result<u64, Error> {
    let begun = Instant::now();
    // The report's stage says whether it ended well.
    without_gvl(ruby, move |_| copy.has_ended_well(PATIENCE))?;
    Ok(begun.elapsed().as_nanos() as u64)
}
