//! Compression of what is sent.

use std::io::Write;

use flate2::{Compression, GzBuilder};

use crate::error::Error;

/// The level: half of the CPU time of the usual one, for a tenth more bytes.
const LEVEL: u32 = 2;

/// Compresses bytes. No time and no name is in the header: equal bytes stay equal.
///
/// # Errors
/// [`Error::Io`], which the encoder is free to have.
pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut packed = GzBuilder::new().mtime(0).write(Vec::new(), Compression::new(LEVEL));
    packed.write_all(bytes)?;
    Ok(packed.finish()?)
}
