//! Labels as the user passes them, checked.

use magnus::{prelude::*, r_hash::ForEach, Error, RHash, Ruby, Value};
use profiler_core::profile::LabelSet;
use profiler_core::text::cut;

use crate::errors::wrong_value;
use crate::vm::describe::describe;
use crate::vm::strings::{named, own_text};

/// Returns the name and the value of each label; `None` as the value removes the label.
pub(super) fn pairs(ruby: &Ruby, labels: RHash) -> Result<Vec<(String, Option<String>)>, Error> {
    let mut pairs = Vec::new();
    labels.foreach(|name: Value, value: Value| {
        pairs.push((label_name(ruby, name)?, label_value(ruby, name, value)?));
        Ok(ForEach::Continue)
    })?;
    Ok(pairs)
}

/// Returns the set of labels in a Hash.
pub(crate) fn set_from(ruby: &Ruby, labels: RHash) -> Result<LabelSet, Error> {
    Ok(LabelSet::EMPTY.with(pairs(ruby, labels)?))
}

fn label_name(ruby: &Ruby, name: Value) -> Result<String, Error> {
    let text = named(ruby, name).unwrap_or_default();
    if text.is_empty() {
        return Err(wrong_value(ruby, name, |value| {
            format!("{value} is not the name of a label (allowed: a Symbol or a String)")
        }));
    }
    Ok(cut(text))
}

fn label_value(ruby: &Ruby, name: Value, value: Value) -> Result<Option<String>, Error> {
    if value.is_nil() {
        return Ok(None);
    }
    let plain = value.is_kind_of(ruby.class_numeric())
        || value.is_kind_of(ruby.class_true_class())
        || value.is_kind_of(ruby.class_false_class());
    let text = match named(ruby, value) {
        None if plain => own_text(ruby, value)?,
        text => text,
    };
    let text = match text {
        Some(text) => text,
        None => {
            let name = describe(ruby, name)?;
            return Err(wrong_value(ruby, value, |value| {
                format!(
                    "the label {name} cannot be {value} (allowed: String, Symbol, Numeric, true, false, and nil to remove it)"
                )
            }));
        }
    };
    Ok(Some(cut(text)))
}
