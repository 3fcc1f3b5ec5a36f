//! Files, as bytes: any that can be read, all that can be written. All of this runs without the GVL.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::Arc;
use std::time::Duration;

use flate2::{Compression, GzBuilder};
use magnus::{prelude::*, Error, Exception, RClass, RHash, RString, Ruby};
use profiler_core::error::Error as CoreError;
use profiler_core::format::{self, Format, Options};
use profiler_core::profile::Profile as CoreProfile;
use profiler_core::store::{self, GuardedFile};

use crate::api::profile::{options, Profile};
use crate::errors::core_error;
use crate::sys::{clock, sigprof};
use crate::vm::strings::FilePath;
use crate::vm::without_gvl::{without_gvl, Abandoned};

/// The longest time that removing an unfinished file may take from the app.
const TIDYING: Duration = Duration::from_millis(100);

/// The name of the thread that removes it.
const THREAD: &str = "profiler work";

impl Profile {
    /// Implements `Native.parse(bytes)`: reads any file that can be read.
    pub(super) fn parse(ruby: &Ruby, bytes: RString) -> Result<Self, Error> {
        // SAFETY: the bytes are copied immediately, before any Ruby code runs.
        let bytes = unsafe { bytes.as_slice() }.to_vec();
        let read = without_gvl(ruby, move |_| format::read(&bytes))?;
        read.map(Self::new).map_err(|reason| core_error(ruby, &reason))
    }

    /// Implements `profile._report(options)`: returns the report for people, by functions or by a label.
    /// Takes `type limit sort_total color by`.
    pub(super) fn report(ruby: &Ruby, rb_self: &Self, options: RHash) -> Result<String, Error> {
        let bytes = Content::new(ruby, rb_self, Format::Text, options)?.bytes(ruby)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Implements `profile._write(format, options)`: returns the bytes of a file; `gzip: true` packs them.
    pub(super) fn write(ruby: &Ruby, rb_self: &Self, name: String, options: RHash) -> Result<RString, Error> {
        let format = Format::from_name(&name).map_err(|reason| core_error(ruby, &reason))?;
        let bytes = Content::new(ruby, rb_self, format, options)?.bytes(ruby)?;
        Ok(ruby.str_from_slice(&bytes))
    }

    /// Implements `profile._write_file(path, format, options)`: writes the profile into a device or pipe,
    /// without holding all of it in memory. With `replace: true` it writes a file, which is replaced as a
    /// whole. With `keep: number`, the directory is checked before, and this number of the newest profiles
    /// stays in it.
    pub(super) fn write_file(
        ruby: &Ruby,
        rb_self: &Self,
        path: FilePath,
        name: String,
        options: RHash,
    ) -> Result<(), Error> {
        let format = Format::from_name(&name).map_err(|reason| core_error(ruby, &reason))?;
        let content = Content::new(ruby, rb_self, format, options)?;
        let keep: Option<usize> = options::option(ruby, options, "keep")?;
        let temporary = options::flag(ruby, options, "replace")?.then(|| temporary(&path.0));
        let unfinished = temporary.clone();
        let process = std::process::id();
        let written = without_gvl(ruby, move |abandoned| {
            let write = |file: &mut GuardedFile| {
                let mut out = BufWriter::with_capacity(1 << 16, Watched { out: file, abandoned });
                content.write(&mut out)?;
                Ok(out.flush()?)
            };
            let path = path.0;
            let Some(temporary) = temporary else {
                return write(&mut GuardedFile::new(File::options().write(true).open(path)?)?);
            };
            let Some((keep, directory)) = keep.zip(path.parent()) else {
                return store::replace(&path, &temporary, write);
            };
            store::prepare(directory, effective_user())?;
            store::replace(&path, &temporary, write)?;
            store::sweep(directory, keep, path.file_name().unwrap_or_default())
        });
        if written.is_err() && std::process::id() == process {
            remove_soon(unfinished);
        }
        written?.map_err(|reason| file_error(ruby, &reason))
    }
}

/// Returns a unique name beside that of a file.
fn temporary(path: &Path) -> PathBuf {
    static LAST: AtomicU32 = AtomicU32::new(0);
    let number =
        (std::process::id() ^ clock::realtime_ns() as u32).wrapping_add(LAST.fetch_add(1, Ordering::Relaxed));
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number:08x}.tmp"));
    name.into()
}

/// Removes an abandoned file, on a thread, as a disk may not answer.
fn remove_soon(path: Option<PathBuf>) {
    let Some(path) = path else { return };
    let (done, wait) = std::sync::mpsc::channel();
    let remove = move || {
        let _ = std::fs::remove_file(path); // its writer has done it, or will
        let _ = done.send(());
    };
    if sigprof::without_signals(|| std::thread::Builder::new().name(THREAD.into()).spawn(remove)).is_ok() {
        let _ = wait.recv_timeout(TIDYING);
    }
}

/// Implements `Native.prepare_directory(path)`: creates the directory if it is missing, and checks that it is
/// safe.
pub(super) fn prepare_directory(ruby: &Ruby, path: FilePath) -> Result<(), Error> {
    let prepared = without_gvl(ruby, move |_| store::prepare(&path.0, effective_user()))?;
    prepared.map_err(|reason| file_error(ruby, &reason))
}

fn effective_user() -> u32 {
    // SAFETY: reads a number and cannot fail.
    unsafe { libc::geteuid() }
}

/// The contents of a file.
struct Content {
    profile: Arc<CoreProfile>,
    format: Format,
    options: Options,
    gzip: bool,
}

impl Content {
    fn new(ruby: &Ruby, profile: &Profile, format: Format, hash: RHash) -> Result<Self, Error> {
        let options = options::of_formats(ruby, &profile.core, hash)?;
        let gzip = options::flag(ruby, hash, "gzip")?;
        Ok(Self { profile: Arc::clone(&profile.core), format, options, gzip })
    }

    fn write(&self, out: &mut dyn Write) -> Result<(), CoreError> {
        if !self.gzip {
            return format::write_with(self.format, &self.profile, &self.options, out);
        }
        let mut packed = GzBuilder::new().mtime(0).write(out, Compression::fast());
        format::write_with(self.format, &self.profile, &self.options, &mut packed)?;
        packed.finish()?;
        Ok(())
    }

    /// Returns all of it in memory.
    fn bytes(self, ruby: &Ruby) -> Result<Vec<u8>, Error> {
        let bytes = without_gvl(ruby, move |abandoned| {
            let mut out = Watched { out: Vec::new(), abandoned };
            self.write(&mut out).map(|()| out.out)
        })?;
        bytes.map_err(|reason| file_error(ruby, &reason))
    }
}

/// A writer that stops once no caller waits for its work any more.
struct Watched<'work, W> {
    out: W,
    abandoned: &'work Abandoned,
}

impl<W: Write> Write for Watched<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.abandoned.is_set() {
            // No caller sees this error. `Interrupted` would be tried again.
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns the exception for an error of the system about a file: a SystemCallError, as from Ruby's own
/// methods.
fn file_error(ruby: &Ruby, reason: &CoreError) -> Error {
    let CoreError::Io(io) = reason else { return core_error(ruby, reason) };
    let Some(number) = io.raw_os_error() else { return core_error(ruby, reason) };
    let class = ruby.class_object().const_get::<_, RClass>("SystemCallError");
    let created = class.and_then(|it| it.funcall::<_, _, Exception>("new", (ruby.qnil(), number)));
    created.map_or_else(|error| error, Error::from)
}
