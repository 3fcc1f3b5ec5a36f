//! The code that ran longest.

use std::collections::BTreeMap;

use super::{details_of, heaviest, At, Clock, Finding, Kind};
use crate::analysis::sites::Sites;
use crate::ids::FunctionId;
use crate::profile::{Frame, Profile, Sample};
use crate::record::State;

/// The least share of the time: in a program without a hot spot, its hottest function is still where to begin.
const LEAST_SHARE: f64 = 0.05;

/// The function in Ruby that ran longest by itself and in the C functions that it called. If that is too little for a finding, the
/// function of the app that ran longest with all that it called from Ruby and gems.
pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Option<Finding> {
    let ran = |it: &Sample| it.state == State::Running;
    let by = |site: &dyn Fn(&Sample) -> Option<Frame>| {
        let mut sums: BTreeMap<FunctionId, (At, Callers)> = BTreeMap::new();
        for (sample, weight) in clock.rows().filter(|(it, _)| ran(it)) {
            let Some(site) = site(sample).filter(|it| sites.is_code(*it)) else { continue };
            let (at, callers) = sums.entry(site.function).or_default();
            at.add(site, sites.callee(sample.stack, site), weight);
            if let Some(caller) = sites.app(sample.stack).filter(|it| it.function != site.function) {
                super::add(callers.entry(caller).or_default(), weight);
            }
        }
        sums.into_values()
            .rev()
            .max_by_key(|(at, _)| at.weight)
            .filter(|(at, _)| clock.share(at.weight) >= LEAST_SHARE)
    };
    let itself = by(&|it| sites.ruby(it.stack).or_else(|| profile.frames_of(it.stack).next()));
    let (at, callers) = itself.or_else(|| by(&|it| sites.app(it.stack)))?;
    let place = at.place()?;
    let name = sites.name(place);
    let ran = at.callee(profile).unwrap_or(name);
    // A method of Ruby or of a gem says little without the line of the app that calls it.
    let caller =
        heaviest(&callers).filter(|it| !sites.is_app(place) && it.1 >= at.weight.div_ceil(2)).map(|it| it.0);
    let text = match caller {
        Some(caller) => format!("running {name}, called from {}", sites.name(caller)),
        None if ran == name => format!("running {name}"),
        None => format!("running {ran}, called from {name}"),
    };
    Some(Finding {
        kind: Kind::Running,
        text,
        weight: at.weight,
        of: clock.of,
        share: Some(clock.share(at.weight)),
        place: Some(caller.unwrap_or(place)),
        command: details_of(name),
    })
}

/// Weights by the frame of the app that called.
type Callers = BTreeMap<Frame, u64>;
