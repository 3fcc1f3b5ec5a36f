//! The kernel's count of the time for which a thread was ready to run and had no CPU
//! (`/proc/self/task/*/schedstat`).

use ::core::mem::MaybeUninit;
use ::core::prelude::rust_2021::*;

use super::task_file;

/// Opens the counts of a thread of this process. Returns the descriptor, and the identity of the file: the
/// app may close the descriptor, and open another file under the same number.
///
/// Returns `None` if the kernel does not keep them, the thread has ended, or there is no descriptor to spare.
pub(crate) fn open(native_id: i32) -> Option<(i32, u64)> {
    let fd = task_file::open(native_id, c"schedstat")?;
    match identity_of(fd) {
        Some(identity) => Some((fd, identity)),
        None => {
            // SAFETY: the descriptor was just opened, and no other code knows it.
            unsafe { ::libc::close(fd) };
            None
        }
    }
}

/// Returns the run delay of the thread that the counts belong to, in nanoseconds. Returns `None` if it has
/// ended, or the descriptor is that of another file.
///
/// # Signal safety
/// A system call that does not block. Reading another file by mistake moves no position in it.
pub(crate) fn read(fd: i32) -> Option<u64> {
    let mut text = [0_u8; 64];
    // SAFETY: the kernel writes at most as many bytes as there is space for.
    let length = unsafe { ::libc::pread(fd, text.as_mut_ptr().cast(), text.len(), 0) };
    let text = text.get(..usize::try_from(length).ok()?)?;
    second_number(text)
}

/// Closes the counts, if the descriptor still refers to the file that was opened.
pub(crate) fn close(fd: i32, identity: u64) {
    if identity_of(fd) == Some(identity) {
        // SAFETY: this is the file that `open` opened, and the caller is the only one to close it.
        unsafe { ::libc::close(fd) };
    }
}

/// Returns the device and the number of a file, mixed.
fn identity_of(fd: i32) -> Option<u64> {
    let mut stat = MaybeUninit::<::libc::stat>::uninit();
    // SAFETY: the kernel fills the struct if it returns 0, and only then it is read.
    let stat = unsafe {
        if ::libc::fstat(fd, stat.as_mut_ptr()) != 0 {
            return None;
        }
        stat.assume_init()
    };
    Some((stat.st_dev as u64).rotate_left(40) ^ stat.st_ino as u64)
}

/// Returns the second of three decimal numbers, as the kernel prints them.
fn second_number(text: &[u8]) -> Option<u64> {
    let mut words = text.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let (_, word) = (words.next()?, words.next()?);
    word.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}
