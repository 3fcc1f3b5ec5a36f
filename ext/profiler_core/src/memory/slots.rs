//! The slots of Ruby's heap, as far as the first words of an object tell about it.
//!
//! The numbers of the types are the same in all Rubies that profiler supports.

use ::core::option::Option::{self, None, Some};
use ::core::prelude::rust_2021::*;

/// The types of objects that Ruby code creates. Chunks are assigned to them before the VM's own objects,
/// which refer to almost everything.
const OF_RUBY_CODE: [u8; 12] =
    [OBJECT, FLOAT, STRING, REGEXP, ARRAY, HASH, STRUCT, BIGNUM, FILE, MATCH, COMPLEX, RATIONAL];

const OBJECT: u8 = 1;
/// A class.
pub const CLASS: u8 = 2;
/// A module.
pub const MODULE: u8 = 3;
const FLOAT: u8 = 4;
const STRING: u8 = 5;
const REGEXP: u8 = 6;
const ARRAY: u8 = 7;
const HASH: u8 = 8;
const STRUCT: u8 = 9;
const BIGNUM: u8 = 10;
const FILE: u8 = 11;
/// Data of C code.
pub const DATA: u8 = 12;
const MATCH: u8 = 13;
const COMPLEX: u8 = 14;
const RATIONAL: u8 = 15;
const SYMBOL: u8 = 20;
const IMEMO: u8 = 26;
const NODE: u8 = 27;
const INCLUSION: u8 = 28;
const ZOMBIE: u8 = 29;
const MOVED: u8 = 30;

const TYPE: u64 = 0x1f;
/// The flag of a String whose bytes are outside of the slot, and of an Array whose elements are in it.
const USER_1: u64 = 1 << 13;
const SUBTYPE_SHIFT: u64 = 12;
const SUBTYPE: u64 = 0xf;

/// A live object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapSlot {
    /// The type of the object.
    pub kind: u8,
    /// The type of an object of the VM's own.
    subtype: u8,
    /// The class, which can be a singleton class or 0.
    pub class: u64,
    is_embedded: bool,
}

/// The turns in which objects get the chunks that they refer to. A chunk belongs to the first that has it, and
/// words that are left over from earlier use look like references. So those come first whose chunks are certain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Data of C code outside of Ruby. All words of its slots are in use.
    OfLibraries,
    /// Objects whose chunks refer to no others. They come before what the chunks of libraries refer to.
    Simple,
    /// All others, among them the VM's own, which refer to almost everything.
    Rest,
}

impl Turn {
    /// All turns, in their order. Chunks are followed after those of a row.
    pub const ALL: [&'static [Self]; 2] = [&[Self::OfLibraries, Self::Simple], &[Self::Rest]];
}

/// What the chunks of an object contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Anything.
    Chunks,
    /// Plain bytes, or references to objects alone. They are not scanned: in unused parts are addresses of what
    /// was there before.
    NoChunks,
    /// A table of a Hash, whose small head refers to the other parts. These have references to objects alone.
    HashTable,
}

impl HeapSlot {
    /// Reads the first two words of a slot. Returns `None` if it is free.
    #[inline]
    #[must_use]
    pub fn new(flags: u64, class: u64) -> Option<Self> {
        let kind = (flags & TYPE) as u8;
        if kind == 0 || kind == ZOMBIE || kind == MOVED {
            return None;
        }
        let subtype = if kind == IMEMO { (flags >> SUBTYPE_SHIFT & SUBTYPE) as u8 } else { 0 };
        let is_embedded = match kind {
            STRING => flags & USER_1 == 0,
            ARRAY => flags & USER_1 != 0,
            _ => false,
        };
        Some(Self { kind, subtype, class, is_embedded })
    }

    /// Returns whether Ruby code makes such objects.
    #[inline]
    #[must_use]
    pub fn is_made_by_ruby_code(&self) -> bool {
        OF_RUBY_CODE.contains(&self.kind)
    }

    /// Returns whether Ruby code can see the object. The VM hides objects of its own by giving them no class.
    #[inline]
    #[must_use]
    pub fn is_visible(&self) -> bool {
        self.class != 0 && ![IMEMO, NODE, INCLUSION].contains(&self.kind)
    }

    /// Returns whether the class tells more about the object than its type.
    #[must_use]
    pub fn is_named_by_class(&self) -> bool {
        self.is_made_by_ruby_code() || self.kind == DATA || self.kind == SYMBOL
    }

    /// Returns the turn of the object. `third` is the word after the first two: for data of C code, it is the
    /// address of its type, or of a function, about which `is_in_library` says whether it is outside of Ruby.
    #[must_use]
    pub fn turn(&self, third: u64, is_in_library: impl FnOnce(u64) -> bool) -> Turn {
        match self.kind {
            DATA if is_in_library(third) => Turn::OfLibraries,
            _ if self.contents() == Contents::Chunks => Turn::Rest,
            _ => Turn::Simple,
        }
    }

    /// Returns what the chunks contain to which the object refers.
    #[must_use]
    pub fn contents(&self) -> Contents {
        match self.kind {
            STRING | SYMBOL | BIGNUM | FLOAT | OBJECT | ARRAY | STRUCT | COMPLEX | RATIONAL => {
                Contents::NoChunks
            }
            HASH => Contents::HashTable,
            _ => Contents::Chunks,
        }
    }

    /// Returns the number of words, from the third on, that may be addresses.
    #[must_use]
    pub fn references(&self, words: usize) -> usize {
        match self.kind {
            STRING | ARRAY if self.is_embedded => 0,
            STRING => 3.min(words.saturating_sub(2)),
            FLOAT => 0,
            _ => words.saturating_sub(2),
        }
    }

    /// Returns a number below [`TYPES`](Self::TYPES) for the type.
    #[must_use]
    pub fn type_number(&self) -> u64 {
        u64::from(self.kind) << 4 | u64::from(self.subtype)
    }

    /// The number of types.
    pub const TYPES: u64 = 32 << 4;
}

/// The prefix of types of the VM's own objects, in lists that also have classes.
pub const INTERNAL: &str = "(internal to Ruby) ";

/// Returns the name of a type, by its number.
#[must_use]
pub fn type_name(number: u64) -> &'static str {
    match ((number >> 4) as u8, number & 15) {
        (OBJECT, _) => "Object",
        (CLASS, _) => "Class",
        (MODULE, _) => "Module",
        (FLOAT, _) => "Float",
        (STRING, _) => "String",
        (REGEXP, _) => "Regexp",
        (ARRAY, _) => "Array",
        (HASH, _) => "Hash",
        (STRUCT, _) => "Struct",
        (BIGNUM, _) => "Integer",
        (FILE, _) => "File",
        (DATA, _) => "data of C code",
        (MATCH, _) => "MatchData",
        (SYMBOL, _) => "Symbol",
        (IMEMO, 0) => "local variables of a block",
        (IMEMO, 1) => "scope of constants",
        (IMEMO, 4) => "block of C code",
        (IMEMO, 6) => "method entry",
        (IMEMO, 7) => "iseq (code)",
        (IMEMO, 8) => "buffer of C code",
        (IMEMO, 11) => "call info",
        (IMEMO, 12) => "call cache",
        (IMEMO, 13) => "constant cache",
        (IMEMO, _) => "other data of the VM",
        (NODE, _) => "syntax tree",
        (INCLUSION, _) => "inclusion of a module",
        _ => "other object of the VM",
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::{assert, assert_eq};

    #[test]
    fn knows_free_slots_and_the_words_of_objects() {
        assert_eq!([0, 0x1d, 0x1e, 0x60].map(|flags| HeapSlot::new(flags, 7)), [None; 4]);
        let long = HeapSlot::new(0x2005, 7).unwrap();
        let short = HeapSlot::new(0x5, 7).unwrap();
        assert_eq!((long.references(5), short.references(80), short.class), (3, 0, 7));
        let arrays = [0x2007, 0x7].map(|flags| HeapSlot::new(flags, 7).unwrap());
        assert_eq!(arrays.map(|it| it.references(5)), [0, 3]);
        let contents = [long, arrays[0], HeapSlot::new(0x8, 7).unwrap(), HeapSlot::new(0xb, 7).unwrap()];
        let [text, array, hash, file] = contents.map(|it| it.contents());
        assert_eq!(
            [text, array, hash, file],
            [Contents::NoChunks, Contents::NoChunks, Contents::HashTable, Contents::Chunks]
        );
        let iseq = HeapSlot::new(0x701a, 0).unwrap();
        assert!(!iseq.is_named_by_class() && !iseq.is_made_by_ruby_code());
        assert_eq!((type_name(iseq.type_number()), iseq.references(5)), ("iseq (code)", 3));
        let data = HeapSlot::new(0xc, 0x4000).unwrap();
        assert!(data.is_named_by_class() && !data.is_made_by_ruby_code());
        assert!(data.type_number() < HeapSlot::TYPES);
        assert_eq!(
            [(iseq, 0x5000), (long, 0x5000), (data, 0x5000), (data, 0x6000)]
                .map(|(slot, third)| slot.turn(third, |it| it == 0x6000)),
            [Turn::Rest, Turn::Simple, Turn::Rest, Turn::OfLibraries]
        );
    }
}
