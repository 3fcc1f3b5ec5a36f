//! Threads that ended while sessions ran: the most recent ones one by one, older ones folded into one group
//! for each name.
//!
//! A process may start threads for weeks, and each has rows and a name. `Timeout.timeout` of Ruby 3.1 starts
//! one in each call.
//!
//! The last 256 threads that ended stay separate. Older ones are folded, 256 at once, unless a session keeps
//! a timeline. With 80,000 threads of one name on Ruby 3.1, RSS grew by 0.5 MB between 20,000 and 80,000
//! threads, where it had grown by 14 MB without folding.

use std::collections::VecDeque;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::ThreadId;
use crate::profile::Thread;

/// The number of threads that are folded at once. As many stay separate.
pub(crate) const FOLDED_AT_ONCE: usize = 256;

/// The number of names that groups may have. Further threads belong to the group without a name.
const MAX_GROUPS: usize = 256;

/// The new ids of folded threads.
pub(crate) type Folded = HashMap<ThreadId, ThreadId, FxBuildHasher>;

/// The threads that ended while sessions ran, and the groups of those that were folded.
#[derive(Debug, Default)]
pub(crate) struct EndedThreads {
    recent: VecDeque<(ThreadId, Thread)>,
    /// The groups in the order of their ids.
    groups: Vec<Thread>,
    by_name: HashMap<String, ThreadId, FxBuildHasher>,
}

impl EndedThreads {
    /// Adds a thread that has ended.
    pub(crate) fn push(&mut self, thread: ThreadId, info: Thread) {
        self.recent.push_back((thread, info));
    }

    /// Returns whether there are enough threads to fold some.
    pub(crate) fn are_many(&self) -> bool {
        self.recent.len() >= 2 * FOLDED_AT_ONCE
    }

    /// Folds the threads that ended first, and returns the group of each.
    pub(crate) fn fold(&mut self) -> Folded {
        let oldest: Vec<_> = self.recent.drain(..FOLDED_AT_ONCE.min(self.recent.len())).collect();
        oldest.into_iter().map(|(thread, info)| (thread, self.group(&info.name))).collect()
    }

    /// Iterates over the threads and groups, with their names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ThreadId, &Thread)> {
        let groups = self.groups.iter().enumerate().map(|(place, info)| (group_id(place), info));
        self.recent.iter().map(|(thread, info)| (*thread, info)).chain(groups)
    }

    fn group(&mut self, name: &str) -> ThreadId {
        let name = if self.by_name.contains_key(name) || self.groups.len() < MAX_GROUPS { name } else { "" };
        if let Some(id) = self.by_name.get(name) {
            return *id;
        }
        let id = group_id(self.groups.len());
        let called = if name.is_empty() { "(ended threads)".to_owned() } else { format!("{name} (ended)") };
        self.groups.push(Thread { native_id: 0, name: called });
        self.by_name.insert(name.to_owned(), id);
        id
    }
}

/// Returns the id of a group. Threads are numbered from the other end, and a process does not live long
/// enough to start 4 billion of them.
fn group_id(place: usize) -> ThreadId {
    ThreadId(u32::MAX - u32::try_from(place).unwrap_or(u32::MAX))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn thread(name: &str) -> Thread {
        Thread { native_id: 7, name: name.into() }
    }

    #[test]
    fn the_older_half_is_folded_by_name() {
        let mut ended = EndedThreads::default();
        for id in 0..2 * FOLDED_AT_ONCE as u32 {
            assert!(!ended.are_many());
            ended.push(ThreadId(id), thread(if id % 2 == 0 { "" } else { "worker" }));
        }
        assert!(ended.are_many());
        let folded = ended.fold();
        assert_eq!(folded.len(), FOLDED_AT_ONCE);
        assert_eq!([folded[&ThreadId(0)], folded[&ThreadId(1)]], [group_id(0), group_id(1)]);
        assert!(folded.iter().all(|(thread, group)| *group == folded[&ThreadId(thread.0 % 2)]));
        let names: Vec<_> = ended.iter().map(|(id, info)| (id, info.name.as_str())).collect();
        assert_eq!(names.len(), FOLDED_AT_ONCE + 2);
        assert_eq!(names[0], (ThreadId(FOLDED_AT_ONCE as u32), ""));
        assert_eq!(
            names[FOLDED_AT_ONCE..],
            [(group_id(0), "(ended threads)"), (group_id(1), "worker (ended)")]
        );
    }

    #[test]
    fn names_are_bounded() {
        let mut ended = EndedThreads::default();
        for id in 0..10 * MAX_GROUPS as u32 {
            ended.push(ThreadId(id), thread(&format!("job {id}")));
            if ended.are_many() {
                ended.fold();
            }
        }
        assert!(ended.iter().count() <= 2 * FOLDED_AT_ONCE + MAX_GROUPS + 1);
        assert!(ended.iter().any(|(_, info)| info.name == "(ended threads)"));
    }
}
