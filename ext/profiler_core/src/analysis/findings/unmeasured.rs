//! Time that a profile of CPU time alone does not show.

use super::{Finding, FindingKind};
use crate::profile::{Note, Profile, SampleType};
use crate::text::units::duration;

/// The part of its time for which a program must have been off the CPU.
const MIN_OFF_CPU_SHARE: f64 = 0.5;
/// The shortest time off the CPU that is worth a line, ns. A tiny request's may be the profiler's own start.
const MIN_OFF_CPU_NS: u64 = 5_000_000;

/// Finds that only CPU time was measured and that the program mostly did not run. Time in which it could run,
/// but others had the CPU, does not count.
pub(super) fn find(profile: &Profile) -> Option<Finding> {
    let measured = |of| profile.sample_types.contains(&of);
    let is_foreign = |it: &Note| matches!(it, Note::ReadFrom { .. });
    // The CPU time of the whole process is known only if all of its threads were profiled. Without a sample,
    // the profile has nothing else to say.
    let unseen_ns = profile.stats.unseen_cpu_ns;
    let is_known = unseen_ns > 0 || profile.total().get(SampleType::Samples) == 0;
    if !measured(SampleType::Cpu)
        || measured(SampleType::Wall)
        || !is_known
        || profile.meta.is_partial()
        || profile.meta.notes.iter().any(is_foreign)
    {
        return None;
    }
    let all_ns = profile.meta.duration_ns;
    let with_cpu_ns = all_ns.saturating_sub(profile.stats.run_delay_ns);
    let seen_ns = profile.total().get(SampleType::Cpu).saturating_add(profile.meta.gc_left_out_ns());
    let cpu_ns = seen_ns.saturating_add(unseen_ns);
    let off_cpu_ns = with_cpu_ns.saturating_sub(cpu_ns);
    if off_cpu_ns < MIN_OFF_CPU_NS || off_cpu_ns as f64 <= with_cpu_ns as f64 * MIN_OFF_CPU_SHARE {
        return None;
    }
    let text =
        format!("used the CPU for {} of {}: mode wall shows the rest", duration(cpu_ns), duration(all_ns));
    Some(Finding {
        kind: FindingKind::Trust,
        text,
        weight: cpu_ns,
        of: SampleType::Cpu,
        share: None,
        place: None,
        command: "profiler report FILE".into(),
    })
}
