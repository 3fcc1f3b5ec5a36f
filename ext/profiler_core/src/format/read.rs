//! The reader of all formats, which recognises the format by the bytes of the file.
//!
//! No part of a file is trusted. The size that it unpacks to, the memory that this takes, the depth of its
//! stacks and their sums are all bounded. A file beyond a bound results in an error that says so.

mod firefox;
mod folded;
mod json;
pub(super) mod page;
mod rperf;
mod speedscope;
mod stackprof;
mod texts;

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use super::pprof;
use crate::error::Error;
use crate::profile::Profile;

/// The maximum size that a file may unpack to. A profile of a million distinct stacks stays below. A larger
/// file is an accident or an attack, and a message in memory is many times as large as it is here.
pub const LIMIT_BYTES: u64 = 256 << 20;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// The version of Ruby's Marshal, with which a dump begins.
const MARSHAL_MAGIC: [u8; 2] = [4, 8];

/// Reads a profile, gzipped or not. It can be our own file or any other pprof, our own page, JSON of
/// speedscope, stackprof, vernier, rperf or the Firefox Profiler, or folded stacks.
///
/// # Errors
/// Returns an [`Error`] for each way in which the bytes can fail to be a profile that we can read.
pub fn read(bytes: &[u8]) -> Result<Profile, Error> {
    let unpacked;
    let bytes = if bytes.starts_with(&GZIP_MAGIC) {
        unpacked = unpack(bytes, LIMIT_BYTES)?;
        &unpacked
    } else if bytes.len() as u64 > LIMIT_BYTES {
        return Err(Error::TooLarge { limit: LIMIT_BYTES });
    } else {
        bytes
    };
    let text = text(bytes);
    if let Some(file) = text.map(page::file_in).transpose()?.flatten() {
        return pprof::read_unpacked(&unpack(&file, LIMIT_BYTES)?);
    }
    match text {
        None if bytes.starts_with(&MARSHAL_MAGIC) => Err(Error::StackprofDump),
        None => pprof::read_unpacked(bytes),
        Some(text) if is_json(text) => json::read(text),
        Some(text) => folded::read(text),
    }
}

/// Returns the bytes as text, if they are text. A message never is, because it contains small numbers.
fn text(bytes: &[u8]) -> Option<&str> {
    let control = |it: &u8| *it < b' ' && !matches!(it, b'\n' | b'\r' | b'\t');
    let empty = bytes.iter().all(u8::is_ascii_whitespace);
    if empty || bytes.iter().take(4_096).any(control) {
        return None;
    }
    let text = std::str::from_utf8(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).ok()?;
    Some(text)
}

/// Returns whether the text begins like a JSON object. A folded stack can begin with a brace too:
/// `{Bar, Foo}#baz` is a method of two classes.
fn is_json(text: &str) -> bool {
    let inside = text.trim_start().strip_prefix('{').map(str::trim_start);
    inside.is_some_and(|it| it.is_empty() || it.starts_with(['"', '}']))
}

pub(super) fn unpack(bytes: &[u8], limit: u64) -> Result<Vec<u8>, Error> {
    let mut unpacked = Vec::new();
    let read = MultiGzDecoder::new(bytes).take(limit + 1).read_to_end(&mut unpacked);
    match read {
        Ok(_) if unpacked.len() as u64 > limit => Err(Error::TooLarge { limit }),
        Ok(_) => Ok(unpacked),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(Error::Truncated),
        Err(error) => Err(Error::malformed(format!("it does not unpack ({error})"))),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use flate2::{Compression, GzBuilder};
    use std::io::Write;

    #[test]
    fn folded_stacks_may_begin_with_a_brace() {
        let profile = read(b"{Bar, Foo}#baz;Array#each 3\n").unwrap();
        assert_eq!(profile.functions.first().map(|it| it.name.as_str()), Some("{Bar, Foo}#baz"));
        for cut in ["{", " {\n", "{\"shared\"", "{ \"a\": 12"] {
            assert!(read(cut.as_bytes()).is_err(), "{cut}");
        }
    }

    #[test]
    fn what_is_no_profile_is_called_so() {
        let error = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
        for other in [
            "version: 1\nfl=shop.rb\n",
            "# Report\n\n| a 1\n| b\n",
            "puts 1\nx = y\n",
            "x 1\ny\n",
            "x = 1\ny = 2\n",
            "GET / 200 17\n",
        ] {
            assert!(error(other.as_bytes()).starts_with("not a profile: pprof, "), "{other}");
        }
        for stacks in [
            "work 3\n",
            "block in <main> 3\n(garbage collection) 1\n",
            "#<anonymous module>#a 1\n",
            "a b;c 1\n",
        ] {
            assert!(read(stacks.as_bytes()).is_ok(), "{stacks}");
        }
        assert_eq!(error(b"main;a 1\nmain;b\n"), "a damaged profile: line 2 has no number at its end");
        assert!(error(b"\x04\x08{\x07:\x0cversionf\x081.2").contains("stackprof --json FILE"));
    }

    #[test]
    fn unpacking_is_bounded() {
        let mut packed = GzBuilder::new().write(Vec::new(), Compression::best());
        packed.write_all(&[0; 100_000]).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(unpack(&packed, 100_000).unwrap().len(), 100_000);
        assert!(matches!(unpack(&packed, 99_999), Err(Error::TooLarge { limit: 99_999 })));
    }
}
