//! The request that an attacher writes into the memory of another process, through which the two communicate.

use std::sync::atomic::AtomicU32;

/// The first bytes of a request, which include the version of its layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"profatt1");
/// The function of our library that the Ruby thread calls.
pub const FUNCTION: &str = "profiler_attach";
/// The maximum length of a message in bytes, including the terminating zero.
pub const MESSAGE_BYTES: usize = 168;

/// The offset of [`AttachRequest::state`].
pub const STATE: usize = 16;
/// The offset of [`AttachRequest::message`].
pub const MESSAGE: usize = 24;
/// The offset of [`AttachRequest::name`].
pub const NAME: usize = MESSAGE + MESSAGE_BYTES;
/// The offset of the paths of the library and of the script, each of which ends with a zero.
pub const PATHS: usize = NAME + 16;

/// The progress of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Progress {
    /// Not requested yet, or withdrawn.
    Idle = 0,
    /// Requested: the job should start.
    Wanted = 1,
    /// The job has started.
    Taken = 2,
    /// The Ruby thread is loading the profiler.
    Loading = 3,
    /// The control socket is open.
    Done = 4,
    /// Failed for the reason in the message.
    Failed = 5,
    /// The library could not be loaded.
    NotLoaded = 6,
}

impl Progress {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Idle, Self::Wanted, Self::Taken, Self::Loading, Self::Done, Self::Failed, Self::NotLoaded];

    /// Returns the state with a number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

/// The part of a request whose size is fixed.
#[derive(Debug)]
#[repr(C)]
pub struct AttachRequest {
    /// The constant [`MAGIC`].
    pub magic: u64,
    /// The time on the monotonic clock after which the request is void.
    pub deadline_ns: u64,
    /// The number of a [`Progress`].
    pub state: AtomicU32,
    /// The id of the process, in its own namespace. It tells the process from a forked child, which inherits
    /// a copy of the request.
    pub pid: u32,
    /// The reason for [`Progress::Failed`].
    pub message: [u8; MESSAGE_BYTES],
    /// The constant [`FUNCTION`].
    pub name: [u8; 16],
}

/// Returns the bytes of an idle request. Returns `None` if a path contains a zero.
#[must_use]
pub fn bytes(pid: u32, library: &[u8], script: &[u8]) -> Option<Vec<u8>> {
    if library.contains(&0) || script.contains(&0) {
        return None;
    }
    let mut bytes = vec![0; PATHS];
    bytes.get_mut(..8)?.copy_from_slice(&MAGIC.to_le_bytes());
    bytes.get_mut(20..24)?.copy_from_slice(&pid.to_le_bytes());
    bytes.get_mut(NAME..NAME + FUNCTION.len())?.copy_from_slice(FUNCTION.as_bytes());
    for path in [library, script] {
        bytes.extend_from_slice(path);
        bytes.push(0);
    }
    Some(bytes)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn is_laid_out_as_the_code_expects() {
        assert_eq!(
            [
                offset_of!(AttachRequest, state),
                offset_of!(AttachRequest, message),
                offset_of!(AttachRequest, name)
            ],
            [STATE, MESSAGE, NAME]
        );
        assert_eq!((offset_of!(AttachRequest, pid), size_of::<AttachRequest>()), (20, PATHS));
        let bytes = bytes(7, b"/a.so", b"/b.rb").unwrap();
        assert_eq!(bytes.get(PATHS..).unwrap(), b"/a.so\0/b.rb\0");
        assert_eq!(super::bytes(7, b"/a\0b", b""), None);
        assert_eq!(Progress::from_number(6), Some(Progress::NotLoaded));
        assert_eq!(Progress::from_number(7), None);
    }
}
