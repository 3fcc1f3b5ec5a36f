//! The labels of the samples that are sent, with a limit on their values.

use std::cmp::Reverse;

use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use super::label_name::label_name;
use super::shape::Shape;
use crate::profile::{Sample, SampleType, OTHER};

/// The names and values of labels, in the order of the dimensions.
pub(super) type LabelPairs<'a> = Vec<(&'a str, &'a str)>;

/// The dimensions of a family.
pub(super) struct Dimensions<'a>(Vec<Dimension<'a>>);

impl<'a> Dimensions<'a> {
    /// Creates the dimensions of a shape. `of` is the type by which values are heavy or light.
    pub(super) fn new(shape: &'a Shape, samples: &[&'a Sample], of: SampleType) -> Self {
        // If two labels had the same name, engines would refuse all of them or take either.
        let mut taken: HashSet<String> = shape.labels.iter().map(|it| label_name(&it.0)).collect();
        let names = shape.dimensions.iter().filter(|it| !it.is_empty() && taken.insert(label_name(it)));
        Self(names.map(|name| Dimension::new(name, shape.values, samples, of)).collect())
    }

    /// Returns the labels of a sample.
    pub(super) fn labels(&self, sample: &'a Sample) -> LabelPairs<'a> {
        self.0.iter().filter_map(|it| Some((it.name, it.value(sample)?))).collect()
    }

    /// Returns the labels of samples that were merged whatever their labels.
    pub(super) fn others(&self) -> LabelPairs<'a> {
        self.0.iter().map(|it| (it.name, OTHER)).collect()
    }
}

struct Dimension<'a> {
    name: &'a str,
    /// The values that are sent, if others are not.
    kept: Option<HashSet<&'a str, FxBuildHasher>>,
}

impl<'a> Dimension<'a> {
    fn new(name: &'a str, most: usize, samples: &[&'a Sample], of: SampleType) -> Self {
        let mut weights: HashMap<&str, u64, FxBuildHasher> = HashMap::default();
        for sample in samples {
            if let Some(value) = value(sample, name) {
                let sum = weights.entry(value).or_default();
                *sum = sum.saturating_add(sample.weights.get(of));
            }
        }
        weights.remove(OTHER);
        let kept = (weights.len() > most).then(|| {
            let mut values: Vec<_> = weights.into_iter().collect();
            values.sort_unstable_by_key(|(value, weight)| (Reverse(*weight), *value));
            values.into_iter().take(most).map(|it| it.0).collect()
        });
        Self { name, kept }
    }

    fn value(&self, sample: &'a Sample) -> Option<&'a str> {
        let value = value(sample, self.name)?;
        let kept = self.kept.as_ref().is_none_or(|it| it.contains(value));
        Some(if kept { value } else { OTHER })
    }
}

/// Returns the value of a label. An empty value counts as none, because readers of pprof take it for a
/// number.
fn value<'a>(sample: &'a Sample, name: &str) -> Option<&'a str> {
    sample.label(name).filter(|value| !value.is_empty())
}
