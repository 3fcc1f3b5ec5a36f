//! Idle threads: those that only wait, for work that others have or for the end of others. They are not slow.

use std::collections::{BTreeMap, BTreeSet};

use super::sites::Sites;
use super::wait_cause::Cause;
use crate::ids::FunctionId;
use crate::profile::{Note, Profile, Sample, SampleType};
use crate::record::State;

/// A thread is idle in a wait that is more than this part of its wall clock.
const MOST_OF_A_LIFE: f64 = 0.95;
/// A thread with less than this part of the profile's time ended, or is in the profile only for some requests.
const WHOLE_LIFE: f64 = 0.5;
/// Where all other threads together were busy for less than this part of the time, waiting was what the program did.
const NOBODY_BUSY: f64 = 0.05;

/// The idle waits of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// By row: whether it is one.
    rows: Vec<bool>,
    /// The number of threads that were idle in a wait.
    pub threads: u64,
    /// The wall clock time of all these waits, ns.
    pub wall_ns: u64,
}

impl Idle {
    /// Whether the row at `index` is an idle wait.
    #[must_use]
    pub fn has(&self, index: usize) -> bool {
        self.rows.get(index).copied().unwrap_or(false)
    }
}

/// A wait of a thread at one place.
#[derive(Default)]
struct Wait {
    rows: Vec<usize>,
    wall_ns: u64,
    /// Whether code of the app waits.
    in_app: bool,
    for_work: bool,
    is_main: bool,
}

/// The idle waits of `profile`, where wall clock time was measured.
///
/// A wait is idle where a thread spends more than 95 % of its time in it. So is each wait without a frame of the app on its
/// stack: a thread of a library that has nothing to do. The main thread is idle only as it waits for other threads, a queue or
/// connections. Nobody is idle who waits for a lock, or for space in a queue. Where that leaves nothing, the app's own waits are
/// not idle: they are what the program did. A part of a profile, or of a thread's life as of a request, shows no idle thread.
#[must_use]
pub fn idle(profile: &Profile) -> Idle {
    idle_at(profile, &Sites::of(profile))
}

/// `profile` without its idle waits. A note says how many threads had them. Other weights of these rows go as well.
#[must_use]
pub fn without_idle(profile: &Profile) -> Profile {
    let idle = idle(profile);
    let mut busy = profile.clone();
    if !idle.rows.is_empty() && idle.threads > 0 {
        let mut at = 0;
        busy.retain(|_| {
            at += 1;
            !idle.has(at - 1)
        });
        busy.meta.notes.push(Note::IdleLeftOut { threads: idle.threads, ns: idle.wall_ns });
    }
    busy
}

/// As [`idle`]. Where idle waits were left out, their note says how many: what is left of these threads would look idle again.
pub(super) fn idle_at(profile: &Profile, sites: &Sites<'_>) -> Idle {
    for note in &profile.meta.notes {
        match *note {
            Note::IdleLeftOut { threads, ns } => return Idle { rows: Vec::new(), threads, wall_ns: ns },
            Note::Selected { .. } => return Idle::default(),
            _ => {}
        }
    }
    let wall = |it: &Sample| it.weights.get(SampleType::Wall);
    let mut lives: BTreeMap<usize, u64> = BTreeMap::new();
    let mut all_ns: u64 = 0;
    for sample in &profile.samples {
        let life = lives.entry(sample.thread).or_default();
        *life = life.saturating_add(wall(sample));
        all_ns = all_ns.saturating_add(wall(sample));
    }
    let has_app = profile.samples.iter().any(|it| sites.app(it.stack).is_some());
    let mut waits = waits(profile, sites);
    waits.retain(|(thread, _), it| {
        let life_ns = lives.get(thread).copied().unwrap_or(0);
        let is_whole = life_ns as f64 >= profile.meta.duration_ns as f64 * WHOLE_LIFE;
        let only_waits = is_whole && it.wall_ns as f64 > life_ns as f64 * MOST_OF_A_LIFE;
        let is_librarys = has_app && !it.in_app;
        (only_waits || is_librarys) && (it.for_work || !it.is_main)
    });
    let sum =
        |waits: &BTreeMap<_, Wait>| waits.values().fold(0_u64, |sum, it| sum.saturating_add(it.wall_ns));
    let busy_ns = all_ns.saturating_sub(sum(&waits));
    if (busy_ns as f64) < profile.meta.duration_ns as f64 * NOBODY_BUSY {
        waits.retain(|_, it| !it.in_app || it.for_work);
    }
    let threads: BTreeSet<usize> = waits.keys().map(|(thread, _)| *thread).collect();
    let mut rows = vec![false; profile.samples.len()];
    for place in waits.values().flat_map(|it| &it.rows) {
        rows.get_mut(*place).into_iter().for_each(|it| *it = true);
    }
    Idle { rows, threads: threads.len() as u64, wall_ns: sum(&waits) }
}

/// The waits by thread and by the Ruby function that waits.
fn waits(profile: &Profile, sites: &Sites<'_>) -> BTreeMap<(usize, Option<FunctionId>), Wait> {
    let mut waits: BTreeMap<_, Wait> = BTreeMap::new();
    for (index, sample) in profile.samples.iter().enumerate() {
        let wall_ns = sample.weights.get(SampleType::Wall);
        if sample.state != State::Waiting || wall_ns == 0 {
            continue;
        }
        let cause = Cause::of(profile, sites, sample.stack);
        if cause.has_work() {
            continue;
        }
        let app = sites.app(sample.stack);
        let site = app.or_else(|| sites.ruby(sample.stack)).map(|it| it.function);
        let wait: &mut Wait = waits.entry((sample.thread, site)).or_default();
        wait.rows.push(index);
        wait.wall_ns = wait.wall_ns.saturating_add(wall_ns);
        wait.in_app |= app.is_some();
        wait.for_work |= cause.is_for_work();
        let id = profile.threads.get(sample.thread).map_or(0, |it| it.native_id);
        wait.is_main = id != 0 && id == u64::from(profile.meta.pid);
    }
    waits
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};

    /// A server: its main thread joins, two workers wait for requests, and one of them answers some.
    fn server() -> Profile {
        let mut it = Example::lasting_ms(10_000);
        it.wall(
            MAIN,
            State::Waiting,
            9_990,
            "<main> /usr/bin/puma:10; Puma#run /g/gems/puma-6.0/a.rb:5; Thread#join",
        );
        it.wall(MAIN, State::Running, 10, "<main> /usr/bin/puma:10");
        for worker in ["worker 1", "worker 2"] {
            let pool =
                "Pool#wait /g/gems/puma-6.0/pool.rb:9; Thread::ConditionVariable#wait; Thread::Mutex#sleep";
            it.wall(worker, State::Waiting, 9_000, pool);
        }
        it.wall(
            "worker 1",
            State::Waiting,
            1_000,
            "Pool#run /g/gems/puma-6.0/pool.rb:3; Shop#show /app/shop.rb:4; IO#gets",
        );
        it.wall(
            "worker 2",
            State::Running,
            1_000,
            "Pool#run /g/gems/puma-6.0/pool.rb:3; Shop#show /app/shop.rb:5",
        );
        it.profile()
    }

    #[test]
    fn workers_without_work_are_idle_and_their_requests_stay() {
        let profile = server();
        let found = idle(&profile);
        assert_eq!((found.threads, found.wall_ns / 1_000_000), (3, 27_990));
        let busy = without_idle(&profile);
        assert_eq!(busy.total().get(SampleType::Wall), 2_010_000_000);
        assert_eq!(busy.meta.notes, [Note::IdleLeftOut { threads: 3, ns: 27_990_000_000 }]);
        assert_eq!(without_idle(&busy).total(), busy.total(), "no more is idle");
    }

    #[test]
    fn a_program_that_only_waits_is_not_idle() {
        let mut it = Example::lasting_ms(1_000);
        it.wall(MAIN, State::Waiting, 990, "<main> /app.rb:1; Kernel#sleep");
        it.wall(MAIN, State::Running, 10, "<main> /app.rb:2");
        assert_eq!(idle(&it.profile()), Idle { rows: vec![false; 2], ..Idle::default() });
    }

    #[test]
    fn threads_that_all_sleep_did_that_and_the_main_one_waited_for_them() {
        let mut it = Example::lasting_ms(1_000);
        it.wall(MAIN, State::Waiting, 1_000, "<main> /app.rb:9; Array#each; Thread#join");
        it.wall("one", State::Waiting, 1_000, "block in <main> /app.rb:3; Kernel#sleep");
        it.wall("two", State::Waiting, 1_000, "block in <main> /app.rb:3; Kernel#sleep");
        let found = idle(&it.profile());
        assert_eq!((found.threads, found.wall_ns), (1, 1_000_000_000));
    }

    #[test]
    fn a_part_shows_no_idle_thread() {
        let mut it = Example::lasting_ms(1_000);
        it.wall(MAIN, State::Running, 1_000, "<main> /app.rb:2");
        it.wall("in one request", State::Waiting, 400, "Shop#show /app.rb:3; IO#gets");
        assert_eq!(idle(&it.profile()).threads, 0);
        let mut part = server();
        part.meta.notes.push(Note::Selected { part: "focus".into(), left: 1, all: 2, of: "wall".into() });
        assert_eq!((idle(&part).threads, without_idle(&part).total()), (0, part.total()));
    }

    #[test]
    fn a_heartbeat_beside_work_is_idle() {
        let mut it = Example::lasting_ms(1_000);
        it.wall(MAIN, State::Waiting, 960, "<main> /app.rb:1; IO#gets");
        it.wall(MAIN, State::Running, 40, "<main> /app.rb:2");
        it.wall("heartbeat", State::Waiting, 999, "block in <main> /app.rb:3; Kernel#sleep");
        let found = idle(&it.profile());
        assert_eq!((found.threads, found.wall_ns), (1, 999_000_000));
    }
}
