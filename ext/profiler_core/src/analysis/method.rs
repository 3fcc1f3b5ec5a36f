//! The details of one function: its callers, its callees, and its lines.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashSet};

use crate::ids::{FunctionId, Id};
use crate::profile::{Profile, SampleType};

/// A weight with and without callees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Both {
    /// The weight with callees.
    pub total: u64,
    /// The weight without callees.
    pub own: u64,
}

/// The details of one function. A stack that contains the same call twice counts once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MethodDetails {
    /// The weights of the function.
    pub weight: Both,
    /// The callers, the heaviest first; `None` if there is no caller.
    pub callers: Vec<(Option<FunctionId>, u64)>,
    /// The callees, the heaviest first.
    pub callees: Vec<(FunctionId, u64)>,
    /// The weights by line.
    pub lines: BTreeMap<u32, Both>,
}

/// Computes the details of one function of `profile`.
#[must_use]
pub fn method(profile: &Profile, function: FunctionId, of: SampleType) -> MethodDetails {
    let mut weight = Both::default();
    let mut callers: BTreeMap<Option<FunctionId>, u64> = BTreeMap::new();
    let mut callees: BTreeMap<FunctionId, u64> = BTreeMap::new();
    let mut lines: BTreeMap<u32, Both> = BTreeMap::new();
    let (mut called_by, mut called, mut at) = (HashSet::new(), HashSet::new(), HashSet::new());
    for sample in &profile.samples {
        let more = sample.weights.get(of);
        if more == 0 {
            continue;
        }
        called_by.clear();
        called.clear();
        at.clear();
        let mut callee = None;
        let mut frames = profile.frames_of(sample.stack).peekable();
        while let Some(frame) = frames.next() {
            if frame.function == function {
                let caller = frames.peek().map(|it| it.function);
                if called_by.insert(caller) {
                    *callers.entry(caller).or_default() += more;
                }
                match callee {
                    None => {
                        weight.own += more;
                        lines.entry(frame.line).or_default().own += more;
                    }
                    Some(callee) if called.insert(callee) => *callees.entry(callee).or_default() += more,
                    Some(_) => {}
                }
                if at.insert(frame.line) {
                    lines.entry(frame.line).or_default().total += more;
                }
            }
            callee = Some(frame.function);
        }
        weight.total += if at.is_empty() { 0 } else { more };
    }
    let mut callers: Vec<_> = callers.into_iter().collect();
    callers.sort_by_key(|it| (Reverse(it.1), it.0));
    let mut callees: Vec<_> = callees.into_iter().collect();
    callees.sort_by_key(|it| (Reverse(it.1), it.0));
    MethodDetails { weight, callers, callees, lines }
}

/// Returns the weights of each line of each file, by path and line. A stack that is at a line twice counts
/// once.
#[must_use]
pub fn lines(profile: &Profile, of: SampleType) -> BTreeMap<(&str, u32), Both> {
    let mut lines: BTreeMap<(&str, u32), Both> = BTreeMap::new();
    let mut seen = HashSet::new();
    for sample in profile.samples.iter().filter(|it| it.weights.get(of) > 0) {
        let more = sample.weights.get(of);
        seen.clear();
        for (depth, frame) in profile.frames_of(sample.stack).enumerate() {
            let Some(function) = profile.functions.get(frame.function.index()) else { continue };
            let place = (function.path.as_str(), frame.line);
            let first = seen.insert(place);
            if first || depth == 0 {
                let sum = lines.entry(place).or_default();
                sum.total += if first { more } else { 0 };
                sum.own += if depth == 0 { more } else { 0 };
            }
        }
    }
    lines
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::format::read;

    fn id(profile: &Profile, name: &str) -> FunctionId {
        FunctionId::from_index(profile.functions.iter().position(|it| it.name == name).unwrap())
    }

    #[test]
    fn recursion_counts_once_per_stack() {
        let profile = read(b"main;a;b;a;b 10\nmain;a 5\nb 1\n").unwrap();
        let (main, a, b) = (id(&profile, "main"), id(&profile, "a"), id(&profile, "b"));
        let seen = method(&profile, a, SampleType::Samples);
        assert_eq!(seen.weight, Both { total: 15, own: 5 });
        assert_eq!(seen.callers, [(Some(main), 15), (Some(b), 10)]);
        assert_eq!(seen.callees, [(b, 10)]);
        let seen = method(&profile, b, SampleType::Samples);
        assert_eq!(
            (seen.weight, &seen.callers[..]),
            (Both { total: 11, own: 11 }, &[(Some(a), 10), (None, 1)][..])
        );
    }
}
