//! The weight of each value of a label, the function with most of that weight, and the requests with that
//! value.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::code_origin::Origin;
use super::package::package;
use super::sites::Sites;
use super::trim_paths;
use crate::error::Error;
use crate::ids::{FunctionId, Id};
use crate::profile::{Function, Profile, Sample, SampleType, Tally, Thread};

/// Groupings that every sample has, whatever its labels. They take precedence over a user's label of the same
/// name.
const THREAD: &str = "thread";
const STATE: &str = "state";
/// Groupings by the innermost Ruby function, as C functions work for their caller. A label of the same name
/// takes precedence.
const OF_FUNCTIONS: [&str; 4] = ["package", "gem", "file", "class"];

/// A value of the label and its weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRow {
    /// The value; `None` for the samples without the label.
    pub value: Option<String>,
    /// The weight of the value's samples.
    pub weight: u64,
    /// The function with the greatest self weight among them, and that weight.
    pub heaviest: Option<(FunctionId, u64)>,
    /// The requests that ended with this value, if requests were counted. Not all of their time has to be in
    /// the weight.
    pub requests: Option<Tally>,
}

impl GroupRow {
    /// Returns the value in words, even if there is none.
    #[must_use]
    pub fn name(&self) -> &str {
        self.value.as_deref().unwrap_or("(none)")
    }
}

/// The values of a label, by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// The sample type of the weights.
    pub of: SampleType,
    /// The weight of all rows of the profile, which equals that of all rows here.
    pub total: u64,
    /// All values that have weight or requests, the heaviest first, equal ones by name.
    pub rows: Vec<GroupRow>,
}

#[derive(Default)]
struct Group {
    weight: u64,
    own: HashMap<FunctionId, u64, FxBuildHasher>,
}

/// Groups `profile` by the values of `label`: a label that samples or requests have, `thread` or `state`, or
/// the `package`, `gem`, `file` or `class` of the innermost Ruby function.
///
/// The value of a thread is its name and its native id, as many threads share a name.
///
/// # Errors
/// Returns [`Error::UnknownLabel`], which lists the labels that there are.
pub fn group_by(profile: &Profile, label: &str, of: SampleType) -> Result<Groups, Error> {
    let labels = labels(profile);
    if !labels.contains(&label) {
        return Err(Error::UnknownLabel {
            requested: label.into(),
            has: labels.into_iter().map(String::from).collect(),
        });
    }
    let threads: Vec<String> = profile.threads.iter().map(thread).collect();
    let is_label = profile.samples.iter().flat_map(|it| &it.labels).any(|(name, _)| name == label);
    let functions = OF_FUNCTIONS.contains(&label) && !is_label;
    let functions = functions.then(|| (Sites::of(profile), values_of_functions(profile, label)));

    let mut total: u64 = 0;
    let mut groups: HashMap<Option<&str>, Group, FxBuildHasher> = HashMap::default();
    for sample in &profile.samples {
        let weight = sample.weights.get(of);
        total = total.saturating_add(weight);
        let value = match &functions {
            None => value_of(sample, label, &threads),
            Some((sites, values)) => {
                let function = sites.ruby(sample.stack).map(|it| it.function.index());
                function.and_then(|it| values.get(it)).and_then(|it| it.as_deref())
            }
        };
        let group = groups.entry(value).or_default();
        group.weight = group.weight.saturating_add(weight);
        if let Some(leaf) = profile.frames_of(sample.stack).next() {
            let own = group.own.entry(leaf.function).or_default();
            *own = own.saturating_add(weight);
        }
    }

    let is_users = ![THREAD, STATE].contains(&label);
    let requests = if is_users { profile.requests.by(label) } else { BTreeMap::new() };
    for value in requests.keys() {
        groups.entry(Some(*value)).or_default();
    }
    let row = |(value, group): (Option<&str>, Group)| GroupRow {
        value: value.map(String::from),
        weight: group.weight,
        heaviest: heaviest(profile, group.own),
        requests: value.and_then(|it| requests.get(it).copied()),
    };
    let rows = groups.into_iter().map(row);
    let mut rows: Vec<GroupRow> = rows.filter(|it| it.weight > 0 || it.requests.is_some()).collect();
    rows.sort_by(|one, other| (Reverse(one.weight), &one.value).cmp(&(Reverse(other.weight), &other.value)));
    Ok(Groups { of, total, rows })
}

fn value_of<'it>(sample: &'it Sample, label: &str, threads: &'it [String]) -> Option<&'it str> {
    match label {
        THREAD => threads.get(sample.thread).map(String::as_str),
        STATE => Some(sample.state.name()),
        _ => sample.label(label),
    }
}

/// Returns the package, gem, file or class of each function. The app's own code is a separate package, and
/// not a gem.
fn values_of_functions(profile: &Profile, by: &str) -> Vec<Option<String>> {
    let value = |it: &Function| match by {
        "file" => Some(trim_paths::path(&it.path, &[])),
        "class" => Some(it.class_name.clone()).filter(|it| !it.is_empty()),
        _ => match Origin::of(it) {
            Origin::App => Some("(app)".into()),
            Origin::Ruby if by == "gem" && package(&it.path).is_some() => Some("(ruby)".into()),
            _ => package(&it.path),
        },
    };
    profile.functions.iter().map(value).collect()
}

/// Returns the heaviest function. Equal weights are ordered by name and place, so the result does not depend
/// on the order of tables.
fn heaviest(profile: &Profile, own: HashMap<FunctionId, u64, FxBuildHasher>) -> Option<(FunctionId, u64)> {
    let weighs = own.into_iter().filter(|(_, weight)| *weight > 0);
    weighs.max_by_key(|(function, weight)| (*weight, Reverse(profile.function(*function))))
}

/// Returns the labels to group by: those that every sample has, then the users' labels by name.
fn labels(profile: &Profile) -> Vec<&str> {
    let of_requests = profile.requests.iter().flat_map(|(labels, _)| labels.pairs());
    let names =
        profile.samples.iter().flat_map(|it| &it.labels).chain(of_requests).map(|(name, _)| name.as_str());
    let built_in = [THREAD, STATE].into_iter().chain(OF_FUNCTIONS);
    let own: BTreeSet<&str> = names.filter(|it| built_in.clone().all(|built_in| built_in != *it)).collect();
    built_in.chain(own).collect()
}

fn thread(thread: &Thread) -> String {
    let name = if thread.name.is_empty() { "(unnamed thread)" } else { &thread.name };
    match thread.native_id {
        0 => name.into(),
        id => format!("{name} ({id})"),
    }
}
