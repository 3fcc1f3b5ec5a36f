//! The pure part of attaching to a process that has not loaded the profiler.
//!
//! This module makes no system calls; the crate `profiler` does. It finds symbols in the memory of another
//! process, and builds the code, the request and the signal frame that are written there. It supports only
//! x86-64 with glibc.

pub mod code;
pub mod frame;
pub mod request;
pub mod symbols;
pub mod waits;

/// The memory of another process.
pub trait RemoteMemory {
    /// Fills `into` with the bytes from `address` on. Returns false if some of them cannot be read.
    fn read(&self, address: u64, into: &mut [u8]) -> bool;

    /// Reads an array of bytes.
    fn bytes<const N: usize>(&self, address: u64) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.read(address, &mut bytes).then_some(bytes)
    }

    /// Reads a 4-byte number.
    fn u32(&self, address: u64) -> Option<u32> {
        self.bytes(address).map(u32::from_le_bytes)
    }

    /// Reads an 8-byte number.
    fn u64(&self, address: u64) -> Option<u64> {
        self.bytes(address).map(u64::from_le_bytes)
    }

    /// Reads a C string of at most `most` bytes. Replaces bytes that are not UTF-8.
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
