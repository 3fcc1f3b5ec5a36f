//! A trace as text.

use std::fmt::Write as _;

use super::{Bucket, Inside};
use crate::record::WallTimes;
use crate::text::units::{count, counted, duration, percent};

/// The number of callers and classes that the text shows.
const SHOWN: usize = 10;
/// The columns of the longest bar.
const BAR: u64 = 30;

/// A caller with its name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Caller {
    /// The name of the calling method; empty if a call came from no Ruby code.
    pub name: String,
    /// The file of the method and the line of the call, or only the file.
    pub place: String,
    /// The number of calls.
    pub calls: u64,
    /// The duration of the calls, ns.
    pub total_ns: u64,
}

/// All that is known about the calls of a method, with names.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The name of the method.
    pub name: String,
    /// The number of calls that began.
    pub calls: u64,
    /// The number of calls that ended.
    pub finished: u64,
    /// The number of calls that raised or threw.
    pub raised: u64,
    /// How long the trace ran, ns.
    pub duration_ns: u64,
    /// The sum of the durations of all calls, ns. A recursive call counts in its outer call, too.
    pub total_ns: u64,
    /// The shortest and the longest duration of a call, ns.
    pub range_ns: (u64, u64),
    /// Percentiles, as a name and a duration in ns.
    pub percentiles: Vec<(&'static str, u64)>,
    /// Whether the percentiles are exact.
    pub is_exact: bool,
    /// The time of the calls, by the state of their threads, ns; all 0 if that was not measured.
    pub parts: WallTimes,
    /// The number of calls that had begun before the trace, and ended since.
    pub began_before: u64,
    /// The callers, in any order.
    pub callers: Vec<Caller>,
    /// The number of calls from callers that are not listed.
    pub other_callers: u64,
    /// Classes of results, with numbers of calls.
    pub results: Vec<(String, u64)>,
    /// Classes of exceptions, with numbers of calls. One without a class is a throw.
    pub exceptions: Vec<(String, u64)>,
    /// The number of calls that ended with a class that is not listed.
    pub other_classes: u64,
    /// The distribution of the durations.
    pub histogram: Vec<Bucket>,
    /// The time that the trace itself took, ns.
    pub own_ns: u64,
    /// For a C function, the number of calls and returns of others for which the hook ran too, and what one
    /// took, ns.
    pub others: Option<(u64, u64)>,
    /// What ran inside of the calls, if that was counted.
    pub inside: Option<Inside>,
    /// Why the trace ended by itself, in words.
    pub ended: Option<String>,
}

impl Summary {
    /// Returns the text, with lines of at most `columns`, except for long names. It lists up to `rows` functions that
    /// ran inside; 0 stands for all.
    #[must_use]
    pub fn text(&self, columns: usize, rows: usize) -> String {
        let mut text = String::new();
        self.head(&mut text);
        if self.finished > 0 {
            self.durations(&mut text);
            self.distribution(&mut text);
            self.tables(&mut text, columns);
        }
        if let Some(inside) = &self.inside {
            inside.table(&mut text, rows);
        }
        let _ = writeln!(
            text,
            "\n[profiler] tracing took {} of a core{}",
            percent(self.own_ns, self.duration_ns.max(1)),
            if self.is_exact { "" } else { "; percentiles are at most 0.4% off" },
        );
        if let Some((number, ns)) = self.others {
            let calls = counted(number / 2, "other call");
            let of = if self.inside.is_some() { "methods and blocks" } else { "C functions" };
            let _ = writeln!(text, "[profiler] a hook ran for {calls} of {of}, {} each", duration(2 * ns));
            if self.calls == 0 && self.inside.is_none() {
                let _ = writeln!(
                    text,
                    "[profiler] calls that Ruby makes without the function, such as [a, b].max, are not seen"
                );
            }
        }
        if let Some(inside) = &self.inside {
            inside.notes(&mut text);
        }
        if let Some(why) = &self.ended {
            let _ = writeln!(text, "[profiler] the trace ended by itself: {why}");
        }
        text
    }

    fn head(&self, text: &mut String) {
        let calls = counted(self.calls, "call");
        let _ = write!(text, "{}: {calls} in {}", self.name, duration(self.duration_ns));
        if self.raised > 0 {
            let _ = write!(text, ", {} raised", count(self.raised));
        }
        let open = self.calls - self.finished.min(self.calls);
        if open > 0 {
            let _ = write!(text, ", {} not over", count(open));
        }
        text.push('\n');
    }

    fn durations(&self, text: &mut String) {
        let mean_ns = self.total_ns / self.finished;
        let _ = writeln!(text, "{} together, {} a call", duration(self.total_ns), duration(mean_ns));
        let (shortest_ns, longest_ns) = self.range_ns;
        let percentiles = self.percentiles.iter().map(|(name, ns)| format!("{name} {}", duration(*ns)));
        let all = std::iter::once(format!("shortest {}", duration(shortest_ns)))
            .chain(percentiles)
            .chain(std::iter::once(format!("longest {}", duration(longest_ns))));
        let _ = writeln!(text, "{}", all.collect::<Vec<_>>().join(", "));
        let whole_ns = self.parts.total_ns();
        let WallTimes { running_ns, waiting_ns, gvl_ns, gc_ns, gc_off_cpu_ns } = self.parts;
        let parts: Vec<String> = [
            (running_ns, "running"),
            (waiting_ns, "waiting"),
            (gvl_ns, "waiting for the GVL"),
            (gc_ns + gc_off_cpu_ns, "collecting garbage"),
        ]
        .into_iter()
        .filter(|(ns, _)| *ns > 0)
        .map(|(ns, name)| format!("{} {name}", percent(ns, whole_ns)))
        .collect();
        if !parts.is_empty() {
            let _ = writeln!(text, "{}", parts.join(", "));
        }
    }

    fn distribution(&self, text: &mut String) {
        let most = self.histogram.iter().map(|bucket| bucket.count).max().unwrap_or(1).max(1);
        text.push('\n');
        for Bucket { from_ns, below_ns, count: number } in &self.histogram {
            let width = (number * BAR).div_ceil(most);
            let bar = "#".repeat(usize::try_from(width).unwrap_or(0));
            let range = format!("{} - {}", duration(*from_ns), duration(*below_ns));
            let line = format!("{range:>21} {:>10} {bar}", count(*number));
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }

    fn tables(&self, text: &mut String, columns: usize) {
        let mut callers = self.callers.clone();
        callers.sort_by(|one, other| {
            (other.total_ns, other.calls, &one.name).cmp(&(one.total_ns, one.calls, &other.name))
        });
        let _ = writeln!(text, "\n     calls      total  called from");
        for caller in callers.iter().take(SHOWN) {
            let name = if caller.name.is_empty() { "(no Ruby code)" } else { &caller.name };
            let _ = writeln!(text, "{:>10} {:>10}  {name}", count(caller.calls), duration(caller.total_ns));
            if !caller.place.is_empty() {
                let _ = writeln!(text, "{:>23}{}", "", end_of(&caller.place, columns.saturating_sub(23)));
            }
        }
        let rest: u64 =
            callers.iter().skip(SHOWN).map(|caller| caller.calls).sum::<u64>() + self.other_callers;
        if rest > 0 {
            let _ = writeln!(text, "{:>10}             other callers", count(rest));
        }
        for (title, counts) in [("returned", &self.results), ("raised", &self.exceptions)] {
            let mut counts = counts.clone();
            counts.sort_by(|one, other| (other.1, &one.0).cmp(&(one.1, &other.0)));
            let shown = counts.iter().take(SHOWN).map(|(class, number)| {
                format!("{} {}", if class.is_empty() { "(throw)" } else { class }, count(*number))
            });
            let shown: Vec<String> = shown.collect();
            if !shown.is_empty() {
                let more = counts.len().saturating_sub(SHOWN);
                let more = if more > 0 { format!(", and {more} more classes") } else { String::new() };
                let _ = writeln!(text, "\n{title} {}{more}", shown.join(", "));
            }
        }
        if self.other_classes > 0 {
            let calls = counted(self.other_classes, "call");
            let _ = writeln!(text, "\n{calls} returned or raised an object of a further class");
        }
    }
}

/// Returns the end of a path, which says more than its beginning, in at most `columns`.
fn end_of(path: &str, columns: usize) -> String {
    let length = path.chars().count();
    if length <= columns.max(20) {
        return path.to_owned();
    }
    let tail: String = path.chars().skip(length + 1 - columns.max(20)).collect();
    format!("…{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_the_calls_took_and_who_made_them() {
        let caller =
            |name: &str, total_ns| Caller { name: name.into(), place: "app.rb:7".into(), calls: 2, total_ns };
        let summary = Summary {
            name: "Order#save".into(),
            calls: 5,
            finished: 4,
            raised: 1,
            duration_ns: 2_000_000_000,
            total_ns: 400_000_000,
            range_ns: (1_000, 300_000_000),
            percentiles: vec![("p50", 2_000_000)],
            is_exact: true,
            parts: WallTimes { running_ns: 100, waiting_ns: 300, gvl_ns: 0, gc_ns: 0, gc_off_cpu_ns: 0 },
            callers: vec![caller("", 100), caller("Orders#create", 400_000_000)],
            results: vec![("TrueClass".into(), 3)],
            exceptions: vec![(String::new(), 1)],
            other_classes: 7,
            histogram: vec![Bucket { from_ns: 512, below_ns: 1_024, count: 4 }],
            own_ns: 2_000_000,
            ..Summary::default()
        };
        let text = summary.text(80, 30);
        assert!(text.starts_with("Order#save: 5 calls in 2.00 s, 1 raised, 1 not over\n"), "{text}");
        for part in [
            "400 ms together, 100 ms a call",
            "p50 2.00 ms",
            "25.0% running, 75.0% waiting",
            "raised (throw) 1",
            "returned TrueClass 3",
            "7 calls returned or raised an object of a further class",
            "0.1% of a core",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        let function =
            Summary { calls: 0, finished: 0, others: Some((2_000, 30)), ..summary.clone() }.text(80, 30);
        assert!(
            function.contains("a hook ran for 1,000 other calls of C functions, 60 ns each\n"),
            "{function}"
        );
        assert!(function.contains("such as [a, b].max, are not seen\n"), "{function}");
        let order = [text.find("Orders#create"), text.find("(no Ruby code)")];
        assert!(order[0] < order[1], "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
