//! The overhead of profiling a program, as a meaningful share.

use crate::profile::{Profile, SampleType};
use crate::text::units::percent;

/// The time that the profiler took, and the whole that it is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// The time in signal handlers, hooks and threads of the profiler, ns.
    pub ns: u64,
    of: Whole,
    /// The whole, ns; 0 if it is unknown.
    whole_ns: u64,
}

/// The time that an overhead is a share of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whole {
    /// The CPU time of the process, including the profiler's own.
    CpuTime,
    /// The time in which one core could have worked.
    Core,
}

impl Overhead {
    /// Returns the overhead of `profile`, or `None` if none was counted, as in files of other tools.
    ///
    /// For a program that computes, the overhead is a share of its CPU time. A program that mostly waits has
    /// almost no CPU time, so it is a share of one core. For a merge it is a share of the CPU time, as the
    /// parts may have run side by side.
    #[must_use]
    pub fn of(profile: &Profile) -> Option<Self> {
        let stats = &profile.stats;
        let ns = stats.handler_ns.saturating_add(stats.collector_ns);
        if ns == 0 {
            return None;
        }
        let cpu_ns = profile.total().get(SampleType::Cpu);
        let process_ns = cpu_ns.saturating_add(stats.collector_ns);
        let duration_ns = profile.meta.duration_ns;
        let computes = cpu_ns > 0 && (process_ns >= duration_ns / 2 || profile.meta.merged.is_some());
        let (of, whole_ns) = if computes || duration_ns == 0 {
            (Whole::CpuTime, if cpu_ns > 0 { process_ns } else { 0 })
        } else {
            (Whole::Core, duration_ns)
        };
        Some(Self { ns, of, whole_ns })
    }

    /// Returns the share, and the words for what it is a share of; `None` if that is unknown.
    #[must_use]
    pub fn share(&self) -> Option<(String, &'static str)> {
        let of = match self.of {
            Whole::CpuTime => "of the CPU time",
            Whole::Core => "of one core",
        };
        (self.whole_ns > 0).then(|| (percent(self.ns.min(self.whole_ns), self.whole_ns), of))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::record::State;

    fn share(cpu_ms: u64, duration_ms: u64, handler_ms: u64, collector_ms: u64) -> Option<String> {
        let mut example = Example::lasting_ms(duration_ms);
        example.row(MAIN, State::Running, &[], &[(SampleType::Cpu, cpu_ms * 1_000_000)], "main /a.rb:1");
        let mut profile = example.profile();
        profile.stats.handler_ns = handler_ms * 1_000_000;
        profile.stats.collector_ns = collector_ms * 1_000_000;
        Overhead::of(&profile).and_then(|it| it.share()).map(|(share, of)| format!("{share} {of}"))
    }

    #[test]
    fn a_program_that_computes_has_a_share_of_its_cpu_time() {
        assert_eq!(share(980, 1_000, 30, 20).unwrap(), "5.0% of the CPU time");
        assert_eq!(share(980, 0, 30, 20).unwrap(), "5.0% of the CPU time");
    }

    #[test]
    fn a_program_that_waits_has_a_share_of_a_core() {
        assert_eq!(share(1, 8_000, 20, 140).unwrap(), "2.0% of one core");
        assert_eq!(share(0, 8_000, 20, 140).unwrap(), "2.0% of one core");
    }

    #[test]
    fn no_share_is_above_all_of_it() {
        assert_eq!(share(1, 1, 7, 3).unwrap(), "100.0% of the CPU time");
        assert_eq!(share(1, 1_000, 0, 0), None);
        assert_eq!(share(0, 0, 1, 1), None, "of what is not known");
    }
}
