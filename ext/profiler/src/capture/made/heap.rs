//! Which of the objects that were looked at are alive: a hook on those that are freed takes them off the list.
//!
//! The hook runs while garbage is being collected. What has a finalizer counts as freed when it is no longer reachable.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicBool, Ordering};
use ::std::boxed::Box;
use ::std::vec::Vec;

use ::profiler_core::tracked::{Alive, Tracked};

use super::OBJECTS;
use crate::vm::allocations::{self, made_hook};

/// Objects that are followed at once. 12 MiB, of which only what is used is taken.
pub(crate) const CAPACITY: usize = 1 << 18;

/// The hook is there.
static HOOKED: AtomicBool = AtomicBool::new(false);

/// Whether objects are to be followed from now on. The table is made the first time, and kept. With the GVL, outside of the
/// hooks.
pub(super) fn follow(tracked: &mut Option<&'static mut Tracked>, wanted: bool) {
    if wanted == HOOKED.swap(wanted, Ordering::Relaxed) {
        return;
    }
    // SAFETY: the GVL is held.
    unsafe {
        if wanted {
            match tracked {
                Some(tracked) => tracked.clear(),
                None => *tracked = Some(Box::leak(Box::new(Tracked::with_capacity(CAPACITY)))),
            }
            allocations::on_freed(on_freed);
        } else {
            allocations::off_made(on_freed);
        }
    }
}

/// Whether objects are followed.
pub(crate) fn follows() -> bool {
    HOOKED.load(Ordering::Relaxed)
}

made_hook!(on_freed, |what| {
    // SAFETY: garbage is being collected, so nobody is in the other hook.
    if let Some(tracked) = unsafe { &mut (*OBJECTS.0.get()).tracked } {
        // SAFETY: the VM calls us with this.
        tracked.remove(unsafe { allocations::made(what) });
    }
});

/// Those of the objects that were looked at that are alive, or at least not freed yet, and how many there was no room for.
/// With the GVL, outside of the hooks.
pub(crate) fn alive() -> (Vec<Alive>, u64) {
    // SAFETY: the GVL is held, and no object is made here.
    let tracked = unsafe { &(*OBJECTS.0.get()).tracked };
    match tracked {
        Some(tracked) => (tracked.alive().collect(), tracked.refused()),
        None => (Vec::new(), 0),
    }
}

/// Objects have been moved: see [`Tracked::relocate`]. For the compact function.
pub(crate) fn relocate(moved: impl FnMut(u64) -> u64) {
    // SAFETY: garbage is being collected, so nobody is in a hook.
    let tracked = unsafe { &mut (*OBJECTS.0.get()).tracked };
    if let (true, Some(tracked)) = (follows(), tracked) {
        tracked.relocate(moved);
    }
}
