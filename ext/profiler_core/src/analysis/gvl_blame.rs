//! The functions that held the GVL while other threads waited for it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::ids::FunctionId;
use crate::profile::{Frame, Function, Profile, SampleType};

/// Returns the functions that held the GVL while other threads waited for it, with the length of those waits,
/// ns; the longest first. A stack counts for its innermost function written in Ruby: C functions mostly work
/// on behalf of their caller.
#[must_use]
pub fn blamed(profile: &Profile) -> Vec<(FunctionId, u64)> {
    let mut sums: BTreeMap<FunctionId, u64> = BTreeMap::new();
    for sample in &profile.samples {
        let waited_ns = sample.weights.get(SampleType::GvlBlame);
        if waited_ns == 0 {
            continue;
        }
        let in_ruby =
            |frame: &Frame| profile.function(frame.function).is_some_and(Function::is_ruby_outside_core);
        let mut frames = profile.frames_of(sample.stack);
        let leaf = frames.next();
        let blamed = leaf.filter(in_ruby).or_else(|| frames.find(in_ruby)).or(leaf);
        if let Some(frame) = blamed {
            let sum = sums.entry(frame.function).or_default();
            *sum = sum.saturating_add(waited_ns);
        }
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    let name = |id| profile.function(id).map(|it| it.name.as_str());
    sums.sort_by_key(|(id, waited_ns)| (Reverse(*waited_ns), name(*id)));
    sums
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::{FrameId, Id, StackId};
    use crate::profile::{Node, Sample, Weights};
    use crate::record::State;

    #[test]
    fn blames_the_innermost_ruby_function() {
        let function = |(name, path): (&str, &str)| Function { path: path.into(), ..Function::named(name) };
        let functions = [
            ("<main>", "/a.rb"),
            ("Report#render", "/a.rb"),
            ("String#gsub", "<cfunc>"),
            ("(nobody)", ""),
            ("Array#each", "<internal:array>"),
        ];
        let node = |(parent, frame): (Option<u32>, usize)| Node {
            parent: parent.map(StackId),
            frame: FrameId::from_index(frame),
        };
        let row = |(stack, waited_ns)| {
            let mut weights = Weights::default();
            weights.set(SampleType::GvlBlame, waited_ns);
            Sample { stack: StackId(stack), thread: 0, state: State::Running, labels: Vec::new(), weights }
        };
        let profile = Profile {
            functions: functions.map(function).to_vec(),
            frames: (0..5).map(|it| Frame { function: FunctionId(it), line: 1 }).collect(),
            stacks: [(None, 0), (Some(0), 1), (Some(1), 2), (None, 3), (Some(0), 4)].map(node).to_vec(),
            samples: [(2, 30), (1, 20), (0, 7), (3, 8), (1, 0), (4, 2)].map(row).to_vec(),
            ..Profile::default()
        };
        let named =
            blamed(&profile).into_iter().map(|(id, ns)| (profile.function(id).unwrap().name.clone(), ns));
        let expected = [("Report#render", 50), ("<main>", 9), ("(nobody)", 8)];
        assert_eq!(named.collect::<Vec<_>>(), expected.map(|(name, ns)| (name.to_owned(), ns)));
    }
}
