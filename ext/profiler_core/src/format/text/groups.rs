//! The table of the report by a label: a value a line, what it weighs, and its heaviest function.

use super::table::{
    measured_in, place_of, push_line, push_other_types, GAP, LEAST_COLUMNS, NAME_COLUMNS, PERCENT_COLUMNS,
};
use super::Paint;
use crate::analysis::group_by::{group_by, Groups, Row};
use crate::error::Error;
use crate::format::display::display_name;
use crate::format::options::TextOptions;
use crate::format::svg::shorten;
use crate::profile::{Profile, SampleType};
use crate::text::clean;
use crate::text::units::{counted, percent};

pub(super) fn table(
    profile: &Profile,
    label: &str,
    of: SampleType,
    options: &TextOptions,
    paint: Paint,
) -> Result<String, Error> {
    let groups = group_by(profile, label, of)?;
    let name = paint.bold(of.name_and_unit().0);
    if groups.rows.is_empty() {
        return Ok(format!("{name}: the profile holds none\n"));
    }
    let mut text = format!("{name}: {} in all{}\n", of.amount(groups.total), measured_in(profile, of));
    push_other_types(&mut text, profile, of, paint);
    text.push('\n');
    let shown = if options.limit == 0 { groups.rows.len() } else { options.limit.min(groups.rows.len()) };
    let left_out = groups.rows.len() - shown;

    let mut lines: Vec<Line> =
        groups.rows.iter().take(shown).map(|row| Line::new(profile, &groups, row)).collect();
    if let Some(width) = options.width {
        fit(&mut lines, width);
    }
    let label = shorten(&clean(label).to_uppercase(), LEAST_COLUMNS);
    let widest = |of: &dyn Fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let (total, own) = (widest(&|it| it.total.len()), widest(&|it| it.own.len()));
    let value = widest(&|it| it.value.chars().count()).clamp(label.chars().count(), NAME_COLUMNS);
    let function = widest(&|it| it.name.chars().count()).clamp(LEAST_COLUMNS, NAME_COLUMNS);

    let (total_heading, own_heading) = (total + 1 + PERCENT_COLUMNS, own + 1 + PERCENT_COLUMNS);
    let heading = format!(
        "{:>total_heading$}{GAP}{label:<value$}{GAP}{:>own_heading$}{GAP}{:<function$}{GAP}PLACE",
        "TOTAL", "OF IT", "MOSTLY IN"
    );
    push_line(&mut text, &paint.bold(&heading));
    for (line, row) in lines.iter().zip(&groups.rows) {
        let share = |part, whole| format!("{:>PERCENT_COLUMNS$}", percent(part, whole));
        let mostly = row.heaviest.map_or(0, |(_, weight)| weight);
        let line = format!(
            "{:>total$} {}{GAP}{:<value$}{GAP}{:>own$} {}{GAP}{:<function$}{GAP}{}",
            line.total,
            paint.share(&share(row.weight, groups.total), row.weight, groups.total),
            line.value,
            line.own,
            share(mostly, row.weight),
            line.name,
            paint.dim(&line.place),
        );
        push_line(&mut text, &line);
    }
    if left_out > 0 {
        let rest = counted(left_out as u64, "more value");
        text.push_str(&paint.dim(&format!("{rest} left out (limit {shown})")));
        text.push('\n');
    }
    Ok(text)
}

/// The texts of a row.
struct Line {
    total: String,
    value: String,
    own: String,
    name: String,
    place: String,
}

impl Line {
    fn new(profile: &Profile, groups: &Groups, row: &Row) -> Self {
        let (function, own) = row.heaviest.unzip();
        let function = function.and_then(|it| profile.function(it));
        Self {
            total: groups.of.amount(row.weight),
            value: clean(row.name()).into_owned(),
            own: groups.of.amount(own.unwrap_or(0)),
            name: function.map_or_else(String::new, |it| display_name(it).into_owned()),
            place: function.map_or_else(String::new, place_of),
        }
    }
}

/// Shortens what is text until a line takes `width` columns: the longest texts, each to the same.
fn fit(lines: &mut [Line], width: usize) {
    let widest = |of: &dyn Fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let chars = |of: fn(&Line) -> &str| widest(&move |it| of(it).chars().count());
    let numbers = widest(&|it| it.total.len()) + widest(&|it| it.own.len()) + 2 * (PERCENT_COLUMNS + 1);
    let mut needed = [chars(|it| &it.value), chars(|it| &it.name), chars(|it| &it.place)];
    needed.sort_unstable();
    let (mut left, mut each) = (width.saturating_sub(numbers + 4 * GAP.len()), 0);
    for (place, needed) in needed.into_iter().enumerate() {
        each = (left / (3 - place)).max(LEAST_COLUMNS);
        left = left.saturating_sub(needed.min(each));
    }
    for line in lines {
        for text in [&mut line.value, &mut line.name, &mut line.place] {
            *text = shorten(text, each);
        }
    }
}
