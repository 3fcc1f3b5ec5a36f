//! Folded stacks: `root;child;leaf 123`.
//!
//! They do not say what is counted, so it is samples.

use crate::error::Error;
use crate::format::reading::{Builder, Row};
use crate::profile::{Meta, Note, Profile, SampleType, Weights};
use crate::record::State;

pub(super) fn read(text: &str) -> Result<Profile, Error> {
    let mut builder = Builder::new(text.len());
    let thread = builder.thread(0, "")?;
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        let Some((stack, number)) = line.rsplit_once(' ').and_then(|(stack, it)| Some((stack, number(it)?)))
        else {
            // If not even the first is one, it is something else.
            return Err(match place {
                0 => Error::NotAProfile,
                _ => Error::malformed(format!("line {} has no number at its end", place + 1)),
            });
        };
        let mut node = None;
        for name in stack.split(';') {
            let function = builder.function(name.trim(), "", 0)?;
            let frame = builder.frame(function, 0);
            node = Some(builder.call(node, frame)?);
        }
        let Some(stack) = node else { continue };
        let mut weights = Weights::default();
        weights.set(SampleType::Samples, number);
        builder.add(Row { stack, thread, state: State::Running, labels: Vec::new() }, &weights)?;
    }
    let format = "folded stacks, which do not say what they count: it is taken for samples".into();
    let notes = vec![Note::ReadFrom { format }];
    Ok(builder.finish(vec![SampleType::Samples], Meta { notes, ..Meta::default() }))
}

/// A whole number, or one with a fraction, which is left out.
fn number(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !fraction.chars().all(|it| it.is_ascii_digit()) {
        return None;
    }
    whole.parse().ok()
}
