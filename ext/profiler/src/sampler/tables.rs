//! The renewal of the tables of stacks and of sets of labels, which would else keep code and labels that are gone.

use profiler_core::pipeline::hub::Hub;

use crate::capture::allocation;
use crate::labels;

/// Renews the tables if they are much larger than what a result needs, which is that number of handles. Needs the GVL.
pub(super) fn renew(hub: &Hub, needed: usize) {
    if hub.is_outgrown(needed) {
        // Sums of allocations name frames that the tables kept alive.
        allocation::send_sums();
        hub.turn_over();
    }
    labels::renew(hub);
}
