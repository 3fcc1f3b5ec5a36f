//! The traces of several methods as one table.

use std::cmp::Reverse;
use std::fmt::Write as _;

use super::Summary;
use crate::text::units::{count, counted, duration, percent};

/// The number of methods without calls that are named.
const NAMED: usize = 10;

/// Returns a line for each method that was called, the one with the longest total time first, and the names of the
/// others. Lines have at most `columns`, but for long names. `left_out` methods could not be traced.
#[must_use]
pub fn table(pattern: &str, methods: &[Summary], left_out: u64, columns: usize) -> String {
    let sum = |of: fn(&Summary) -> u64| methods.iter().fold(0_u64, |sum, it| sum.saturating_add(of(it)));
    let duration_ns = methods.iter().map(|it| it.duration_ns).max().unwrap_or(0);
    let (mut called, silent): (Vec<_>, Vec<_>) = methods.iter().partition(|it| it.calls > 0);
    called.sort_by_key(|it| (Reverse(it.total_ns), Reverse(it.calls), it.name.clone()));

    let mut text = String::new();
    let calls = counted(sum(|it| it.calls), "call");
    let _ = writeln!(text, "{pattern}: {calls} of {} in {}", of_methods(called.len()), duration(duration_ns));
    if !called.is_empty() {
        text.push_str("\n     calls      total     a call        p99    longest  method\n");
    }
    let all_ended = called.iter().all(|it| it.ended.is_some());
    for summary in &called {
        let times = if summary.finished == 0 { [None; 4] } else { times_of(summary).map(Some) };
        let times = times.map(|ns| format!("{:>10}", ns.map(duration).unwrap_or_default()));
        let raised =
            if summary.raised > 0 { format!(", {} raised", count(summary.raised)) } else { String::new() };
        let early = if summary.ended.is_some() && !all_ended { ", ended early" } else { "" };
        let _ = writeln!(
            text,
            "{:>10} {}  {}{raised}{early}",
            count(summary.calls),
            times.join(" "),
            summary.name
        );
    }
    not_called(&mut text, &silent, columns);
    if left_out > 0 {
        let they = if left_out == 1 { "it" } else { "they" };
        let _ =
            writeln!(text, "\n{} left out, because {they} cannot be traced", of_methods(left_out as usize));
    }
    let own = percent(sum(|it| it.own_ns), duration_ns.max(1));
    let _ = writeln!(text, "\n[profiler] tracing took {own} of a core");
    let early: Vec<&str> = called.iter().filter_map(|it| it.ended.as_deref()).collect();
    match early.as_slice() {
        [] => {}
        [why] => _ = writeln!(text, "[profiler] one trace ended by itself: {why}"),
        [why, ..] => {
            _ = writeln!(text, "[profiler] {} traces ended by themselves: {why}", count(early.len() as u64))
        }
    }
    text
}

/// Returns the total, mean, 99th percentile and longest duration of a method's calls, ns.
fn times_of(summary: &Summary) -> [u64; 4] {
    let p99_ns = summary.percentiles.iter().find(|(name, _)| *name == "p99").map_or(0, |it| it.1);
    [summary.total_ns, summary.total_ns / summary.finished.max(1), p99_ns, summary.range_ns.1]
}

fn not_called(text: &mut String, silent: &[&Summary], columns: usize) {
    if silent.is_empty() {
        return;
    }
    text.push('\n');
    let more = silent.len().saturating_sub(NAMED);
    let names = silent.iter().take(NAMED).map(|it| it.name.clone());
    let more = (more > 0).then(|| format!("and {} more", count(more as u64)));
    let words: Vec<String> = names.chain(more).collect();
    let mut line = String::from("not called: ");
    for (place, word) in words.iter().enumerate() {
        if place > 0 {
            let fits = line.chars().count() + word.chars().count() + 3 <= columns;
            line.push_str(if word.starts_with("and ") { " " } else { ", " });
            if !fits {
                let _ = writeln!(text, "{}", line.trim_end());
                line = "  ".into();
            }
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}

fn of_methods(number: usize) -> String {
    counted(number as u64, "method")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str, calls: u64, total_ns: u64) -> Summary {
        Summary {
            name: name.into(),
            calls,
            finished: calls,
            total_ns,
            range_ns: (1_000, total_ns),
            percentiles: vec![("p99", total_ns)],
            duration_ns: 2_000_000_000,
            own_ns: 2_000_000,
            ..Summary::default()
        }
    }

    #[test]
    fn lists_the_slowest_first_and_names_those_without_calls() {
        let raised = Summary { raised: 2, ..method("Order#save", 4, 400_000_000) };
        let early = Summary {
            ended: Some("it took more than 1% of a core".into()),
            ..method("Order#id", 9_000, 1_000)
        };
        let methods = [early, method("Order#cancel", 0, 0), raised];
        let expected = "\
Order#*: 9,004 calls of 2 methods in 2.00 s

     calls      total     a call        p99    longest  method
         4     400 ms     100 ms     400 ms     400 ms  Order#save, 2 raised
     9,000       1 us          0       1 us       1 us  Order#id, ended early

not called: Order#cancel

5 methods left out, because they cannot be traced

[profiler] tracing took 0.3% of a core
[profiler] one trace ended by itself: it took more than 1% of a core
";
        assert_eq!(table("Order#*", &methods, 5, 80), expected);
        let one = table("Order#*", &methods, 1, 80);
        assert!(one.contains("\n1 method left out, because it cannot be traced\n"), "{one}");
    }

    #[test]
    fn breaks_the_list_of_methods_without_calls() {
        let silent: Vec<Summary> =
            (0..14).map(|it| method(&format!("Orders::Row#column_{it}"), 0, 0)).collect();
        let text = table("Orders::Row#*", &silent, 0, 60);
        assert!(text.contains("Orders::Row#column_9 and 4 more") || text.contains("and 4 more\n"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }
}
