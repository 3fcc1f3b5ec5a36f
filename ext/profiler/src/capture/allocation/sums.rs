//! Sums of allocations at the same site, kept for a while: one record for each would cost several times as
//! much as a sample.
//!
//! Each site has one slot of a table, chosen by a hash of its frames. A site that finds another one in its
//! slot sends that one's sum away. A site's own first sample is sent immediately and not summed. By then its
//! handles are kept alive, so no other frame can get the same handles. If the tables are full, the handles of
//! the sums are marked themselves. All sums are sent before the tables that keep them are replaced. The
//! frames themselves are compared, so no site is mistaken for another.

use ::core::ffi::c_int;
use ::core::prelude::rust_2021::*;

use ::profiler_core::ids::{LabelSetId, ScopeId, ThreadId};
use ::profiler_core::record::object_class::Class;
use ::profiler_core::record::Allocation;

use crate::capture::allocation::site::{Frames, Site};

/// The number of slots. Each has two kilobytes; unused slots occupy no memory.
const SLOTS: usize = 512;
/// The number of frames that fit into a slot. Deeper stacks are sent immediately.
const FRAMES: usize = 124;

#[derive(Clone, Copy)]
struct Slot {
    site: Site,
    sum: Allocation,
    frames: usize,
    handles: [u64; FRAMES],
    lines: [c_int; FRAMES],
}

/// A table of sums, with one slot for each hash of a site.
pub(super) struct SiteSums {
    slots: [Slot; SLOTS],
    /// Whether a slot may be in use. If not, the search of all slots is skipped; it would take half as long as
    /// starting and stopping a session.
    any: bool,
}

const EMPTY: Allocation = Allocation { class: Class::NONE, samples: 0, objects: 0, bytes: 0, object: None };

impl SiteSums {
    pub(super) const fn new() -> Self {
        let (labels, scope) = (LabelSetId::NONE, ScopeId::NONE);
        let site = Site { thread: ThreadId(0), labels, scope, span: None, class: Class::NONE };
        let slot = Slot { site, sum: EMPTY, frames: 0, handles: [0; FRAMES], lines: [0; FRAMES] };
        Self { slots: [slot; SLOTS], any: false }
    }

    /// Returns the slot of these frames, and whether they are new there. `send` receives the sum of another
    /// site that was in it. Returns `None` if there are no frames, or too many.
    #[inline]
    pub(super) fn place(
        &mut self,
        site: &Site,
        handles: Option<&[u64]>,
        lines: Option<&[c_int]>,
        send: impl FnOnce(&Site, Frames<'_>, &Allocation),
    ) -> Option<(usize, bool)> {
        let (handles, lines) = (handles?, lines?);
        if handles.len() > FRAMES || handles.is_empty() {
            return None;
        }
        let place = hash(site, handles, lines) as usize % SLOTS;
        let slot = self.slots.get_mut(place)?;
        if slot.matches(site, handles, lines) {
            return Some((place, false));
        }
        slot.evict(send);
        self.any = true;
        slot.site = *site;
        slot.frames = handles.len();
        slot.handles.iter_mut().zip(handles).for_each(|(to, from)| *to = *from);
        slot.lines.iter_mut().zip(lines).for_each(|(to, from)| *to = *from);
        slot.sum = Allocation { class: site.class, ..EMPTY };
        Some((place, true))
    }

    /// Adds another allocation at the site.
    #[inline]
    pub(super) fn add(&mut self, place: usize, more: &Allocation) {
        if let Some(Slot { sum, .. }) = self.slots.get_mut(place) {
            sum.samples = sum.samples.saturating_add(more.samples);
            sum.objects += more.objects;
            sum.bytes += more.bytes;
        }
    }

    /// Empties the table: `send` receives all sums.
    pub(super) fn flush(&mut self, mut send: impl FnMut(&Site, Frames<'_>, &Allocation)) {
        if ::core::mem::take(&mut self.any) {
            self.slots.iter_mut().for_each(|slot| slot.evict(&mut send));
        }
    }

    /// Calls `mark` with the handles of each site.
    pub(super) fn each_handle(&self, mut mark: impl FnMut(u64)) {
        for slot in self.slots.iter().filter(|slot| self.any && slot.frames > 0) {
            slot.site.class.handle().into_iter().for_each(&mut mark);
            slot.frames().0.iter().for_each(|handle| mark(*handle));
        }
    }

    /// Empties the table and drops all sums.
    pub(super) fn forget(&mut self) {
        self.any = false;
        self.slots.iter_mut().for_each(|slot| slot.frames = 0);
    }
}

impl Slot {
    #[inline]
    fn frames(&self) -> Frames<'_> {
        let filled = self.handles.get(..self.frames).zip(self.lines.get(..self.frames));
        filled.unwrap_or((&[], &[]))
    }

    #[inline]
    fn matches(&self, site: &Site, handles: &[u64], lines: &[c_int]) -> bool {
        self.site == *site && self.frames() == (handles, lines)
    }

    fn evict(&mut self, send: impl FnOnce(&Site, Frames<'_>, &Allocation)) {
        if self.sum.samples > 0 && self.frames > 0 {
            send(&self.site, self.frames(), &self.sum);
        }
        self.frames = 0;
    }
}

/// Hashes the leaf end of the stack, where stacks differ most, and its depth. Independent products take 12 ns
/// less of a sample than steps that wait for one another.
#[inline]
fn hash(site: &Site, handles: &[u64], lines: &[c_int]) -> u64 {
    const FACTORS: [u64; 8] = [
        0x9e37_79b9_7f4a_7c15,
        0xbf58_476d_1ce4_e5b9,
        0x94d0_49bb_1331_11eb,
        0xd6e8_feb8_6659_fd93,
        0xe703_7ed1_a0b4_28db,
        0x8ebc_6af0_9c88_c6e3,
        0x5897_89bb_37a9_4bc5,
        0xa076_1d64_78bd_642f,
    ];
    let class = site.class.handle().unwrap_or(1);
    let seed =
        (class ^ u64::from(site.thread.0) << 32 ^ handles.len() as u64).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let frames = handles.iter().zip(lines).zip(FACTORS);
    frames.fold(seed, |sum, ((handle, line), factor)| {
        sum.wrapping_add((*handle ^ (*line as u64) << 48).wrapping_mul(factor))
    }) >> 50
}
