//! The test of which changes exceed chance.

use super::run::Run;
use super::{chance, Row};

/// The test of all functions.
pub(super) struct Tested {
    /// The probability for each function, corrected for their number.
    pub(super) chances: Vec<f64>,
    /// The number of functions with enough samples to be compared.
    pub(super) compared: usize,
    /// How much more runs of a side differ than sampling explains, as a factor of the variance; 1 at least.
    pub(super) spread: f64,
}

impl Tested {
    pub(super) fn of(rows: &[Row], sides: &[Vec<Run>; 2]) -> Self {
        let free = (sides.iter().map(Vec::len).sum::<usize>().saturating_sub(2)) as f64;
        let unrest: Vec<f64> = rows.iter().filter(|it| it.is_sampled()).map(|it| it.unrest).collect();
        let spread = if free > 0.0 {
            (chance::median(unrest) / chance::median_of_squares(free)).max(1.0)
        } else {
            1.0
        };
        let chances: Vec<Option<f64>> = rows.iter().map(|it| it.chance(free, spread)).collect();
        Self { chances: chance::corrected(&chances), compared: chances.iter().flatten().count(), spread }
    }
}
