//! The samples of a thread, and the time that vernier's samples weigh.

use serde::Deserialize;

use super::columns::{IndexColumn, Numbers};
use super::header::ns;
use crate::error::Error;

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Samples {
    pub(super) stack: IndexColumn,
    /// The weights. If there are none, each sample weighs one.
    #[serde(default)]
    weight: Numbers,
    pub(super) weight_type: Option<String>,
    #[serde(default)]
    time: Numbers,
    #[serde(rename = "threadCPUDelta", default)]
    cpu: Numbers,
}

impl Samples {
    /// Checks that each column has either a number for each sample, or none at all.
    pub(super) fn check(&self) -> Result<(), Error> {
        let samples = self.stack.len();
        let fits = |column: &Numbers| column.0.is_empty() || column.0.len() == samples;
        match (fits(&self.weight), fits(&self.time), fits(&self.cpu)) {
            (false, ..) => Err(Error::malformed("a thread does not have one weight per sample")),
            (_, false, _) => Err(Error::malformed("a thread does not have one time per sample")),
            (_, _, false) => Err(Error::malformed("a thread does not have one CPU time per sample")),
            _ => Ok(()),
        }
    }

    /// Returns the weight of a sample, whose unit is `unit` of profiler's own units.
    pub(super) fn weight(&self, place: usize, unit: f64) -> Result<u64, Error> {
        let weight = self.weight.get(place).unwrap_or(1.0);
        if weight.is_nan() || weight < 0.0 {
            return Err(Error::malformed("a sample has a negative weight"));
        }
        // The conversion stops at the largest number, which is too large for any sum.
        Ok((weight * unit).round() as u64)
    }

    /// Returns the time of the first sample.
    pub(super) fn first_ns(&self) -> Option<u64> {
        self.time.get(0).map(ns)
    }

    /// Returns the CPU time before a sample, whose unit is `unit_ns` nanoseconds. It is unknown for the first
    /// sample.
    pub(super) fn cpu_ns(&self, place: usize, unit_ns: f64) -> u64 {
        (self.cpu.get(place).unwrap_or(0.0) * unit_ns).round() as u64
    }
}

/// The wall clock time of vernier's samples. A run of equal samples is a single one, with the time of the
/// first and their number.
#[derive(Clone, Copy)]
pub(super) struct SampleTimes {
    interval_ms: f64,
}

impl SampleTimes {
    /// Computes the mean interval from the samples of all threads. `interval_ms` is used if they have too few
    /// times.
    pub(super) fn of<'file>(threads: impl Iterator<Item = &'file Samples>, interval_ms: f64) -> Self {
        let (mut times_ms, mut samples) = (0.0, 0.0);
        for thread in threads {
            let Some((last, first_ms)) = thread.stack.len().checked_sub(1).zip(thread.time.get(0)) else {
                continue;
            };
            times_ms += thread.time.get(last).map_or(0.0, |it| it - first_ms);
            samples += (0..last).map(|it| thread.weight.get(it).unwrap_or(1.0)).sum::<f64>();
        }
        let mean_ms = times_ms / samples;
        Self { interval_ms: if mean_ms.is_finite() && mean_ms > 0.0 { mean_ms } else { interval_ms } }
    }

    /// Returns the time from a sample to the next one of its thread. For the last sample, it is the time to
    /// the thread's end or, if that is not in the file, as many mean intervals as the sample stands for.
    pub(super) fn ns(&self, thread: &Samples, place: usize, end_ms: Option<f64>) -> Result<u64, Error> {
        let missing = || Error::malformed("a thread does not have one time per sample");
        let now_ms = thread.time.get(place).ok_or_else(missing)?;
        let next_ms = if place + 1 < thread.stack.len() {
            let next_ms = thread.time.get(place + 1).ok_or_else(missing)?;
            if next_ms.is_nan() || now_ms.is_nan() || next_ms < now_ms {
                return Err(Error::malformed("its samples are not ordered by time"));
            }
            next_ms
        } else {
            let weight = thread.weight.get(place).unwrap_or(1.0);
            end_ms.unwrap_or(now_ms + weight * self.interval_ms)
        };
        Ok(ns(next_ms).saturating_sub(ns(now_ms)))
    }
}
