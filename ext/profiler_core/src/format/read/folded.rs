//! The reader of folded stacks: `root;child;leaf 123`.
//!
//! The files do not say what is counted, so we read it as samples.

use crate::error::Error;
use crate::format::input::{Builder, SampleKey};
use crate::profile::{Meta, Note, Profile, SampleType, Weights};
use crate::record::State;

pub(super) fn read(text: &str) -> Result<Profile, Error> {
    let mut builder = Builder::new(text.len());
    let thread = builder.thread(0, "")?;
    let (mut is_folded, mut is_prose) = (false, false);
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        let Some((stack, number)) = line.rsplit_once(' ').and_then(|(stack, it)| Some((stack, number(it)?)))
        else {
            // Unless the file began like folded stacks, it is something else.
            return Err(if is_folded {
                Error::malformed(format!("line {} has no number at its end", place + 1))
            } else {
                Error::NotAProfile
            });
        };
        is_folded |= stack.contains(';');
        is_prose |= !is_frame(stack);
        let mut node = None;
        for name in stack.split(';') {
            let function = builder.function(name.trim(), "", 0)?;
            let frame = builder.frame(function, 0);
            node = Some(builder.call(node, frame)?);
        }
        let Some(stack) = node else { continue };
        let mut weights = Weights::default();
        weights.set(SampleType::Samples, number);
        builder.add(SampleKey { stack, thread, state: State::Running, labels: Vec::new() }, &weights)?;
    }
    if is_prose && !is_folded {
        return Err(Error::NotAProfile);
    }
    let format = "folded stacks, which do not say what they count: assumed to be samples".into();
    let notes = vec![Note::ReadFrom { format }];
    Ok(builder.finish(vec![SampleType::Samples], Meta { notes, ..Meta::default() }))
}

/// Returns whether this could be a stack of one frame. Lines of a log or a program can end in a number too.
fn is_frame(text: &str) -> bool {
    !text.contains(' ') || text.starts_with(['(', '<', '#', '{']) || text.contains(" in ")
}

/// Parses a whole number, or one with a fraction, which is ignored.
fn number(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.chars().all(|it| it.is_ascii_digit()) {
        return None;
    }
    whole.parse().ok()
}
