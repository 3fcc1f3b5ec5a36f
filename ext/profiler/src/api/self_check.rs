//! The native part of `Profiler::SelfCheck`: `Native.probe` returns the VM's answers to the profiler's needs.
//! `Profiler::SelfCheck` knows what they must be.

use magnus::{function, prelude::*, Error, RArray, RModule, Ruby};

use crate::naming;
use crate::naming::turns::Pace;
use crate::sampler::fork;
use crate::vm::{self, probe};

/// The largest number of frames that are walked, from the leaf on.
const FRAMES: usize = 32;

/// Implements `Native.untested`: returns the newest Ruby that the profiler was tested with, if this one is
/// newer; else nil.
fn untested() -> Option<&'static str> {
    probe::NEEDED.then_some(probe::NEWEST_TESTED)
}

/// Implements `Native.probe(objects)`: returns the names of the frames of this call, leaf first; for how many
/// of `objects` the hook was called; and whether the hooks on garbage collection were called.
fn probe(ruby: &Ruby, objects: usize) -> Result<(RArray, u64, bool), Error> {
    let (mut handles, mut lines) = ([0; FRAMES], [0; FRAMES]);
    // SAFETY: both buffers have room for `FRAMES`; a Ruby method is running, and no thread collects garbage,
    // as this one holds the GVL.
    let count = unsafe { vm::frames::walk(handles.as_mut_ptr(), lines.as_mut_ptr(), FRAMES) };
    let walked = handles.get(..count).unwrap_or_default();
    // SAFETY: the running stack holds these frames, and the buffer on it keeps them in place.
    let functions = unsafe { naming::functions(ruby, walked, Pace::AtOnce, fork::pid())? };
    std::hint::black_box(&handles);
    let names = ruby.ary_from_iter(functions.iter().map(|it| it.name.as_str()));
    Ok((names, probe::objects_seen(ruby, objects), probe::is_gc_seen(ruby)))
}

/// Defines the functions.
pub(super) fn init(native: RModule) -> Result<(), Error> {
    native.define_singleton_method("untested", function!(untested, 0))?;
    native.define_singleton_method("probe", function!(probe, 1))
}
