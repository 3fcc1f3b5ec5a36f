//! Files that are written as a whole or not at all, and directories that keep the newest files.
//!
//! Nothing here needs Ruby, so a process can store its last profile while other threads compute.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::error::Error;

/// The number of the error "Bad file descriptor", on Linux and macOS.
const EBADF: i32 = 9;

/// The age from which a temporary file no longer has a writer.
const ABANDONED: Duration = Duration::from_secs(600);

/// A file in a process that may close any descriptor, and may then open a file of its own by the same number,
/// which is neither written to nor closed.
#[derive(Debug)]
pub struct GuardedFile {
    /// `None` only while it is dropped.
    file: Option<File>,
    /// The device and the inode.
    identity: (u64, u64),
}

impl GuardedFile {
    /// Takes a file that was just opened.
    ///
    /// # Errors
    /// Returns the errors of the system.
    pub fn new(file: File) -> io::Result<Self> {
        let identity = identity(&file)?;
        Ok(Self { file: Some(file), identity })
    }

    fn ours(&self) -> io::Result<&File> {
        let file = self.file.as_ref().filter(|file| identity(file).is_ok_and(|found| found == self.identity));
        file.ok_or_else(|| io::Error::from_raw_os_error(EBADF))
    }
}

impl Write for GuardedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.ours()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.ours()?.flush()
    }
}

impl Drop for GuardedFile {
    fn drop(&mut self) {
        let is_ours = self.ours().is_ok();
        if let Some(file) = self.file.take().filter(|_| !is_ours) {
            let _ = file.into_raw_fd(); // it stays open
        }
    }
}

fn identity(file: &File) -> io::Result<(u64, u64)> {
    let found = file.metadata()?;
    Ok((found.dev(), found.ino()))
}

/// Writes a file under a temporary name, then moves it to `path`. After an error, `path` holds the old file
/// or none, and the temporary file is gone.
///
/// # Errors
/// Returns the errors of the system and of `write`.
pub fn replace(
    path: &Path,
    temporary: &Path,
    write: impl FnOnce(&mut GuardedFile) -> Result<(), Error>,
) -> Result<(), Error> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(temporary)?;
    let mut file = GuardedFile::new(file)?;
    let written = write(&mut file).and_then(|()| Ok(fs::rename(temporary, path)?));
    if written.is_err() {
        let _ = fs::remove_file(temporary); // report the first error
    }
    written
}

/// Creates the directory, only for its owner, if it is missing, and checks that no other user can write to
/// it.
///
/// # Errors
/// Returns the errors of the system. Returns [`Error::Directory`] for a link, or for a directory that belongs
/// to another user or that others can write to.
pub fn prepare(directory: &Path, user: u32) -> Result<(), Error> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory.parent().unwrap_or(directory))?;
            DirBuilder::new().mode(0o700).create(directory)?;
        }
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error.into()),
        _ => {}
    }
    let found = fs::symlink_metadata(directory)?;
    let wrong = match () {
        () if found.is_symlink() => "is a symbolic link",
        () if !found.is_dir() => "is not a directory",
        () if found.uid() != user => "belongs to another user",
        () if found.mode() & 0o022 != 0 => "is writable by others",
        () => return Ok(()),
    };
    Err(Error::Directory { path: directory.display().to_string(), wrong })
}

/// Removes profiles until `keep` are left, of which `newest` is always one, and temporary files whose writers
/// are gone. Other processes may do the same at the same time.
///
/// The oldest files are removed first. Files from the future are removed even before them, as the clock was
/// set back since.
///
/// # Errors
/// Returns the errors of the system if the directory cannot be read.
pub fn sweep(directory: &Path, keep: usize, newest: &OsStr) -> Result<(), Error> {
    let now = SystemTime::now();
    let mut profiles: Vec<(Option<SystemTime>, PathBuf)> = Vec::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == newest || !is_profile(name.as_encoded_bytes()) {
            continue;
        }
        let Ok(written) = entry.metadata().and_then(|it| it.modified()) else { continue };
        if !name.as_encoded_bytes().ends_with(b".tmp") {
            profiles.push((Some(written).filter(|it| *it <= now), entry.path()));
        } else if now.duration_since(written).is_ok_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(entry.path()); // ignore the error: another process was faster
        }
    }
    let extra = (profiles.len() + 1).saturating_sub(keep.max(1));
    profiles.sort_unstable();
    for (_, path) in profiles.into_iter().take(extra) {
        let _ = fs::remove_file(path); // ignore the error: another process was faster
    }
    Ok(())
}

/// Returns whether the profiler chose this name: `20261122T003012.123-4711-9f86d081.pb.gz`, or the temporary
/// name of such a file.
pub fn is_profile(name: &[u8]) -> bool {
    let mut parts = name.splitn(3, |byte| *byte == b'-');
    let (Some(time), Some(pid), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let digits = |bytes: &[u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit);
    let (Some(day), Some(milliseconds)) = (time.get(..15), time.get(16..)) else { return false };
    let (Some(number), Some(extension)) = (rest.get(..8), rest.get(9..)) else { return false };
    digits(&day[..8])
        && day[8] == b'T'
        && digits(&day[9..])
        && time[15] == b'.'
        && milliseconds.len() == 3
        && digits(milliseconds)
        && digits(pid)
        && number.iter().all(u8::is_ascii_hexdigit)
        && rest[8] == b'.'
        && !extension.is_empty()
        && extension.iter().all(|it| it.is_ascii_alphanumeric() || matches!(it, b'.' | b'_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("profiler-store-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).unwrap();
        path
    }

    fn put(directory: &Path, name: &str, age_seconds: i64) {
        let now = SystemTime::now();
        let age = Duration::from_secs(age_seconds.unsigned_abs());
        let time = if age_seconds < 0 { now + age } else { now - age };
        File::create(directory.join(name)).unwrap().set_modified(time).unwrap();
    }

    fn names(directory: &Path) -> Vec<String> {
        let all = fs::read_dir(directory).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = all.collect();
        names.sort();
        names
    }

    const OLD: &str = "20200101T000000.000-1-00000000.pb.gz";
    const OLDER: &str = "20290101T000000.000-1-00000000.pb.gz";
    const FUTURE: &str = "20210101T000000.000-1-00000000.pb.gz";
    const NEW: &str = "20190101T000000.000-1-00000000.pb.gz";

    #[test]
    fn the_newest_stays_and_the_oldest_goes_whatever_the_names_say() {
        let here = directory("order");
        for (name, age) in [(OLD, 50), (OLDER, 99), (FUTURE, -900), (NEW, 0), ("other.pb.gz", 999)] {
            put(&here, name, age);
        }
        sweep(&here, 3, OsStr::new(NEW)).unwrap();
        assert_eq!(names(&here), [NEW, OLD, OLDER, "other.pb.gz"]);
        sweep(&here, 2, OsStr::new(NEW)).unwrap();
        assert_eq!(names(&here), [NEW, OLD, "other.pb.gz"]);
        sweep(&here, 1, OsStr::new(NEW)).unwrap();
        assert_eq!(names(&here), [NEW, "other.pb.gz"]);
    }

    #[test]
    fn temporary_files_go_when_their_writers_are_gone() {
        let here = directory("temporary");
        let (left, fresh) = (format!("{OLD}.00000000.tmp"), format!("{NEW}.00000000.tmp"));
        put(&here, &left, 900);
        put(&here, &fresh, 9);
        put(&here, "other.tmp", 900);
        sweep(&here, 9, OsStr::new(NEW)).unwrap();
        assert_eq!(names(&here), [fresh.as_str(), "other.tmp"]);
    }

    #[test]
    fn a_file_that_is_not_finished_leaves_the_old_one() {
        let here = directory("replace");
        let (path, temporary) = (here.join("a"), here.join("a.tmp"));
        replace(&path, &temporary, |file| Ok(file.write_all(b"old")?)).unwrap();
        assert!(replace(&path, &temporary, |_| Err(Error::NotAProfile)).is_err());
        assert_eq!((names(&here), fs::read(&path).unwrap()), (vec!["a".to_string()], b"old".to_vec()));
    }

    #[test]
    fn names_of_others_are_not_ours() {
        assert!(is_profile(OLD.as_bytes()));
        for name in [
            "",
            "a",
            "20200101T000000.000-1-0000000.pb.gz",
            "20200101T000000.000-x-00000000.pb.gz",
            &OLD[1..],
            &OLD[..35],
            "2020-1-1",
        ] {
            assert!(is_profile(name.as_bytes()) == (name == &OLD[..35]), "{name}");
        }
    }
}
