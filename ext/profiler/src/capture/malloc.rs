//! Samples of memory: functions that stand in for malloc and its relatives in the tables of all libraries count
//! bytes, and now and then sample a block. A table of live blocks says which of the sampled ones were not freed.
//!
//! The rules of this folder apply in full: the functions run on any thread, Ruby's or not, with or without the
//! GVL, while garbage is collected, while a thread begins or ends, and while any lock is held. They do not use
//! thread-local storage, as that can be allocated at its first use. As they allocate nothing, they are not
//! entered twice on a thread.
//!
//! * A block is put into the table before its address is returned, and is taken out before it is freed:
//!   afterwards another thread may own the address.
//! * A sample whose record finds no space in the ring has no stack. Its weight is kept, and sent by
//!   [`send_lost`]; the table of live blocks knows it.
//! * Libraries keep copies of function pointers, and a thread may be in one of these functions when the last
//!   session ends. So they pass calls on for ever, and our library is never unloaded.
//! * `dlsym` is replaced as well, because it is called after every library that is loaded for use from Ruby. It
//!   must not be called from here, as it looks at its caller: the stub jumps to it.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicU64, Ordering};

use ::profiler_core::ids::ThreadId;
use ::profiler_core::pipeline::hub::Hub;
use ::profiler_core::record::counters::count;
use ::profiler_core::record::frame::Synthetic;
use ::profiler_core::record::object_class::Class;
use ::profiler_core::record::{push, Allocation, Header, Kind, Walk};
use ::profiler_core::sampling::byte_sampler;
use ::profiler_core::sampling::live_blocks::LiveBlocks;
use ::profiler_core::sampling::live_objects::LiveObject;
use ::std::vec::Vec;

use crate::capture::walk::Scratch;
use crate::shared::CAPTURE;
use crate::sys::{clock, errno, native_thread};
use crate::threads::{self, Registry, ThreadState};
use crate::vm;

mod caller;
mod countdown;
mod functions;
pub(crate) mod redirected;

/// The number of live blocks for which there is space, some 2 GiB if one of 64 KiB is sampled: a fuller table
/// refuses more and more of them.
pub(crate) const SLOTS: usize = 1 << 17;

/// The number of samples for each one that is timed, on behalf of all of them.
const TIMED: u64 = 32;
/// The longest time that is counted for one sample. After a longer one, another thread had the processor.
const LONGEST_NS: u64 = 100_000;

// All zeros, so the table occupies memory only where it is used, and no space in the library's file.
static BLOCKS: LiveBlocks<SLOTS> = LiveBlocks::new();

/// The weight of samples that found no space in the ring.
static LOST: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];

/// Returns the sampled blocks that are live, and how many did not fit into the table.
pub(crate) fn live_blocks() -> (Vec<LiveObject>, u64) {
    (BLOCKS.live().map(|(_, block)| block).collect(), BLOCKS.refused())
}

/// Iterates over the sampled blocks that are live, with their addresses. Does not allocate.
pub(crate) fn live_addresses() -> impl Iterator<Item = (u64, LiveObject)> {
    BLOCKS.live()
}

/// Sends the weight of samples that found no space in the ring, without a stack. The caller has the GVL, and
/// holds no lock but that of the sampler.
pub(crate) fn send_lost(hub: &Hub) {
    let [objects, bytes] = LOST.each_ref().map(|it| it.swap(0, Ordering::Relaxed));
    if objects == 0 && bytes == 0 {
        return;
    }
    let class = Class::NO_LIBRARY;
    let kind = Kind::Malloc(Allocation { class, samples: 0, objects, bytes, object: None });
    let header = Header::new(ThreadId::OTHERS, clock::monotonic_ns());
    let walk = Walk { handles: &[], lines: &[], rootless: false };
    if !hub.push_draining(&Registry, || push(&hub.ring, kind, &header, walk, 3)) {
        count(&hub.counters.dropped_full);
    }
}

/// Forgets, in a forked child, what was sampled in the parent.
pub(crate) fn start_over() {
    if !redirected::are_on() {
        return; // nothing was
    }
    forget();
}

fn forget() {
    BLOCKS.clear();
    LOST.iter().for_each(|it| it.store(0, Ordering::Relaxed));
}

/// Samples a block of `size` bytes that was just allocated. `place` is where the return address is on the stack.
///
/// *Runs on:* any thread, in malloc. *GVL:* held or not. *Calls:* a walk, and the system about the thread.
/// *Never:* allocates, waits, or changes errno.
#[cold]
#[inline(never)]
fn sample(address: usize, size: usize, place: usize) {
    let mean = countdown::mean();
    let Some(hub) = CAPTURE.hub().filter(|_| address != 0 && mean > 0) else { return };
    let before = errno::get();
    let begun_ns = clock::monotonic_ns();
    let bits = countdown::random_bits();
    let state = threads::current_native();
    if state.is_some() || !threads::own::has(native_thread::native_id()) {
        let (objects, bytes) = byte_sampler::weight(size as u64, mean, bits);
        let object = BLOCKS.insert(address as u64, objects, bytes, begun_ns);
        let class = Class::library(caller::library(&hub.blocks.libraries, place));
        let kind = Kind::Malloc(Allocation { class, samples: 1, objects, bytes, object });
        if !record(hub, state, kind, begun_ns) {
            object.into_iter().for_each(|it| BLOCKS.note_unrecorded(it));
            let [lost_objects, lost_bytes] = &LOST;
            lost_objects.fetch_add(objects, Ordering::Relaxed);
            lost_bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }
    if let Some(state) = state.filter(|_| bits % TIMED == 0) {
        let took_ns = clock::monotonic_ns().saturating_sub(begun_ns).min(LONGEST_NS);
        state.handler.add(took_ns * TIMED);
    }
    errno::set(before);
}

/// Publishes the sample with as much of the stack as can be known. Returns false if the ring has no space.
fn record(hub: &Hub, state: Option<&'static ThreadState>, kind: Kind, now_ns: u64) -> bool {
    // All threads that are not registered count as one.
    let header = state.map_or_else(|| Header::new(ThreadId::OTHERS, now_ns), |state| state.header(now_ns));
    if !vm::state::on_ruby_thread() {
        return record_frame(hub, kind, &header, Some(Synthetic::NoRuby));
    }
    // Threads of other Ractors are not registered, nor are those that begin or end.
    let Some(state) = state.filter(|_| vm::state::has_stack()) else {
        return record_frame(hub, kind, &header, None);
    };
    // The buffer comes before the question about GC: see `walk::wait_for_walks`.
    let scratch = Scratch::take();
    if vm::state::during_gc() {
        // Without the GVL, it is another thread that collects.
        let collects = vm::state::not_in_blocking_region();
        return record_frame(hub, kind, &header, collects.then_some(Synthetic::Gc));
    }
    // The buffer is held, so no object that the VM reads here is moved.
    if !state.reported.load(Ordering::Relaxed) && !vm::state::has_ruby_frame() {
        return record_frame(hub, kind, &header, None);
    }
    match scratch {
        Some(scratch) => scratch.record(hub, kind, &header),
        None => record_frame(hub, kind, &header, None),
    }
}

/// Publishes a record with one frame that is unknown to the VM, or none.
fn record_frame(hub: &Hub, kind: Kind, header: &Header, frame: Option<Synthetic>) -> bool {
    let handle = frame.map(|it| it as u64);
    let line = frame.map(|_| 0);
    let walk = Walk { handles: handle.as_slice(), lines: line.as_slice(), rootless: false };
    if push(&hub.ring, kind, header, walk, 3).is_err() {
        count(&hub.counters.dropped_full);
        return false;
    }
    CAPTURE.note_record(hub);
    true
}
