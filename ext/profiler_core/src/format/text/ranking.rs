//! The table of a live view: what weighs most now, by method, line, thread, state or label, and what rises
//! and falls.

use std::cmp::Reverse;

use hashbrown::HashMap;

use super::cells::Fit;
use super::table::{place_of, push_line};
use crate::analysis::group_by::group_by;
use crate::analysis::method::lines;
use crate::analysis::top::{top, Order};
use crate::error::Error;
use crate::format::display::display_name;
use crate::ids::FunctionId;
use crate::profile::{Profile, SampleType};
use crate::text::clean;

/// The subject of the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// Methods.
    Methods,
    /// Lines of files.
    Lines,
    /// The values of a label, of `thread`, or of `state`.
    Label(String),
}

/// A row of the ranking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranked {
    /// The name: a method, a line, or a value.
    pub name: String,
    /// The place of a method.
    pub place: String,
    /// The method, if the row is one.
    pub function: Option<FunctionId>,
    /// The weight including callees.
    pub total: u64,
    /// The weight without callees. Equals the total for values of a label.
    pub own: u64,
}

/// The ranked rows of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranking {
    /// The weight of the whole profile.
    pub whole: u64,
    /// The rows that have weight, in order.
    pub rows: Vec<Ranked>,
}

/// The part of a ranking that is shown as a table.
#[derive(Clone, Copy, Debug)]
pub struct RankingPage {
    /// The first row.
    pub first: usize,
    /// The number of rows.
    pub rows: usize,
    /// The selected row.
    pub selected: Option<usize>,
    /// The marks for rising and falling rows.
    pub marks: [char; 2],
}

impl Ranking {
    /// Ranks the rows of `profile` by its weights of a type, the heaviest first. Only rows whose name or
    /// place contains `filter` are included; case does not matter.
    ///
    /// # Errors
    /// Returns [`Error::UnknownLabel`] if no sample has the label.
    pub fn new(
        profile: &Profile,
        of: SampleType,
        by: &By,
        order: Order,
        filter: &str,
    ) -> Result<Self, Error> {
        let mut rows = match by {
            By::Methods => methods(profile, of),
            By::Lines => of_lines(profile, of),
            By::Label(label) => values(profile, of, label)?,
        };
        let filter = filter.to_lowercase();
        rows.retain(|it| it.matches(&filter));
        rows.sort_by(|one, other| one.rank(order).cmp(&other.rank(order)));
        Ok(Self { whole: profile.total().get(of), rows })
    }

    /// Returns the table of some rows, with a heading. `before` is the previous ranking, if there is one.
    #[must_use]
    pub fn table(
        &self,
        before: Option<&Self>,
        of: SampleType,
        order: Order,
        page: RankingPage,
        fit: Fit,
    ) -> String {
        let earlier = before.map(|it| it.shares(order));
        let mut text = String::new();
        push_line(&mut text, &fit.paint().bold(&format!("  {:>16} {:>16}   NAME", "TOTAL", "SELF")));
        for (number, row) in self.rows.iter().enumerate().skip(page.first).take(page.rows) {
            let share = share(row.by(order), self.whole);
            let trend = earlier.as_ref().map_or(' ', |shares| {
                let before = shares.get(&row.key()).copied().unwrap_or(0.0);
                trend(before, share, page.marks)
            });
            let cells = format!(
                "{trend} {} {}   {}",
                fit.weight(of, row.total, self.whole),
                fit.weight(of, row.own, self.whole),
                row.text(fit)
            );
            if page.selected == Some(number) {
                push_line(&mut text, &fit.marked(&format!(">{cells}")));
            } else {
                push_line(&mut text, &format!(" {cells}"));
            }
        }
        text
    }

    fn shares(&self, order: Order) -> HashMap<(&str, &str), f64> {
        self.rows.iter().map(|it| (it.key(), share(it.by(order), self.whole))).collect()
    }
}

impl Ranked {
    fn by(&self, order: Order) -> u64 {
        match order {
            Order::SelfWeight => self.own,
            Order::TotalWeight => self.total,
        }
    }

    fn rank(&self, order: Order) -> (Reverse<u64>, Reverse<u64>, &str, &str) {
        (Reverse(self.by(order)), Reverse(self.total.saturating_add(self.own)), &self.name, &self.place)
    }

    fn key(&self) -> (&str, &str) {
        // The place of a value says where it mostly occurs, and can change.
        (&self.name, if self.function.is_some() { &self.place } else { "" })
    }

    fn matches(&self, filter: &str) -> bool {
        filter.is_empty() || [&self.name, &self.place].iter().any(|it| it.to_lowercase().contains(filter))
    }

    /// Formats the name, and the place if there is room for it.
    fn text(&self, fit: Fit) -> String {
        let columns = fit.columns.saturating_sub(39);
        let name = fit.cut(&self.name, columns);
        let rest = columns.saturating_sub(name.chars().count() + 2);
        if self.place.is_empty() || rest < 12 {
            return name.into_owned();
        }
        format!("{name}  {}", fit.paint().dim(&fit.cut(&self.place, rest)))
    }
}

fn methods(profile: &Profile, of: SampleType) -> Vec<Ranked> {
    let row = |row: &crate::analysis::top::TopRow| {
        let function = profile.function(row.function)?;
        Some(Ranked {
            name: display_name(function).into_owned(),
            place: place_of(function),
            function: Some(row.function),
            total: row.total_weight,
            own: row.self_weight,
        })
    };
    top(profile, of, Order::SelfWeight).rows.iter().filter_map(row).collect()
}

fn of_lines(profile: &Profile, of: SampleType) -> Vec<Ranked> {
    let row = |((path, line), both): ((&str, u32), crate::analysis::method::Both)| {
        let path = clean(path);
        let name = match (&*path, line) {
            ("", _) => "(no line)".to_owned(),
            (path, 0) => path.to_owned(),
            (path, line) => format!("{path}:{line}"),
        };
        Ranked { name, place: String::new(), function: None, total: both.total, own: both.own }
    };
    lines(profile, of).into_iter().map(row).collect()
}

fn values(profile: &Profile, of: SampleType, label: &str) -> Result<Vec<Ranked>, Error> {
    let groups = group_by(profile, label, of)?;
    let row = |group: &crate::analysis::group_by::GroupRow| {
        let mostly = group.heaviest.and_then(|(id, _)| profile.function(id));
        Ranked {
            name: clean(group.name()).into_owned(),
            place: mostly.map_or_else(String::new, |it| format!("mostly in {}", display_name(it))),
            function: None,
            total: group.weight,
            own: group.weight,
        }
    };
    Ok(groups.rows.iter().filter(|it| it.weight > 0).map(row).collect())
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// Returns the mark for a change. A change of less than a twentieth of the whole has no mark.
fn trend(before: f64, now: f64, [rises, falls]: [char; 2]) -> char {
    match now - before {
        change if change > 0.05 => rises,
        change if change < -0.05 => falls,
        _ => ' ',
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::format::read;

    const PLAIN: Fit = Fit { columns: 60, full_paths: false, color: false };
    const PAGE: RankingPage = RankingPage { first: 0, rows: 10, selected: None, marks: ['^', 'v'] };

    fn ranking(folded: &str, by: &By, order: Order, filter: &str) -> Ranking {
        let profile = read(folded.as_bytes()).unwrap();
        Ranking::new(&profile, SampleType::Samples, by, order, filter).unwrap()
    }

    #[test]
    fn shows_what_rises_and_falls() {
        let order = Order::SelfWeight;
        let before = ranking("main;a 10\nmain;b 80\nmain;c 10\n", &By::Methods, order, "");
        let now = ranking("main;a 60\nmain;b 30\nmain;c 10\n", &By::Methods, order, "");
        let page = RankingPage { selected: Some(1), ..PAGE };
        let table = now.table(Some(&before), SampleType::Samples, order, page, PLAIN);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(
            lines,
            [
                "             TOTAL             SELF   NAME",
                " ^        60  60.0%        60  60.0%   a  (unknown)",
                ">v        30  30.0%        30  30.0%   b  (unknown)",
                "          10  10.0%        10  10.0%   c  (unknown)",
                "         100 100.0%         0   0.0%   main  (unknown)",
            ]
        );
        assert!(!now.table(None, SampleType::Samples, order, PAGE, PLAIN).contains(['^', 'v']));
    }

    #[test]
    fn selects_orders_and_pages() {
        let folded = "main;a;b 10\nmain;Other 90\n";
        let names = |by: &By, order, filter| -> Vec<String> {
            ranking(folded, by, order, filter).rows.into_iter().map(|it| it.name).collect()
        };
        assert_eq!(names(&By::Methods, Order::SelfWeight, ""), ["Other", "b", "main", "a"]);
        assert_eq!(names(&By::Methods, Order::TotalWeight, ""), ["main", "Other", "b", "a"]);
        assert_eq!(names(&By::Methods, Order::TotalWeight, "OTHER"), ["Other"]);
        assert_eq!(names(&By::Label("state".into()), Order::TotalWeight, ""), ["running"]);
        let all = ranking(folded, &By::Methods, Order::SelfWeight, "");
        let page = RankingPage { first: 1, rows: 2, ..PAGE };
        let table = all.table(None, SampleType::Samples, Order::SelfWeight, page, PLAIN);
        assert_eq!(table.lines().count(), 3);
        assert!(table.lines().all(|it| it.chars().count() <= 60));
        let profile = read(folded.as_bytes()).unwrap();
        let unknown = By::Label("endpoint".into());
        assert!(Ranking::new(&profile, SampleType::Samples, &unknown, Order::SelfWeight, "").is_err());
    }
}
