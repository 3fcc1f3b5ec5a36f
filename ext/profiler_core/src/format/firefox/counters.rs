//! The activity of all threads together over time: used CPU time and allocated bytes.

use std::io::Write;

use super::{array, ms};
use crate::error::Error;
use crate::format::json_out::comma;
use crate::format::sample_series::Share;
use crate::profile::{Profile, SampleType};

/// The number of steps of a counter, none of which is shorter than [`MIN_STEP_NS`].
const STEPS: u64 = 2_000;
const MIN_STEP_NS: u64 = 10_000_000;

/// The sample type, the name, the category (by which the front end chooses how to draw it), and the
/// description.
const KINDS: [(SampleType, &str, &str, &str); 2] = [
    (SampleType::Cpu, "processCPU", "CPU", "CPU time of all threads"),
    (SampleType::AllocSpace, "allocated", "Memory", "bytes allocated so far, alive or not"),
];

pub(super) struct CounterTracks<'profile> {
    profile: &'profile Profile,
    step_ns: u64,
    /// The increments of each kind that is measured.
    steps: [Vec<u64>; KINDS.len()],
}

impl<'profile> CounterTracks<'profile> {
    pub(super) fn new(profile: &'profile Profile) -> Self {
        let step_ns = (profile.meta.duration_ns / STEPS).max(MIN_STEP_NS);
        Self { profile, step_ns, steps: Default::default() }
    }

    /// Adds a share. Does so only in a profile with a timeline, as others do not know the time.
    pub(super) fn add(&mut self, share: &Share) {
        if self.profile.timeline.is_none() {
            return;
        }
        // A file may contain times far beyond its end.
        let place = (share.at_ns / self.step_ns).min(2 * STEPS) as usize;
        for ((of, ..), steps) in KINDS.iter().zip(&mut self.steps) {
            let weight = share.weights.get(*of);
            if weight == 0 {
                continue;
            }
            if steps.len() <= place {
                steps.resize(place + 1, 0);
            }
            steps.get_mut(place).into_iter().for_each(|it| *it = it.saturating_add(weight));
        }
    }

    pub(super) fn write(&self, out: &mut impl Write) -> Result<(), Error> {
        let used = KINDS.iter().zip(&self.steps).filter(|(_, steps)| !steps.is_empty());
        for (place, ((_, name, category, description), steps)) in used.enumerate() {
            write!(
                out,
                r#"{}{{"name":"{name}","category":"{category}","description":"{description}","#,
                comma(place)
            )?;
            write!(out, r#""pid":"{}","mainThreadIndex":0,"samples":{{"#, self.profile.meta.pid)?;
            array(out, "time", 1..=steps.len() as u64, |out, it| ms(out, it.saturating_mul(self.step_ns)))?;
            write!(out, ",")?;
            array(out, "count", steps, |out, it| Ok(write!(out, "{it}")?))?;
            write!(out, ",")?;
            array(out, "number", steps, |out, _| Ok(write!(out, "0")?))?;
            write!(out, r#","length":{}}}}}"#, steps.len())?;
        }
        Ok(())
    }
}
