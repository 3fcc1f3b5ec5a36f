//! Folded stacks: `root;child;leaf 123`, one line each, sorted, for flame graphs and for `grep`.
//!
//! The number is the weight in the unit of the sample type. Lines are merged by name alone, so a
//! method is one frame whatever its line. A `;` in a name becomes `:`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;

use super::{clean, display_name, series, Options, ThreadFrames};
use crate::error::Error;
use crate::ids::{Id, RowId, StackId};
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
    let names = Names::new(profile, of, thread_frames);
    let mut stacks: BTreeMap<Stack, u64> = BTreeMap::new();
    for sample in profile.samples.iter().filter(|it| it.weights.get(of) > 0) {
        let sum = stacks.entry(names.stack(profile, sample)).or_default();
        *sum = sum.saturating_add(sample.weights.get(of));
    }
    stacks
}

/// Stacks with their weights in the order of time, thread by thread; equal neighbours are one.
///
/// # Errors
/// [`Error::NoTimeline`] when it is not known.
pub(super) fn in_time(
    profile: &Profile,
    of: SampleType,
    thread_frames: ThreadFrames,
) -> Result<Vec<(Stack, u64)>, Error> {
    if profile.timeline.is_none() {
        return Err(Error::NoTimeline);
    }
    let mut threads: Vec<Vec<(StackId, RowId, u64)>> = vec![Vec::new(); profile.threads.len()];
    series::each(profile, |share| {
        let weight = share.weights.get(of);
        let Some(sample) = profile.samples.get(share.row.index()).filter(|_| weight > 0) else { return };
        let Some(entries) = threads.get_mut(sample.thread) else { return };
        match entries.last_mut() {
            Some((stack, _, sum)) if *stack == sample.stack => *sum = sum.saturating_add(weight),
            _ => entries.push((sample.stack, share.row, weight)),
        }
    });
    let names = Names::new(profile, of, thread_frames);
    let named = |(_, row, weight): (StackId, RowId, u64)| {
        let sample = profile.samples.get(row.index())?;
        Some((names.stack(profile, sample), weight))
    };
    Ok(threads.into_iter().flatten().filter_map(named).collect())
}

/// What frames and threads are called.
struct Names {
    functions: Vec<Rc<str>>,
    threads: Vec<Rc<str>>,
    with_threads: bool,
}

impl Names {
    fn new(profile: &Profile, of: SampleType, thread_frames: ThreadFrames) -> Self {
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
            functions: profile.functions.iter().map(|it: &Function| frame(display_name(it))).collect(),
            threads: profile.threads.iter().map(thread_name).collect(),
            with_threads,
        }
    }

    fn stack(&self, profile: &Profile, sample: &Sample) -> Stack {
        let frames = profile.frames_of(sample.stack);
        let mut stack: Stack =
            frames.filter_map(|it| self.functions.get(it.function.index()).cloned()).collect();
        if self.with_threads {
            stack.extend(self.threads.get(sample.thread).cloned());
        }
        stack.reverse();
        stack
    }
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
