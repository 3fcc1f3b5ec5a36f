//! The kernel's files about a thread of this process (`/proc/self/task/*`).

use ::core::ffi::CStr;
use ::core::prelude::rust_2021::*;

/// Opens the file of that name. Returns `None` if the thread has ended, or there is no such file or no
/// descriptor to spare.
pub(super) fn open(native_id: i32, name: &CStr) -> Option<i32> {
    let mut path = [0_u8; 64];
    // SAFETY: the path is written with its terminating zero, within its length; the name ends with a zero.
    let fd = unsafe {
        let (to, format) = (path.as_mut_ptr().cast(), c"/proc/self/task/%d/%s".as_ptr());
        ::libc::snprintf(to, path.len(), format, native_id, name.as_ptr());
        ::libc::open(path.as_ptr().cast(), ::libc::O_RDONLY | ::libc::O_CLOEXEC)
    };
    (fd >= 0).then_some(fd)
}

/// Reads the beginning of the file of that name, as much as fits into `text`. Returns `None` as [`open`]
/// does.
pub(super) fn read<'text>(native_id: i32, name: &CStr, text: &'text mut [u8]) -> Option<&'text [u8]> {
    let fd = open(native_id, name)?;
    // SAFETY: the kernel writes at most as many bytes as there is space for; the descriptor was just opened,
    // and no other code knows it.
    let length = unsafe {
        let length = ::libc::read(fd, text.as_mut_ptr().cast(), text.len());
        ::libc::close(fd);
        length
    };
    text.get(..usize::try_from(length).ok()?)
}
