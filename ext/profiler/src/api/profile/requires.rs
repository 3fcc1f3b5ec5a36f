//! The loads of a program, and the changes between those of two.

use std::sync::Arc;

use magnus::typed_data::Obj;
use magnus::{Error, RArray, RHash, Ruby};
use profiler_core::analysis::requires::{requires, LoadTime, Required};
use profiler_core::analysis::requires_diff::{requires_diff, Times};
use profiler_core::format::text::{required, required_changes};

use crate::api::profile::{options, tables, work, Profile};

impl Profile {
    /// `Native.requires_text(profile, options)`: `all`, and those of [`tables::fit`].
    pub(super) fn requires_text(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<String, Error> {
        let all = options::flag(ruby, options, "all")?;
        let fit = tables::fit(ruby, options)?;
        rb_self.ask(ruby, move |it| required(it, all, fit))
    }

    /// `Native.requires(profile)`: a Hash of `type all total waited files packages`. A file is a Hash of `path by total self waited files`.
    pub(super) fn requires(ruby: &Ruby, rb_self: &Self) -> Result<RHash, Error> {
        let found = rb_self.ask(ruby, requires)?;
        let hash = taken(ruby, found.taken)?;
        hash.aset(ruby.to_symbol("type"), found.of.name_and_unit().0)?;
        hash.aset(ruby.to_symbol("all"), found.all)?;
        hash.aset(ruby.to_symbol("files"), rb_self.files(ruby, &found.files)?)?;
        let packages = ruby.ary_new_capa(found.packages.len());
        for (name, times) in &found.packages {
            let package = taken(ruby, *times)?;
            package.aset(ruby.to_symbol("name"), name.as_deref())?;
            packages.push(package)?;
        }
        hash.aset(ruby.to_symbol("packages"), packages)?;
        Ok(hash)
    }

    fn files(&self, ruby: &Ruby, files: &[Required]) -> Result<RArray, Error> {
        let rows = ruby.ary_new_capa(files.len());
        for file in files {
            let row = taken(ruby, file.taken)?;
            row.aset(ruby.to_symbol("path"), file.path.as_str())?;
            let by = file.by.and_then(|frame| Some((self.core.function(frame.function)?, frame.line)));
            row.aset(ruby.to_symbol("by"), by.map(|(function, line)| format!("{}:{line}", function.path)))?;
            row.aset(ruby.to_symbol("files"), self.files(ruby, &file.files)?)?;
            rows.push(row)?;
        }
        Ok(rows)
    }

    /// `Native.requires_diff_text(before, after, options)`: as [`Profile::requires_text`].
    pub(super) fn requires_diff_text(
        ruby: &Ruby,
        before: Obj<Self>,
        after: Obj<Self>,
        options: RHash,
    ) -> Result<String, Error> {
        let all = options::flag(ruby, options, "all")?;
        let fit = tables::fit(ruby, options)?;
        let sides = vec![Arc::clone(&before.core), Arc::clone(&after.core)];
        work::on(ruby, sides, move |sides| match sides {
            [before, after] => required_changes(before, after, all, fit),
            _ => String::new(),
        })
    }

    /// `Native.requires_diff(before, after)`: a Hash of `type before after packages files`; each of the last two is an Array of Hashes,
    /// `name before after`, the greatest change first.
    pub(super) fn requires_diff(ruby: &Ruby, before: Obj<Self>, after: Obj<Self>) -> Result<RHash, Error> {
        let sides = vec![Arc::clone(&before.core), Arc::clone(&after.core)];
        let found = work::on(ruby, sides, |sides| match sides {
            [before, after] => Some(requires_diff(before, after)),
            _ => None,
        })?;
        let hash = ruby.hash_new();
        let Some(found) = found else { return Ok(hash) };
        times(ruby, hash, found.all)?;
        hash.aset(ruby.to_symbol("type"), found.of.name_and_unit().0)?;
        let packages = found.packages.iter().map(|(name, it)| (name.as_deref(), *it));
        hash.aset(ruby.to_symbol("packages"), changes(ruby, packages)?)?;
        let files = found.files.iter().map(|(path, it)| (Some(path.as_str()), *it));
        hash.aset(ruby.to_symbol("files"), changes(ruby, files)?)?;
        Ok(hash)
    }
}

fn taken(ruby: &Ruby, taken: LoadTime) -> Result<RHash, Error> {
    let hash = ruby.hash_new();
    hash.aset(ruby.to_symbol("total"), taken.total)?;
    hash.aset(ruby.to_symbol("self"), taken.own)?;
    hash.aset(ruby.to_symbol("waited"), taken.waited)?;
    Ok(hash)
}

fn times(ruby: &Ruby, hash: RHash, times: Times) -> Result<(), Error> {
    hash.aset(ruby.to_symbol("before"), times.before)?;
    hash.aset(ruby.to_symbol("after"), times.after)
}

fn changes<'names>(
    ruby: &Ruby,
    rows: impl Iterator<Item = (Option<&'names str>, Times)>,
) -> Result<RArray, Error> {
    let changes = ruby.ary_new();
    for (name, change) in rows {
        let row = ruby.hash_new();
        row.aset(ruby.to_symbol("name"), name)?;
        times(ruby, row, change)?;
        changes.push(row)?;
    }
    Ok(changes)
}
