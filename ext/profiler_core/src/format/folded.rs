//! Folded stacks: `root;child;leaf 123`, one per line, sorted, for flame graphs and for `grep`.
//!
//! The number is the weight in the unit of the sample type. Lines are merged by name only, so a method is one
//! frame whatever its line. A `;` in a name becomes `:`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;

use super::display::{clean_name, Spelling};
use super::length::{self, Lengths};
use super::threads::UNNAMED;
use super::{Options, ThreadFrames};
use crate::analysis::call_tree::Calls;
use crate::error::Error;
use crate::ids::{FunctionId, Id};
use crate::profile::{Profile, Sample, SampleType, Thread};
use crate::text::clean;

/// Writes the lines.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, [`Error::NotMeasured`] if the profile lacks the requested sample
/// type, and [`Error::TooLong`].
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    for (stack, weight) in fold(profile, of, options.thread_frames, clean_name, length::IN_A_FILE)? {
        writeln!(out, "{} {weight}", stack.join(";"))?;
    }
    Ok(())
}

/// The names of a stack's frames, root first.
pub(super) type FoldedStack = Vec<Rc<str>>;

/// Returns each distinct stack that has weight, in that spelling, and the weight. They are ordered frame by
/// frame, so that stacks with the same beginning are adjacent. (If ordered by line, `save!` would come between `save` and
/// its callees.)
///
/// # Errors
/// Returns [`Error::TooLong`] if they come to more than `most` bytes.
pub(super) fn fold(
    profile: &Profile,
    of: SampleType,
    thread_frames: ThreadFrames,
    spelling: Spelling,
    most: u64,
) -> Result<BTreeMap<FoldedStack, u64>, Error> {
    let weighs = || profile.samples.iter().filter(|it| it.weights.get(of) > 0);
    Lengths::of_stacks(profile).check(weighs().map(|it| it.stack.index()), most)?;
    let names = FrameNames::new(profile, of, thread_frames, spelling);
    let mut stacks: BTreeMap<FoldedStack, u64> = BTreeMap::new();
    for sample in weighs() {
        let sum = stacks.entry(names.sample(profile, sample)).or_default();
        *sum = sum.saturating_add(sample.weights.get(of));
    }
    Ok(stacks)
}

/// The names of frames and threads.
pub(super) struct FrameNames {
    functions: Vec<Rc<str>>,
    threads: Vec<Rc<str>>,
    with_threads: bool,
}

impl FrameNames {
    pub(super) fn new(
        profile: &Profile,
        of: SampleType,
        thread_frames: ThreadFrames,
        spelling: Spelling,
    ) -> Self {
        let with_threads = match thread_frames {
            ThreadFrames::Always => true,
            ThreadFrames::Never => false,
            ThreadFrames::WhenSeveral => {
                let weighs = profile.samples.iter().filter(|it| it.weights.get(of) > 0);
                let mut places = weighs.map(|it| it.thread);
                let first = places.next();
                places.any(|it| Some(it) != first)
            }
        };
        Self {
            functions: profile.functions.iter().map(|it| frame(spelling(it))).collect(),
            threads: profile.threads.iter().map(thread_name).collect(),
            with_threads,
        }
    }

    fn sample(&self, profile: &Profile, sample: &Sample) -> FoldedStack {
        self.stack(profile.frames_of(sample.stack).map(|it| it.function), sample.thread)
    }

    /// Returns the stack that ends in a call.
    pub(super) fn call(&self, calls: &Calls, place: usize, thread: usize) -> FoldedStack {
        self.stack(calls.functions(place), thread)
    }

    /// Returns the names of functions that are given leaf first.
    fn stack(&self, functions: impl Iterator<Item = FunctionId>, thread: usize) -> FoldedStack {
        let mut stack: FoldedStack =
            functions.filter_map(|it| self.functions.get(it.index()).cloned()).collect();
        if self.with_threads {
            stack.extend(self.threads.get(thread).cloned());
        }
        stack.reverse();
        stack
    }
}

fn thread_name(thread: &Thread) -> Rc<str> {
    match clean(&thread.name) {
        name if name.is_empty() => UNNAMED.into(),
        name => frame(name),
    }
}

fn frame(name: Cow<'_, str>) -> Rc<str> {
    name.replace(';', ":").into()
}
