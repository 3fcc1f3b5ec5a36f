//! Every raw `rb_*` call and every `cfg(ruby_*)` of the project, behind functions with names.
//!
//! This folder decides nothing. It knows which Ruby has what, which call may raise, and which one aborts the
//! process when it is asked the wrong question.

pub(crate) mod allocations;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub(crate) mod attached;
pub(crate) mod cached;
pub(crate) mod describe;
pub(crate) mod door;
pub(crate) mod events;
pub(crate) mod exceptions;
pub(crate) mod fibers;
pub(crate) mod frames;
pub(crate) mod gc;
pub(crate) mod gvl;
pub(crate) mod heap;
mod hook_list;
pub(crate) mod jobs;
pub(crate) mod keepers;
#[no_implicit_prelude]
pub(crate) mod marks;
pub(crate) mod memory;
pub(crate) mod methods;
pub(crate) mod modules;
pub(crate) mod objects;
pub(crate) mod own_threads;
pub(crate) mod probe;
pub(crate) mod process;
pub(crate) mod root;
pub(crate) mod state;
pub(crate) mod strings;
pub(crate) mod threads;
pub(crate) mod tracepoints;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod turns;
pub(crate) mod without_gvl;

use profiler_core::text::is_harmful;
use rb_sys::VALUE;

/// Returns the bytes of a Ruby String as text. Bytes that are not UTF-8 become the replacement character, and
/// harmful characters become spaces, so that no name can break a page.
///
/// # Safety
/// `string` is a live T_STRING, and the caller holds the GVL.
pub(crate) unsafe fn text(string: VALUE) -> String {
    // SAFETY: the caller passes a live String; no Ruby object is allocated while the slice lives.
    let bytes = unsafe {
        let (start, len) = (rb_sys::RSTRING_PTR(string), rb_sys::RSTRING_LEN(string));
        std::slice::from_raw_parts(start.cast::<u8>(), usize::try_from(len).unwrap_or(0))
    };
    if bytes.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let cleaned = |char: char| if is_harmful(char) { ' ' } else { char };
    String::from_utf8_lossy(bytes).chars().map(cleaned).collect()
}
