//! A part of a profile: some threads, the time within some markers, stacks with or without some function, and
//! stacks with some functions removed.

use super::code_origin::Origin;
use super::during::keep_during;
use super::sites::{CodeUse, Sites};
use super::sum::ProfileSum;
use crate::ids::{FrameId, FunctionId, Id, StackId};
use crate::profile::{Frame, Function, Node, Note, Profile, Requests, Thread};

/// The frame in place of a stack of which no frame is left.
const HIDDEN: &str = "(hidden)";

/// The part of a profile to keep; everything by default.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Keep only rows with one of these functions.
    pub focus: Option<Vec<FunctionId>>,
    /// Keep only rows with none of these functions.
    pub ignore: Vec<FunctionId>,
    /// Remove these functions from stacks; their weight goes to their callers.
    pub hide: Vec<FunctionId>,
    /// Remove all code that is not the app's, or the installed tool's, from stacks, as with `hide`.
    pub app_only: bool,
    /// Keep only rows of these threads, which are indexes in [`Profile::threads`].
    pub threads: Option<Vec<usize>>,
    /// Keep only what threads did within these markers, which are indexes in [`Profile::markers`].
    pub markers: Option<Vec<usize>>,
    /// The note in the header, to which the remaining share is added.
    pub note: String,
}

/// Returns the selected part of `profile`. A note in its header says which part it is, and how much is left.
#[must_use]
pub fn filter(profile: &Profile, by: &Filter) -> Profile {
    let mut part = profile.clone();
    if let Some(markers) = &by.markers {
        keep_during(&mut part, markers);
    }
    if let Some(threads) = &by.threads {
        part.requests = Requests::default(); // no request knows its thread
        let is_kept = |it: &Thread| threads.iter().any(|thread| profile.threads.get(*thread) == Some(it));
        part.markers.retain(|marker| is_kept(&marker.thread));
    }
    let focus = by.focus.as_ref().map(|it| set(profile, it));
    let ignore = set(profile, &by.ignore);
    part.retain(|sample| {
        let thread = by.threads.as_ref().is_none_or(|it| it.contains(&sample.thread));
        let has = |functions: &[bool]| {
            let mut frames = profile.frames_of(sample.stack);
            frames.any(|it| functions.get(it.function.index()).copied().unwrap_or(false))
        };
        thread && focus.as_ref().is_none_or(|it| has(it)) && !has(&ignore)
    });
    let mut hide = set(profile, &by.hide);
    if by.app_only {
        let sites = Sites::of(profile);
        for ((hide, function), class) in hide.iter_mut().zip(&profile.functions).zip(sites.classes()) {
            let is_apps = matches!(Origin::of(function), Origin::App | Origin::Synthetic);
            *hide |= !is_apps && *class != CodeUse::App;
        }
    }
    if hide.contains(&true) {
        without(&mut part, &hide);
    }
    if !by.note.is_empty() {
        let of = profile.default_sample_type();
        let (left, all) = (part.total().get(of), profile.total().get(of));
        let of = of.name_and_unit().0.into();
        part.meta.notes.push(Note::Selected { part: by.note.clone(), left, all, of });
    }
    let mut sum = ProfileSum::default();
    sum.add(&part, Clone::clone);
    sum.with_header_of(&part)
}

fn set(profile: &Profile, ids: &[FunctionId]) -> Vec<bool> {
    let mut set = vec![false; profile.functions.len()];
    ids.iter().for_each(|it| set.get_mut(it.index()).into_iter().for_each(|it| *it = true));
    set
}

/// Removes functions from all stacks.
fn without(profile: &mut Profile, hide: &[bool]) {
    let mut stacks: Vec<Node> = Vec::new();
    let mut moved: Vec<Option<StackId>> = Vec::with_capacity(profile.stacks.len());
    for node in &profile.stacks {
        let parent = node.parent.and_then(|it| moved.get(it.index()).copied().flatten());
        let function = profile.frame(node.frame).map(|it| it.function.index());
        let hidden = function.and_then(|it| hide.get(it)).copied().unwrap_or(false);
        moved.push(if hidden {
            parent
        } else {
            stacks.push(Node { parent, frame: node.frame });
            Some(StackId::from_index(stacks.len() - 1))
        });
    }
    // The stack for rows whose frames are all gone.
    let function = FunctionId::from_index(profile.functions.len());
    profile.functions.push(Function::named(HIDDEN));
    let frame = FrameId::from_index(profile.frames.len());
    profile.frames.push(Frame { function, line: 0 });
    let nothing = StackId::from_index(stacks.len());
    stacks.push(Node { parent: None, frame });
    for sample in &mut profile.samples {
        sample.stack = moved.get(sample.stack.index()).copied().flatten().unwrap_or(nothing);
    }
    profile.stacks = stacks;
}
