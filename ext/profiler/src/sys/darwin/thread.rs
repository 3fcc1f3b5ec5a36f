//! The kernel's threads.

use ::core::mem::{size_of, zeroed};
use ::core::prelude::rust_2021::*;
use ::std::vec::Vec;

/// The request for facts about a thread, by its id, in `proc_pidinfo` (`PROC_PIDTHREADID64INFO`).
const ABOUT_THREAD: ::libc::c_int = 15;

/// Returns the kernel's id of the calling thread, as `Thread#native_thread_id` does. Ids are counted from the
/// start of the system, and the lower half of one is unique until there have been four billion threads.
///
/// # Signal safety
/// A read of the thread's own memory.
#[inline]
pub(crate) fn native_id() -> i32 {
    let mut id = 0;
    // SAFETY: 0 is the calling thread, and the id is ours to write.
    unsafe { ::libc::pthread_threadid_np(0, &raw mut id) };
    id as i32
}

/// Returns the kernel's id of the main thread: the one that Ruby knows.
pub(crate) fn id_of_main(known: i32) -> i32 {
    known
}

/// Returns the name of the calling thread: up to 15 bytes of it, followed by zeros.
pub(crate) fn native_name() -> [u8; 16] {
    let mut name = [0u8; 16];
    // SAFETY: the call writes at most 16 bytes.
    unsafe { ::libc::pthread_getname_np(::libc::pthread_self(), name.as_mut_ptr().cast(), name.len()) };
    name
}

/// Returns the name of a thread of this process; empty if it has ended.
pub(crate) fn name_of(native_id: i32) -> Vec<u8> {
    let name = info_of(native_id).map(|it| it.pth_name);
    name.into_iter().flatten().map(|it| it as u8).take_while(|it| *it != 0).collect()
}

/// Returns the kernel's facts about a thread of this process, or `None` if it has ended.
pub(super) fn info_of(native_id: i32) -> Option<::libc::proc_threadinfo> {
    let size = size_of::<::libc::proc_threadinfo>() as ::libc::c_int;
    let id = u64::from(native_id as u32);
    // SAFETY: zeros are a valid value of the struct, which holds only numbers; the kernel writes at most
    // `size` bytes into it.
    unsafe {
        let mut info: ::libc::proc_threadinfo = zeroed();
        let written = ::libc::proc_pidinfo(::libc::getpid(), ABOUT_THREAD, id, (&raw mut info).cast(), size);
        (written == size).then_some(info)
    }
}

/// A no-op: sleeps are precise without it.
pub(crate) fn sleep_precisely() {}
