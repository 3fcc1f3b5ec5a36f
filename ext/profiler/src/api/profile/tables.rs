//! Tables for the terminal: each is a text that the core prints.

use std::collections::BTreeMap;
use std::path::PathBuf;

use magnus::typed_data::Obj;
use magnus::{Error, RArray, RHash, Ruby, TryConvert};
use profiler_core::analysis::method::Both;
use profiler_core::analysis::top::Order;
use profiler_core::format::text::{
    end_of, markers, methods, sources, tree, By, Fit, Ranking, RankingPage, Shown, SourceWeights,
};
use profiler_core::ids::FunctionId;
use profiler_core::profile::Profile as CoreProfile;

use crate::api::profile::{options, Profile};
use crate::errors::core_error;
use crate::vm::strings::FilePath;

/// Reads the options `columns full_paths color`.
pub(super) fn fit(ruby: &Ruby, options: RHash) -> Result<Fit, Error> {
    Ok(Fit {
        columns: options::option(ruby, options, "columns")?.unwrap_or(80),
        full_paths: options::flag(ruby, options, "full_paths")?,
        color: options::flag(ruby, options, "color")?,
    })
}

/// Reads the option `roots`: the directories of sources.
fn roots(ruby: &Ruby, options: RHash) -> Result<Vec<PathBuf>, Error> {
    let roots: Option<RArray> = options::option(ruby, options, "roots")?;
    let path = |it| FilePath::try_convert(it).map(|it| it.0);
    roots.into_iter().flat_map(|it| it.into_iter().map(path)).collect()
}

impl Profile {
    /// Implements `Native.tree_text(profile, options)`. Takes `type least all`, and the options of [`fit`].
    pub(super) fn tree_text(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<String, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let least = options::option(ruby, options, "least")?.unwrap_or(0.0);
        let shown = Shown { least, all: options::flag(ruby, options, "all")? };
        let fit = fit(ruby, options)?;
        rb_self.ask(ruby, move |it| tree(it, of, shown, fit))
    }

    /// Implements `Native.markers_text(profile, options)`. Takes `limit`, and the options of [`fit`].
    pub(super) fn markers_text(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<String, Error> {
        let limit = options::option(ruby, options, "limit")?.unwrap_or(0);
        let fit = fit(ruby, options)?;
        rb_self.ask(ruby, move |it| markers(it, limit, fit))
    }

    /// Implements `Native.methods_text(profile, ids, options)`. Takes `type limit roots`, and the options of
    /// [`fit`].
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
        rb_self.ask(ruby, move |profile| {
            let by = SourceWeights {
                of,
                whole: profile.total().get(of),
                roots: &roots,
                ended: end_of(profile),
                fit,
            };
            methods(profile, &ids, limit, by)
        })
    }

    /// Implements `Native.sources_text(profile, files, options)`: returns the lines of these files, `[path,
    /// [[line, total, self], ...]]`. Takes `type roots`, and the options of [`fit`].
    pub(super) fn sources_text(
        ruby: &Ruby,
        rb_self: &Self,
        files: RArray,
        options: RHash,
    ) -> Result<String, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let file = |pair| {
            let (path, lines): (String, Vec<(u32, u64, u64)>) = TryConvert::try_convert(pair)?;
            let lines = lines.into_iter().map(|(line, total, own)| (line, Both { total, own }));
            Ok((path, lines.collect::<BTreeMap<u32, Both>>()))
        };
        let files = files.into_iter().map(file).collect::<Result<Vec<_>, Error>>()?;
        let (roots, fit) = (roots(ruby, options)?, fit(ruby, options)?);
        rb_self.ask(ruby, move |profile| {
            sources(
                &files,
                SourceWeights {
                    of,
                    whole: profile.total().get(of),
                    roots: &roots,
                    ended: end_of(profile),
                    fit,
                },
            )
        })
    }

    /// Implements `Native.ranking(profile, before, options)`: returns the weight of all, `[name, place,
    /// total, self, function]` of each row, and the table of a page. `before` is the profile of the previous
    /// period, or nil. Takes `type by sort_total filter first rows selected marks`, and the options of
    /// [`fit`]; `by` is `methods`, `lines` or a label.
    pub(super) fn ranking(
        ruby: &Ruby,
        rb_self: &Self,
        before: Option<Obj<Self>>,
        options: RHash,
    ) -> Result<RArray, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let by = match &*options::option::<String>(ruby, options, "by")?.unwrap_or_default() {
            "" | "methods" => By::Methods,
            "lines" => By::Lines,
            label => By::Label(label.into()),
        };
        let order =
            if options::flag(ruby, options, "sort_total")? { Order::TotalWeight } else { Order::SelfWeight };
        let filter: String = options::option(ruby, options, "filter")?.unwrap_or_default();
        let marks: Option<Vec<char>> = options::option(ruby, options, "marks")?;
        let marks = match marks.as_deref() {
            Some(&[rises, falls]) => [rises, falls],
            _ => ['^', 'v'],
        };
        let page = RankingPage {
            first: options::option(ruby, options, "first")?.unwrap_or(0),
            rows: options::option(ruby, options, "rows")?.unwrap_or(usize::MAX),
            selected: options::option(ruby, options, "selected")?,
            marks,
        };
        let fit = fit(ruby, options)?;
        let rank = |profile: &CoreProfile| Ranking::new(profile, of, &by, order, &filter);
        let now = rank(&rb_self.core).map_err(|why| core_error(ruby, &why))?;
        let before = before.and_then(|it| rank(&it.core).ok());
        let table = now.table(before.as_ref(), of, order, page, fit);
        let rows = ruby.ary_new_capa(now.rows.len());
        for row in now.rows {
            rows.push((row.name, row.place, row.total, row.own, row.function.map(|it| it.0)))?;
        }
        let all = ruby.ary_new_capa(3);
        all.push(now.whole)?;
        all.push(rows)?;
        all.push(table)?;
        Ok(all)
    }
}
