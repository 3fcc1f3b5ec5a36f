//! Joining a process that has not loaded us: what is written into it, and where.
//!
//! This folder only computes: it finds symbols in the memory of another process, and builds the code, the
//! request and the signal frame. The crate `profiler` has the system calls. Everything here is for x86-64 and
//! glibc.

pub mod code;
pub mod frame;
pub mod request;
pub mod symbols;
pub mod waits;

/// The memory of another process.
pub trait Memory {
    /// Fills `into` from `address`. Returns false if not all of it can be read.
    fn read(&self, address: u64, into: &mut [u8]) -> bool;

    /// Reads an array of bytes.
    fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes).then_some(bytes)
    }

    /// Reads a number of 4 bytes.
    fn u32(&self, address: u64) -> Option<u32> {
        self.bytes(address).map(u32::from_le_bytes)
    }

    /// Reads a number of 8 bytes.
    fn u64(&self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_le_bytes)
    }

    /// Reads a C string of at most `most` bytes. Bytes that are not UTF-8 are replaced.
    fn text(&self, address: u64, most: usize) -> Option<String> {
        let mut bytes = Vec::new();
        while bytes.len() < most {
            let [byte] = self.bytes(address + bytes.len() as u64)?;
            if byte == 0 {
                return Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            bytes.push(byte);
        }
        None
    }
}
