//! The kind of a record, and the state of its thread.

use ::core::matches; // not in the prelude of Rust 1.85
use ::core::prelude::rust_2021::*;

use super::detail::GcCause;
use super::frame::Synthetic;
use super::object_class::Class;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The thread was running. Carries its CPU clock and its running time.
    Tick,
    /// From now on the thread has other labels or another scope. Carries no weight.
    LabelSwitch,
    /// The thread has finished waiting. Carries its waiting time, for the GVL and for anything else.
    Wait,
    /// The thread was in C code that waited while holding the GVL. Carries the time during which the thread
    /// had no CPU and needed none.
    Block {
        /// The length from which a block counts for itself, us. Shorter blocks are sampled at random.
        whole_us: u32,
        /// The time since the thread was first seen in the block, us.
        seen_us: u32,
    },
    /// The thread has collected garbage. Carries the time that this took and, if a tick fell into it, the CPU
    /// clock too.
    Gc {
        /// Whether a tick fell into the GC.
        ticked: bool,
        /// The time from the last such tick to the end of the GC, ns.
        since_tick_ns: u64,
        /// The cause of the GC.
        cause: GcCause,
    },
    /// The thread has waited for the GVL since `since_ns` on the monotonic clock. The threads that ticked
    /// with the GVL in the meantime held it.
    GvlWait {
        /// The time at which the thread became ready to run.
        since_ns: u64,
    },
    /// The thread waited for the GVL while nobody held it. Its one frame says so.
    GvlFree,
    /// A tick on a thread that no session profiles but that held the GVL while others waited for it.
    Holder {
        /// Whether the thread was collecting garbage.
        in_gc: bool,
        /// The time from the last tick to the record, ns.
        since_tick_ns: u64,
    },
    /// The thread waited up to here in the stack of its last [`Kind::Wait`]. Carries no stack.
    WaitExtension,
    /// The thread has allocated objects. If there are no frames, none of the objects was sampled.
    Allocation(Allocation),
    /// The thread has allocated a block of memory from malloc. The class is the library that called malloc. If
    /// there are no frames, the blocks were not sampled.
    Malloc(Allocation),
    /// The stack of the thread for one dump. No session takes it.
    Dump {
        /// The number of the dump.
        number: u32,
        /// Whether the thread is known to hold the GVL.
        has_gvl: bool,
    },
}

/// Objects or blocks allocated at one place, with the class of the sampled ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// The class of the objects.
    pub class: Class,
    /// The number of samples.
    pub samples: u32,
    /// The weight of the samples in objects.
    pub objects: u64,
    /// The weight of the samples in bytes.
    pub bytes: u64,
    /// The sampled object in the table of live objects, if it is in the table.
    pub object: Option<ObjectId>,
}

/// Identifies a live object: its slot in the table and the slot's generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ObjectId {
    /// The slot, below the capacity of the table.
    pub slot: u32,
    /// The number of objects that have had the slot, this one included.
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

/// The bits below the time in the word of a GC: its cause, and whether a tick fell into it.
const GC_BITS: u32 = 9;

impl Kind {
    /// Returns whether the record has frames.
    pub(crate) fn has_stack(self) -> bool {
        !matches!(self, Kind::LabelSwitch | Kind::WaitExtension | Kind::GvlWait { .. })
    }

    /// Returns whether the record is a sample of its thread's time and is counted as one.
    pub(crate) fn is_sample(self) -> bool {
        let is_other = |it| {
            let allocates = matches!(it, Kind::Allocation(_) | Kind::Malloc(_));
            allocates || matches!(it, Kind::GvlFree | Kind::Holder { .. } | Kind::Dump { .. })
        };
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
            Kind::Malloc(it) => (11, ExtraWords::Five(it.words())),
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

    /// Decodes the byte and the words after the header, leaving the frames in `words`.
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
            6 | 11 => {
                let it = Allocation::from_words([more()?, more()?, more()?, more()?, more()?]);
                if bits == 6 {
                    Kind::Allocation(it)
                } else {
                    Kind::Malloc(it)
                }
            }
            7 => Kind::GvlWait { since_ns: more()? },
            8 => more().map(|word| Kind::Holder { in_gc: word & 1 == 1, since_tick_ns: word >> 1 })?,
            10 => more().map(|word| Kind::Block { whole_us: word as u32, seen_us: (word >> 32) as u32 })?,
            9 => more().map(|word| Kind::Dump { number: (word >> 1) as u32, has_gvl: word & 1 == 1 })?,
            _ => Kind::Tick,
        })
    }

    /// Returns the synthetic frame at the leaf of a record of this kind, if it has one.
    #[inline]
    pub(crate) fn leaf(self, walked: usize) -> Option<Synthetic> {
        match self {
            Kind::Gc { .. } | Kind::Holder { in_gc: true, .. } => Some(Synthetic::Gc),
            // The stack of a thread is empty until the thread begins to run.
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
    /// Using its CPU, with or without the GVL. Includes [`State::Runnable`] where that is not measured
    /// separately.
    Running = 0,
    /// Collecting garbage.
    Gc = 1,
    /// Blocked, asleep, or in C code that released the GVL.
    Waiting = 2,
    /// Waiting for the GVL.
    Gvl = 3,
    /// Running by the wall clock but without a CPU: others had it, or the kernel withheld it. Only sums have
    /// this state; no record does.
    Runnable = 4,
    /// In C code that waits while holding the GVL, so no other thread runs Ruby.
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

    /// Returns the word for the state in labels.
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
