//! The request that the attacher writes into the memory of another process, and that both read from then on.

use std::sync::atomic::AtomicU32;

/// The first bytes of a request, with the version of its form.
pub const MAGIC: u64 = u64::from_le_bytes(*b"profatt1");
/// The function of our library that the job calls.
pub const FUNCTION: &str = "profiler_attach";
/// The longest message, with its final zero.
pub const MESSAGE_BYTES: usize = 168;

/// The offset of [`Request::state`].
pub const STATE: usize = 16;
/// The offset of [`Request::message`].
pub const MESSAGE: usize = 24;
/// The offset of [`Request::name`].
pub const NAME: usize = MESSAGE + MESSAGE_BYTES;
/// The offset of the paths of the library and of the script, which end with zeros.
pub const PATHS: usize = NAME + 16;

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// Nobody wants it any more, or yet.
    Idle = 0,
    /// The job is to do it.
    Wanted = 1,
    /// The job runs.
    Taken = 2,
    /// A Ruby thread loads the profiler.
    Loading = 3,
    /// The control socket is open.
    Done = 4,
    /// It failed; the message says why.
    Failed = 5,
    /// The library could not be loaded.
    NotLoaded = 6,
}

impl State {
    /// All states, by their number.
    pub const ALL: [Self; 7] =
        [Self::Idle, Self::Wanted, Self::Taken, Self::Loading, Self::Done, Self::Failed, Self::NotLoaded];

    /// Returns the state with that number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.get(number as usize).copied()
    }
}

/// The fixed part of a request.
#[derive(Debug)]
#[repr(C)]
pub struct Request {
    /// [`MAGIC`].
    pub magic: u64,
    /// The time after which it is no longer wanted, on the monotonic clock.
    pub deadline_ns: u64,
    /// The number of a [`State`].
    pub state: AtomicU32,
    /// The process that it is for, in its own namespace. A forked child has a copy of the request.
    pub pid: u32,
    /// The reason for [`State::Failed`].
    pub message: [u8; MESSAGE_BYTES],
    /// [`FUNCTION`].
    pub name: [u8; 16],
}

/// Returns the bytes of a request that is idle. Returns `None` if a path contains a zero.
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
            [offset_of!(Request, state), offset_of!(Request, message), offset_of!(Request, name)],
            [STATE, MESSAGE, NAME]
        );
        assert_eq!((offset_of!(Request, pid), size_of::<Request>()), (20, PATHS));
        let bytes = bytes(7, b"/a.so", b"/b.rb").unwrap();
        assert_eq!(bytes.get(PATHS..).unwrap(), b"/a.so\0/b.rb\0");
        assert_eq!(super::bytes(7, b"/a\0b", b""), None);
        assert_eq!(State::from_number(6), Some(State::NotLoaded));
        assert_eq!(State::from_number(7), None);
    }
}
