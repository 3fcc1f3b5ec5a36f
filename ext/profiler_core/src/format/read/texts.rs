//! Texts of a file in one buffer: many short strings would take far more memory.

use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// A list of texts. A number is converted to text, `null` to the empty text, and a list or an object to a
/// placeholder.
#[derive(Debug, Default)]
pub(super) struct Texts {
    all: String,
    ends: Vec<u32>,
}

impl Texts {
    /// Returns the text at an index.
    pub(super) fn get(&self, place: usize) -> Option<&str> {
        let end = *self.ends.get(place)?;
        let begin = place.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        self.all.get(begin as usize..end as usize)
    }

    /// Returns the number of texts.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    fn push(&mut self, text: &str) {
        self.all.push_str(text);
        self.ends.push(u32::try_from(self.all.len()).unwrap_or(u32::MAX));
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = Texts;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an array of strings")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Texts, A::Error> {
                let mut texts = Texts::default();
                while seq.next_element_seed(Text(&mut texts))?.is_some() {}
                Ok(texts)
            }
        }
        from.deserialize_seq(List)
    }
}

/// The deserializer of the next text in a list.
struct Text<'list>(&'list mut Texts);

impl<'de> DeserializeSeed<'de> for Text<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Text<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push(text);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.visit_str(if value { "true" } else { "false" })
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.visit_str(itoa::Buffer::new().format(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.visit_str(itoa::Buffer::new().format(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        // As short as in the file: the `Display` form has a digit for each power of ten.
        self.visit_str(&format!("{value:?}"))
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.visit_str("")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        self.visit_str("[...]")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.visit_str("{...}")
    }
}

/// The names and values of an object, alternating at the end of a list.
pub(super) struct Pairs<'list>(pub(super) &'list mut Texts);

impl<'de> DeserializeSeed<'de> for Pairs<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Pairs<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key_seed(Text(&mut *self.0))?.is_some() {
            map.next_value_seed(Text(&mut *self.0))?;
        }
        Ok(())
    }
}

/// A single text or number.
#[derive(Debug, Default)]
pub(super) struct Word(Texts);

impl Word {
    pub(super) fn text(&self) -> &str {
        self.0.get(0).unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Word {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut word = Texts::default();
        Text(&mut word).deserialize(from)?;
        Ok(Self(word))
    }
}

/// A single object of texts; empty for `null`.
#[derive(Debug, Default)]
pub(super) struct NamedTexts(Texts);

impl NamedTexts {
    /// Iterates over the names and values.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        (0..self.0.len() / 2).filter_map(|it| Some((self.0.get(2 * it)?, self.0.get(2 * it + 1)?)))
    }
}

impl<'de> Deserialize<'de> for NamedTexts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;
        impl<'de> Visitor<'de> for Object {
            type Value = NamedTexts;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an object of strings")
            }
            fn visit_unit<E: Error>(self) -> Result<NamedTexts, E> {
                Ok(NamedTexts::default())
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NamedTexts, A::Error> {
                let mut texts = Texts::default();
                Pairs(&mut texts).visit_map(map)?;
                Ok(NamedTexts(texts))
            }
        }
        from.deserialize_any(Object)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_no_text_becomes_one() {
        let texts: Texts =
            serde_json::from_str(r#"["a","",7,-7,1.5,1e300,true,null,[1,[2]],{"b":{}},"\u00e9\n"]"#).unwrap();
        let all: Vec<&str> = (0..texts.len()).filter_map(|it| texts.get(it)).collect();
        assert_eq!(all, ["a", "", "7", "-7", "1.5", "1e300", "true", "", "[...]", "{...}", "é\n"]);
        assert_eq!(texts.get(texts.len()), None);
        let texts: NamedTexts = serde_json::from_str(r#"{"a":1,"b":null}"#).unwrap();
        assert_eq!(texts.pairs().collect::<Vec<_>>(), [("a", "1"), ("b", "")]);
        assert_eq!(serde_json::from_str::<NamedTexts>("null").unwrap().pairs().count(), 0);
        assert_eq!(serde_json::from_str::<Word>("12").unwrap().text(), "12");
        assert!(serde_json::from_str::<Texts>("{}").is_err());
    }
}
