//! The comparison of what was counted with what the VM has allocated.

use super::OBJECTS;
use crate::vm::allocations;

/// Whether the hook was not called for some objects that the VM has allocated since the last marking. For the mark function,
/// once in each marking.
pub(crate) fn is_silent() -> bool {
    // SAFETY: garbage is being collected, so nobody is in the hook.
    let it = unsafe { &mut *OBJECTS.0.get() };
    if it.hooked.is_none() {
        return false;
    }
    // SAFETY: the GVL is held, and `apply` has asked before.
    let now = (it.now(), unsafe { allocations::total_allocated() });
    let before = ::core::mem::replace(&mut it.at_marking, now);
    let least = if it.by_bytes { allocations::ONE_SIZE } else { 1 };
    now.1.saturating_sub(before.1).saturating_mul(least) > now.0.saturating_sub(before.0)
}
