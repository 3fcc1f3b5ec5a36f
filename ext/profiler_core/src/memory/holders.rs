//! Why objects are alive, as people and programs read it.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::graph::Root;
use super::slots::INTERNAL;
use super::why_report::{HolderGroup, Step, WhyReport, AT_MODULE, STEPS};
use crate::text::clean;
use crate::text::units::{bytes, count};

/// The most groups that are shown.
pub const MAX_GROUPS: usize = 10;

/// A step of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRow {
    /// The class of the object, or its type.
    pub class: String,
    /// How the step before refers to it, such as `@store` or `["key"]`; at the beginning, what it is. Empty
    /// if it is unknown.
    pub name: String,
    /// The bytes that it retains.
    pub retained: u64,
    /// Whether the last object of the path would be garbage without it.
    pub is_dominator: bool,
}

/// Objects that are alive for the same reason.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HolderRow {
    /// The number of objects.
    pub count: u64,
    /// The bytes that they retain together.
    pub retained: u64,
    /// The reason why the VM has the first object of the path.
    pub root: String,
    /// The path of the one that retains most, from the root on.
    pub path: Vec<StepRow>,
    /// The number of steps that are missing in the middle of it.
    pub missing: u64,
}

/// Why objects are alive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// The name of their class; `*` for those that retain most.
    pub class: String,
    /// The number of objects of the process.
    pub all_objects: u64,
    /// The number of references between them.
    pub references: u64,
    /// The bytes of all, with their memory of malloc.
    pub all_bytes: u64,
    /// The number of objects of the class.
    pub count: u64,
    /// The bytes that they retain: what would be free without them.
    pub retained: u64,
    /// The reasons, those that retain most first.
    pub holders: Vec<HolderRow>,
    /// The number of objects that are alive for other reasons.
    pub others: u64,
}

/// Returns the groups that are shown, those that retain most first.
#[must_use]
pub fn shown(report: &WhyReport) -> Vec<&HolderGroup> {
    let mut groups: Vec<&HolderGroup> = report.groups.iter().filter(|group| group.count > 0).collect();
    groups.sort_by_key(|group| std::cmp::Reverse((group.retained, group.count, group.hash)));
    groups.truncate(MAX_GROUPS);
    groups
}

/// Returns the steps of a group that are kept, from the root on.
#[must_use]
pub fn steps(group: &HolderGroup) -> Vec<Step> {
    group.steps.iter().take(group.length as usize).rev().copied().collect()
}

impl Why {
    /// Creates the rows. `name` returns the name of a class by its key.
    #[must_use]
    pub fn new(class: String, report: &WhyReport, name: impl Fn(u64) -> String) -> Self {
        let row = |group: &HolderGroup| {
            let path = steps(group).into_iter().map(|step| StepRow {
                class: name(step.key).trim_start_matches(INTERNAL).to_owned(),
                name: String::new(),
                retained: step.retained,
                is_dominator: step.is_dominator != 0,
            });
            HolderRow {
                count: group.count,
                retained: group.retained,
                root: root_words(group.root).to_owned(),
                path: path.collect(),
                missing: group.length.saturating_sub(STEPS as u64),
            }
        };
        let holders: Vec<HolderRow> = shown(report).into_iter().map(row).collect();
        let listed: u64 = holders.iter().map(|it| it.count).sum();
        Self {
            class,
            all_objects: report.objects,
            references: report.references,
            all_bytes: report.bytes,
            count: report.count,
            retained: report.retained,
            others: report.count - listed.min(report.count),
            holders,
        }
    }

    /// Appends the answer as text for people.
    pub(super) fn write(&self, text: &mut String) {
        let is_largest = self.class == "*";
        let _ = if is_largest {
            writeln!(text, "\nThe objects that retain most, of {} in all:", bytes(self.all_bytes))
        } else {
            let (objects, verb) = if self.count == 1 { ("object", "is") } else { ("objects", "are") };
            let (count, class, retained) = (count(self.count), clean(&self.class), bytes(self.retained));
            writeln!(text, "\nWhy {count} {objects} of class {class} {verb} alive (retained: {retained}):")
        };
        for holder in &self.holders {
            let _ = match holder.count {
                1 => writeln!(text, "\n{:>12}  1 object", bytes(holder.retained)),
                number => {
                    writeln!(text, "\n{:>12}  {} objects, such as", bytes(holder.retained), count(number))
                }
            };
            holder.write_path(text);
        }
        if self.others > 0 {
            let _ = writeln!(text, "\n              {} more, for other reasons", count(self.others));
        }
        text.push_str("\nThe bytes of a step are what would be free without that object.\n");
    }
}

impl HolderRow {
    fn write_path(&self, text: &mut String) {
        for (place, step) in self.path.iter().enumerate() {
            let retained = if step.is_dominator { bytes(step.retained) } else { String::new() };
            let class = clean(&step.class);
            let name = match (place, &*step.name) {
                (0, "") => format!("{class} ({})", clean(&self.root)),
                (0, name) => clean(name).into_owned(),
                (_, "") => format!("> {class}"),
                (_, name) => format!("> {}  {class}", clean(name)),
            };
            let _ = writeln!(text, "{retained:>26}  {name}");
            if self.missing > 0 && place + 1 == STEPS / 2 {
                let _ = writeln!(text, "{:>26}  > ... {} more ...", "", count(self.missing));
            }
        }
    }
}

/// Returns the words for the root from which a path begins.
fn root_words(root: u64) -> &'static str {
    match Root::ALL.get(root as usize) {
        _ if root == AT_MODULE => "constant",
        Some(Root::Global) => "global variable",
        Some(Root::Registered) => "registered by C code",
        Some(Root::AtEnd) => "finalizer, or block of at_exit",
        Some(Root::Stack) => "stack of the thread that asked",
        Some(Root::Vm) | None => "the VM",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::why_report::GROUPS;

    fn step(key: u64, retained: u64, is_dominator: u64) -> Step {
        Step { key, retained, is_dominator, ..Step::default() }
    }

    fn report(group: HolderGroup) -> WhyReport {
        let mut groups = [HolderGroup::default(); GROUPS];
        groups[7] = group;
        groups[9] = HolderGroup { count: 3, hash: 2, length: 1, ..HolderGroup::default() };
        WhyReport { objects: 9, references: 8, bytes: 7_000, count: 15, retained: 5_000, groups, is_whole: 1 }
    }

    #[test]
    fn lists_paths_from_their_beginning_on() {
        let mut group =
            HolderGroup { count: 10, retained: 4_096, root: AT_MODULE, length: 3, ..HolderGroup::default() };
        group.steps[..3].copy_from_slice(&[step(3, 2_048, 1), step(2, 0, 0), step(1, 9_216, 1)]);
        let mut why = Why::new("Foo".into(), &report(group), |key| format!("{INTERNAL}class {key}"));
        assert_eq!((why.count, why.others, why.holders.len()), (15, 2, 2));
        why.holders[0].path[1].name = "@all".into();
        let mut text = String::new();
        why.write(&mut text);
        let expected = "    4.00 KiB  10 objects, such as
                  9.00 KiB  class 1 (constant)
                            > @all  class 2
                  2.00 KiB  > class 3
";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("Why 15 objects of class Foo are alive (retained: "), "{text}");
    }

    #[test]
    fn says_what_is_missing_in_a_long_path() {
        let group = HolderGroup { count: 1, length: 100, ..HolderGroup::default() };
        let why = Why::new("*".into(), &report(group), |_| "Node".into());
        let long = why.holders.iter().find(|it| it.missing > 0).unwrap();
        assert_eq!((long.path.len(), long.missing), (STEPS, 100 - STEPS as u64));
        let mut text = String::new();
        why.write(&mut text);
        assert!(text.contains("> ... 68 more ..."), "{text}");
    }
}
