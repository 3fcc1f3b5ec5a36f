//! Sums of several profiles.

use magnus::{Error, RArray, RHash, RString, Ruby, TryConvert};
use profiler_core::analysis::merge::{concat, merge};
use profiler_core::format;

use crate::api::profile::{work, Profile};
use crate::errors::core_error;
use crate::vm::without_gvl::without_gvl;

impl Profile {
    /// Implements `Profile._merge(profiles)`: returns their sum.
    pub(super) fn merge(ruby: &Ruby, profiles: RArray) -> Result<Self, Error> {
        let profiles = work::all(profiles)?;
        work::on(ruby, profiles, merge).map(Self::new)
    }

    /// Implements `Native.concat(files, metadata)`: returns the profile of a span of time from those of its
    /// parts, in their order, with this metadata (pairs of Strings) in addition to theirs. The parts belong
    /// to one session, and are the bytes of `.pb.gz` files.
    pub(super) fn concat(ruby: &Ruby, files: RArray, metadata: RHash) -> Result<Self, Error> {
        let files: Vec<Vec<u8>> = files
            .into_iter()
            // SAFETY: the bytes are copied immediately, before any Ruby code runs.
            .map(|file| Ok(unsafe { RString::try_convert(file)?.as_slice() }.to_vec()))
            .collect::<Result<_, Error>>()?;
        let metadata: Vec<(String, String)> = metadata.to_vec()?;
        let read = without_gvl(ruby, move |_| {
            let mut failure = None;
            let mut parse = |file: Vec<u8>| format::read(&file).map_err(|reason| failure = Some(reason)).ok();
            let mut whole = concat(files.into_iter().map_while(&mut parse));
            whole.meta.user.extend(metadata);
            failure.map_or(Ok(whole), Err)
        })?;
        read.map(Self::new).map_err(|reason| core_error(ruby, &reason))
    }
}
