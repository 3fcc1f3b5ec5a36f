//! A description of any object, for a message about a wrong value. No code of the app runs for it: an `inspect`
//! of its own may raise, never return, or print pages.

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{r_hash::ForEach, Error, RArray, RHash, Ruby, Value};
use rb_sys::{ruby_value_type, VALUE};

use super::door::protect;
use super::modules::{module_kind, ModuleKind};

/// The longest description, in characters.
const MAX_CHARS: usize = 200;
/// The number of elements that are shown of an Array or a Hash, and how deep they may be nested.
const MAX_ELEMENTS: usize = 10;
const MAX_DEPTH: usize = 3;

/// Returns `value` as Ruby code spells it if its class has literals, or else its class and address, as
/// `Kernel#to_s` does. Long descriptions are cut.
///
/// # Errors
/// Exceptions that were delivered during the call.
pub(crate) fn describe(ruby: &Ruby, value: Value) -> Result<String, Error> {
    let mut text = String::new();
    append(ruby, &mut text, value, 0)?;
    if let Some((end, _)) = text.char_indices().nth(MAX_CHARS) {
        text.truncate(end);
        text.push_str("...");
    }
    Ok(text)
}

fn append(ruby: &Ruby, text: &mut String, value: Value, depth: usize) -> Result<(), Error> {
    let raw = value.as_raw();
    if let Some(array) = RArray::from_value(value).filter(|_| depth < MAX_DEPTH) {
        return append_array(ruby, text, array, depth);
    }
    if let Some(hash) = RHash::from_value(value).filter(|_| depth < MAX_DEPTH) {
        return append_hash(ruby, text, hash, depth);
    }
    // SAFETY: a `Ruby` proves that the GVL is held, and the value is on the stack. Only the type is read, and an
    // object of any type has a class.
    let (kind, is_range, is_regexp) = unsafe {
        let is_range = rb_sys::rb_obj_is_kind_of(raw, rb_sys::rb_cRange) == rb_sys::Qtrue as VALUE;
        (rb_sys::RB_TYPE(raw), is_range, rb_sys::rb_obj_class(raw) == rb_sys::rb_cRegexp)
    };
    if is_range {
        return append_range(ruby, text, value, depth);
    }
    match kind {
        ruby_value_type::RUBY_T_STRING => append_string(text, value),
        ruby_value_type::RUBY_T_CLASS | ruby_value_type::RUBY_T_MODULE => {
            // SAFETY: a `Ruby` proves that the GVL is held; the module is on the stack.
            match unsafe { module_kind(raw) } {
                ModuleKind::Named(name) => text.push_str(&name),
                _ => return append_result(text, value, rb_sys::rb_any_to_s),
            }
            Ok(())
        }
        ruby_value_type::RUBY_T_NIL
        | ruby_value_type::RUBY_T_TRUE
        | ruby_value_type::RUBY_T_FALSE
        | ruby_value_type::RUBY_T_FIXNUM
        | ruby_value_type::RUBY_T_BIGNUM
        | ruby_value_type::RUBY_T_FLOAT
        | ruby_value_type::RUBY_T_RATIONAL
        | ruby_value_type::RUBY_T_COMPLEX
        | ruby_value_type::RUBY_T_SYMBOL => append_result(text, value, rb_sys::rb_inspect),
        _ if is_regexp => append_result(text, value, rb_sys::rb_inspect),
        _ => append_result(text, value, rb_sys::rb_any_to_s),
    }
}

/// Appends the String that a function of the VM returns for the value.
fn append_result(
    text: &mut String,
    value: Value,
    function: unsafe extern "C" fn(VALUE) -> VALUE,
) -> Result<(), Error> {
    // SAFETY: a Value proves that the GVL is held; the functions that are passed return a String, which is on
    // the stack while it is read.
    text.push_str(&unsafe { super::text(protect(|| function(value.as_raw()))?) });
    Ok(())
}

fn append_string(text: &mut String, string: Value) -> Result<(), Error> {
    // SAFETY: a Value proves that the GVL is held. Both functions take a String, of any class and encoding.
    let shown = unsafe {
        let shown = protect(|| {
            let start = rb_sys::rb_str_substr(string.as_raw(), 0, MAX_CHARS as _);
            rb_sys::rb_str_inspect(start)
        })?;
        super::text(shown)
    };
    text.push_str(&shown);
    Ok(())
}

fn append_array(ruby: &Ruby, text: &mut String, array: RArray, depth: usize) -> Result<(), Error> {
    text.push('[');
    for (number, element) in array.into_iter().enumerate() {
        if !separate(text, number) {
            break;
        }
        append(ruby, text, element, depth + 1)?;
    }
    text.push(']');
    Ok(())
}

fn append_hash(ruby: &Ruby, text: &mut String, hash: RHash, depth: usize) -> Result<(), Error> {
    text.push('{');
    let mut number = 0;
    hash.foreach(|key: Value, value: Value| {
        if !separate(text, number) {
            return Ok(ForEach::Stop);
        }
        number += 1;
        append(ruby, text, key, depth + 1)?;
        text.push_str(" => ");
        append(ruby, text, value, depth + 1)?;
        Ok(ForEach::Continue)
    })?;
    text.push('}');
    Ok(())
}

fn append_range(ruby: &Ruby, text: &mut String, range: Value, depth: usize) -> Result<(), Error> {
    let (mut first, mut last, mut exclusive) = (0, 0, 0);
    // SAFETY: a `Ruby` proves that the GVL is held. The value is a Range, whose fields the call reads; the range on
    // the stack keeps them alive.
    let ends = unsafe {
        protect(|| rb_sys::rb_range_values(range.as_raw(), &mut first, &mut last, &mut exclusive) as VALUE)?;
        [first, last].map(|end| Value::from_raw(end))
    };
    for (number, end) in ends.into_iter().enumerate() {
        if number > 0 {
            text.push_str(if exclusive == 0 { ".." } else { "..." });
        }
        // SAFETY: nil is a constant.
        if end.as_raw() != rb_sys::Qnil as VALUE {
            append(ruby, text, end, depth + 1)?;
        }
    }
    Ok(())
}

/// Appends what stands before an element. Returns false if no more elements are shown.
fn separate(text: &mut String, number: usize) -> bool {
    if number > 0 {
        text.push_str(", ");
    }
    let is_shown = number < MAX_ELEMENTS && text.len() < MAX_CHARS;
    if !is_shown {
        text.push_str("...");
    }
    is_shown
}
