//! Idle threads: threads that only wait, for work from others or for others to end. They are not slow.

mod lives;

use std::collections::{BTreeMap, BTreeSet};

use super::sites::Sites;
use super::wait_cause::{Cause, Causes};
use crate::ids::FunctionId;
use crate::profile::{Note, Profile, SampleType};
use crate::record::State;
use lives::Lives;

/// If the other threads were busy for less than this part of the time, the program's work was to wait.
const NOBODY_BUSY: f64 = 0.05;

/// The idle waits of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idle {
    /// Whether each row is an idle wait.
    rows: Vec<bool>,
    /// The number of threads that were idle in a wait.
    pub threads: u64,
    /// The wall clock time of all these waits, ns.
    pub wall_ns: u64,
}

impl Idle {
    /// Returns whether the row at `index` is an idle wait.
    #[must_use]
    pub fn has(&self, index: usize) -> bool {
        self.rows.get(index).copied().unwrap_or(false)
    }
}

/// A wait of a thread at one place, for one cause.
struct Wait {
    rows: Vec<usize>,
    wall_ns: u64,
    cause: Cause,
    /// Whether the app's code waits.
    in_app: bool,
    is_main: bool,
}

/// Returns the idle waits of `profile`, if wall clock time was measured.
///
/// A thread other than the main one is idle in a wait that takes more than 95 % of its time, without that in
/// which it had no CPU or no GVL. It is also idle in each wait without code of the app on its stack: this is
/// a library's thread that has nothing to do.
///
/// On the main thread, it matters who waits. If the app's code waits there, that is what the program does,
/// unless it waits for connections, as a server does. Other code waits there for signals, children and
/// events, while the app runs in other threads. A thread that waits for the end of threads which are working
/// meanwhile is idle.
///
/// A thread that waits for a lock, or for space in a queue, is never idle. If all this leaves no busy time,
/// the app's own waits are not idle: they are what the program did. Nor is a thread idle that waits so for
/// less than 5 % of its time, as a main thread does for a file that it opens. A part of a profile, or of a
/// thread's life such as a request, shows no idle threads.
#[must_use]
pub fn idle(profile: &Profile) -> Idle {
    idle_at(profile, &Sites::of(profile))
}

/// Returns `profile` without its idle waits. A note says how many threads had them. Other weights of these
/// rows are removed as well.
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

/// Returns the idle waits as [`idle`] does. If idle waits were left out, the note about them says how many:
/// the rest of these threads would look idle again.
pub(super) fn idle_at(profile: &Profile, sites: &Sites<'_>) -> Idle {
    for note in &profile.meta.notes {
        match *note {
            Note::IdleLeftOut { threads, ns } => return Idle { rows: Vec::new(), threads, wall_ns: ns },
            Note::Selected { .. } => return Idle::default(),
            _ => {}
        }
    }
    let causes = Causes::of(profile, sites);
    let lives = Lives::of(profile, sites, &causes);
    let mut waits = waits(profile, sites, &causes);
    waits.retain(|(thread, ..), it| it.cause == Cause::Thread || lives.is_idle(*thread, it));
    let busy_ns = lives.all_ns.saturating_sub(sum(&waits));
    // A thread that waits for threads which do nothing either does not wait for their work.
    waits.retain(|(thread, ..), it| it.cause != Cause::Thread || lives.is_idle_joining(*thread, it, busy_ns));
    if (busy_ns as f64) < profile.meta.duration_ns as f64 * NOBODY_BUSY {
        waits.retain(|_, it| !it.in_app || it.cause.is_for_work());
    }
    lives.retain_idle(&mut waits);
    let threads: BTreeSet<usize> = waits.keys().map(|(thread, ..)| *thread).collect();
    let mut rows = vec![false; profile.samples.len()];
    for place in waits.values().flat_map(|it| &it.rows) {
        rows.get_mut(*place).into_iter().for_each(|it| *it = true);
    }
    Idle { rows, threads: threads.len() as u64, wall_ns: sum(&waits) }
}

/// The waits of a profile, by thread, by the Ruby function that waits, and by cause.
type Waits = BTreeMap<(usize, Option<FunctionId>, Cause), Wait>;

fn sum(waits: &Waits) -> u64 {
    waits.values().fold(0_u64, |sum, it| sum.saturating_add(it.wall_ns))
}

fn waits(profile: &Profile, sites: &Sites<'_>, causes: &Causes<'_>) -> Waits {
    let mut waits = Waits::new();
    for (index, sample) in profile.samples.iter().enumerate() {
        let wall_ns = sample.weights.get(SampleType::Wall);
        if sample.state != State::Waiting || wall_ns == 0 {
            continue;
        }
        let cause = causes.cause(sites, sample.stack);
        if cause.has_work() {
            continue;
        }
        let app = sites.app(sample.stack);
        let site = app.or_else(|| sites.ruby(sample.stack)).map(|it| it.function);
        let is_main = is_main(profile, sample.thread);
        let new = Wait { rows: Vec::new(), wall_ns: 0, cause, in_app: app.is_some(), is_main };
        let wait = waits.entry((sample.thread, site, cause)).or_insert(new);
        wait.rows.push(index);
        wait.wall_ns = wait.wall_ns.saturating_add(wall_ns);
    }
    waits
}

/// Returns whether this is the main thread of its process, even in a merged profile.
fn is_main(profile: &Profile, thread: usize) -> bool {
    let id = profile.threads.get(thread).map_or(0, |it| it.native_id);
    let in_merge = || profile.meta.merged.as_ref().is_some_and(|it| it.processes.contains(&id.to_string()));
    id != 0 && (id == u64::from(profile.meta.pid) || in_merge())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};

    /// Builds a server: its main thread joins, two workers wait for requests, and one of them handles some.
    fn server() -> Profile {
        let mut example = Example::lasting_ms(10_000);
        example.wall(
            MAIN,
            State::Waiting,
            9_990,
            "<main> /usr/bin/puma:10; Puma#run /g/gems/puma-6.0/a.rb:5; Thread#join",
        );
        example.wall(MAIN, State::Running, 10, "<main> /usr/bin/puma:10");
        for worker in ["worker 1", "worker 2"] {
            let pool =
                "Pool#wait /g/gems/puma-6.0/pool.rb:9; Thread::ConditionVariable#wait; Thread::Mutex#sleep";
            example.wall(worker, State::Waiting, 9_000, pool);
        }
        example.wall(
            "worker 1",
            State::Waiting,
            1_000,
            "Pool#run /g/gems/puma-6.0/pool.rb:3; Shop#show /app/shop.rb:4; IO#gets",
        );
        example.wall(
            "worker 2",
            State::Running,
            1_000,
            "Pool#run /g/gems/puma-6.0/pool.rb:3; Shop#show /app/shop.rb:5",
        );
        example.profile()
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
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Waiting, 990, "<main> /app.rb:1; Kernel#sleep");
        example.wall(MAIN, State::Running, 10, "<main> /app.rb:2");
        assert_eq!(idle(&example.profile()), Idle { rows: vec![false; 2], ..Idle::default() });
    }

    #[test]
    fn threads_that_all_sleep_did_that_and_the_main_one_waited_for_them() {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Waiting, 1_000, "<main> /app.rb:9; Array#each; Thread#join");
        example.wall("one", State::Waiting, 1_000, "block in <main> /app.rb:3; Kernel#sleep");
        example.wall("two", State::Waiting, 1_000, "block in <main> /app.rb:3; Kernel#sleep");
        let found = idle(&example.profile());
        assert_eq!((found.threads, found.wall_ns), (1, 1_000_000_000));
    }

    #[test]
    fn a_busy_machine_does_not_make_a_heartbeat_work() {
        let mut example = Example::lasting_ms(2_000);
        example.wall(MAIN, State::Waiting, 1_500, "<main> /app.rb:1; IO#gets");
        example.wall(MAIN, State::Running, 500, "<main> /app.rb:2");
        example.wall("heartbeat", State::Waiting, 999, "block in <main> /app.rb:3; Kernel#sleep");
        example.wall("heartbeat", State::Runnable, 600, "block in <main> /app.rb:3; Kernel#sleep");
        example.wall("heartbeat", State::Gvl, 400, "block in <main> /app.rb:3; Kernel#sleep");
        assert_eq!(idle(&example.profile()).threads, 1);
    }

    #[test]
    fn a_part_shows_no_idle_thread() {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Running, 1_000, "<main> /app.rb:2");
        example.wall("in one request", State::Waiting, 400, "Shop#show /app.rb:3; IO#gets");
        assert_eq!(idle(&example.profile()).threads, 0);
        let mut part = server();
        part.meta.notes.push(Note::Selected { part: "focus".into(), left: 1, all: 2, of: "wall".into() });
        assert_eq!((idle(&part).threads, without_idle(&part).total()), (0, part.total()));
    }

    #[test]
    fn a_heartbeat_beside_work_is_idle() {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Waiting, 960, "<main> /app.rb:1; IO#gets");
        example.wall(MAIN, State::Running, 40, "<main> /app.rb:2");
        example.wall("heartbeat", State::Waiting, 999, "block in <main> /app.rb:3; Kernel#sleep");
        let found = idle(&example.profile());
        assert_eq!((found.threads, found.wall_ns), (1, 999_000_000));
    }

    /// Returns the number of idle threads of a program whose main thread has these waits, beside eight idle
    /// workers.
    fn idle_threads(main: &[(State, u64, &str)]) -> u64 {
        let mut example = Example::lasting_ms(10_000);
        for (state, ms, stack) in main {
            example.wall(MAIN, *state, *ms, stack);
        }
        for worker in 1..=8 {
            let stack = "block in <main> /app.rb:2; Thread::Queue#pop";
            example.wall(&format!("worker {worker}"), State::Waiting, 10_000, stack);
        }
        idle(&example.profile()).threads
    }

    #[test]
    fn code_of_the_app_that_waits_on_the_main_thread_is_not_idle() {
        for leaf in
            ["IO.select", "IO#wait_readable", "Thread::Queue#pop", "Kernel#sleep", "PG::Connection#exec"]
        {
            let poll = format!("<main> /app.rb:9; Poller#poll /app.rb:7; {leaf}");
            let rows = [(State::Waiting, 9_900, poll.as_str()), (State::Gc, 100, "<main> /app.rb:9")];
            assert_eq!(idle_threads(&rows), 8, "{leaf}");
        }
        let accept = "<main> /app.rb:9; Server#run /app.rb:7; TCPServer#accept";
        assert_eq!(
            idle_threads(&[(State::Waiting, 9_900, accept), (State::Running, 100, "<main> /app.rb:9")]),
            9
        );
    }

    #[test]
    fn other_code_that_waits_on_the_main_thread_is_idle_beside_the_app() {
        let cli = "<main> /usr/bin/sidekiq:31; Sidekiq::CLI#run /g/gems/sidekiq-6.4/lib/cli.rb:98";
        for leaf in ["IO#wait_readable", "IO.select", "Process.wait", "Kernel#sleep", "Thread#join"] {
            let wait = format!("{cli}; {leaf}");
            assert_eq!(
                idle_threads(&[(State::Waiting, 6_000, &wait), (State::Running, 4_000, cli)]),
                9,
                "{leaf}"
            );
        }
    }

    #[test]
    fn a_tool_that_waits_for_io_is_not_idle() {
        let mut example = Example::lasting_ms(1_000);
        let stack = "<main> /usr/bin/bundle:5; Bundler.get /g/gems/bundler-2.3/b.rb:9; IO#wait_readable";
        example.wall(MAIN, State::Waiting, 990, stack);
        example.wall(MAIN, State::Running, 10, "<main> /usr/bin/bundle:5");
        assert_eq!(idle(&example.profile()).threads, 0);
    }

    #[test]
    fn a_thread_that_hardly_waits_is_not_idle() {
        let open = "Kernel#require; Profiler::Autoload.start /g/gems/profiler-1.0/a.rb:9; File#initialize";
        let burn = "<main> /app.rb:5; Object#burn /app.rb:1";
        assert_eq!(idle_threads(&[(State::Waiting, 40, open), (State::Running, 9_960, burn)]), 8);
        assert_eq!(idle_threads(&[(State::Waiting, 4_000, open), (State::Running, 6_000, burn)]), 9);
    }

    #[test]
    fn a_worker_is_judged_by_its_own_life() {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Running, 1_000, "<main> /app.rb:2");
        example.wall("late worker", State::Waiting, 300, "block in <main> /app.rb:3; Thread::Queue#pop");
        example.wall("fetcher", State::Waiting, 300, "block in <main> /app.rb:4; IO#read");
        assert_eq!(idle(&example.profile()).threads, 1);
    }

    #[test]
    fn who_waits_for_busy_threads_is_idle() {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Running, 200, "<main> /app.rb:2");
        example.wall(MAIN, State::Waiting, 800, "<main> /app.rb:9; Thread#join");
        example.wall("one", State::Running, 700, "block in <main> /app.rb:3");
        assert_eq!(idle(&example.profile()).threads, 1);
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Running, 200, "<main> /app.rb:2");
        example.wall(MAIN, State::Waiting, 800, "<main> /app.rb:9; Thread#value");
        assert_eq!(idle(&example.profile()).threads, 0, "nobody is seen to work");
    }

    #[test]
    fn a_merge_has_a_main_thread_for_each_process() {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Waiting, 1_000, "<main> /app.rb:1; IO#read");
        example.wall("other", State::Running, 1_000, "<main> /app.rb:2");
        let mut profile = example.profile();
        let processes = [std::mem::take(&mut profile.meta.pid).to_string()].into();
        profile.meta.merged = Some(crate::profile::Merged { processes, ..Default::default() });
        assert_eq!(idle(&profile).threads, 0);
    }
}
