//! Allocations by function: how many objects each function allocated itself, and the heaviest class among
//! them.

use std::cmp::Reverse;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};

/// The label with the class of the objects.
pub const CLASS: &str = "class";
/// The label with the library that allocated memory.
pub const LIBRARY: &str = "library";

/// The label with the owner of live memory.
pub const OWNER: &str = "owner";

/// The objects that one function allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allocations<'profile> {
    /// The number of objects.
    pub objects: u64,
    /// The class, or the library, with the most weight among them; the first by name if two weigh the same.
    pub class: &'profile str,
    /// The number of classes.
    pub classes: usize,
}

/// Returns whether the profile has memory from malloc in place of objects.
#[must_use]
pub fn is_of_memory(profile: &Profile) -> bool {
    profile.meta.modes.iter().any(|it| it == "native")
}

/// Returns the allocations of every function that has any. `of` is the sample type being shown: it decides
/// whether all objects count, or only the live ones.
#[must_use]
pub fn allocations(profile: &Profile, of: SampleType) -> HashMap<FunctionId, Allocations<'_>, FxBuildHasher> {
    let live = matches!(of, SampleType::InuseObjects | SampleType::InuseSpace);
    let objects = if live { SampleType::InuseObjects } else { SampleType::AllocObjects };
    let mut functions: HashMap<FunctionId, Classes<'_>, FxBuildHasher> = HashMap::default();
    for sample in &profile.samples {
        let number = sample.weights.get(objects);
        let Some(leaf) = profile.frames_of(sample.stack).next().filter(|_| number > 0) else { continue };
        let class = sample.label(CLASS).or_else(|| sample.label(LIBRARY)).unwrap_or_default();
        let sums = functions.entry(leaf.function).or_default().entry(class).or_default();
        sums.0 = sums.0.saturating_add(sample.weights.get(of));
        sums.1 = sums.1.saturating_add(number);
    }
    functions.into_iter().map(|(function, classes)| (function, summed(classes))).collect()
}

/// The weight and the number of objects of each class.
type Classes<'profile> = HashMap<&'profile str, (u64, u64), FxBuildHasher>;

fn summed(classes: Classes<'_>) -> Allocations<'_> {
    let objects = classes.values().fold(0, |sum: u64, (_, number)| sum.saturating_add(*number));
    let number = classes.len();
    let heaviest = classes.into_iter().map(|(class, (weight, _))| (Reverse(weight), class)).min();
    Allocations { objects, class: heaviest.map_or("", |(_, class)| class), classes: number }
}
