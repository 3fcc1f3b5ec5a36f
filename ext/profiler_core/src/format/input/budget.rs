//! The budget for reading a file, depending on its size. With a few bytes, a file can refer to the same long
//! text, or to the same thousands of inlined calls, again and again.
//!
//! Real files stay far below. A frame of a stack takes at least one byte of its file, and has names of a
//! hundred bytes.

use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};

use crate::error::Error;

/// The steps per byte of the file, the steps that any file may take in addition, and the maximum.
const STEPS_A_BYTE: u64 = 16;
const STEPS: u64 = 10_000_000;
const MAX_STEPS: u64 = 200_000_000;

/// The bytes of text per byte of the file, the bytes that any file may take in addition, and the maximum.
const TEXT_A_BYTE: u64 = 64;
const TEXT: u64 = 64 << 20;
const MAX_TEXT: u64 = 1 << 30;

/// The remaining budget of one file.
pub(in crate::format) struct Budget {
    bytes: u64,
    steps: u64,
    text: u64,
}

impl Budget {
    /// Creates the budget of an unpacked file of `bytes`.
    pub(in crate::format) fn of(bytes: usize) -> Self {
        let bytes = bytes as u64;
        Self {
            bytes,
            steps: bytes.saturating_mul(STEPS_A_BYTE).saturating_add(STEPS).min(MAX_STEPS),
            text: bytes.saturating_mul(TEXT_A_BYTE).saturating_add(TEXT).min(MAX_TEXT),
        }
    }

    /// Takes steps from the budget: frames of a stack that are walked, now or by later queries on the
    /// profile.
    pub(in crate::format) fn step(&mut self, steps: u64) -> Result<(), Error> {
        let bytes = self.bytes;
        let too_many = || Error::malformed(format!("its stacks have too many frames for {bytes} bytes"));
        self.steps = self.steps.checked_sub(steps).ok_or_else(too_many)?;
        Ok(())
    }

    /// Copies a text, taking its length from the budget.
    pub(in crate::format) fn copy(&mut self, text: &str) -> Result<String, Error> {
        self.text(text)?;
        Ok(text.to_owned())
    }

    /// Takes the length of a text that will be copied or compared from the budget.
    pub(in crate::format) fn text(&mut self, text: &str) -> Result<(), Error> {
        let bytes = self.bytes;
        let too_much =
            || Error::malformed(format!("its names and labels are too long together for {bytes} bytes"));
        self.text = self.text.checked_sub(text.len() as u64).ok_or_else(too_much)?;
        Ok(())
    }
}

/// A list in JSON with at most `MAX` items, each of which can take a hundred times more memory than its
/// text.
#[derive(Debug)]
pub(in crate::format) struct AtMost<T, const MAX: usize>(pub(in crate::format) Vec<T>);

impl<T, const MAX: usize> Default for AtMost<T, MAX> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for AtMost<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Items<T, const MAX: usize>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Items<T, MAX> {
            type Value = Vec<T>;
            fn expecting(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(to, "an array of at most {MAX}")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Vec<T>, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    if items.len() == MAX {
                        return Err(serde::de::Error::invalid_length(MAX + 1, &self));
                    }
                    items.push(item);
                }
                Ok(items)
            }
        }
        from.deserialize_seq(Items::<T, MAX>(std::marker::PhantomData)).map(Self)
    }
}
