//! The time for which the kernel kept this process from a CPU, by the kernel's own count.
//!
//! Each native thread has its run delay in `/proc/self/task/*/schedstat`: it could run, and others had the CPU. The cgroup has the time
//! for which its quota was used up in `cpu.stat`, which its threads share.

use std::fs;
use std::path::PathBuf;

use crate::threads;

/// The most threads whose run delay is read, as each takes some 10 us.
const MAX_THREADS: usize = 256;

/// Readings since the threads and the cgroup began.
#[derive(Clone, Debug)]
pub(crate) struct CpuWaits {
    /// The run delay of each Ruby thread by its native id, ns; nothing where threads are too many.
    delays: Option<Vec<(i32, u64)>>,
    throttled_ns: Option<u64>,
}

impl CpuWaits {
    /// The readings now.
    pub(crate) fn now() -> Self {
        let few = threads::live().nth(MAX_THREADS).is_none();
        Self { delays: few.then(run_delays), throttled_ns: throttled_ns() }
    }

    /// The readings of a child that was just forked: its own thread has not waited yet. Nothing is read there.
    pub(crate) fn of_child() -> Self {
        Self { delays: Some(Vec::new()), throttled_ns: None }
    }

    /// The run delay of the threads that live now, and the throttling, since `earlier`, ns.
    pub(crate) fn since(&self, earlier: &Self) -> (u64, u64) {
        let delays = self.delays.as_ref().zip(earlier.delays.as_ref()).map_or(0, |(now, then)| {
            let before = |id: i32| then.iter().find(|it| it.0 == id).map_or(0, |it| it.1);
            now.iter().map(|it| it.1.saturating_sub(before(it.0))).sum()
        });
        let throttled = self.throttled_ns.zip(earlier.throttled_ns);
        (delays, throttled.map_or(0, |(now, then)| now.saturating_sub(then)))
    }
}

fn run_delays() -> Vec<(i32, u64)> {
    threads::live().filter_map(|state| Some((state.native_id(), run_delay(state.native_id())?))).collect()
}

fn run_delay(native_id: i32) -> Option<u64> {
    // A thread may end meanwhile.
    let counts = fs::read_to_string(format!("/proc/self/task/{native_id}/schedstat")).ok()?;
    counts.split(' ').nth(1)?.parse().ok()
}

fn throttled_ns() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    own.lines().flat_map(places).find_map(|place| throttled(&fs::read_to_string(place).ok()?))
}

/// The files that may have the throttling of a line of `/proc/self/cgroup`. A container may see its own cgroup as the root.
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

/// The time in the text of a `cpu.stat`: in microseconds in version 2 of cgroups, in nanoseconds before.
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
