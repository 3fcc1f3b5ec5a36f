use super::*;
use crate::analysis::example::{Example, MAIN};
use crate::profile::{Marker, Merged, Note};
use crate::record::State;

mod loading;
mod objects;
mod queries;
mod running;

/// Returns kind, text, place and percentage of each finding.
fn found(profile: &Profile) -> Vec<(FindingKind, String, String, u32)> {
    let place = |it: &Finding| {
        it.place.and_then(|at| {
            profile.function(at.function).map(|function| format!("{}:{}", function.path, at.line))
        })
    };
    let one = |it: Finding| {
        let percent = (it.share.unwrap_or(0.0) * 100.0).round() as u32;
        (it.kind, it.text.clone(), place(&it).unwrap_or_default(), percent)
    };
    findings(profile).into_iter().map(one).collect()
}

fn finding(kind: FindingKind, text: &str, place: &str, percent: u32) -> (FindingKind, String, String, u32) {
    (kind, text.into(), place.into(), percent)
}

#[test]
fn a_wait_has_its_cause_and_comes_before_code_that_runs_as_long() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, 550, "<main> /app.rb:9; Order#parse /app.rb:41");
    example.wall(MAIN, State::Waiting, 450, "<main> /app.rb:10; Mailer#deliver /app.rb:7; Net::HTTP.get /usr/lib/ruby/3.1.0/net/http.rb:5; IO#wait_readable");
    let expected = [
        finding(
            FindingKind::Waiting,
            "waiting for IO in Net::HTTP.get, called from Mailer#deliver",
            "/app.rb:7",
            45,
        ),
        finding(FindingKind::Running, "running Order#parse", "/app.rb:41", 55),
    ];
    assert_eq!(found(&example.profile()), expected);
}

#[test]
fn a_method_that_the_profiler_replaced_is_named_like_the_original() {
    let mut example = Example::lasting_ms(1_000);
    let own = "Profiler::Ends::Hooks.popen /g/lib/profiler/process/ends.rb:60";
    let stack = format!("<main> /app.rb:9; Feed#read /app.rb:3; {own}; UnboundMethod#bind_call; IO.popen");
    example.wall(MAIN, State::Waiting, 900, &stack);
    assert!(found(&example.profile())[0].1.ends_with(" in IO.popen, called from Feed#read"));
}

#[test]
fn a_lock_is_named_by_the_caller_of_its_wrapper() {
    let mut example = Example::lasting_ms(1_000);
    let write = "Logger::LogDevice#write /usr/lib/ruby/3.3.0/logger/log_device.rb:31";
    let lock = "MonitorMixin#mon_synchronize /usr/lib/ruby/3.3.0/monitor.rb:201; Monitor#synchronize";
    example.wall(
        "worker",
        State::Waiting,
        300,
        &format!("Pool#run /g/gems/pool-1.0/p.rb:3; {write}; {lock}"),
    );
    example.wall(MAIN, State::Running, 100, "<main> /app.rb:3");
    let (kind, text, ..) = found(&example.profile()).remove(0);
    assert_eq!(
        (kind, text.as_str()),
        (FindingKind::Waiting, "waiting for a lock in Logger::LogDevice#write")
    );
}

#[test]
fn a_wait_for_a_database_has_its_statement() {
    let mut example = Example::lasting_ms(1_000);
    let stack = "<main> /app.rb:3; Report#rows /app.rb:7; PG::Connection#exec_params";
    example.wall(MAIN, State::Waiting, 303, stack);
    example.wall(MAIN, State::Running, 100, "<main> /app.rb:3");
    let mut profile = example.profile();
    let without = "waiting in PG::Connection#exec_params, called from Report#rows";
    assert_eq!(found(&profile)[0].1, without);
    let marker = |ms: u64| Marker {
        name: "SQL: select pg_sleep(?)".into(),
        duration_ns: ms * 1_000_000,
        ..Marker::default()
    };
    profile.markers = vec![marker(20)];
    assert_eq!(found(&profile)[0].1, without, "another statement");
    profile.markers = vec![marker(100), marker(203)];
    assert_eq!(found(&profile)[0].1, "waiting for SQL in Report#rows, 303 ms: select pg_sleep(?)");
}

#[test]
fn the_gvl_has_its_holder() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Gvl, 600, "<main> /app.rb:3; Shop#show /app.rb:5");
    example.wall(MAIN, State::Running, 400, "<main> /app.rb:3; Shop#show /app.rb:5");
    let hog = "block in <main> /app.rb:1; Feed#parse /app.rb:20";
    example.row(
        "hog",
        State::Running,
        &[],
        &[(SampleType::Wall, 600_000_000), (SampleType::GvlBlame, 600_000_000), (SampleType::Samples, 600)],
        hog,
    );
    let gvl = found(&example.profile()).remove(0);
    assert_eq!(gvl, finding(FindingKind::Gvl, "waiting for the GVL, held by Feed#parse", "/app.rb:20", 38));
}

#[test]
fn the_gvl_does_not_count_while_its_holder_has_no_cpu() {
    let shares = |without_cpu_ms| {
        let mut example = Example::lasting_ms(1_000);
        let show = "<main> /app.rb:3; Shop#show /app.rb:5";
        example.wall(MAIN, State::Running, 400, show);
        example.wall("hog", State::Gvl, 200, show);
        // Code that lacks a CPU for as long as it runs has the GVL for twice as long.
        example.wall(MAIN, State::Runnable, without_cpu_ms, show);
        example.wall("hog", State::Gvl, without_cpu_ms / 2, show);
        found(&example.profile()).into_iter().map(|it| (it.0, it.3)).collect::<Vec<_>>()
    };
    let quiet = [(FindingKind::Running, 67), (FindingKind::Gvl, 33)];
    assert_eq!(shares(0), quiet);
    assert_eq!(shares(1_600)[..2], quiet);
}

#[test]
fn threads_without_code_of_the_app_that_want_the_gvl_delay_nobody() {
    let mut example = Example::lasting_ms(1_000);
    let pool = "Pool#run /g/gems/puma-6.0/pool.rb:3";
    example.wall("worker", State::Running, 400, &format!("{pool}; Shop#show /app/shop.rb:5"));
    example.wall("worker", State::Gvl, 100, &format!("{pool}; Shop#show /app/shop.rb:5; IO#read"));
    example.wall(
        "worker",
        State::Gvl,
        50,
        &format!("{pool}; Puma::Client#read /g/gems/puma-6.0/client.rb:9"),
    );
    example.wall("reactor", State::Gvl, 300, "Reactor#run /g/gems/puma-6.0/r.rb:3; NIO::Selector#select");
    example.wall("job", State::Gvl, 50, "(thread start)");
    let found: Vec<_> = found(&example.profile()).into_iter().map(|it| (it.0, it.3)).collect();
    assert_eq!(found, [(FindingKind::Running, 67), (FindingKind::Gvl, 33)]);
}

#[test]
fn code_that_blocks_with_the_gvl_has_who_waited_for_it() {
    let mut example = Example::lasting_ms(4_000);
    let query = "block in <main> /app.rb:1; Order#find /app.rb:20; SQLite3::Statement#step";
    let weights = [(SampleType::Wall, 1_900_000_000), (SampleType::GvlBlame, 5_700_000_000)];
    example.row("query", State::Blocked, &[], &weights, query);
    for thread in ["a", "b", "c"] {
        example.wall(thread, State::Gvl, 500, "block in <main> /app.rb:3; Shop#show /app.rb:5");
    }
    example.wall(MAIN, State::Running, 300, "<main> /app.rb:3; Shop#show /app.rb:5");
    let text = "blocked in SQLite3::Statement#step, called from Order#find for 1.90 s without releasing the GVL: 3 threads waited";
    let expected = [
        finding(FindingKind::Blocked, text, "/app.rb:20", 51),
        finding(FindingKind::Gvl, "waiting for the GVL, held by Order#find", "/app.rb:20", 41),
        finding(FindingKind::Running, "running Shop#show", "/app.rb:5", 8),
    ];
    assert_eq!(found(&example.profile()), expected);
    let mut example = Example::lasting_ms(1_000);
    let lookup = "<main> /app.rb:3; Facts#all /app.rb:5; Popen.run /g/gems/facter-4.0/p.rb:1; Kernel#spawn";
    example.wall(MAIN, State::Blocked, 900, lookup);
    example.wall(MAIN, State::Running, 100, "<main> /app.rb:3");
    let text = "blocked in Kernel#spawn, called from Facts#all for 900 ms without releasing the GVL";
    assert_eq!(found(&example.profile())[0].1, text);
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Blocked, 900, "<main> /app.rb:3; Db#sleep /app.rb:5; SQLite3::Statement#step");
    example.wall(MAIN, State::Running, 100, "<main> /app.rb:3");
    let text =
        "blocked in SQLite3::Statement#step, called from Db#sleep for 900 ms without releasing the GVL";
    assert_eq!(found(&example.profile())[0], finding(FindingKind::Blocked, text, "/app.rb:5", 90));
}

#[test]
fn garbage_has_its_cause() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, 400, "<main> /app.rb:3");
    example.wall(MAIN, State::Gc, 600, "<main> /app.rb:3; Report#rows /app.rb:8; (garbage collection)");
    let expected = finding(FindingKind::Gc, "collecting garbage for objects of Report#rows", "/app.rb:8", 60);
    assert_eq!(found(&example.profile())[0], expected);
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Gc, 500, "<main> /app.rb:3; GC.start <internal:gc>:30; (garbage collection)");
    let expected =
        finding(FindingKind::Gc, "collecting garbage, requested by GC.start in <main>", "/app.rb:3", 100);
    assert_eq!(found(&example.profile()), [expected]);
}

#[test]
fn time_is_in_one_finding() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, 200, "<main> /app.rb:3");
    example.wall(MAIN, State::Gc, 300, "<main> /app.rb:3; Report#rows /app.rb:8; (garbage collection)");
    example.wall(MAIN, State::Runnable, 500, "<main> /app.rb:3; Report#rows /app.rb:8; (garbage collection)");
    let mut shares: Vec<u32> = found(&example.profile()).iter().map(|it| it.3).collect();
    shares.sort_unstable();
    assert_eq!(shares, [0, 40, 60], "the program had a CPU for 500 ms");
}

#[test]
fn time_without_a_cpu_is_a_note_unless_a_limit_took_it() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Runnable, 500, "<main> /app.rb:3");
    example.wall(MAIN, State::Running, 500, "<main> /app.rb:3");
    let mut profile = example.profile();
    let expected = [
        finding(FindingKind::Running, "running <main>", "/app.rb:3", 100),
        finding(
            FindingKind::NoCpu,
            "waited 500 ms for a CPU that others used (left out of the percentages)",
            "",
            0,
        ),
    ];
    assert_eq!(found(&profile), expected);
    profile.stats.throttled_ns = 400_000_000;
    let expected = [
        finding(FindingKind::Running, "running <main>", "/app.rb:3", 50),
        finding(FindingKind::NoCpu, "waiting for a CPU, because its cgroup had used up its limit", "", 50),
    ];
    assert_eq!(found(&profile), expected);
}

#[test]
fn where_waits_are_sampled_code_that_computes_was_held_up() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, 450, "<main> /app.rb:3; String#scan");
    example.wall(MAIN, State::Waiting, 350, "<main> /app.rb:3; String#scan");
    example.wall(MAIN, State::Waiting, 200, "<main> /app.rb:4; PG::Connection#exec");
    let mut profile = example.profile();
    profile.meta.notes.push(Note::WaitsSampled {});
    let expected = [
        finding(FindingKind::Running, "running String#scan, called from <main>", "/app.rb:3", 69),
        finding(FindingKind::Waiting, "waiting in PG::Connection#exec, called from <main>", "/app.rb:4", 31),
        finding(
            FindingKind::NoCpu,
            "waited 350 ms for a CPU or the GVL (left out of the percentages)",
            "",
            0,
        ),
    ];
    assert_eq!(found(&profile), expected);
}

#[test]
fn idle_threads_are_one_sentence_and_in_no_share() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, 1_000, "<main> /app.rb:3");
    for worker in ["a", "b", "c"] {
        example.wall(
            worker,
            State::Waiting,
            1_000,
            "Pool#wait /g/gems/puma-6.0/pool.rb:9; Thread::ConditionVariable#wait",
        );
    }
    let expected = [
        finding(FindingKind::Running, "running <main>", "/app.rb:3", 100),
        finding(FindingKind::Idle, "3 threads waited for work: idle, 3.00 s in all", "", 0),
    ];
    assert_eq!(found(&example.profile()), expected);
}

#[test]
fn few_samples_and_losses_limit_trust() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, 50, "<main> /app.rb:3");
    let mut profile = example.profile();
    assert_eq!(found(&profile)[1].1, "few samples: 50, so small shares are chance");
    profile.stats.counts.dropped_full = 9;
    assert!(found(&profile)[1].1.starts_with("few samples"));
    let mut none = profile.clone();
    none.samples.iter_mut().for_each(|it| it.weights.set(SampleType::Samples, 0));
    assert!(!found(&none).iter().any(|it| it.1.starts_with("few samples")), "there are no shares to trust");
    profile.stats.counts.dropped_full = 10;
    assert_eq!(
        found(&profile)[1].1,
        "coarse: 16.7% of the samples were dropped; later ones carry their time"
    );
}

/// Returns the notes of a program of a second that used the CPU for `cpu_ms`, if only CPU time was measured.
fn of_cpu_time(cpu_ms: u64, change: impl Fn(&mut Profile)) -> Vec<String> {
    let mut example = Example::lasting_ms(1_000);
    let weights = [(SampleType::Cpu, cpu_ms * 1_000_000), (SampleType::Samples, 500)];
    example.row(MAIN, State::Running, &[], &weights, "<main> /app.rb:3");
    let mut profile = example.profile();
    profile.stats.unseen_cpu_ns = 4_000_000;
    change(&mut profile);
    findings(&profile).into_iter().filter(|it| it.kind == FindingKind::Trust).map(|it| it.text).collect()
}

#[test]
fn cpu_time_alone_says_how_little_of_the_time_it_shows() {
    assert_eq!(of_cpu_time(100, |_| ()), ["used the CPU for 104 ms of 1.00 s: mode wall shows the rest"]);
    assert!(of_cpu_time(900, |_| ()).is_empty(), "it computed");
    let without_cpu = |it: &mut Profile| it.stats.run_delay_ns = 700_000_000;
    assert!(of_cpu_time(200, without_cpu).is_empty(), "it did not wait");
    assert_eq!(of_cpu_time(100, without_cpu).len(), 1, "it waited for 196 of the other 300 ms");
    let of_one_thread = |it: &mut Profile| it.stats.unseen_cpu_ns = 0;
    assert!(of_cpu_time(100, of_one_thread).is_empty(), "other threads may have computed");
    let of_a_moment = |it: &mut Profile| (it.meta.duration_ns, it.stats.unseen_cpu_ns) = (4_000_000, 1);
    assert!(of_cpu_time(1, of_a_moment).is_empty(), "it may be the profiler's own start");
    let with_gaps = |it: &mut Profile| it.meta.merged = Some(Merged { gaps: true, ..Merged::default() });
    assert!(of_cpu_time(100, with_gaps).is_empty(), "the rest may be the time between two programs");
    let without_samples = |it: &mut Profile| {
        of_one_thread(it);
        it.samples.iter_mut().for_each(|row| row.weights.set(SampleType::Samples, 0));
    };
    assert_eq!(
        of_cpu_time(1, without_samples),
        ["used the CPU for 1.00 ms of 1.00 s: mode wall shows the rest"]
    );
    assert!(of_cpu_time(100, |it| it.sample_types.push(SampleType::Wall)).is_empty());
    let selected = Note::Selected { part: "focus".into(), left: 1, all: 2, of: "cpu".into() };
    assert!(of_cpu_time(100, |it| it.meta.notes.push(selected.clone())).is_empty());
}

#[test]
fn that_most_time_was_not_measured_comes_first_unless_it_is_a_server() {
    let kinds = |serves: bool| {
        let mut example = Example::lasting_ms(1_000);
        let weights = [(SampleType::Cpu, 100_000_000), (SampleType::Samples, 500)];
        let handler = if serves { "; Puma::Server#process_client /g/gems/puma-6.0/s.rb:4" } else { "" };
        example.row(
            MAIN,
            State::Running,
            &[],
            &weights,
            &format!("<main> /app.rb:3{handler}; Shop#show /app.rb:5"),
        );
        let mut profile = example.profile();
        profile.stats.unseen_cpu_ns = 4_000_000;
        findings(&profile).into_iter().map(|it| it.kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(false), [FindingKind::Trust, FindingKind::Running]);
    assert_eq!(kinds(true), [FindingKind::Running, FindingKind::Trust]);
}

#[test]
fn garbage_without_its_cause_does_not_come_first() {
    let kinds = |gc: &str| {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Running, 400, "<main> /app.rb:3; Shop#show /app.rb:5");
        example.wall(MAIN, State::Gc, 600, gc);
        found(&example.profile()).into_iter().map(|it| it.0).collect::<Vec<_>>()
    };
    assert_eq!(kinds("(garbage collection)"), [FindingKind::Running, FindingKind::Gc]);
    assert_eq!(
        kinds("<main> /app.rb:3; Row#x /app.rb:8; (garbage collection)"),
        [FindingKind::Gc, FindingKind::Running]
    );
}

#[test]
fn a_template_is_named_by_its_file() {
    let mut example = Example::lasting_ms(1_000);
    let view = "#<anonymous subclass of ActionView::Base>#_app_views_orders_index_html_erb /srv/app/views/orders/index.html.erb";
    example.wall(MAIN, State::Running, 600, &format!("<main> /app.rb:9; {view}:4; Array#each"));
    example.wall(MAIN, State::Waiting, 400, &format!("<main> /app.rb:9; {view}:5; IO#read"));
    let place = "/srv/app/views/orders/index.html.erb";
    let expected = [
        finding(
            FindingKind::Waiting,
            "waiting for IO in IO#read, called from app/views/orders/index.html.erb",
            &format!("{place}:5"),
            40,
        ),
        finding(FindingKind::Running, "running app/views/orders/index.html.erb", &format!("{place}:4"), 60),
    ];
    assert_eq!(found(&example.profile()), expected);
}

#[test]
fn six_findings_are_the_most_and_the_limits_of_trust_are_among_them() {
    let mut example = Example::lasting_ms(1_000);
    let app = |line: u32| format!("<main> /app.rb:{line}");
    example.wall(MAIN, State::Running, 20, &app(1));
    example.wall(MAIN, State::Gc, 20, &format!("{}; (garbage collection)", app(2)));
    example.wall(MAIN, State::Gvl, 20, &app(3));
    example.wall(MAIN, State::Runnable, 20, &app(4));
    example.wall(MAIN, State::Waiting, 20, &format!("{}; Kernel#sleep", app(5)));
    example.wall(MAIN, State::Waiting, 20, &format!("{}; IO#gets", app(6)));
    let kinds: Vec<FindingKind> = findings(&example.profile()).iter().map(|it| it.kind).collect();
    assert_eq!(kinds.len(), MAX_FINDINGS);
    assert_eq!(kinds.last(), Some(&FindingKind::Trust));
}

#[test]
fn commands_match_the_name_alone() {
    assert_eq!(details_of("Foo.bar"), r"profiler report FILE --method '^Foo\.bar$'");
    assert_eq!(details_of("Foo#[]"), r"profiler report FILE --method '^Foo#\[\]$'");
    assert_eq!(details_of("it's"), r"profiler report FILE --method '^it\'\''s$'");
}
