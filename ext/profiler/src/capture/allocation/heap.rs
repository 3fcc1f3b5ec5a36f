//! Live objects among the sampled ones: a hook on freed objects removes them from the table.
//!
//! The hook runs while garbage is being collected. An object with a finalizer counts as freed when it is no
//! longer reachable.
//!
//! A record carries the slot in the table and the slot's generation. Each session remembers, by slot, the
//! site of the last object that it saw there. So when it reads the table after a full GC, the objects in it
//! are the live ones. Objects that the session does not know were allocated for other sessions.
//!
//! The alternatives to a hook on freed objects do not work. `rb_objspace_marked_object_p`, called for each
//! object in the table at the end of marking, would add no overhead per freed object, but Ruby 3.4 does not
//! export it. A WeakMap cannot hold hidden objects, cannot be written to in the hook, and is corrupt under
//! compaction on Ruby 3.1. `bench/README.md` states the minimal overhead of the hook.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};
use ::std::boxed::Box;
use ::std::vec::Vec;

use ::profiler_core::sampling::live_objects::{LiveObject, LiveObjects};

use crate::capture::allocation::OBJECTS;
use crate::vm::allocations::{self, allocation_hook};
use crate::vm::events::{in_other_ractor, GLOBAL_FREES};

/// The largest number of objects that are tracked at once. The table has 12 MiB, of which only the used part
/// occupies memory.
pub(crate) const CAPACITY: usize = 1 << 18;

/// True if the hook is installed.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// The table of live objects: `used` while a session needs it, otherwise `spare`, once it has been allocated.
pub(super) struct ObjectTables {
    pub(super) used: Option<&'static mut LiveObjects>,
    spare: Option<&'static mut LiveObjects>,
}

impl ObjectTables {
    pub(super) const NONE: Self = Self { used: None, spare: None };

    /// Puts the spare table to use, emptied. Returns false if there is none.
    fn begin(&mut self) -> bool {
        self.used = self.spare.take();
        self.used.as_mut().map(|table| table.clear()).is_some()
    }
}

/// Sets whether live objects are tracked from now on. The caller holds the GVL and is outside of the hooks.
///
/// While the VM adds or removes a hook, another Ractor may collect garbage, and so call this hook.
pub(super) fn track(enabled: bool) {
    if enabled == HOOKED.swap(enabled, Ordering::Relaxed) {
        return;
    }
    let tables = || {
        // SAFETY: the GVL is held, and the reference is gone before the VM is called.
        unsafe { &mut (*OBJECTS.0.get()).tables }
    };
    if !enabled {
        // SAFETY: the GVL is held.
        unsafe { allocations::remove_hook(on_freed) };
        let ended = tables();
        ended.spare = ended.used.take();
    } else if tables().begin() {
        // SAFETY: the GVL is held.
        unsafe { allocations::add_free_hook(on_freed) };
    } // else the session does not start
}

/// Allocates the table of live objects, unless it exists. Returns false if there is no memory for it. The
/// caller holds the GVL and is outside of the hooks.
pub(crate) fn has_table() -> bool {
    // SAFETY: the GVL is held, and no object is allocated here.
    let tables = unsafe { &mut (*OBJECTS.0.get()).tables };
    if tables.used.is_none() && tables.spare.is_none() {
        tables.spare = LiveObjects::with_capacity(CAPACITY).map(|it| &mut *Box::leak(Box::new(it)));
    }
    tables.used.is_some() || tables.spare.is_some()
}

/// Returns whether live objects are tracked.
pub(crate) fn is_tracking() -> bool {
    HOOKED.load(Ordering::Relaxed)
}

allocation_hook!(on_freed, |trace_arg| {
    if !GLOBAL_FREES && in_other_ractor() {
        return; // it frees only its own objects, which are not in the table
    }
    // SAFETY: garbage is being collected, by the main Ractor or while it stands still, so no thread is in the
    // other hook.
    if let Some(tracked) = unsafe { &mut (*OBJECTS.0.get()).tables.used } {
        // SAFETY: the VM calls the hook with this argument.
        tracked.remove(unsafe { allocations::allocated_object(trace_arg) });
    }
});

/// Returns the sampled objects that are live, or at least not freed yet, and how many did not fit into the
/// table. The caller holds the GVL and is outside of the hooks.
pub(crate) fn live_objects() -> (Vec<LiveObject>, u64) {
    // SAFETY: the GVL is held, and no object is allocated here.
    let tracked = unsafe { &(*OBJECTS.0.get()).tables.used };
    match tracked {
        Some(tracked) => (tracked.iter().collect(), tracked.refused()),
        None => (Vec::new(), 0),
    }
}

/// Updates the table after objects have moved: see [`LiveObjects::relocate`]. For the compact function.
pub(crate) fn relocate(moved: impl FnMut(u64) -> u64) {
    // SAFETY: garbage is being collected, so no thread is in a hook.
    let tracked = unsafe { &mut (*OBJECTS.0.get()).tables.used };
    if let (true, Some(tracked)) = (is_tracking(), tracked) {
        tracked.relocate(moved);
    }
}
