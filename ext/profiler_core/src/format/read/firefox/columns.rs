//! The columns of a table: many numbers, each of which takes only a few bytes.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Unexpected, Visitor};

/// A column of numbers. A `null` inside it becomes NaN; `null` in place of the column is an empty column.
#[derive(Default)]
pub(super) struct Numbers(pub(super) Vec<f64>);

/// A column of indexes in another table, or of lines.
#[derive(Default)]
pub(super) struct IndexColumn(Vec<u32>);

/// The index that is in no table: `null` in a file, or a number below 0.
const NONE: u32 = u32::MAX;

impl Numbers {
    pub(super) fn get(&self, place: usize) -> Option<f64> {
        self.0.get(place).copied()
    }
}

impl IndexColumn {
    pub(super) fn get(&self, place: usize) -> Option<usize> {
        self.0.get(place).filter(|it| **it != NONE).map(|it| *it as usize)
    }

    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Column;
        impl<'de> Visitor<'de> for Column {
            type Value = Numbers;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an array of numbers")
            }
            fn visit_unit<E: Error>(self) -> Result<Numbers, E> {
                Ok(Numbers::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Numbers, A::Error> {
                let mut numbers = Vec::new();
                while let Some(number) = seq.next_element::<Option<f64>>()? {
                    numbers.push(number.unwrap_or(f64::NAN));
                }
                Ok(Numbers(numbers))
            }
        }
        from.deserialize_any(Column)
    }
}

impl<'de> Deserialize<'de> for IndexColumn {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Column;
        impl<'de> Visitor<'de> for Column {
            type Value = IndexColumn;
            fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                to.write_str("an array of table rows")
            }
            fn visit_unit<E: Error>(self) -> Result<IndexColumn, E> {
                Ok(IndexColumn::default())
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<IndexColumn, A::Error> {
                let mut places = Vec::new();
                while let Some(place) = seq.next_element::<Option<i64>>()? {
                    let place = place.filter(|it| *it >= 0);
                    let wrong = |it| A::Error::invalid_value(Unexpected::Signed(it), &self);
                    let place = place.map(|it| u32::try_from(it).map_err(|_| wrong(it))).transpose()?;
                    places.push(place.unwrap_or(NONE));
                }
                Ok(IndexColumn(places))
            }
        }
        from.deserialize_any(Column)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn null_has_no_number_and_no_place() {
        let numbers: Numbers = serde_json::from_str("[1,null,2.5]").unwrap();
        assert_eq!((numbers.get(0), numbers.get(2), numbers.get(3)), (Some(1.0), Some(2.5), None));
        assert!(numbers.get(1).is_some_and(f64::is_nan));
        let places: IndexColumn = serde_json::from_str("[7,null,-1,0]").unwrap();
        let all: Vec<_> = (0..5).map(|it| places.get(it)).collect();
        assert_eq!((all, places.len()), (vec![Some(7), None, None, Some(0), None], 4));
        assert_eq!(serde_json::from_str::<IndexColumn>("null").unwrap().len(), 0);
        assert!(serde_json::from_str::<IndexColumn>("[5000000000]").is_err());
        assert!(serde_json::from_str::<IndexColumn>("[1.5]").is_err());
    }
}
