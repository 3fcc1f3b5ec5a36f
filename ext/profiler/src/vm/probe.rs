//! A probe of the VM: whether it does what the profiler needs, for a Ruby newer than those it was tested
//! with.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use magnus::Ruby;

use crate::vm::allocations::{self, allocation_hook};
use crate::vm::door::quietly;
use crate::vm::events::{self, thread_hook};
use crate::vm::state::during_gc;

/// Whether this Ruby is newer than those that the profiler was tested with.
pub(crate) const NEEDED: bool = cfg!(ruby_gt_4_0);

/// The newest Ruby that the profiler was tested with.
pub(crate) const NEWEST_TESTED: &str = "4.0";

/// The number of objects that the hook was called for.
static OBJECTS: AtomicU64 = AtomicU64::new(0);

/// Whether the hook on GC was called at the beginning of a GC, or at its end, while the VM said that garbage
/// was being collected.
static BEGAN: AtomicBool = AtomicBool::new(false);
static ENDED: AtomicBool = AtomicBool::new(false);

allocation_hook!(on_object, |_trace_arg| {
    if !events::in_other_ractor() {
        OBJECTS.fetch_add(1, Relaxed);
    }
});

thread_hook!(on_gc, |event, _thread| {
    let seen = if events::begins(event) { &BEGAN } else { &ENDED };
    seen.fetch_or(during_gc(), Relaxed);
});

/// Allocates `number` objects. Returns for how many of them the hook on allocation was called.
pub(crate) fn objects_seen(_gvl: &Ruby, number: usize) -> u64 {
    OBJECTS.store(0, Relaxed);
    // SAFETY: a `Ruby` proves that the GVL is held; the hook only counts. An Array without contents is one
    // object, and no method is called. The allocation raises only for lack of memory, and then fewer objects
    // are counted.
    unsafe {
        allocations::add_hook(on_object);
        for _ in 0..number {
            core::hint::black_box(quietly(|| rb_sys::rb_ary_new()));
        }
        allocations::remove_hook(on_object);
    }
    OBJECTS.load(Relaxed)
}

/// Collects garbage. Returns whether the hooks on GC were called, and the VM said meanwhile that it collects.
pub(crate) fn is_gc_seen(ruby: &Ruby) -> bool {
    BEGAN.store(false, Relaxed);
    ENDED.store(false, Relaxed);
    // SAFETY: a `Ruby` proves that the GVL is held; of the VM the hook calls only a question that handlers
    // ask too.
    unsafe { events::hook_gc(on_gc) };
    ruby.gc_start();
    // SAFETY: the GVL is held, and this is outside of the hook.
    unsafe { events::unhook(on_gc) };
    BEGAN.load(Relaxed) && ENDED.load(Relaxed)
}
