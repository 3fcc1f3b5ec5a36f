//! The time that findings are shares of.

use crate::analysis::idle::Idle;
use crate::profile::{Profile, Sample, SampleType};

/// The time of a profile: wall clock time that was not idle, else CPU time, else samples.
pub(super) struct Clock<'profile> {
    profile: &'profile Profile,
    idle: &'profile Idle,
    /// The sample type.
    pub(super) of: SampleType,
    /// All of it.
    pub(super) total: u64,
}

impl<'profile> Clock<'profile> {
    pub(super) fn of(profile: &'profile Profile, idle: &'profile Idle) -> Self {
        let timed =
            [SampleType::Wall, SampleType::Cpu].into_iter().find(|it| profile.sample_types.contains(it));
        let mut clock = Self { profile, idle, of: timed.unwrap_or(SampleType::Samples), total: 0 };
        // Samples of objects are no time.
        let objects = profile.sample_types.contains(&SampleType::AllocObjects);
        if timed.is_some() || !objects {
            clock.total = clock.rows().fold(0, |sum: u64, (_, weight)| sum.saturating_add(weight));
        }
        clock
    }

    /// The rows that weigh something, with their weights.
    pub(super) fn rows(&self) -> impl Iterator<Item = (&'profile Sample, u64)> + '_ {
        let busy = self.profile.samples.iter().enumerate().filter(|(index, _)| !self.idle.has(*index));
        busy.map(|(_, it)| (it, it.weights.get(self.of))).filter(|(_, weight)| *weight > 0)
    }

    pub(super) fn share(&self, weight: u64) -> f64 {
        weight as f64 / self.total.max(1) as f64
    }

    /// Whether it is enough of the time for a finding.
    pub(super) fn is_worth(&self, weight: u64) -> bool {
        weight > 0 && self.share(weight) >= super::LEAST_SHARE
    }
}
