//! The page of the periods of a session.

use magnus::typed_data::Obj;
use magnus::{Error, RArray, RHash, RString, Ruby, TryConvert};
use profiler_core::format::html::{write_periods, Period};

use crate::api::profile::{options, Profile};
use crate::errors::core_error;
use crate::vm::without_gvl::without_gvl;

impl Profile {
    /// Implements `Native.period(profile, options)`: returns the file of the profile and the packed facts
    /// beside it. Takes `type title`.
    pub(super) fn period(ruby: &Ruby, profile: Obj<Self>, options: RHash) -> Result<RArray, Error> {
        let options = options::of_formats(ruby, &profile.core, options)?;
        let period = profile.ask(ruby, move |it| Period::of(it, &options))?;
        let Period { file, facts } = period.map_err(|reason| core_error(ruby, &reason))?;
        Ok(ruby.ary_from_iter([ruby.str_from_slice(&file), ruby.str_from_slice(&facts)]))
    }

    /// Implements `Native.page_of_periods(index, periods)`: returns the page of an index, which is JSON, and
    /// of results of [`Profile::period`].
    pub(super) fn page_of_periods(ruby: &Ruby, index: String, periods: RArray) -> Result<RString, Error> {
        // SAFETY: the bytes are copied immediately, before any Ruby code runs.
        let bytes = |it: RString| unsafe { it.as_slice() }.to_vec();
        let period = |pair| {
            let [file, facts] = <[RString; 2]>::try_convert(pair)?;
            Ok(Period { file: bytes(file), facts: bytes(facts) })
        };
        let periods = periods.into_iter().map(period).collect::<Result<Vec<_>, Error>>()?;
        let page = without_gvl(ruby, move |_| {
            let mut page = Vec::new();
            write_periods(&index, &periods, &mut page).map(|()| page)
        })?;
        page.map(|it| ruby.str_from_slice(&it)).map_err(|reason| core_error(ruby, &reason))
    }
}
