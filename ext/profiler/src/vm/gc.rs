//! Why garbage is collected.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use profiler_core::record::detail::GcCause;
use rb_sys::VALUE;

/// The VM's words for the questions and for the answers, as static Symbols; 0 until they are looked up.
struct Symbols {
    gc_by: AtomicU64,
    major_by: AtomicU64,
    minor: [AtomicU64; GcCause::MINOR.len()],
    major: [AtomicU64; GcCause::MAJOR.len()],
}

static SYMBOLS: Symbols = Symbols {
    gc_by: AtomicU64::new(0),
    major_by: AtomicU64::new(0),
    minor: [const { AtomicU64::new(0) }; GcCause::MINOR.len()],
    major: [const { AtomicU64::new(0) }; GcCause::MAJOR.len()],
};

/// Interns the Symbols that [`latest_cause`] needs.
///
/// # Safety
/// The caller holds the GVL and is not in a GC.
pub(crate) unsafe fn load_symbols() {
    // SAFETY: the caller holds the GVL outside of a GC; such a Symbol is not an object, and lives for ever.
    let symbol = |word: &str| unsafe {
        rb_sys::rb_id2sym(rb_sys::rb_intern2(word.as_ptr().cast(), word.len() as _)) as u64
    };
    let minor = SYMBOLS.minor.iter().zip(GcCause::MINOR);
    minor
        .chain(SYMBOLS.major.iter().zip(GcCause::MAJOR))
        .for_each(|(it, word)| it.store(symbol(word), Relaxed));
    SYMBOLS.gc_by.store(symbol("gc_by"), Relaxed);
    SYMBOLS.major_by.store(symbol("major_by"), Relaxed);
    // At the first question the VM creates Symbols of its own.
    // SAFETY: the caller holds the GVL.
    let _ = unsafe { latest_cause() };
}

/// Returns why the running GC, or the last one, began. Unknown before [`load_symbols`].
///
/// # Signal safety
/// The VM reads a few bits and returns a Symbol that exists.
///
/// # Safety
/// The caller is on a thread that collects, or holds the GVL.
pub(crate) unsafe fn latest_cause() -> GcCause {
    let info = |question: &AtomicU64| match question.load(Relaxed) {
        0 => 0,
        // SAFETY: the caller collects or holds the GVL; the VM knows this key, and raises for unknown ones
        // only.
        question => unsafe { rb_sys::rb_gc_latest_gc_info(question as VALUE) as u64 },
    };
    let place = |words: &[AtomicU64], answer| words.iter().position(|it| it.load(Relaxed) == answer);
    let major = info(&SYMBOLS.major_by);
    if let Some(place) = place(&SYMBOLS.major, major) {
        return GcCause::major(place);
    }
    place(&SYMBOLS.minor, info(&SYMBOLS.gc_by)).map_or(GcCause::UNKNOWN, GcCause::minor)
}
