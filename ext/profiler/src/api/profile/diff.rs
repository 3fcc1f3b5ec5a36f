//! Comparisons of profiles.

use std::sync::Arc;

use magnus::{Error, RArray, RHash, RString, Ruby};
use profiler_core::analysis::diff::{diff, Compare, Diff};
use profiler_core::analysis::merge::merge;
use profiler_core::format::html::{write_comparison, PageRun};
use profiler_core::format::svg::write_difference;
use profiler_core::format::text::{Changes, Selected};
use profiler_core::profile::Profile as CoreProfile;

use crate::api::profile::{options, tables, work, Profile};
use crate::errors::{argument_error, core_error};
use crate::vm::without_gvl::without_gvl;

impl Profile {
    /// Compares two sides; takes the options `type total absolute`.
    fn compared(ruby: &Ruby, before: RArray, after: RArray, options: RHash) -> Result<Diff, Error> {
        let (before, after) = (work::all(before)?, work::all(after)?);
        let first = after.first().ok_or_else(|| argument_error(ruby, "no profiles to compare"))?;
        let of = options::sample_type(ruby, first, options)?;
        if let Some(other) = before.iter().chain(&after).find(|it| !it.sample_types.contains(&of)) {
            let has: Vec<&str> = other.sample_types.iter().map(|it| it.name_and_unit().0).collect();
            let message =
                format!("not all profiles have {} (one has {})", of.name_and_unit().0, has.join(", "));
            return Err(argument_error(ruby, message));
        }
        let compare = Compare {
            of,
            total: options::flag(ruby, options, "total")?,
            absolute: options::flag(ruby, options, "absolute")?,
        };
        let runs = before.len();
        work::on(ruby, [before, after].concat(), move |all| {
            let (before, after) = all.split_at(runs);
            diff(before, after, compare)
        })
    }

    /// Implements `Native.diff_text(before, after, options)`: returns the table. Takes the options of
    /// [`Profile::diff`], `all tolerance limit terminal markdown`, and those of [`tables::fit`].
    pub(super) fn diff_text(
        ruby: &Ruby,
        before: RArray,
        after: RArray,
        options: RHash,
    ) -> Result<String, Error> {
        let found = Self::compared(ruby, before, after, options)?;
        let tolerance = options::option(ruby, options, "tolerance")?.map(Selected::Slower);
        let all = options::flag(ruby, options, "all")?.then_some(Selected::All);
        let changes = Changes {
            selected: tolerance.or(all).unwrap_or(Selected::Significant),
            limit: options::option(ruby, options, "limit")?.unwrap_or(0),
            is_terminal: options::flag(ruby, options, "terminal")?,
            fit: tables::fit(ruby, options)?,
        };
        let markdown = options::flag(ruby, options, "markdown")?;
        Ok(if markdown { changes.markdown(&found) } else { changes.text(&found) })
    }

    /// Implements `Native.diff(before, after, options)`, with `tolerance` as for [`Profile::diff_text`].
    /// Returns a Hash, with `changes` as `[name, path, line, before, after, samples, chance, significant,
    /// verdict, weight before, weight after, is slower]`.
    pub(super) fn diff(ruby: &Ruby, before: RArray, after: RArray, options: RHash) -> Result<RHash, Error> {
        let found = Self::compared(ruby, before, after, options)?;
        let tolerance = options::option(ruby, options, "tolerance")?.unwrap_or(0.0);
        let of = found.compare.of;
        let hash = ruby.hash_new();
        let symbol = |name: &str| ruby.to_symbol(name);
        hash.aset(symbol("type"), of.name_and_unit().0)?;
        hash.aset(symbol("unit"), of.name_and_unit().1)?;
        hash.aset(symbol("before"), found.before)?;
        hash.aset(symbol("after"), found.after)?;
        hash.aset(symbol("headline"), found.headline())?;
        let failed = ruby.hash_new();
        for (side, ends) in ["before", "after"].into_iter().zip(&found.failed) {
            failed.aset(symbol(side), ruby.ary_from_iter(ends.iter().map(String::as_str)))?;
        }
        hash.aset(symbol("failed"), failed)?;
        hash.aset(symbol("samples"), ruby.ary_from_iter([found.samples.0, found.samples.1]))?;
        hash.aset(symbol("compared"), found.compared)?;
        hash.aset(symbol("spread"), found.spread)?;
        let changes = ruby.ary_new_capa(found.changes.len());
        for change in found.changes {
            let row = ruby.ary_new_capa(12);
            row.push(change.function.name.as_str())?;
            row.push(change.function.path.as_str())?;
            row.push(change.function.first_line)?;
            row.push(change.before)?;
            row.push(change.after)?;
            row.push(change.samples)?;
            row.push(change.chance)?;
            row.push(change.significant())?;
            row.push(change.verdict().name())?;
            row.push(change.weight.before)?;
            row.push(change.weight.after)?;
            row.push(change.is_slower(tolerance))?;
            changes.push(row)?;
        }
        hash.aset(symbol("changes"), changes)?;
        Ok(hash)
    }

    /// Implements `Native.diff_svg(before, after, options)`: returns the picture. Takes the options of
    /// [`Profile::diff`], and `title style`.
    pub(super) fn diff_svg(
        ruby: &Ruby,
        before: RArray,
        after: RArray,
        options: RHash,
    ) -> Result<RString, Error> {
        let (before, after) = (work::all(before)?, work::all(after)?);
        let runs = (before.len().max(1) as f64, after.len().max(1) as f64);
        let before = Arc::new(work::on(ruby, before, merge)?);
        let after = Arc::new(work::on(ruby, after, merge)?);
        let format_options = options::of_formats(ruby, &after, options)?;
        let of = options::sample_type(ruby, &after, options)?;
        let scale = if options::flag(ruby, options, "absolute")? {
            runs.1 / runs.0
        } else {
            after.total().get(of) as f64 / before.total().get(of).max(1) as f64
        };
        let picture = without_gvl(ruby, move |_| {
            let mut bytes = Vec::new();
            write_difference(&before, &after, scale, &format_options, &mut bytes).map(|()| bytes)
        })?;
        picture.map(|it| ruby.str_from_slice(&it)).map_err(|reason| core_error(ruby, &reason))
    }

    /// Implements `Native.diff_page(before, after, options)`: returns the page of both. Takes `type title`,
    /// and `before after`, the names of the runs.
    pub(super) fn diff_page(
        ruby: &Ruby,
        before: RArray,
        after: RArray,
        options: RHash,
    ) -> Result<RString, Error> {
        let (before, after) = (work::all(before)?, work::all(after)?);
        let first = after.first().ok_or_else(|| argument_error(ruby, "no profiles to compare"))?;
        let format_options = options::of_formats(ruby, first, options)?;
        let names = |side| options::option::<Vec<String>>(ruby, options, side);
        let names = [names("before")?.unwrap_or_default(), names("after")?.unwrap_or_default()];
        let runs = before.len();
        let page = work::on(ruby, [before, after].concat(), move |all| {
            let (before, after) = all.split_at(runs);
            let (old, new) = (named(&names[0], "before", before), named(&names[1], "after", after));
            let mut bytes = Vec::new();
            write_comparison(&old, &new, &format_options, &mut bytes).map(|()| bytes)
        })?;
        page.map(|it| ruby.str_from_slice(&it)).map_err(|reason| core_error(ruby, &reason))
    }
}

/// Returns the runs of a side, whose name they get if they have none.
fn named<'profile>(
    names: &[String],
    side: &str,
    profiles: &[&'profile CoreProfile],
) -> Vec<PageRun<'profile>> {
    let name = |place: usize| names.get(place).map_or(side, String::as_str).to_owned();
    profiles.iter().enumerate().map(|(place, profile)| PageRun { name: name(place), profile }).collect()
}
