//! The place of garbage collection in a profile: under its cause, as it was sampled; at the root; or nowhere.

use super::sum::ProfileSum;
use crate::ids::{Id, StackId};
use crate::profile::{Node, Note, Profile, SampleType};

/// A place for garbage collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// As a single row at the root.
    Root,
    /// Nowhere: garbage collection is removed.
    Ignore,
}

impl Place {
    /// Returns the place of that name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "root" => Some(Self::Root),
            "ignore" => Some(Self::Ignore),
            _ => None,
        }
    }
}

/// Returns `profile` with its garbage collection in that place.
#[must_use]
pub fn place(profile: &Profile, place: Place) -> Profile {
    match place {
        Place::Root => gc_at_root(profile),
        Place::Ignore => without_gc(profile),
    }
}

/// Returns `profile` with all of its garbage collection in one place, at the root.
fn gc_at_root(profile: &Profile) -> Profile {
    let mut moved = profile.clone();
    for sample in moved.samples.iter_mut().filter(|it| profile.is_gc(it)) {
        // The leaf says that it is GC, whatever is above it.
        if let Some(leaf) = profile.stacks.get(sample.stack.index()).filter(|it| it.parent.is_some()) {
            sample.stack = StackId::from_index(moved.stacks.len());
            moved.stacks.push(Node { parent: None, frame: leaf.frame });
        }
    }
    compact(&moved)
}

/// Returns `profile` without its garbage collection. A note in the header says how much that was.
fn without_gc(profile: &Profile) -> Profile {
    let mut rest = profile.clone();
    let mut left_out_ns = 0_u64;
    let of =
        if profile.sample_types.contains(&SampleType::Wall) { SampleType::Wall } else { SampleType::Cpu };
    rest.retain(|sample| {
        let in_gc = profile.is_gc(sample);
        if in_gc {
            left_out_ns = left_out_ns.saturating_add(sample.weights.get(of));
        }
        !in_gc
    });
    if left_out_ns > 0 {
        rest.meta.notes.push(Note::GcLeftOut { ns: left_out_ns });
    }
    compact(&rest)
}

/// Merges rows that are now equal.
fn compact(profile: &Profile) -> Profile {
    let mut sum = ProfileSum::default();
    sum.add(profile, Clone::clone);
    sum.with_header_of(profile)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::ids::{FrameId, FunctionId};
    use crate::profile::{Frame, Function, Sample, Weights};
    use crate::record::State;

    fn function(name: &str) -> Function {
        let text = |text: &str| text.to_owned();
        Function {
            name: text(name),
            class_name: text(""),
            method_name: text(""),
            path: text(""),
            first_line: 0,
        }
    }

    /// Builds a profile in which `a` collects for 3 ms and runs for 5 ms, and `b` collects for 4 ms.
    fn example() -> Profile {
        let row = |stack, state, ns| {
            let mut weights = Weights::default();
            weights.set(SampleType::Samples, 1);
            weights.set(SampleType::Cpu, ns);
            Sample { stack: StackId(stack), thread: 0, state, labels: Vec::new(), weights }
        };
        let node = |parent: Option<u32>, frame| Node { parent: parent.map(StackId), frame: FrameId(frame) };
        Profile {
            sample_types: vec![SampleType::Samples, SampleType::Cpu],
            functions: ["a", "b", "(garbage collection)"].map(function).to_vec(),
            frames: [0, 1, 2].map(|it| Frame { function: FunctionId(it), line: 0 }).to_vec(),
            stacks: vec![node(None, 0), node(None, 1), node(Some(0), 2), node(Some(1), 2)],
            samples: vec![
                row(2, State::Gc, 3_000_000),
                row(3, State::Gc, 4_000_000),
                row(0, State::Running, 5_000_000),
            ],
            threads: vec![crate::profile::Thread::default()],
            ..Profile::default()
        }
    }

    fn rows(profile: &Profile) -> Vec<(String, u64)> {
        let name = |it: Frame| profile.function(it.function).unwrap().name.clone();
        let stack = |it: &Sample| profile.frames_of(it.stack).map(name).collect::<Vec<_>>().join(" < ");
        profile.samples.iter().map(|it| (stack(it), it.weights.get(SampleType::Cpu))).collect()
    }

    #[test]
    fn gc_at_the_root_is_one_row() {
        let moved = place(&example(), Place::Root);
        let expected = [("(garbage collection)", 7_000_000), ("a", 5_000_000)];
        assert_eq!(rows(&moved), expected.map(|(stack, ns)| (stack.to_owned(), ns)));
        assert_eq!(moved.total(), example().total(), "nothing is lost");
        assert_eq!(rows(&place(&moved, Place::Root)), rows(&moved));
    }

    #[test]
    fn gc_without_a_cpu_is_gc() {
        let mut profile = example();
        profile.samples[1].state = State::Runnable;
        let rest = place(&profile, Place::Ignore);
        assert_eq!(rows(&rest), [("a".to_owned(), 5_000_000)]);
        assert_eq!(rest.meta.sentences(), ["garbage collection is left out: 7.00 ms"]);
    }

    #[test]
    fn ignored_gc_is_noted() {
        let rest = place(&example(), Place::Ignore);
        assert_eq!(rows(&rest), [("a".to_owned(), 5_000_000)]);
        assert_eq!(rest.meta.sentences(), ["garbage collection is left out: 7.00 ms"]);
        assert_eq!(place(&rest, Place::Ignore).meta.notes.len(), 1);
    }
}
