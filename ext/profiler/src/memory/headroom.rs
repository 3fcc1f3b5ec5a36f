//! Refuses to copy the process if memory may not suffice: until the copy ends, pages that the original writes
//! exist twice.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

use profiler_core::text::units::bytes;

/// The largest resident memory of a process that is copied without `force`. The fork then takes about 0.2 s.
const MAX_RSS: u64 = 4 << 30;
/// The share of the resident memory that must be free in the cgroup.
const MIN_FREE_SHARE: f64 = 0.1;

/// Returns why a process of this resident memory should not be copied.
pub(super) fn refusal(rss: u64) -> Option<String> {
    const FORCE: &str = "force: true, or --force, overrides this";
    if rss > MAX_RSS {
        return Some(format!(
            "the process has {} of resident memory, and copying more than {} would pause it for too long ({FORCE})",
            bytes(rss),
            bytes(MAX_RSS)
        ));
    }
    let needed = (rss as f64 * MIN_FREE_SHARE) as u64;
    let left = left_in_cgroup().filter(|left| *left < needed)?;
    Some(format!(
        "{} of the memory limit of the cgroup are left, and a copy of the process may need {} ({FORCE})",
        bytes(left),
        bytes(needed)
    ))
}

/// Returns the bytes that are left below the memory limits of the cgroup. `None` without a limit.
fn left_in_cgroup() -> Option<u64> {
    let text = read_to_string("/proc/self/cgroup").ok()?;
    let groups = text.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        match (parts.next()?, parts.next()?) {
            ("", path) => Some(("/sys/fs/cgroup", path, "memory.max", "memory.current")),
            (controllers, path) if controllers.split(',').any(|it| it == "memory") => {
                Some(("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes"))
            }
            _ => None,
        }
    });
    groups.filter_map(|(root, path, limit, usage)| left(Path::new(root), path, limit, usage)).min()
}

/// Returns what is left in a group and in those around it.
fn left(root: &Path, path: &str, limit: &str, usage: &str) -> Option<u64> {
    let number =
        |group: &PathBuf, name: &str| read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
    let group = root.join(path.trim_start_matches('/'));
    let around = group.ancestors().take_while(|it| it.starts_with(root)).map(Path::to_path_buf);
    around.filter_map(|it| Some(number(&it, limit)?.saturating_sub(number(&it, usage)?))).min()
}
