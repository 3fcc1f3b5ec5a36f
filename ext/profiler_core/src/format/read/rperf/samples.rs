//! The samples in a file of rperf: frames, weight, thread, label set and, for samples that are not summed up,
//! state.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, SeqAccess, Visitor};

use crate::ids::{FunctionId, Interner};

/// The maximum number of functions.
const MAX_FUNCTIONS: usize = 4_000_000;

/// A sample without its frames.
#[derive(Clone, Copy)]
pub(super) struct RperfRow {
    pub(super) weight: i64,
    pub(super) thread: u32,
    pub(super) label_set: u32,
    /// The number of a state, which only samples that are not summed up have.
    pub(super) state: u32,
}

/// The path and name of a function, which each sample repeats.
pub(super) type PathAndName<'text> = (Cow<'text, str>, Cow<'text, str>);

/// The samples of a file. The frames of all samples are in one list, leaf first, with the end of each
/// sample's frames.
#[derive(Default)]
pub(super) struct RperfSamples<'text> {
    functions: Interner<PathAndName<'text>, FunctionId>,
    frames: Vec<FunctionId>,
    ends: Vec<u32>,
    rows: Vec<RperfRow>,
}

impl<'text> RperfSamples<'text> {
    /// Returns the functions by their ids.
    pub(super) fn functions(&self) -> &[PathAndName<'text>] {
        self.functions.rows()
    }

    /// Iterates over the samples and their frames, leaf first.
    pub(super) fn each(&self) -> impl Iterator<Item = (RperfRow, &[FunctionId])> {
        let mut begin = 0;
        self.ends.iter().zip(&self.rows).map(move |(end, row)| {
            let frames = self.frames.get(begin..*end as usize).unwrap_or_default();
            begin = *end as usize;
            (*row, frames)
        })
    }
}

impl<'de: 'text, 'text> Deserialize<'de> for RperfSamples<'text> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = RperfSamples<'de>;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an array of samples")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RperfSamples<'de>, A::Error> {
                let mut samples = RperfSamples::default();
                while let Some(row) = seq.next_element_seed(Sample(&mut samples))? {
                    samples.ends.push(u32::try_from(samples.frames.len()).unwrap_or(u32::MAX));
                    samples.rows.push(row);
                }
                Ok(samples)
            }
        }
        from.deserialize_seq(List)
    }
}

/// The deserializer of the next sample.
struct Sample<'list, 'text>(&'list mut RperfSamples<'text>);

impl<'de> DeserializeSeed<'de> for Sample<'_, 'de> {
    type Value = RperfRow;
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<RperfRow, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Sample<'_, 'de> {
    type Value = RperfRow;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a sample: an array of frames, weight, thread and set of labels")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<RperfRow, A::Error> {
        seq.next_element_seed(Frames(&mut *self.0))?.ok_or_else(|| Error::invalid_length(0, &self))?;
        let weight = seq.next_element()?.ok_or_else(|| Error::invalid_length(1, &self))?;
        let mut number = || seq.next_element::<Option<u32>>().map(|it| it.flatten().unwrap_or(0));
        let row = RperfRow { weight, thread: number()?, label_set: number()?, state: number()? };
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(row)
    }
}

/// The deserializer of the next sample's frames.
struct Frames<'list, 'text>(&'list mut RperfSamples<'text>);

impl<'de> DeserializeSeed<'de> for Frames<'_, 'de> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Frames<'_, 'de> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "an array of frames of at most {MAX_FUNCTIONS} functions")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while let Some((Name(path), Name(name))) = seq.next_element()? {
            let function = self.0.functions.intern((path, name));
            let functions = self.0.functions.rows().len();
            if functions > MAX_FUNCTIONS {
                return Err(Error::invalid_length(functions, &self));
            }
            self.0.frames.push(function);
        }
        Ok(())
    }
}

/// A text that borrows from the file if possible.
#[derive(Default)]
struct Name<'text>(Cow<'text, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Name<'de>;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("a path or a name")
            }
            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
            fn visit_unit<E: Error>(self) -> Result<Name<'de>, E> {
                Ok(Name::default())
            }
        }
        from.deserialize_any(Text)
    }
}
