//! The names that the VM fills in: from a handle to a [`Function`].

use std::sync::Arc;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::profile::Function;
use crate::record::frame::{named_handle, Synthetic};

/// The names that a generation has learnt so far.
#[derive(Debug, Default)]
pub struct NameCache(HashMap<u64, Arc<Function>, FxBuildHasher>);

impl NameCache {
    /// Returns the handles without a name that need one from the VM.
    #[must_use]
    pub fn unknown(&self, handles: &[u64]) -> Vec<u64> {
        let unknown = |handle: &&u64| Synthetic::of(**handle).is_none() && !self.0.contains_key(*handle);
        handles.iter().filter(unknown).copied().collect()
    }

    /// Adds names.
    pub fn learn(&mut self, names: impl IntoIterator<Item = (u64, Function)>) {
        self.0.extend(names.into_iter().map(|(handle, function)| (handle, Arc::new(function))));
    }

    /// Adds the names that `other` has for these handles.
    pub(crate) fn copy(&mut self, other: &Self, handles: &[u64]) {
        let known = |handle: &u64| Some((*handle, Arc::clone(other.0.get(handle)?)));
        self.0.extend(handles.iter().filter_map(known));
    }

    /// Returns handles that stand for the names of these here, and need no code of the VM. Those that have no
    /// name, or for which there is no space, are left out.
    pub(crate) fn copy_names(&mut self, other: &Self, handles: &[u64]) -> HashMap<u64, u64, FxBuildHasher> {
        let named = handles.iter().filter_map(|handle| Some((*handle, other.0.get(handle)?)));
        let copied = named.enumerate().map_while(|(number, (handle, function))| {
            let copy = named_handle(number)?;
            self.0.insert(copy, Arc::clone(function));
            Some((handle, copy))
        });
        copied.collect()
    }

    /// Returns the name of a handle, if it is known or synthetic.
    #[must_use]
    pub fn get(&self, handle: u64) -> Option<Function> {
        Synthetic::of(handle).map(synthetic).or_else(|| self.0.get(&handle).map(|it| Function::clone(it)))
    }
}

/// Returns the function of a synthetic frame.
#[must_use]
pub fn synthetic(frame: Synthetic) -> Function {
    Function::named(frame.name())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn requests_names_once_and_none_for_synthetic_frames() {
        let mut cache = NameCache::default();
        assert_eq!(cache.unknown(&[8, 64, 16, 72]), [64, 72]);
        cache.learn([(64, synthetic(Synthetic::Gc))]);
        assert_eq!(cache.unknown(&[8, 64, 16, 72]), [72]);
        assert_eq!(cache.get(8).map(|it| it.name), Some("(truncated)".to_owned()));
    }
}
