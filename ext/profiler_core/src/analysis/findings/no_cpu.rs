//! Time in which a thread could run and had no CPU.

use super::{Clock, Finding, Kind};
use crate::analysis::sites::Sites;
use crate::analysis::wait_cause::{is_sampled, Cause};
use crate::profile::{Profile, Sample};
use crate::record::State;

pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Option<Finding> {
    let is_sampled = is_sampled(profile);
    let held_up =
        |it: &Sample| it.state == State::Waiting && Cause::of(profile, sites, it.stack) == Cause::HeldUp;
    let without = |it: &Sample| it.state == State::Runnable || (is_sampled && held_up(it));
    let weight =
        clock.rows().filter(|(it, _)| without(it)).fold(0_u64, |sum, (_, ns)| sum.saturating_add(ns));
    if !clock.is_worth(weight) {
        return None;
    }
    let throttled = profile.stats.throttled_ns >= weight / 2;
    let why = if throttled { "the limit of its cgroup was used up" } else { "others used it" };
    Some(Finding {
        kind: Kind::NoCpu,
        text: if is_sampled {
            "ready to run without a CPU, or without the GVL".into()
        } else {
            format!("ready to run without a CPU: {why}")
        },
        weight,
        of: clock.of,
        share: Some(clock.share(weight)),
        place: None,
        command: "profiler report FILE --by state".into(),
    })
}
