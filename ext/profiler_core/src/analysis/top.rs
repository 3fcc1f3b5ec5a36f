//! The functions by weight: the self weight of each, and its total weight with its callees.

use std::cmp::Reverse;

use crate::ids::{FunctionId, Id};
use crate::profile::{Profile, SampleType};

/// A function and its weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopRow {
    /// The function.
    pub function: FunctionId,
    /// The weight of the stacks that end in the function.
    pub self_weight: u64,
    /// The weight of the stacks that contain the function, however often: recursion does not count twice.
    pub total_weight: u64,
}

/// The order of the functions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By self weight, the greatest first.
    #[default]
    SelfWeight,
    /// By total weight, the greatest first.
    TotalWeight,
}

/// The functions of a profile by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Top {
    /// The sample type of the weights.
    pub of: SampleType,
    /// The weight of all rows of the profile.
    pub total: u64,
    /// All functions that have weight.
    pub rows: Vec<TopRow>,
}

/// Weighs the functions of `profile`. Equal weights are ordered by the other weight, then by name and place,
/// so the result does not depend on the order of the profile's samples.
#[must_use]
pub fn top(profile: &Profile, of: SampleType, order: Order) -> Top {
    let row = |place| TopRow { function: FunctionId::from_index(place), self_weight: 0, total_weight: 0 };
    let mut rows: Vec<TopRow> = (0..profile.functions.len()).map(row).collect();
    // The number of the sample in which each function was last seen: a set that is emptied by counting on.
    let mut seen = vec![0; rows.len()];

    let mut total: u64 = 0;
    for (turn, sample) in (1_usize..).zip(&profile.samples) {
        let weight = sample.weights.get(of);
        total = total.saturating_add(weight);
        for (depth, frame) in profile.frames_of(sample.stack).enumerate() {
            let place = frame.function.index();
            let (Some(row), Some(seen)) = (rows.get_mut(place), seen.get_mut(place)) else { continue };
            if depth == 0 {
                row.self_weight = row.self_weight.saturating_add(weight);
            }
            if std::mem::replace(seen, turn) != turn {
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::{FrameId, StackId};
    use crate::profile::{Frame, Function, Node, Sample, Weights};
    use crate::record::State;

    /// Builds a profile from stacks by the names of their frames, root first, and their weights.
    fn profile(stacks: &[(&str, u64)]) -> Profile {
        let mut profile = Profile { sample_types: vec![SampleType::Cpu], ..Profile::default() };
        for name in ["a", "b", "c"] {
            let function = FunctionId::from_index(profile.functions.len());
            profile.frames.push(Frame { function, line: 1 });
            profile.functions.push(Function { first_line: 1, ..Function::named(name) });
        }
        for (names, weight) in stacks {
            let mut stack = None;
            for name in names.bytes() {
                let frame = FrameId::from_index(usize::from(name - b'a'));
                profile.stacks.push(Node { parent: stack, frame });
                stack = Some(StackId::from_index(profile.stacks.len() - 1));
            }
            let mut weights = Weights::default();
            weights.set(SampleType::Cpu, *weight);
            profile.samples.push(Sample {
                stack: stack.unwrap(),
                thread: 0,
                state: State::Running,
                labels: Vec::new(),
                weights,
            });
        }
        profile
    }

    /// Returns the name, self weight and total weight of each row.
    fn rows(stacks: &[(&str, u64)], order: Order) -> Vec<(String, u64, u64)> {
        let profile = profile(stacks);
        let top = top(&profile, SampleType::Cpu, order);
        let name = |row: &TopRow| profile.function(row.function).unwrap().name.clone();
        top.rows.iter().map(|row| (name(row), row.self_weight, row.total_weight)).collect()
    }

    fn row(name: &str, self_weight: u64, total_weight: u64) -> (String, u64, u64) {
        (name.into(), self_weight, total_weight)
    }

    #[test]
    fn recursion_counts_once_per_stack() {
        let stacks = [("abab", 10), ("aa", 5)];
        assert_eq!(rows(&stacks, Order::SelfWeight), [row("b", 10, 10), row("a", 5, 15)]);
        assert_eq!(rows(&stacks, Order::TotalWeight), [row("a", 5, 15), row("b", 10, 10)]);
    }

    #[test]
    fn ignores_row_order_and_omits_zero_weights() {
        let expected = [row("a", 7, 14), row("b", 7, 7)];
        assert_eq!(rows(&[("a", 7), ("ab", 7), ("ac", 0)], Order::SelfWeight), expected);
        assert_eq!(rows(&[("ac", 0), ("ab", 7), ("a", 7)], Order::SelfWeight), expected);
    }

    #[test]
    fn total_equals_that_of_the_profile() {
        assert_eq!(top(&profile(&[("a", 1), ("bc", 2)]), SampleType::Cpu, Order::default()).total, 3);
        assert_eq!(rows(&[("a", 1)], Order::default()).len(), 1);
        assert_eq!(top(&profile(&[("a", 1)]), SampleType::Wall, Order::default()).rows, []);
    }
}
