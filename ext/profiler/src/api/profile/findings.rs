//! The findings of a profile, and the part of it that is not idle.

use magnus::{Error, RArray, RHash, Ruby};
use profiler_core::analysis::findings::findings;
use profiler_core::analysis::idle::without_idle;
use profiler_core::format::text;

use super::options;
use super::Profile;

impl Profile {
    /// Implements `profile._findings`: returns `[kind, text, share, type, weight, name, path, line, command]`
    /// of each finding.
    pub(super) fn findings(ruby: &Ruby, rb_self: &Self) -> Result<RArray, Error> {
        let profile = &rb_self.core;
        let rows = ruby.ary_new();
        for finding in rb_self.ask(ruby, findings)? {
            let function = finding.place.and_then(|place| profile.function(place.function));
            let row = ruby.ary_new_capa(9);
            row.push(ruby.to_symbol(finding.kind.name()))?;
            row.push(finding.text.as_str())?;
            row.push(finding.share)?;
            row.push(finding.of.name_and_unit().0)?;
            row.push(finding.weight)?;
            row.push(function.map(|it| it.name.as_str()))?;
            row.push(function.map(|it| it.path.as_str()))?;
            row.push(finding.place.map(|it| it.line).filter(|it| *it > 0))?;
            row.push(finding.command.as_str())?;
            rows.push(row)?;
        }
        Ok(rows)
    }

    /// Implements `Native.findings_text(profile, options)`: returns the findings in lines of at most `width`
    /// columns, in `color`.
    pub(super) fn findings_text(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<String, Error> {
        let width = options::option(ruby, options, "width")?;
        let color = options::flag(ruby, options, "color")?;
        rb_self.ask(ruby, move |it| text::findings(it, width, color))
    }

    /// Implements `profile.without_idle`: returns the profile without the waits of idle threads.
    pub(super) fn without_idle(ruby: &Ruby, rb_self: &Self) -> Result<Self, Error> {
        rb_self.derive(ruby, without_idle)
    }
}
