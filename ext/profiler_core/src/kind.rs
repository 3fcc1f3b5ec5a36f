//! What a record says, and what its thread was doing.

use ::core::prelude::rust_2021::*;

use crate::detail::GcCause;
use crate::frame::Synthetic;
use crate::ids::{LabelSetId, ThreadId};

/// What a record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The thread was running: its CPU clock and its running time.
    Tick,
    /// The thread's labels or scope are others from now on. It stands for no time.
    Switch,
    /// The thread has waited: its waiting time, for the GVL and else.
    Wait,
    /// The thread has collected garbage: its time for that, and if a tick fell into it, its CPU clock too.
    Gc {
        /// A tick fell into it.
        ticked: bool,
        /// Why it collected.
        cause: GcCause,
    },
    /// The thread has waited for the GVL, which another had: the frames are those of the other. Without frames the
    /// other has ended; or it was the same thread, and nobody had it.
    Blame {
        /// Who had it.
        holder: ThreadId,
        /// Labels current on the holder.
        labels: LabelSetId,
    },
    /// The thread waited up to here in what its last [`Kind::Wait`] said. No stack comes with it.
    Still,
}

impl Kind {
    /// Whether frames come with it.
    pub(crate) fn has_stack(self) -> bool {
        !matches!(self, Kind::Switch | Kind::Still)
    }

    /// Whether it is a sample of its thread, and counted.
    pub(crate) fn is_sample(self) -> bool {
        self.has_stack() && !matches!(self, Kind::Blame { .. })
    }

    /// In a byte, with the word that it may need besides.
    #[inline]
    pub(crate) fn encode(self) -> (u64, Option<u64>) {
        match self {
            Kind::Tick => (0, None),
            Kind::Switch => (1, None),
            Kind::Wait => (2, None),
            Kind::Gc { ticked, cause } => (3, Some(cause.bits() << 1 | u64::from(ticked))),
            Kind::Blame { holder, labels } => (4, Some(u64::from(holder.0) | u64::from(labels.0) << 32)),
            Kind::Still => (5, None),
        }
    }

    /// From the byte, and the words after the stamp, which it leaves to the frames.
    pub(crate) fn decode(bits: u8, words: &mut &[u64]) -> Option<Self> {
        let mut more = || {
            let (word, rest) = words.split_first()?;
            *words = rest;
            Some(*word)
        };
        Some(match bits {
            1 => Kind::Switch,
            2 => Kind::Wait,
            3 => {
                more().map(|word| Kind::Gc { ticked: word & 1 == 1, cause: GcCause::from_bits(word >> 1) })?
            }
            4 => more().map(|word| Kind::Blame {
                holder: ThreadId(word as u32),
                labels: LabelSetId((word >> 32) as u32),
            })?,
            5 => Kind::Still,
            _ => Kind::Tick,
        })
    }

    /// What stands at the leaf end of such a record besides the frames that were walked.
    #[inline]
    pub(crate) fn leaf(self, thread: ThreadId, walked: usize) -> Option<Synthetic> {
        match self {
            Kind::Gc { .. } => Some(Synthetic::Gc),
            // A stack is empty before its thread begins and when it is over.
            Kind::Wait if walked == 0 => Some(Synthetic::ThreadStart),
            Kind::Blame { holder, .. } if holder == thread => Some(Synthetic::Nobody),
            Kind::Blame { .. } if walked == 0 => Some(Synthetic::ThreadEnd),
            _ => None,
        }
    }
}

/// What a thread was doing when its record was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum State {
    /// Using its CPU, with or without the GVL.
    Running = 0,
    /// Collecting garbage.
    Gc = 1,
    /// Blocked, asleep, or in C code that let go of the GVL.
    Waiting = 2,
    /// Waiting for the GVL.
    Gvl = 3,
}

impl State {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Running, Self::Gc, Self::Waiting, Self::Gvl];

    pub(crate) fn from_bits(bits: u8) -> Self {
        match bits {
            1 => State::Gc,
            2 => State::Waiting,
            3 => State::Gvl,
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
        }
    }
}
