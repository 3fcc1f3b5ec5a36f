//! The kind of a record, and the state of its thread.

use ::core::matches; // not in the prelude of Rust 1.85
use ::core::prelude::rust_2021::*;

use super::detail::GcCause;
use super::frame::Synthetic;
use super::object_class::Class;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The thread was running: its CPU clock and its running time.
    Tick,
    /// The thread's labels or scope are others from now on. It has no weight.
    LabelSwitch,
    /// The thread has waited: its waiting time, for the GVL and else.
    Wait,
    /// The thread has been in C code that waited while it held the GVL: the time for which it had no CPU and wanted none.
    Block {
        /// From this length on a block counts for itself, us. Shorter ones are found by chance.
        whole_us: u32,
        /// The time since the thread was first seen in it, us.
        seen_us: u32,
    },
    /// The thread has collected garbage: its time for that, and if a tick fell into it, its CPU clock too.
    Gc {
        /// A tick fell into it.
        ticked: bool,
        /// The time from the last such tick to its end, ns.
        since_tick_ns: u64,
        /// Why it collected.
        cause: GcCause,
    },
    /// The thread has waited for the GVL since `since_ns` on the monotonic clock. Whoever ticked meanwhile with the GVL had it.
    GvlWait {
        /// The time from which on it could have run.
        since_ns: u64,
    },
    /// The thread has waited for the GVL while nobody had it. Its one frame says so.
    GvlFree,
    /// A tick on a thread that no session profiles, and that had the GVL while others waited for it.
    Holder {
        /// It collected garbage.
        in_gc: bool,
        /// The time from the last tick to the record, ns.
        since_tick_ns: u64,
    },
    /// The thread waited up to here in the stack of its last [`Kind::Wait`]. No stack comes with it.
    WaitExtension,
    /// The thread has allocated objects. Without frames none of them was sampled.
    Allocation(Allocation),
    /// The stack of the thread for the dump of that number. No session takes it.
    Dump {
        /// The number of the dump.
        number: u32,
        /// The thread is known to have the GVL.
        has_gvl: bool,
    },
}

/// Objects allocated at one place, with the class of those that were sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Their class.
    pub class: Class,
    /// The number of samples.
    pub samples: u32,
    /// Their weight in objects.
    pub objects: u64,
    /// Their weight in bytes.
    pub bytes: u64,
    /// The sampled object in the table of live objects, if it is there.
    pub object: Option<ObjectId>,
}

/// Identifies a live object: its slot in the table and the slot's generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId {
    /// The slot, below the capacity of the table.
    pub slot: u32,
    /// The number of objects that had the slot, this one included.
    pub generation: u32,
}

impl Allocation {
    const NO_OBJECT: u64 = u64::MAX;

    fn words(self) -> [u64; 5] {
        let one = |it: ObjectId| u64::from(it.slot) | u64::from(it.generation) << 32;
        let object = self.object.map_or(Self::NO_OBJECT, one);
        [self.class.word(), u64::from(self.samples), self.objects, self.bytes, object]
    }

    fn from_words([class, samples, objects, bytes, object]: [u64; 5]) -> Self {
        let id = ObjectId { slot: object as u32, generation: (object >> 32) as u32 };
        let object = (object != Self::NO_OBJECT).then_some(id);
        Self { class: Class::from_word(class), samples: samples as u32, objects, bytes, object }
    }
}

/// The words of a record between its header and its frames.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ExtraWords {
    Nothing,
    One(u64),
    Five([u64; 5]),
}

impl ExtraWords {
    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        match self {
            Self::Nothing => &[],
            Self::One(word) => ::core::slice::from_ref(word),
            Self::Five(words) => words,
        }
    }
}

/// The bits of the word of a GC below its time: its cause, and whether it ticked.
const GC_BITS: u32 = 9;

impl Kind {
    /// Whether frames come with it.
    pub(crate) fn has_stack(self) -> bool {
        !matches!(self, Kind::LabelSwitch | Kind::WaitExtension | Kind::GvlWait { .. })
    }

    /// Whether it is a sample of its thread's time, and counted.
    pub(crate) fn is_sample(self) -> bool {
        let is_other =
            |it| matches!(it, Kind::GvlFree | Kind::Holder { .. } | Kind::Allocation(_) | Kind::Dump { .. });
        self.has_stack() && !is_other(self)
    }

    /// Encodes the kind as a byte and further words.
    #[inline]
    pub(crate) fn encode(self) -> (u64, ExtraWords) {
        match self {
            Kind::Tick => (0, ExtraWords::Nothing),
            Kind::LabelSwitch => (1, ExtraWords::Nothing),
            Kind::Wait => (2, ExtraWords::Nothing),
            Kind::Gc { ticked, since_tick_ns, cause } => {
                (3, ExtraWords::One(since_tick_ns << GC_BITS | cause.bits() << 1 | u64::from(ticked)))
            }
            Kind::GvlFree => (4, ExtraWords::Nothing),
            Kind::WaitExtension => (5, ExtraWords::Nothing),
            Kind::Allocation(it) => (6, ExtraWords::Five(it.words())),
            Kind::GvlWait { since_ns } => (7, ExtraWords::One(since_ns)),
            Kind::Holder { in_gc, since_tick_ns } => {
                (8, ExtraWords::One(since_tick_ns << 1 | u64::from(in_gc)))
            }
            Kind::Dump { number, has_gvl } => {
                (9, ExtraWords::One(u64::from(number) << 1 | u64::from(has_gvl)))
            }
            Kind::Block { whole_us, seen_us } => {
                (10, ExtraWords::One(u64::from(whole_us) | u64::from(seen_us) << 32))
            }
        }
    }

    /// Decodes the byte and the words after the header, and leaves the frames in `words`.
    pub(crate) fn decode(bits: u8, words: &mut &[u64]) -> Option<Self> {
        let mut more = || {
            let (word, rest) = words.split_first()?;
            *words = rest;
            Some(*word)
        };
        Some(match bits {
            1 => Kind::LabelSwitch,
            2 => Kind::Wait,
            3 => more().map(|word| Kind::Gc {
                ticked: word & 1 == 1,
                since_tick_ns: word >> GC_BITS,
                cause: GcCause::from_bits(word >> 1 & ((1 << (GC_BITS - 1)) - 1)),
            })?,
            4 => Kind::GvlFree,
            5 => Kind::WaitExtension,
            6 => Kind::Allocation(Allocation::from_words([more()?, more()?, more()?, more()?, more()?])),
            7 => Kind::GvlWait { since_ns: more()? },
            8 => more().map(|word| Kind::Holder { in_gc: word & 1 == 1, since_tick_ns: word >> 1 })?,
            10 => more().map(|word| Kind::Block { whole_us: word as u32, seen_us: (word >> 32) as u32 })?,
            9 => more().map(|word| Kind::Dump { number: (word >> 1) as u32, has_gvl: word & 1 == 1 })?,
            _ => Kind::Tick,
        })
    }

    /// The synthetic frame at the leaf of such a record.
    #[inline]
    pub(crate) fn leaf(self, walked: usize) -> Option<Synthetic> {
        match self {
            Kind::Gc { .. } | Kind::Holder { in_gc: true, .. } => Some(Synthetic::Gc),
            // A stack is empty before its thread begins.
            Kind::Wait if walked == 0 => Some(Synthetic::ThreadStart),
            Kind::GvlFree => Some(Synthetic::Nobody),
            _ => None,
        }
    }
}

/// The state of a thread when its record was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// Using its CPU, with or without the GVL. Where [`State::Runnable`] is not a state of its own, also that.
    Running = 0,
    /// Collecting garbage.
    Gc = 1,
    /// Blocked, asleep, or in C code that let go of the GVL.
    Waiting = 2,
    /// Waiting for the GVL.
    Gvl = 3,
    /// Running by the wall clock, but without a CPU: others had it, or the kernel withheld it. Only sums have it, no record.
    Runnable = 4,
    /// In C code that waits while it holds the GVL, so no other thread runs Ruby.
    Blocked = 5,
}

impl State {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Running, Self::Gc, Self::Waiting, Self::Gvl, Self::Runnable, Self::Blocked];

    pub(crate) fn from_bits(bits: u8) -> Self {
        match bits {
            1 => State::Gc,
            2 => State::Waiting,
            3 => State::Gvl,
            4 => State::Runnable,
            5 => State::Blocked,
            _ => State::Running,
        }
    }

    /// The word for it in labels.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Gc => "gc",
            State::Waiting => "waiting",
            State::Gvl => "gvl",
            State::Runnable => "runnable",
            State::Blocked => "blocked",
        }
    }
}
