//! The time for which the kernel kept this process from a CPU, by the kernel's own count.
//!
//! The run delay of each thread is in `/proc/self/task/*/schedstat`: the time for which it could run, but
//! others had the CPU. The time for which the quota of the cgroup was used up is in `cpu.stat`, and its
//! threads share it. Both require reading files, so the collector takes the first readings of a session, and
//! a session that ends before that has none.

use std::fs;
use std::path::PathBuf;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::engine::ticker;
use crate::sampler::readings::COLLECTOR_ID;
use crate::threads::own;

/// The largest number of threads whose run delay is read, as each takes about 10 us.
const MAX_THREADS: usize = 64;

/// The readings of a session.
#[derive(Clone, Debug)]
pub(crate) enum CpuWaits {
    /// The session does not cover the whole process, or was paused.
    NotAsked,
    /// The collector will take the first readings.
    Asked,
    /// Readings at the start of the present part of the session. The kernel counts since the threads and the
    /// cgroup began.
    Since(WaitReadings),
}

/// Readings of the run delays and the throttling, for [`CpuWaits::Since`].
#[derive(Clone, Debug)]
pub(crate) struct WaitReadings {
    /// The run delay of each native thread in nanoseconds; `None` if one could not be read, or there are too
    /// many.
    delays: Option<Vec<(i32, u64)>>,
    throttled_ns: Option<u64>,
}

impl WaitReadings {
    pub(super) fn now() -> Self {
        Self { delays: run_delays(), throttled_ns: throttled_ns() }
    }

    /// Returns the run delay of the threads that live now, and the throttling, since `earlier`, in
    /// nanoseconds.
    fn since(&self, earlier: &Self) -> (u64, u64) {
        let delays = self.delays.as_ref().zip(earlier.delays.as_ref()).map_or(0, |(now, then)| {
            let before = |id: i32| then.iter().find(|it| it.0 == id).map_or(0, |it| it.1);
            now.iter().map(|it| it.1.saturating_sub(before(it.0))).sum()
        });
        let throttled = self.throttled_ns.zip(earlier.throttled_ns);
        (delays, throttled.map_or(0, |(now, then)| now.saturating_sub(then)))
    }
}

impl CpuWaits {
    /// Returns the run delay and the throttling since the first readings, in nanoseconds, and the value with
    /// which the next part of the session begins.
    pub(super) fn rotate(&self) -> ((u64, u64), Self) {
        match self {
            Self::Since(then) => {
                let now = WaitReadings::now();
                (now.since(then), Self::Since(now))
            }
            other => ((0, 0), other.clone()),
        }
    }

    /// Returns the value for a child that was just forked: its thread has not waited yet. This reads no file.
    pub(super) fn of_child(&self) -> Self {
        match self {
            Self::NotAsked => Self::NotAsked,
            _ => Self::Since(WaitReadings { delays: Some(Vec::new()), throttled_ns: None }),
        }
    }
}

/// Returns the run delays of all native threads except our own.
fn run_delays() -> Option<Vec<(i32, u64)>> {
    let mut delays = Vec::new();
    for task in fs::read_dir("/proc/self/task").ok()?.take(MAX_THREADS + 1) {
        let task = task.ok()?;
        let id = task.file_name().to_str()?.parse().ok()?;
        if id == COLLECTOR_ID.load(Ordering::Relaxed) || id == ticker::native_id() || own::has(id) {
            continue;
        }
        match fs::read_to_string(task.path().join("schedstat")) {
            Ok(counts) => delays.push((id, counts.split(' ').nth(1)?.parse().ok()?)),
            // A thread may end meanwhile.
            Err(failure) if failure.kind() == std::io::ErrorKind::NotFound => {}
            Err(failure) if failure.raw_os_error() == Some(libc::ESRCH) => {}
            Err(_) => return None,
        }
    }
    (delays.len() <= MAX_THREADS).then_some(delays)
}

fn throttled_ns() -> Option<u64> {
    /// The file with the throttling, once it was searched for; leaked. A process seldom moves to another
    /// cgroup. This is not a `OnceLock`: a child that is forked while the collector searches would wait for
    /// that for ever.
    static PLACE: AtomicPtr<Option<PathBuf>> = AtomicPtr::new(null_mut());
    let read = |place: &PathBuf| throttled(&fs::read_to_string(place).ok()?);
    // Acquire pairs with the Release below.
    // SAFETY: the pointer is null, or was leaked.
    if let Some(place) = unsafe { PLACE.load(Ordering::Acquire).as_ref() } {
        return place.as_ref().and_then(read);
    }
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let place = own.lines().flat_map(places).find(|place| read(place).is_some());
    let throttled_ns = place.as_ref().and_then(read);
    let found = Box::into_raw(Box::new(place));
    // This is an exchange, as LLVM 19 turns a pointer that is only stored into a flag, and then cannot
    // compile its own load.
    if PLACE.compare_exchange(null_mut(), found, Ordering::Release, Ordering::Relaxed).is_err() {
        // SAFETY: the box is ours, and was not stored.
        drop(unsafe { Box::from_raw(found) });
    }
    throttled_ns
}

/// Returns the files that may have the throttling, for a line of `/proc/self/cgroup`. A container may see its
/// own cgroup as the root.
fn places(line: &str) -> Vec<PathBuf> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { return Vec::new() };
    let mounts: &[&str] = match controllers {
        "" => &["", "unified"],
        _ if controllers.split(',').any(|it| it == "cpu") => &["cpu", "cpu,cpuacct"],
        _ => &[],
    };
    let place = |mount: &&str, path: &str| PathBuf::from(format!("/sys/fs/cgroup/{mount}{path}/cpu.stat"));
    mounts.iter().flat_map(|mount| [place(mount, path), place(mount, "")]).collect()
}

/// Returns the time from the text of a `cpu.stat`: it is in microseconds in version 2 of cgroups, in
/// nanoseconds before.
fn throttled(text: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let (name, number) = line.split_once(' ')?;
        let number: u64 = number.trim().parse().ok()?;
        match name {
            "throttled_usec" => Some(number.saturating_mul(1_000)),
            "throttled_time" => Some(number),
            _ => None,
        }
    })
}
