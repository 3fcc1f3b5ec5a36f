//! The parts of lines that several tables share: a weight with its share, and a name with its place, cut to
//! fit.

use std::borrow::Cow;

use super::table::{place_of, MIN_COLUMNS};
use super::Paint;
use crate::format::display::display_name;
use crate::profile::{Function, SampleType};
use crate::text::shorten;
use crate::text::units::percent;

/// The number of columns of a weight with its share.
pub(super) const WEIGHT_COLUMNS: usize = 16;

/// The options of a table that is as wide as a terminal.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// The number of columns in a line.
    pub columns: usize,
    /// Whether names and paths stay whole, however long the line becomes.
    pub full_paths: bool,
    /// Whether to use colours.
    pub color: bool,
}

impl Fit {
    pub(super) fn paint(self) -> Paint {
        Paint { on: self.color }
    }

    /// Highlights a line.
    pub(super) fn marked(self, line: &str) -> String {
        if self.color {
            // The colours inside the line may end the highlighting.
            format!("\u{1b}[7m{}\u{1b}[0m", line.replace("\u{1b}[0m", "\u{1b}[0m\u{1b}[7m"))
        } else {
            line.to_owned()
        }
    }

    /// Cuts a text to `columns` columns, though not below a minimum.
    pub(super) fn cut(self, text: &str, columns: usize) -> Cow<'_, str> {
        if self.full_paths {
            return Cow::Borrowed(text);
        }
        Cow::Owned(shorten(text, columns.max(MIN_COLUMNS)))
    }

    /// Formats a function's name, and its place if there is room for it, in `columns`.
    pub(super) fn function(self, function: &Function, columns: usize, after_name: &str) -> String {
        self.placed(&display_name(function), &place_of(function), columns, after_name)
    }

    /// Formats a name, and a place if there is space for it, in `columns`.
    pub(super) fn placed(self, name: &str, place: &str, columns: usize, after_name: &str) -> String {
        let name = self.cut(name, columns);
        let rest = columns.saturating_sub(name.chars().count() + 2);
        if place.is_empty() || !(self.full_paths || rest > MIN_COLUMNS) {
            return format!("{name}{after_name}");
        }
        format!("{name}{after_name}  {}", self.paint().dim(&self.cut(place, rest)))
    }

    /// Formats a weight and its share, in [`WEIGHT_COLUMNS`] columns.
    pub(super) fn weight(self, of: SampleType, weight: u64, whole: u64) -> String {
        let share = self.paint().share(&format!("{:>6}", percent(weight, whole)), weight, whole);
        format!("{:>9} {share}", of.amount(weight))
    }
}
