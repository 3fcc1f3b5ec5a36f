//! Tables for the terminal: each is a text that the core prints.

use std::collections::BTreeMap;
use std::path::PathBuf;

use magnus::{Error, RArray, RHash, Ruby, TryConvert};
use profiler_core::analysis::method::Both;
use profiler_core::format::text::{methods, sources, tree, Fit, Shown, Weighed};
use profiler_core::ids::FunctionId;

use crate::api::profile::{options, Profile};
use crate::vm::strings::FilePath;

/// `columns full_paths color`.
pub(super) fn fit(ruby: &Ruby, options: RHash) -> Result<Fit, Error> {
    Ok(Fit {
        columns: options::option(ruby, options, "columns")?.unwrap_or(80),
        full_paths: options::flag(ruby, options, "full_paths")?,
        color: options::flag(ruby, options, "color")?,
    })
}

/// `roots`: the directories of sources.
fn roots(ruby: &Ruby, options: RHash) -> Result<Vec<PathBuf>, Error> {
    let roots: Option<RArray> = options::option(ruby, options, "roots")?;
    let path = |it| FilePath::try_convert(it).map(|it| it.0);
    roots.into_iter().flat_map(|it| it.into_iter().map(path)).collect()
}

impl Profile {
    /// `Native.tree_text(profile, options)`: `type least all`, and those of [`fit`].
    pub(super) fn tree_text(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<String, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let least = options::option(ruby, options, "least")?.unwrap_or(0.0);
        let shown = Shown { least, all: options::flag(ruby, options, "all")? };
        let fit = fit(ruby, options)?;
        rb_self.ask(ruby, move |it| tree(it, of, shown, fit))
    }

    /// `Native.methods_text(profile, ids, options)`: `type limit roots`, and those of [`fit`].
    pub(super) fn methods_text(
        ruby: &Ruby,
        rb_self: &Self,
        ids: RArray,
        options: RHash,
    ) -> Result<String, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let ids: Vec<FunctionId> = ids.to_vec::<u32>()?.into_iter().map(FunctionId).collect();
        let limit = options::option(ruby, options, "limit")?.unwrap_or(0);
        let (roots, fit) = (roots(ruby, options)?, fit(ruby, options)?);
        rb_self.ask(ruby, move |it| {
            let by = Weighed { of, whole: it.total().get(of), roots: &roots, fit };
            methods(it, &ids, limit, by)
        })
    }

    /// `Native.sources_text(profile, files, options)`: the lines of these, `[path, [[line, total, self], ...]]`; `type roots`, and
    /// those of [`fit`].
    pub(super) fn sources_text(
        ruby: &Ruby,
        rb_self: &Self,
        files: RArray,
        options: RHash,
    ) -> Result<String, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let file = |it| {
            let (path, lines): (String, Vec<(u32, u64, u64)>) = TryConvert::try_convert(it)?;
            let lines = lines.into_iter().map(|(line, total, own)| (line, Both { total, own }));
            Ok((path, lines.collect::<BTreeMap<u32, Both>>()))
        };
        let files = files.into_iter().map(file).collect::<Result<Vec<_>, Error>>()?;
        let (roots, fit) = (roots(ruby, options)?, fit(ruby, options)?);
        rb_self.ask(ruby, move |it| {
            sources(&files, Weighed { of, whole: it.total().get(of), roots: &roots, fit })
        })
    }
}
