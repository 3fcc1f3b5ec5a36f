//! The table of the report by a label: one value per line, with its weight, its requests, and its heaviest
//! function.

use super::table::{
    measured_in, place_of, push_line, push_other_types, GAP, MIN_COLUMNS, NAME_COLUMNS, PERCENT_COLUMNS,
};
use super::Paint;
use crate::analysis::group_by::{group_by, GroupRow, Groups};
use crate::error::Error;
use crate::format::display::display_name;
use crate::format::options::TextOptions;
use crate::profile::{Profile, SampleType};
use crate::text::clean;
use crate::text::shorten;
use crate::text::units::{count, counted, duration, percent};

/// The columns of requests, if requests were counted: their number, their mean duration, and the longest.
const REQUESTS: [&str; 3] = ["COUNT", "MEAN", "LARGEST"];

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
    let shown_of_function = options.width.map_or(Shown::Place, |width| fit(&mut lines, width));
    let label = shorten(&clean(label).to_uppercase(), MIN_COLUMNS);
    let widest = |of: &dyn Fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let (total, own) = (widest(&|it| it.total.len()), widest(&|it| it.own.len()));
    let value = widest(&|it| it.value.chars().count()).clamp(label.chars().count(), NAME_COLUMNS);
    let function = widest(&|it| it.name.chars().count()).clamp(MIN_COLUMNS, NAME_COLUMNS);

    let (total_heading, own_heading) = (total + 1 + PERCENT_COLUMNS, own + 1 + PERCENT_COLUMNS);
    let requests = requests_columns(&lines);
    let requests_heading = requests_cells(requests, &REQUESTS.map(String::from));
    let mut heading = format!("{:>total_heading$}{GAP}{label:<value$}{GAP}{requests_heading}", "TOTAL");
    if shown_of_function >= Shown::Function {
        heading += &format!("{:>own_heading$}{GAP}{:<function$}", "OF IT", "MOSTLY IN");
    }
    if shown_of_function == Shown::Place {
        heading += &format!("{GAP}PLACE");
    }
    push_line(&mut text, &paint.bold(&heading));
    for (line, row) in lines.iter().zip(&groups.rows) {
        let share = |part, whole| format!("{:>PERCENT_COLUMNS$}", percent(part, whole));
        let mostly = row.heaviest.map_or(0, |(_, weight)| weight);
        let mut cells = format!(
            "{:>total$} {}{GAP}{:<value$}{GAP}{}",
            line.total,
            paint.share(&share(row.weight, groups.total), row.weight, groups.total),
            line.value,
            requests_cells(requests, &line.requests),
        );
        if shown_of_function >= Shown::Function {
            let (share, place) = (share(mostly, row.weight), paint.dim(&line.place));
            cells += &format!("{:>own$} {share}{GAP}{:<function$}{GAP}{place}", line.own, line.name);
        }
        push_line(&mut text, &cells);
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
    /// The cells for [`REQUESTS`]; empty if no requests were counted.
    requests: [String; 3],
    own: String,
    name: String,
    place: String,
}

impl Line {
    fn new(profile: &Profile, groups: &Groups, row: &GroupRow) -> Self {
        let (function, own) = row.heaviest.unzip();
        let function = function.and_then(|it| profile.function(it));
        Self {
            total: groups.of.amount(row.weight),
            value: clean(row.name()).into_owned(),
            requests: row.requests.map_or_else(Default::default, |tally| {
                [count(tally.count), duration(tally.mean_ns()), duration(tally.largest_ns)]
            }),
            own: groups.of.amount(own.unwrap_or(0)),
            name: function.map_or_else(String::new, |it| display_name(it).into_owned()),
            place: function.map_or_else(String::new, place_of),
        }
    }
}

/// Returns the widths of the request columns; `None` if no line has any requests.
fn requests_columns(lines: &[Line]) -> Option<[usize; 3]> {
    let widest = |place: usize| {
        let cells = lines.iter().filter_map(|it| it.requests.get(place));
        cells.map(String::len).filter(|it| *it > 0).max()
    };
    let column = |(place, heading): (usize, &str)| Some(widest(place)?.max(heading.len()));
    let [count, mean, largest] = REQUESTS;
    Some([column((0, count))?, column((1, mean))?, column((2, largest))?])
}

/// Formats the cells of a line in these columns, each followed by the gap.
fn requests_cells(columns: Option<[usize; 3]>, texts: &[String; 3]) -> String {
    let cells = columns.into_iter().flatten().zip(texts);
    cells.map(|(width, text)| format!("{text:>width$}{GAP}")).collect()
}

/// What is shown of the heaviest function of a value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Shown {
    Nothing,
    Function,
    /// The function and its place.
    Place,
}

/// Shortens texts until a line takes `width` columns: the longest texts, each to the same length. Returns what
/// there is room for: the heaviest function gives way to requests, and its place to the values.
fn fit(lines: &mut [Line], width: usize) -> Shown {
    let widest = |of: &dyn Fn(&Line) -> usize| lines.iter().map(of).max().unwrap_or(0);
    let chars = |of: fn(&Line) -> &str| widest(&move |it| of(it).chars().count());
    let requests: usize = requests_columns(lines).into_iter().flatten().map(|it| it + GAP.len()).sum();
    let numbers = widest(&|it| it.total.len()) + PERCENT_COLUMNS + 1 + requests;
    let of_function = widest(&|it| it.own.len()) + PERCENT_COLUMNS + 1 + 3 * GAP.len();
    let needs = numbers + of_function + GAP.len() + 3 * MIN_COLUMNS;
    if requests > 0 && width < needs {
        let left = width.saturating_sub(numbers + GAP.len()).clamp(MIN_COLUMNS, NAME_COLUMNS);
        lines.iter_mut().for_each(|it| it.value = shorten(&it.value, left));
        return Shown::Nothing;
    }
    let (value, name, place) = (chars(|it| &it.value), chars(|it| &it.name), chars(|it| &it.place));
    let left = width.saturating_sub(numbers + of_function + GAP.len());
    let mut each = longest(&mut [value, name, place], left);
    let has_place = value <= each;
    if !has_place {
        // The values are what was asked for.
        each = longest(&mut [value, name], left + GAP.len());
        lines.iter_mut().for_each(|it| it.place.clear());
    }
    for line in lines {
        for text in [&mut line.value, &mut line.name, &mut line.place] {
            *text = shorten(text, each);
        }
    }
    if has_place {
        Shown::Place
    } else {
        Shown::Function
    }
}

/// Returns the length to which the longest texts are cut, if texts of these lengths share the columns.
fn longest(lengths: &mut [usize], mut left: usize) -> usize {
    lengths.sort_unstable();
    let (mut each, number) = (0, lengths.len());
    for (place, length) in lengths.iter().enumerate() {
        each = (left / (number - place)).max(MIN_COLUMNS);
        if *length > each {
            break;
        }
        left -= length;
    }
    each
}
