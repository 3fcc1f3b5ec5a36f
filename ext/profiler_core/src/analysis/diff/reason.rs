//! The Ruby function that explains the change of the whole.

use std::collections::BTreeSet;

use super::run::Run;
use super::{FunctionIdentity, Row, LEVEL};
use crate::profile::Function;

/// A function with its weight on both sides, which includes the C functions that it called.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reason {
    pub(super) name: String,
    pub(super) before: f64,
    pub(super) after: f64,
}

/// Finds the function whose weight has changed most, if that change exceeds chance. The weights of `sides`
/// are compared, and not their shares.
pub(super) fn find(sides: &[Vec<Run>; 2]) -> Option<Reason> {
    let free = sides.iter().map(Vec::len).sum::<usize>().saturating_sub(2) as f64;
    let keys: BTreeSet<&FunctionIdentity> = sides.iter().flatten().flat_map(Run::sites).collect();
    let number = keys.len() as f64;
    let row = |key: &FunctionIdentity| Row::new(Function::named(&key.0), sides, |it| it.site(key));
    let rows = keys.into_iter().map(row);
    let most = rows
        .max_by(|one, other| (one.after - one.before).abs().total_cmp(&(other.after - other.before).abs()))?;
    // Only where few samples are known, one cannot tell: they are a reason as far as their weight goes.
    let is_chance = most.chance(free, 1.0).is_some_and(|it| it * number >= LEVEL);
    (!is_chance).then_some(Reason { name: most.function.name, before: most.before, after: most.after })
}
