//! Where the weight is: each function's own share, and its share with everything that it called.

use std::cmp::Reverse;

use crate::ids::{FunctionId, Id};
use crate::profile::{Profile, SampleType};

/// A function and what it weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The function.
    pub function: FunctionId,
    /// Weight of the stacks that end in it.
    pub self_weight: u64,
    /// Weight of the stacks that it is in. However often: recursion does not count twice.
    pub total_weight: u64,
}

/// What comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The greatest self weight.
    #[default]
    SelfWeight,
    /// The greatest total weight.
    TotalWeight,
}

/// The functions of a profile by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    /// What was weighed.
    pub of: SampleType,
    /// Weight of all rows of the profile.
    pub total: u64,
    /// Every function that weighs something.
    pub rows: Vec<Row>,
}

/// Weighs the functions of `profile`. Equal weights are ordered by the other weight, then by name
/// and place, so that the answer does not depend on the order of the profile's rows.
#[must_use]
pub fn top(profile: &Profile, of: SampleType, order: Order) -> Top {
    let row = |place| Row { function: FunctionId::from_index(place), self_weight: 0, total_weight: 0 };
    let mut rows: Vec<Row> = (0..profile.functions.len()).map(row).collect();
    // The turn at which a function was last met: a set that is emptied by counting on.
    let mut met = vec![0; rows.len()];

    let mut total: u64 = 0;
    for (turn, sample) in (1_usize..).zip(&profile.samples) {
        let weight = sample.weights.get(of);
        total = total.saturating_add(weight);
        for (depth, frame) in profile.frames_of(sample.stack).enumerate() {
            let place = frame.function.index();
            let (Some(row), Some(met)) = (rows.get_mut(place), met.get_mut(place)) else { continue };
            if depth == 0 {
                row.self_weight = row.self_weight.saturating_add(weight);
            }
            if std::mem::replace(met, turn) != turn {
                row.total_weight = row.total_weight.saturating_add(weight);
            }
        }
    }

    rows.retain(|row| row.total_weight > 0);
    rows.sort_by_cached_key(|row| {
        let (one, other) = match order {
            Order::SelfWeight => (row.self_weight, row.total_weight),
            Order::TotalWeight => (row.total_weight, row.self_weight),
        };
        let named = profile.function(row.function);
        (Reverse(one), Reverse(other), named.map(|it| (&it.name, &it.path, it.first_line)))
    });
    Top { of, total, rows }
}
