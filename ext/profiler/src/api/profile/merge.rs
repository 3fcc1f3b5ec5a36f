//! Sums of several profiles.

use magnus::{Error, RArray, RHash, Ruby};
use profiler_core::analysis::merge::{in_turn, merge};

use crate::api::profile::{work, Profile};

impl Profile {
    /// `Profile._merge(profiles)`: their sum.
    pub(super) fn merge(ruby: &Ruby, profiles: RArray) -> Result<Self, Error> {
        let profiles = work::all(profiles)?;
        work::on(ruby, profiles, merge).map(Self::new)
    }

    /// `Native.in_turn(profiles, metadata)`: the profile of a span of time from those of its parts, in their order, with this
    /// metadata (pairs of Strings) besides theirs. The parts are of one session.
    pub(super) fn in_turn(ruby: &Ruby, profiles: RArray, metadata: RHash) -> Result<Self, Error> {
        let profiles = work::all(profiles)?;
        let metadata: Vec<(String, String)> = metadata.to_vec()?;
        work::on(ruby, profiles, |parts| {
            let mut whole = in_turn(parts.iter().map(|it| (*it).clone()).collect());
            whole.meta.user.extend(metadata);
            whole
        })
        .map(Self::new)
    }
}
