//! The change of the whole in a sentence: how much faster or slower, and because of what.

use super::Diff;
use crate::profile::SampleType;
use crate::text::clean;

/// A change of the whole by less than this share is none that a reader should go by.
const LEAST: f64 = 0.05;
/// A function is the reason for a change if it has this part of it.
const REASON: f64 = 0.5;

impl Diff {
    /// The change of the whole: "7.2 times faster: 2.71 s -> 377 ms, because Object#totals is gone", and which runs failed. `None`
    /// where nothing weighed anything and all runs ended well.
    #[must_use]
    pub fn headline(&self) -> Option<String> {
        match (self.change(), self.failures()) {
            (Some(change), Some(failures)) => Some(format!("{change}, but {failures}")),
            (change, failures) => change.or(failures),
        }
    }

    /// The runs that failed, which may have done less: "the run after failed (exit status 1)".
    fn failures(&self) -> Option<String> {
        let sides = [("before", self.runs.0), ("after", self.runs.1)];
        let failures = self.failed.iter().zip(sides).filter_map(|(ends, (side, runs))| {
            let end = clean(ends.first()?);
            Some(match runs {
                1 => format!("the run {side} failed ({end})"),
                _ => format!("{} of {runs} runs {side} failed ({end})", ends.len()),
            })
        });
        let failures: Vec<String> = failures.collect();
        (!failures.is_empty()).then(|| failures.join(" and "))
    }

    fn change(&self) -> Option<String> {
        let (before, after, of_what) = match self.requests {
            Some((old, new)) => (self.before_all() / old as f64, self.after_all() / new as f64, " a request"),
            None => (self.before, self.after, ""),
        };
        if before <= 0.0 || after <= 0.0 {
            return None;
        }
        let amount = |it: f64| self.compare.of.amount(it.round() as u64);
        let span = format!("{} -> {}{of_what}", amount(before), amount(after));
        let ratio = after / before;
        if (ratio - 1.0).abs() < LEAST {
            return Some(format!("{}: {span}", self.words().same));
        }
        let grew = ratio > 1.0;
        let words = self.words();
        let word = if grew { words.more } else { words.less };
        let times = if grew { ratio } else { 1.0 / ratio };
        let how = if times >= 2.0 { format!("{times:.1} times {word}") } else { percent(times, grew, word) };
        let reason = self.reason(after - before).map(|it| format!(", because {it}")).unwrap_or_default();
        Some(format!("{how}: {span}{reason}"))
    }

    /// The function that most of the change of the whole is in.
    fn reason(&self, change: f64) -> Option<String> {
        let (name, before, after) = self.reason.as_ref()?;
        if (after - before) / change < REASON {
            return None;
        }
        let amount = |it: &f64| self.compare.of.amount(it.round() as u64);
        Some(if *after <= 0.0 {
            format!("{name} is gone")
        } else if *before <= 0.0 {
            format!("{name} is new")
        } else {
            format!("{name} went from {} to {}", amount(before), amount(after))
        })
    }

    fn before_all(&self) -> f64 {
        self.before * self.runs.0 as f64
    }

    fn after_all(&self) -> f64 {
        self.after * self.runs.1 as f64
    }

    fn words(&self) -> Words {
        match self.compare.of {
            SampleType::Wall | SampleType::Cpu | SampleType::Samples => {
                Words { more: "slower", less: "faster", same: "as fast as before" }
            }
            _ => Words { more: "more", less: "less", same: "as much as before" },
        }
    }
}

struct Words {
    more: &'static str,
    less: &'static str,
    same: &'static str,
}

/// 1.25 times as much is 25 % slower; a time divided by 1.25 is 20 % less of it.
fn percent(times: f64, grew: bool, word: &str) -> String {
    let share = if grew { times - 1.0 } else { 1.0 - 1.0 / times };
    let of = if word == "faster" { "less time" } else { word };
    format!("{:.0}% {of}", share * 100.0)
}
