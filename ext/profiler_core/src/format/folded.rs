//! Folded stacks: `root;child;leaf 123`, one line each, sorted, for flame graphs and for `grep`.
//!
//! The number is the weight in the unit of the sample type. Lines are merged by name alone, so a
//! method is one frame whatever its line. A `;` in a name becomes `:`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;

use super::{clean, display_name, Options, ThreadFrames};
use crate::error::Error;
use crate::ids::Id;
use crate::profile::{Function, Profile, Sample, SampleType, Thread};

/// Writes the lines.
///
/// # Errors
/// [`Error::Io`] when `out` fails, [`Error::NotMeasured`] when the options ask for what is not there.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    for (stack, weight) in fold(profile, of, options.thread_frames) {
        writeln!(out, "{} {weight}", stack.join(";"))?;
    }
    Ok(())
}

/// The names of a stack's frames, root first.
pub(super) type Stack = Vec<Rc<str>>;

/// Each distinct stack that weighs something, and the weight. They are in
/// order frame by frame, so that whatever begins alike stands together (in order of the lines,
/// `save!` would stand between `save` and its callees).
pub(super) fn fold(profile: &Profile, of: SampleType, thread_frames: ThreadFrames) -> BTreeMap<Stack, u64> {
    let name_of = |it: &Function| frame(display_name(it));
    let functions: Vec<Rc<str>> = profile.functions.iter().map(name_of).collect();
    let threads: Vec<Rc<str>> = profile.threads.iter().map(thread_name).collect();
    let weighs = |sample: &&Sample| sample.weights.get(of) > 0;
    let with_threads = match thread_frames {
        ThreadFrames::Always => true,
        ThreadFrames::Never => false,
        ThreadFrames::WhenSeveral => {
            let mut places = profile.samples.iter().filter(weighs).map(|it| it.thread);
            let first = places.next();
            places.any(|it| Some(it) != first)
        }
    };

    let mut stacks: BTreeMap<Stack, u64> = BTreeMap::new();
    for sample in profile.samples.iter().filter(weighs) {
        let frames = profile.frames_of(sample.stack);
        let mut stack: Stack = frames.filter_map(|it| functions.get(it.function.index()).cloned()).collect();
        if with_threads {
            stack.extend(threads.get(sample.thread).cloned());
        }
        stack.reverse();
        let sum = stacks.entry(stack).or_default();
        *sum = sum.saturating_add(sample.weights.get(of));
    }
    stacks
}

fn thread_name(thread: &Thread) -> Rc<str> {
    match clean(&thread.name) {
        name if name.is_empty() => "(unnamed thread)".into(),
        name => frame(name),
    }
}

fn frame(name: Cow<'_, str>) -> Rc<str> {
    name.replace(';', ":").into()
}
