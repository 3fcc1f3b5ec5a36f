//! The live objects among the sampled ones: a hook on freed objects removes them from the table.
//!
//! The hook runs while garbage is being collected. An object with a finalizer counts as freed when it is no longer reachable.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};
use ::std::boxed::Box;
use ::std::vec::Vec;

use ::profiler_core::sampling::live_objects::{LiveObject, LiveObjects};

use crate::capture::allocation::OBJECTS;
use crate::vm::allocations::{self, allocation_hook};

/// The most objects that are tracked at once. The table has 12 MiB, of which only the used part takes memory.
pub(crate) const CAPACITY: usize = 1 << 18;

/// Whether the hook is installed.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// The table of live objects: `used` while a session needs it, else `spare`, once it was allocated.
pub(super) struct Tables {
    pub(super) used: Option<&'static mut LiveObjects>,
    spare: Option<&'static mut LiveObjects>,
}

impl Tables {
    pub(super) const NONE: Self = Self { used: None, spare: None };

    /// Sets whether live objects are tracked from now on. With the GVL, outside of the hooks.
    pub(super) fn track(&mut self, enabled: bool) {
        if enabled == HOOKED.swap(enabled, Ordering::Relaxed) {
            return;
        }
        if enabled {
            let Some(table) = self.spare.take() else { return }; // no session begins without it
            table.clear();
            self.used = Some(table);
            // SAFETY: the GVL is held.
            unsafe { allocations::add_free_hook(on_freed) };
        } else {
            // SAFETY: the GVL is held.
            unsafe { allocations::remove_hook(on_freed) };
            self.spare = self.used.take();
        }
    }
}

/// Allocates the table of live objects, unless it is there. False if there is no memory for it. With the GVL, outside of the
/// hooks.
pub(crate) fn has_table() -> bool {
    // SAFETY: the GVL is held, and no object is allocated here.
    let tables = unsafe { &mut (*OBJECTS.0.get()).tables };
    if tables.used.is_none() && tables.spare.is_none() {
        tables.spare = LiveObjects::with_capacity(CAPACITY).map(|it| &mut *Box::leak(Box::new(it)));
    }
    tables.used.is_some() || tables.spare.is_some()
}

/// Whether live objects are tracked.
pub(crate) fn is_tracking() -> bool {
    HOOKED.load(Ordering::Relaxed)
}

allocation_hook!(on_freed, |trace_arg| {
    // SAFETY: garbage is being collected, so nobody is in the other hook.
    if let Some(tracked) = unsafe { &mut (*OBJECTS.0.get()).tables.used } {
        // SAFETY: the VM calls us with this.
        tracked.remove(unsafe { allocations::allocated_object(trace_arg) });
    }
});

/// The sampled objects that are live, or at least not freed yet, and how many did not fit into the table.
/// With the GVL, outside of the hooks.
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
    // SAFETY: garbage is being collected, so nobody is in a hook.
    let tracked = unsafe { &mut (*OBJECTS.0.get()).tables.used };
    if let (true, Some(tracked)) = (is_tracking(), tracked) {
        tracked.relocate(moved);
    }
}
