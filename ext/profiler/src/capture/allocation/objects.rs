//! Samples that are open or summed, and how they are sent.

use ::core::ffi::c_int;
use ::core::prelude::rust_2021::*;
use ::core::ptr::{addr_of, addr_of_mut};

use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::object_class::Class;
use ::profiler_core::record::{Allocation, ObjectId};
use ::profiler_core::sampling::allocation_sampler::AllocationSampler;

use super::countdown;
use super::heap::ObjectTables;
use super::site::{send, Site, OWN};
use super::sums::SiteSums;
use crate::capture::walk::WALK_LIMIT;
use crate::sys::clock;
use crate::vm;
use crate::vm::allocations::{self, AllocationHook};

/// The state of the sampling of objects.
pub(super) struct ObjectSampler {
    pub(super) sampler: AllocationSampler,
    pub(super) open: PendingObject,
    /// The installed hook.
    pub(super) hooked: Option<AllocationHook>,
    /// True if bytes are counted, not objects.
    pub(super) by_bytes: bool,
    /// The part of an object that no sample has yet, in 2^16ths: bytes need not add up to whole objects.
    pub(super) carried: u64,
    /// True if samples have a time.
    pub(super) timed: bool,
    /// The table of live objects, while a session needs it.
    pub(super) tables: ObjectTables,
    /// The frames of the open sample.
    pub(super) handles: [u64; WALK_LIMIT],
    pub(super) lines: [c_int; WALK_LIMIT],
    pub(super) sums: SiteSums,
    /// The count, and the number of objects that the VM had allocated, at the last marking or change of
    /// demand.
    pub(super) at_marking: (u64, u64),
    /// The number of samples so far, by which some of them are chosen to be timed.
    pub(super) sample_count: u32,
}

/// The open sample, if there is one. This is part of a static of zeros, and an Option could have a tag that
/// is not 0.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum PendingObject {
    None,
    Open(Open),
}

impl PendingObject {
    pub(super) fn take(&mut self) -> Option<Open> {
        match ::core::mem::replace(self, Self::None) {
            Self::None => None,
            Self::Open(open) => Some(open),
        }
    }
}

/// A sampled object whose weight is not known yet.
#[derive(Clone, Copy)]
pub(super) struct Open {
    pub(super) site: Site,
    pub(super) frames: usize,
    pub(super) size: u64,
    /// The part of the weight that is already known, because the object was due more than once.
    pub(super) known: u64,
    pub(super) monotonic_ns: u64,
    /// The slot of its sum, if there is one, and whether it is the first sample there.
    pub(super) place: Option<(usize, bool)>,
    pub(super) tracked: Option<ObjectId>,
}

impl ObjectSampler {
    /// Returns the number of objects, or bytes, counted so far.
    pub(super) fn now(&self) -> u64 {
        self.sampler.due().saturating_add_signed(-countdown::left())
    }

    pub(super) fn wait_for_next(&self, now: u64) {
        countdown::begin((self.sampler.due() - now) as i64);
    }

    /// Opens a sample for the object, and tracks it if live objects are tracked.
    ///
    /// # Safety
    /// `object` is the object of the hook that is running.
    #[inline]
    pub(super) unsafe fn open_sample(&mut self, hub: &Hub, object: u64) -> Open {
        // SAFETY: no garbage is being collected where objects are allocated; the buffers are ours.
        let frames = unsafe {
            vm::frames::walk(addr_of_mut!(self.handles).cast(), addr_of_mut!(self.lines).cast(), WALK_LIMIT)
        };
        // SAFETY: `object` was just allocated, and its hook is running.
        let (class, size) =
            unsafe { (allocations::class_of_allocated(object), allocations::slot_size(object)) };
        let site = Site::here(class);
        let tables = self.tables.used.as_mut().filter(|_| site.thread != OWN);
        let tracked = tables.and_then(|it| it.insert(object, allocations::collections()));
        let place = if self.timed || tracked.is_some() {
            None
        } else {
            let (handles, lines) = (&self.handles, &self.lines);
            self.sums.place(&site, handles.get(..frames), lines.get(..frames), |site, frames, allocation| {
                send(hub, site, frames, allocation, 0);
            })
        };
        let monotonic_ns = if self.timed { clock::monotonic_ns() } else { 0 };
        Open { site, frames, size, known: 0, monotonic_ns, place, tracked }
    }

    /// Returns the weight of `counted` for objects of `size`, as objects and bytes.
    #[inline]
    pub(super) fn weight(&mut self, counted: u64, size: u64) -> (u64, u64) {
        if !self.by_bytes {
            return (counted, counted.saturating_mul(size));
        }
        let parts = (counted << 16) / size.max(1) + self.carried;
        self.carried = parts & 0xffff;
        (parts >> 16, counted)
    }

    /// Sends the sample of the open window with its weight, which is the known part plus `counted`.
    #[inline]
    pub(super) fn send_sample(&mut self, hub: &Hub, open: &Open, counted: u64) {
        let (objects, bytes) = self.weight(open.known + counted, open.size);
        let allocation =
            Allocation { class: open.site.class, samples: 1, objects, bytes, object: open.tracked };
        if let (Some(tracked), Some(id)) = (&mut self.tables.used, open.tracked) {
            tracked.set_weight(id, objects, allocation.bytes);
        }
        if let Some((place, false)) = open.place {
            return self.sums.add(place, &allocation);
        }
        // SAFETY: the walk wrote the first `frames` entries of both buffers, which stay ours.
        let (handles, lines) = unsafe {
            (
                ::core::slice::from_raw_parts(addr_of!(self.handles).cast(), open.frames),
                ::core::slice::from_raw_parts(addr_of!(self.lines).cast(), open.frames),
            )
        };
        send(hub, &open.site, (handles, lines), &allocation, open.monotonic_ns);
    }

    /// Sends a record without a stack for a window that has no sample.
    pub(super) fn send_unsampled(&mut self, hub: &Hub, counted: u64) {
        let site = Site::here(Class::internal(0));
        let (objects, bytes) =
            if self.by_bytes { self.weight(counted, allocations::ONE_SIZE) } else { (counted, 0) };
        let allocation = Allocation { class: site.class, samples: 0, objects, bytes, object: None };
        send(hub, &site, (&[], &[]), &allocation, clock::monotonic_ns());
    }

    /// Sends all sums.
    pub(super) fn send_sums(&mut self, hub: &Hub) {
        self.sums.flush(|site, frames, allocation| send(hub, site, frames, allocation, 0));
    }
}
