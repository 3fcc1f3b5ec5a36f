//! The change of the whole in one sentence: how much faster or slower, and for what reason.

use super::{Diff, Reason};
use crate::profile::SampleType;
use crate::text::clean;

/// The minimum change of the whole, as a share, that a reader should act on.
const MIN_CHANGE: f64 = 0.05;
/// The part of a change that a function must have to be its reason.
const REASON: f64 = 0.5;

impl Diff {
    /// Returns the change of the whole: "7.2 times faster: 2.71 s -> 377 ms, because Object#totals went
    /// from 2.34 s to nothing", and which runs failed. `None` if there was no weight at all and all runs ended well.
    #[must_use]
    pub fn headline(&self) -> Option<String> {
        match (self.change(), self.failures()) {
            (Some(change), Some(failures)) => Some(format!("{change}, but {failures}")),
            (change, failures) => change.or(failures),
        }
    }

    /// Returns whether the whole has grown by more than a reader should ignore.
    #[must_use]
    pub fn grew(&self) -> bool {
        self.means().is_some_and(|(before, after)| after / before >= 1.0 + MIN_CHANGE)
    }

    /// Returns the weight of everything, per run or per request; `None` if a side has none.
    fn means(&self) -> Option<(f64, f64)> {
        let (before, after) = match self.requests {
            Some((old, new)) => (self.before_all() / old as f64, self.after_all() / new as f64),
            None => (self.before, self.after),
        };
        (before > 0.0 && after > 0.0).then_some((before, after))
    }

    /// Names the runs that failed, which may have done less work: "the run after failed (exit status 1)".
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
        let (before, after) = self.means()?;
        let of_what = if self.requests.is_some() { " a request" } else { "" };
        let amount = |it: f64| self.compare.of.amount(it.round() as u64);
        let span = format!("{} -> {}{of_what}", amount(before), amount(after));
        let ratio = after / before;
        if (ratio - 1.0).abs() < MIN_CHANGE {
            return Some(format!("{}: {span}", self.words().same));
        }
        let grew = ratio > 1.0;
        let words = self.words();
        let word = if grew { words.more } else { words.less };
        let times = if grew { ratio } else { 1.0 / ratio };
        let how = if times >= 2.0 { format!("{times:.1} times {word}") } else { percent(times, grew, word) };
        let change = after - before;
        let reason = self.machine(change).or_else(|| self.reason(change));
        let reason = reason.map(|it| format!(", because {it}")).unwrap_or_default();
        Some(format!("{how}: {span}{reason}"))
    }

    /// Returns the time without a CPU, if that accounts for most of the change: then the machine was busy. It does
    /// not if the rest of the time changed alike, as what runs longer also waits longer for a CPU.
    fn machine(&self, change: f64) -> Option<String> {
        let [before, after] = self.without_cpu;
        let (before, after) = match self.requests {
            Some((old, new)) => {
                (before * self.runs.0 as f64 / old as f64, after * self.runs.1 as f64 / new as f64)
            }
            None => (before, after),
        };
        let (all_before, all_after) = self.means()?;
        let own_change = ((all_after - after) / (all_before - before).max(1.0) - 1.0) / (change / all_before);
        let amount = |it: f64| self.compare.of.amount(it.round() as u64);
        ((after - before) / change >= REASON && own_change < REASON)
            .then(|| format!("it had no CPU for {} before and {} after", amount(before), amount(after)))
    }

    /// Returns the function that accounts for most of the change of the whole.
    fn reason(&self, change: f64) -> Option<String> {
        let Reason { name, before, after } = self.reason.as_ref()?;
        if (after - before) / change < REASON {
            return None;
        }
        // A function without a sample may still run, for a time that is too short to be sampled.
        let amount = |it: f64| match it {
            it if it > 0.0 => self.compare.of.amount(it.round() as u64),
            _ => "nothing".into(),
        };
        Some(format!("{name} went from {} to {}", amount(*before), amount(*after)))
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

/// Formats a factor as a percentage: 1.25 times as much is 25 % slower; a time divided by 1.25 is 20 % less
/// time.
fn percent(times: f64, grew: bool, word: &str) -> String {
    let share = if grew { times - 1.0 } else { 1.0 - 1.0 / times };
    let of = if word == "faster" { "less time" } else { word };
    format!("{:.0}% {of}", share * 100.0)
}
