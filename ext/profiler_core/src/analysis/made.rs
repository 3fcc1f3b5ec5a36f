//! What was made where: how many objects a function itself made, and of which class most of their bytes were.

use std::cmp::Reverse;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};

/// The label that says the class of objects.
pub const CLASS: &str = "class";

/// What one function made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Made<'profile> {
    /// How many objects.
    pub objects: u64,
    /// The class that weighs most among them, by name where two weigh alike.
    pub class: &'profile str,
    /// How many classes there are.
    pub classes: usize,
}

/// What each function made that has made something. `of` is the type that is looked at, which says whether all objects
/// count or those that are alive.
#[must_use]
pub fn made(profile: &Profile, of: SampleType) -> HashMap<FunctionId, Made<'_>, FxBuildHasher> {
    let alive = matches!(of, SampleType::InuseObjects | SampleType::InuseSpace);
    let objects = if alive { SampleType::InuseObjects } else { SampleType::AllocObjects };
    let mut functions: HashMap<FunctionId, Classes<'_>, FxBuildHasher> = HashMap::default();
    for sample in &profile.samples {
        let number = sample.weights.get(objects);
        let Some(leaf) = profile.frames_of(sample.stack).next().filter(|_| number > 0) else { continue };
        let class = sample.labels.iter().find(|(name, _)| name == CLASS).map_or("", |(_, class)| class);
        let sums = functions.entry(leaf.function).or_default().entry(class).or_default();
        sums.0 = sums.0.saturating_add(sample.weights.get(of));
        sums.1 = sums.1.saturating_add(number);
    }
    functions.into_iter().map(|(function, classes)| (function, summed(classes))).collect()
}

/// By class: what it weighs, and how many objects.
type Classes<'profile> = HashMap<&'profile str, (u64, u64), FxBuildHasher>;

fn summed(classes: Classes<'_>) -> Made<'_> {
    let objects = classes.values().fold(0, |sum: u64, (_, number)| sum.saturating_add(*number));
    let number = classes.len();
    let heaviest = classes.into_iter().map(|(class, (weight, _))| (Reverse(weight), class)).min();
    Made { objects, class: heaviest.map_or("", |(_, class)| class), classes: number }
}
