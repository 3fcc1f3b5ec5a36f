//! The stacks of a thread in the builder, each added as soon as a sample uses it.

use std::borrow::Cow;

use super::tables::Used;
use crate::error::Error;
use crate::format::input::{Builder, MAX_FRAMES};
use crate::ids::{FrameId, StackId};

pub(super) struct StackPlaces<'file> {
    tables: Used<'file>,
    /// Whether the paths are in vernier's form.
    of_vernier: bool,
    known: Vec<Option<StackId>>,
    frames: Vec<Option<FrameId>>,
}

impl<'file> StackPlaces<'file> {
    pub(super) fn new(tables: Used<'file>, of_vernier: bool) -> Self {
        let (stacks, frames) = tables.rows();
        Self { tables, of_vernier, known: vec![None; stacks], frames: vec![None; frames] }
    }

    pub(super) fn category(&self, place: usize) -> Option<usize> {
        self.tables.category(place)
    }

    /// Returns the stack at an index of the table.
    pub(super) fn stack(&mut self, place: usize, builder: &mut Builder) -> Result<StackId, Error> {
        let mut missing = Vec::new();
        let mut at = Some(place);
        let mut stack = None;
        while let Some(place) = at {
            stack = self.known.get(place).copied().flatten();
            if stack.is_some() {
                break;
            }
            missing.push(place);
            if missing.len() > MAX_FRAMES as usize {
                return Err(Error::malformed(format!("a stack has more than {MAX_FRAMES} frames")));
            }
            at = self.tables.caller(place);
            if at.is_some_and(|caller| caller >= place) {
                return Err(Error::malformed("a stack comes before its caller"));
            }
        }
        for place in missing.into_iter().rev() {
            let frame = self.frame(self.tables.leaf(place)?, builder)?;
            let called = builder.call(stack, frame)?;
            self.known.get_mut(place).into_iter().for_each(|it| *it = Some(called));
            stack = Some(called);
        }
        stack.ok_or_else(|| Error::malformed("a sample has no stack"))
    }

    fn frame(&mut self, place: usize, builder: &mut Builder) -> Result<FrameId, Error> {
        if let Some(frame) = self.frames.get(place).copied().flatten() {
            return Ok(frame);
        }
        let frame = self.tables.frame(place)?;
        let path = if self.of_vernier { short_path(frame.path) } else { frame.path.into() };
        let function = builder.function(frame.name, &path, frame.first_line)?;
        let frame = builder.frame(function, frame.line);
        self.frames.get_mut(place).into_iter().for_each(|it| *it = Some(frame));
        Ok(frame)
    }
}

/// Converts a path as shortened by vernier to our own short form: `gem:rack-2.2.4:lib/rack.rb` becomes
/// `gem:rack/lib/rack.rb`, and `rubylib:3.3.0:set.rb` becomes `ruby:set.rb`.
fn short_path(path: &str) -> Cow<'_, str> {
    let gem = || {
        let (gem, file) = path.strip_prefix("gem:")?.split_once(':')?;
        let digit = |it: usize| gem.as_bytes().get(it + 1).is_some_and(u8::is_ascii_digit);
        let (end, _) = gem.match_indices('-').find(|it| digit(it.0))?;
        Some(format!("gem:{}/{file}", gem.get(..end)?))
    };
    let ruby = || {
        let (_, file) = path.strip_prefix("rubylib:")?.split_once(':')?;
        Some(format!("ruby:{file}"))
    };
    gem().or_else(ruby).map_or(Cow::Borrowed(path), Cow::Owned)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn paths_of_vernier_become_ours() {
        for (path, expected) in [
            ("gem:rack-2.2.4:lib/rack.rb", "gem:rack/lib/rack.rb"),
            ("gem:aws-sdk-s3-1.2.0:lib/s3.rb", "gem:aws-sdk-s3/lib/s3.rb"),
            ("gem:x-1.0:a:b.rb", "gem:x/a:b.rb"),
            ("rubylib:3.3.0:json/common.rb", "ruby:json/common.rb"),
            ("gem:-:", "gem:-:"),
            ("gem:rack", "gem:rack"),
            ("app/models/user.rb", "app/models/user.rb"),
            ("<cfunc>", "<cfunc>"),
            ("", ""),
        ] {
            assert_eq!(short_path(path), expected);
        }
    }
}
