//! Parts of a profile, and the details of one function.

use magnus::{Error, RArray, RHash, Ruby};
use profiler_core::analysis::call_tree::call_tree;
use profiler_core::analysis::code_origin::Origin;
use profiler_core::analysis::filter::{filter, Filter};
use profiler_core::analysis::method::{lines, method, Both};
use profiler_core::analysis::overhead::Overhead;
use profiler_core::format::{display_name, too_short};
use profiler_core::ids::FunctionId;
use profiler_core::profile::{SampleType, TRACE};

use crate::api::profile::{options, Profile};
use crate::labels::set_from;

impl Profile {
    /// Implements `profile._types`: returns name, unit and sum of each sample type.
    pub(super) fn types(ruby: &Ruby, rb_self: &Self) -> RArray {
        let total = rb_self.core.total();
        let one = |it: &SampleType| (it.name_and_unit().0, it.name_and_unit().1, total.get(*it));
        ruby.ary_from_iter(rb_self.core.sample_types.iter().map(one))
    }

    /// Implements `Native.default_type(profile)`: returns the name of the type that is shown if none is
    /// requested.
    pub(super) fn default_type(&self) -> &'static str {
        self.core.default_sample_type().name_and_unit().0
    }

    /// Implements `Native.too_short(profile)`: returns a sentence, and the interval that would suffice, in
    /// microseconds; nil if there are enough samples.
    pub(super) fn too_short(&self) -> Option<(String, Option<u64>)> {
        too_short(&self.core).map(|it| (it.sentence, it.interval_ns.map(|ns| ns / 1_000)))
    }

    /// Implements `Native.overhead(profile)`: returns the share that profiling took, and the words for the
    /// whole that it refers to; nil if the share is meaningless.
    pub(super) fn overhead(&self) -> Option<(String, &'static str)> {
        if too_short(&self.core).is_some() {
            return None;
        }
        Overhead::of(&self.core)?.share()
    }

    /// Implements `Native.functions(profile)`: returns name, path, first line, whether the function is the
    /// app's, and the name for people, by id.
    pub(super) fn functions(ruby: &Ruby, rb_self: &Self) -> RArray {
        let one = |function: &profiler_core::profile::Function| {
            let is_app = Origin::of(function) == Origin::App;
            (
                function.name.clone(),
                function.path.clone(),
                function.first_line,
                is_app,
                display_name(function).into_owned(),
            )
        };
        ruby.ary_from_iter(rb_self.core.functions.iter().map(one))
    }

    /// Implements `Native.threads(profile)`: returns native id and name, by index.
    pub(super) fn threads(ruby: &Ruby, rb_self: &Self) -> RArray {
        ruby.ary_from_iter(rb_self.core.threads.iter().map(|it| (it.native_id, it.name.clone())))
    }

    /// Implements `Native.filter(profile, options)`. Takes `focus ignore hide` (ids of functions), `threads`
    /// and `markers` (indexes), `app_only`, `note`.
    pub(super) fn filter(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<Self, Error> {
        let ids = |name| -> Result<Option<Vec<FunctionId>>, Error> {
            let ids: Option<Vec<u32>> = options::option(ruby, options, name)?;
            Ok(ids.map(|it| it.into_iter().map(FunctionId).collect()))
        };
        let by = Filter {
            focus: ids("focus")?,
            ignore: ids("ignore")?.unwrap_or_default(),
            hide: ids("hide")?.unwrap_or_default(),
            app_only: options::flag(ruby, options, "app_only")?,
            threads: options::option(ruby, options, "threads")?,
            markers: options::option(ruby, options, "markers")?,
            note: options::option(ruby, options, "note")?.unwrap_or_default(),
        };
        rb_self.derive(ruby, move |it| filter(it, &by))
    }

    /// Implements `Native.with_labels(profile, labels, early, metadata)`: returns the profile with these
    /// labels on every row that has no label of that name, or has that of `early`; and with this metadata and
    /// its trace, unless the profile has its own of that name.
    pub(super) fn with_labels(
        ruby: &Ruby,
        rb_self: &Self,
        labels: RHash,
        early: RHash,
        metadata: RHash,
    ) -> Result<Self, Error> {
        let [labels, early, metadata] = [labels, early, metadata].map(|it| set_from(ruby, it));
        let (labels, early, metadata) = (labels?, early?, metadata?);
        rb_self.derive(ruby, move |profile| {
            let mut labelled = profile.clone();
            labelled.remove_labels(&early);
            labelled.add_labels(&labels);
            let trace = labelled.main_trace().map(|it| (TRACE.to_owned(), it.to_owned()));
            for (name, value) in metadata.pairs().iter().cloned().chain(trace) {
                labelled.meta.user.entry(name).or_insert(value);
            }
            labelled
        })
    }

    /// Implements `Native.tree(profile, options)`: returns `[function, self, total, children]` of each node,
    /// then the indexes of the roots.
    pub(super) fn tree(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<RArray, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let tree = rb_self.ask(ruby, move |it| call_tree(it, of))?;
        let nodes = ruby.ary_new_capa(tree.nodes.len());
        for node in tree.nodes {
            nodes.push((
                node.function.0,
                node.self_weight,
                node.total_weight,
                ruby.ary_from_vec(node.children),
            ))?;
        }
        let both = ruby.ary_new_capa(2);
        both.push(nodes)?;
        both.push(ruby.ary_from_vec(tree.roots))?;
        Ok(both)
    }

    /// Implements `Native.method_details(profile, id, options)`: returns total, self, callers and callees
    /// (`[id or nil, weight]`), and lines (`[line, total, self]`).
    pub(super) fn method(ruby: &Ruby, rb_self: &Self, id: u32, options: RHash) -> Result<RArray, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let seen = rb_self.ask(ruby, move |it| method(it, FunctionId(id), of))?;
        let row = ruby.ary_new_capa(5);
        row.push(seen.weight.total)?;
        row.push(seen.weight.own)?;
        row.push(
            ruby.ary_from_iter(seen.callers.into_iter().map(|(id, weight)| (id.map(|it| it.0), weight))),
        )?;
        row.push(ruby.ary_from_iter(seen.callees.into_iter().map(|(id, weight)| (id.0, weight))))?;
        row.push(
            ruby.ary_from_iter(seen.lines.into_iter().map(|(line, Both { total, own })| (line, total, own))),
        )?;
        Ok(row)
    }

    /// Implements `Native.lines(profile, options)`: returns `[path, line, total, self]` of all lines that
    /// have a weight.
    pub(super) fn lines(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<RArray, Error> {
        let of = options::sample_type(ruby, &rb_self.core, options)?;
        let all = rb_self.ask(ruby, move |profile| -> Vec<_> {
            let row = |((path, line), it): ((&str, u32), Both)| (path.to_owned(), line, it.total, it.own);
            lines(profile, of).into_iter().map(row).collect()
        })?;
        Ok(ruby.ary_from_iter(all))
    }
}
