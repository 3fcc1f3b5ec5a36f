//! Time in which a thread could run but had no CPU.

use super::clock::TimeUse;
use super::{Clock, Finding, FindingKind};
use crate::analysis::wait_cause::is_sampled;
use crate::profile::Profile;
use crate::text::units::duration;

/// Finds time without a CPU. It is a finding if the limit of a cgroup took the CPU away, as that is the
/// program's own limit. A busy machine is not, so that becomes a note, and the percentages leave it out.
pub(super) fn find(profile: &Profile, clock: &Clock<'_>) -> Option<Finding> {
    let weight = clock.weight(|it| *it == TimeUse::NoCpu);
    let all = if clock.is_throttled { clock.total } else { clock.total.saturating_add(weight) };
    if weight == 0 || (weight as f64) < all as f64 * super::MIN_SHARE {
        return None;
    }
    let (text, share) = if clock.is_throttled {
        ("waiting for a CPU, because its cgroup had used up its limit".into(), Some(clock.share(weight)))
    } else if is_sampled(profile) {
        (format!("waited {} for a CPU or the GVL (left out of the percentages)", duration(weight)), None)
    } else {
        (
            format!("waited {} for a CPU that others used (left out of the percentages)", duration(weight)),
            None,
        )
    };
    let command = "profiler report FILE --by state".into();
    Some(Finding { kind: FindingKind::NoCpu, text, weight, of: clock.of, share, place: None, command })
}
