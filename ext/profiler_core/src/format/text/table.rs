//! The table of the report: one function per line, with its weight with and without callees.

use std::borrow::Cow;

use super::Paint;
use crate::analysis::allocations::{allocations, is_of_memory, Allocations};
use crate::analysis::top::{top, Order, Top, TopRow};
use crate::format::display::display_name;
use crate::format::options::TextOptions;
use crate::profile::{Function, Profile, SampleType};
use crate::text::clean;
use crate::text::shorten;
use crate::text::units::{count, counted, percent};

/// The width beyond which a name pushes only its own path to the right, not those of all lines.
pub(super) const NAME_COLUMNS: usize = 40;
/// The minimum width of a name, however narrow the line.
pub(super) const MIN_COLUMNS: usize = 12;
pub(super) const PERCENT_COLUMNS: usize = 6;
pub(super) const GAP: &str = "   ";
/// The headings of the number of objects that a function allocated itself, and of their class: the heaviest
/// one, and the number of others.
const OBJECTS: [&str; 2] = ["OBJECTS", "CLASS"];
/// The same for memory from malloc.
const BLOCKS: [&str; 2] = ["BLOCKS", "LIBRARY"];
const CLASS_COLUMNS: usize = 30;

pub(super) fn table(profile: &Profile, of: SampleType, options: &TextOptions, paint: Paint) -> String {
    let order = if options.sort_total { Order::TotalWeight } else { Order::SelfWeight };
    let top = top(profile, of, order);
    let (name, total) = (of.name_and_unit().0, of.amount(top.total));
    if top.rows.is_empty() {
        return format!("{}: the profile holds none\n", paint.bold(name));
    }
    let shown = if options.limit == 0 { top.rows.len() } else { options.limit.min(top.rows.len()) };
    let left_out = top.rows.len() - shown;

    let objects = allocations(profile, of);
    let line = |row: &TopRow| Line::new(profile, &top, row, objects.get(&row.function));
    let lines: Vec<Line<'_>> = top.rows.iter().take(shown).map(line).collect();
    let headings = if is_of_memory(profile) { BLOCKS } else { OBJECTS };
    let columns = Columns::fit(&lines, headings, options.width);
    let mut text = format!("{}: {total} in all{}\n", paint.bold(name), measured_in(profile, of));
    push_other_types(&mut text, profile, of, paint);
    text.push('\n');
    push_line(&mut text, &columns.heading(paint));
    for line in &lines {
        push_line(&mut text, &columns.line(line, &top, paint));
    }
    if left_out > 0 {
        let rest = counted(left_out as u64, "more function");
        text.push_str(&paint.dim(&format!("{rest} left out (limit {shown})")));
        text.push('\n');
    }
    text
}

/// Returns a remark on a type that not all parts of a merge have.
pub(super) fn measured_in(profile: &Profile, of: SampleType) -> &'static str {
    if profile.is_partial_type(of) {
        ", measured in some of the merged profiles only"
    } else {
        ""
    }
}

/// Adds a line that names the sample types besides the shown one, if there are any other than the number of
/// samples.
pub(super) fn push_other_types(text: &mut String, profile: &Profile, of: SampleType, paint: Paint) {
    let total = profile.total();
    let is_other = |it: &&SampleType| **it != of && **it != SampleType::Samples && total.get(**it) > 0;
    let others = profile.sample_types.iter().filter(is_other);
    let names: Vec<&str> = others.map(|it| it.name_and_unit().0).collect();
    if !names.is_empty() {
        push_line(text, &paint.dim(&format!("also measured: {} (--type NAME)", names.join(", "))));
    }
}

pub(super) fn push_line(text: &mut String, line: &str) {
    text.push_str(line.trim_end());
    text.push('\n');
}

/// The texts of a row.
struct Line<'profile> {
    row: TopRow,
    total: String,
    own: String,
    /// The number of objects and their class.
    allocation: Option<(String, String)>,
    name: Cow<'profile, str>,
    place: String,
}

impl<'profile> Line<'profile> {
    fn new(
        profile: &'profile Profile,
        top: &Top,
        row: &TopRow,
        allocation: Option<&Allocations<'_>>,
    ) -> Self {
        let function = profile.function(row.function);
        let class = |it: &Allocations<'_>| match it.classes {
            1 => clean(it.class).into_owned(),
            classes => format!("{} +{}", clean(it.class), classes - 1),
        };
        let allocation = match allocation {
            Some(it) => (count(it.objects), shorten(&class(it), CLASS_COLUMNS)),
            None => (count(0), String::new()),
        };
        let of_objects = top.of >= SampleType::AllocObjects;
        Self {
            allocation: of_objects.then_some(allocation),
            row: *row,
            total: top.of.amount(row.total_weight),
            own: top.of.amount(row.self_weight),
            name: function.map_or(Cow::Borrowed(""), display_name),
            place: function.map_or_else(String::new, place_of),
        }
    }
}

/// Returns the path and line of a function.
pub(super) fn place_of(function: &Function) -> String {
    match (clean(&function.path), function.first_line) {
        (path, 0) => path.into_owned(),
        (path, line) => format!("{path}:{line}"),
    }
}

/// The widths of the columns.
struct Columns {
    total: usize,
    own: usize,
    /// The widths of the number of objects and of their class; `None` in other tables.
    allocation: Option<(usize, usize)>,
    headings: [&'static str; 2],
    name: usize,
    /// The maximum widths of a name and a place.
    most: Option<(usize, usize)>,
}

impl Columns {
    fn fit(lines: &[Line<'_>], headings: [&'static str; 2], width: Option<usize>) -> Self {
        let widest = |of: &dyn Fn(&Line<'_>) -> usize| lines.iter().map(of).max().unwrap_or(0);
        let total = widest(&|it| it.total.len());
        let own = widest(&|it| it.own.len());
        let allocation_width = |of: &dyn Fn(&(String, String)) -> &String, least: &str| {
            widest(&|it| it.allocation.as_ref().map_or(0, |allocation| of(allocation).chars().count()))
                .max(least.len())
        };
        let [objects, classes] = headings;
        let allocation = (allocation_width(&|it| &it.0, objects), allocation_width(&|it| &it.1, classes));
        let allocation = lines.iter().any(|it| it.allocation.is_some()).then_some(allocation);
        let name = widest(&|it| it.name.chars().count()).clamp(MIN_COLUMNS, NAME_COLUMNS);
        let place = widest(&|it| it.place.chars().count());

        let most = width.map(|width| {
            let allocation = allocation.map_or(0, |(objects, class)| objects + class + 2 * GAP.len());
            let numbers = total + own + 2 * (PERCENT_COLUMNS + 1 + GAP.len()) + allocation;
            let available = width.saturating_sub(numbers + GAP.len());
            // Names are what people look for, so they get the width that they need, up to three fifths.
            let name = name.min(available.saturating_sub(place).max(available * 3 / 5)).max(MIN_COLUMNS);
            (name, available.saturating_sub(name).max(MIN_COLUMNS))
        });
        let name = most.map_or(name, |(name, _)| name.min(NAME_COLUMNS));
        Self { total, own, allocation, headings, name, most }
    }

    fn heading(&self, paint: Paint) -> String {
        let (total, own) = (self.total + 1 + PERCENT_COLUMNS, self.own + 1 + PERCENT_COLUMNS);
        let name = self.name;
        let [number, kind] = self.headings;
        let allocation = self.allocation.map_or_else(String::new, |(objects, class)| {
            format!("{number:>objects$}{GAP}{kind:<class$}{GAP}")
        });
        let function = format!("{:<name$}", "FUNCTION");
        paint.bold(&format!("{:>total$}{GAP}{:>own$}{GAP}{allocation}{function}{GAP}PLACE", "TOTAL", "SELF"))
    }

    fn line(&self, line: &Line<'_>, top: &Top, paint: Paint) -> String {
        let share = |weight: u64| {
            let text = format!("{:>PERCENT_COLUMNS$}", percent(weight, top.total));
            paint.share(&text, weight, top.total)
        };
        let (total, own) = (self.total, self.own);
        let (name, place) = match self.most {
            None => (line.name.to_string(), line.place.clone()),
            Some((name, place)) => (shorten(&line.name, name), shorten(&line.place, place)),
        };
        let allocation = self.allocation.zip(line.allocation.as_ref()).map_or_else(
            String::new,
            |((objects, class), allocation)| {
                format!("{:>objects$}{GAP}{:<class$}{GAP}", allocation.0, allocation.1)
            },
        );
        format!(
            "{:>total$} {}{GAP}{:>own$} {}{GAP}{allocation}{:<name_columns$}{GAP}{}",
            line.total,
            share(line.row.total_weight),
            line.own,
            share(line.row.self_weight),
            name,
            paint.dim(&place),
            name_columns = self.name,
        )
    }
}
