//! Files, as bytes: any that can be read, all that can be written.

use std::fs::File;
use std::io::{BufWriter, Write};

use flate2::{Compression, GzBuilder};
use magnus::{prelude::*, Error, Exception, RClass, RHash, RString, Ruby};
use profiler_core::error::Error as CoreError;
use profiler_core::format::{self, Format};

use super::{options, Profile};
use crate::errors::core_error;

impl Profile {
    /// `Profile._parse(bytes)`: any file that can be read.
    pub(super) fn parse(ruby: &Ruby, bytes: RString) -> Result<Self, Error> {
        // SAFETY: nothing of Ruby runs while the slice is read.
        let bytes = unsafe { bytes.as_slice() };
        format::read(bytes).map(Self).map_err(|reason| core_error(ruby, &reason))
    }

    /// `profile._write(format, options)`: the bytes of a file; `gzip: true` packs them.
    pub(super) fn write(ruby: &Ruby, rb_self: &Self, name: String, options: RHash) -> Result<RString, Error> {
        let mut bytes = Vec::new();
        rb_self.write_to(ruby, &name, options, &mut bytes)?;
        Ok(ruby.str_from_slice(&bytes))
    }

    /// `profile._write_file(path, format, options)`: the same into a file that is there already, without all of it in memory.
    pub(super) fn write_file(
        ruby: &Ruby,
        rb_self: &Self,
        path: String,
        name: String,
        options: RHash,
    ) -> Result<(), Error> {
        let io = |reason: std::io::Error| file_error(ruby, &reason.into());
        let mut file = BufWriter::with_capacity(1 << 16, File::options().write(true).open(path).map_err(io)?);
        rb_self.write_to(ruby, &name, options, &mut file)?;
        file.flush().map_err(io)
    }

    fn write_to(&self, ruby: &Ruby, name: &str, options: RHash, out: &mut dyn Write) -> Result<(), Error> {
        let said = options::of_formats(ruby, &self.0, options)?;
        let gzip = options::flag(ruby, options, "gzip")?;
        let written = Format::from_name(name).and_then(|format| {
            if !gzip {
                return format::write_with(format, &self.0, &said, out);
            }
            let mut packed = GzBuilder::new().mtime(0).write(out, Compression::fast());
            format::write_with(format, &self.0, &said, &mut packed)?;
            packed.finish()?;
            Ok(())
        });
        written.map_err(|reason| file_error(ruby, &reason))
    }
}

/// What the system says about a file is a SystemCallError, as from Ruby's own methods.
fn file_error(ruby: &Ruby, reason: &CoreError) -> Error {
    let CoreError::Io(io) = reason else { return core_error(ruby, reason) };
    let Some(number) = io.raw_os_error() else { return core_error(ruby, reason) };
    let class = ruby.class_object().const_get::<_, RClass>("SystemCallError");
    let made = class.and_then(|it| it.funcall::<_, _, Exception>("new", (ruby.qnil(), number)));
    made.map_or_else(|error| error, Error::from)
}
