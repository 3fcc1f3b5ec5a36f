use super::*;
use crate::analysis::example::{Example, MAIN};
use crate::profile::{Marker, Note, Requests};
use crate::record::State;

/// Kind, text, place and percent of each.
fn found(profile: &Profile) -> Vec<(Kind, String, String, u32)> {
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

fn finding(kind: Kind, text: &str, place: &str, percent: u32) -> (Kind, String, String, u32) {
    (kind, text.into(), place.into(), percent)
}

#[test]
fn the_hottest_method_has_its_line_and_the_c_function_that_it_calls() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Running, 600, "<main> /app.rb:9; Order#parse /app.rb:41; String#scan");
    it.wall(MAIN, State::Running, 100, "<main> /app.rb:9; Order#parse /app.rb:42");
    it.wall(MAIN, State::Running, 300, "<main> /app.rb:9; Order#save /app.rb:50");
    let expected = finding(Kind::Running, "running String#scan, called from Order#parse", "/app.rb:41", 70);
    assert_eq!(found(&it.profile()), [expected]);
}

#[test]
fn a_method_of_a_gem_has_the_line_of_the_app_that_called_it() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(
        MAIN,
        State::Running,
        500,
        "<main> /app.rb:9; Order#parse /app.rb:41; CSV#each /g/gems/csv-3.2/csv.rb:7",
    );
    it.wall(
        MAIN,
        State::Running,
        500,
        "<main> /app.rb:9; Order#parse /app.rb:41; CSV#shift /g/gems/csv-3.2/csv.rb:8; String#scan",
    );
    let running = found(&it.profile());
    assert_eq!(
        running,
        [finding(Kind::Running, "running CSV#each, called from Order#parse", "/app.rb:41", 50)]
    );
}

#[test]
fn many_methods_of_gems_count_for_the_app_that_called_them() {
    let mut it = Example::lasting_ms(1_000);
    for method in 0..25 {
        it.wall(
            MAIN,
            State::Running,
            40,
            &format!("<main> /app.rb:9; Order#load /app.rb:12; A#m{method} /g/gems/a-1.0/a.rb:7"),
        );
    }
    let running = found(&it.profile());
    assert_eq!(running, [finding(Kind::Running, "running Order#load", "/app.rb:12", 100)]);
}

#[test]
fn nothing_stands_out_in_even_work() {
    let mut it = Example::lasting_ms(1_000);
    for method in 0..25 {
        it.wall(MAIN, State::Running, 40, &format!("M#m{method} /app.rb:{method}"));
    }
    assert_eq!(found(&it.profile()), []);
    assert_eq!(found(&Profile::default()), []);
}

#[test]
fn a_wait_has_its_cause_and_comes_before_code_that_runs_as_long() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Running, 550, "<main> /app.rb:9; Order#parse /app.rb:41");
    it.wall(MAIN, State::Waiting, 450, "<main> /app.rb:10; Mailer#deliver /app.rb:7; Net::HTTP.get /usr/lib/ruby/3.1.0/net/http.rb:5; IO#wait_readable");
    let expected = [
        finding(
            Kind::Waiting,
            "waiting for IO in Net::HTTP.get, called from Mailer#deliver",
            "/app.rb:7",
            45,
        ),
        finding(Kind::Running, "running Order#parse", "/app.rb:41", 55),
    ];
    assert_eq!(found(&it.profile()), expected);
}

#[test]
fn the_gvl_has_its_holder() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Gvl, 600, "<main> /app.rb:3; Shop#show /app.rb:5");
    it.wall(MAIN, State::Running, 400, "<main> /app.rb:3; Shop#show /app.rb:5");
    let hog = "block in <main> /app.rb:1; Feed#parse /app.rb:20";
    it.row(
        "hog",
        State::Running,
        &[],
        &[(SampleType::Wall, 600_000_000), (SampleType::GvlBlame, 600_000_000), (SampleType::Samples, 600)],
        hog,
    );
    let gvl = found(&it.profile()).remove(0);
    assert_eq!(gvl, finding(Kind::Gvl, "waiting for the GVL, held by Feed#parse", "/app.rb:20", 38));
}

#[test]
fn garbage_has_its_cause() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Running, 400, "<main> /app.rb:3");
    it.wall(MAIN, State::Gc, 600, "<main> /app.rb:3; Report#rows /app.rb:8; (garbage collection)");
    let expected = finding(Kind::Gc, "collecting garbage for objects of Report#rows", "/app.rb:8", 60);
    assert_eq!(found(&it.profile())[0], expected);
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Gc, 500, "<main> /app.rb:3; GC.start <internal:gc>:30; (garbage collection)");
    let expected = finding(Kind::Gc, "collecting garbage, requested by GC.start in <main>", "/app.rb:3", 100);
    assert_eq!(found(&it.profile()), [expected]);
}

#[test]
fn time_is_in_one_finding() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Running, 200, "<main> /app.rb:3");
    it.wall(MAIN, State::Gc, 300, "<main> /app.rb:3; Report#rows /app.rb:8; (garbage collection)");
    it.wall(MAIN, State::Runnable, 500, "<main> /app.rb:3; Report#rows /app.rb:8; (garbage collection)");
    let mut shares: Vec<u32> = found(&it.profile()).iter().map(|it| it.3).collect();
    shares.sort_unstable();
    assert_eq!(shares, [20, 30, 50]);
}

#[test]
fn time_without_a_cpu_has_its_reason() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Runnable, 500, "<main> /app.rb:3");
    it.wall(MAIN, State::Running, 500, "<main> /app.rb:3");
    let mut profile = it.profile();
    assert_eq!(
        found(&profile)[1],
        finding(Kind::NoCpu, "ready to run without a CPU: others used it", "", 50)
    );
    profile.stats.throttled_ns = 400_000_000;
    let throttled = "ready to run without a CPU: the limit of its cgroup was used up";
    assert_eq!(found(&profile)[1].1, throttled);
}

#[test]
fn where_waits_are_sampled_code_that_computes_was_held_up() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Running, 450, "<main> /app.rb:3; String#scan");
    it.wall(MAIN, State::Waiting, 350, "<main> /app.rb:3; String#scan");
    it.wall(MAIN, State::Waiting, 200, "<main> /app.rb:4; PG::Connection#exec");
    let mut profile = it.profile();
    profile.meta.notes.push(Note::WaitsSampled {});
    let expected = [
        finding(Kind::Running, "running String#scan, called from <main>", "/app.rb:3", 45),
        finding(Kind::Waiting, "waiting in PG::Connection#exec, called from <main>", "/app.rb:4", 20),
        finding(Kind::NoCpu, "ready to run without a CPU, or without the GVL", "", 35),
    ];
    assert_eq!(found(&profile), expected);
}

#[test]
fn idle_threads_are_one_sentence_and_in_no_share() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Running, 1_000, "<main> /app.rb:3");
    for worker in ["a", "b", "c"] {
        it.wall(
            worker,
            State::Waiting,
            1_000,
            "Pool#wait /g/gems/puma-6.0/pool.rb:9; Thread::ConditionVariable#wait",
        );
    }
    let expected = [
        finding(Kind::Running, "running <main>", "/app.rb:3", 100),
        finding(Kind::Idle, "3 threads waited for work: idle, 3.00 s in all", "", 0),
    ];
    assert_eq!(found(&it.profile()), expected);
}

#[test]
fn objects_have_their_place_and_class() {
    let mut it = Example::lasting_ms(1_000);
    let of = |bytes, live| {
        [
            (SampleType::AllocSpace, bytes),
            (SampleType::AllocObjects, bytes / 40),
            (SampleType::InuseSpace, live),
        ]
    };
    it.row(
        MAIN,
        State::Running,
        &[("class", "String")],
        &of(80 << 20, 1 << 20),
        "<main> /app.rb:3; Row#name /app.rb:8; String#+",
    );
    it.row(
        MAIN,
        State::Running,
        &[("class", "Array")],
        &of(20 << 20, 20 << 20),
        "<main> /app.rb:3; Cache#add /app.rb:9",
    );
    let expected = [
        finding(Kind::Live, "live at the end: 20.0 MiB of Array in Cache#add", "/app.rb:9", 95),
        finding(Kind::Allocations, "allocated: 80.0 MiB of String in Row#name, 98.8% died", "/app.rb:8", 80),
    ];
    assert_eq!(found(&it.profile())[..2], expected);
}

#[test]
fn a_query_that_each_request_sends_often_comes_first() {
    let mut it = Example::lasting_ms(1_000);
    let stack = "Orders#index /app/orders.rb:7; ActiveRecord::Relation#records /g/gems/activerecord-6.1/a.rb:3; SQLite3::Statement#step";
    let weights = [(SampleType::Wall, 500_000_000), (SampleType::Samples, 500)];
    it.row(MAIN, State::Running, &[("endpoint", "orders#index")], &weights, stack);
    let mut profile = it.profile();
    let query = Marker {
        name: "SQL Item Load: SELECT items.* FROM items WHERE id = ?".into(),
        duration_ns: 1_000_000,
        ..Marker::default()
    };
    profile.markers = vec![query; 60];
    let mut requests = Requests::default();
    (0..3).for_each(|_| requests.record(&crate::profile::LabelSet::EMPTY, 1));
    profile.requests = requests;
    let expected = finding(
        Kind::Queries,
        "the same query 20 times a request under orders#index, 60.0 ms: Item Load: SELECT items.* FROM items WHERE id = ?",
        "/app/orders.rb:7",
        0,
    );
    assert_eq!(found(&profile)[0], expected);
    profile.markers.truncate(29);
    assert!(found(&profile).iter().all(|it| it.0 != Kind::Queries));
}

#[test]
fn few_samples_and_losses_limit_trust() {
    let mut it = Example::lasting_ms(1_000);
    it.wall(MAIN, State::Running, 50, "<main> /app.rb:3");
    let mut profile = it.profile();
    assert_eq!(found(&profile)[1].1, "few samples: 50, so small shares are chance");
    profile.stats.counts.dropped_full = 10;
    assert_eq!(
        found(&profile)[1].1,
        "coarse: 16.7% of the samples were dropped; the next ones have their time"
    );
}

#[test]
fn six_findings_are_the_most_and_the_limits_of_trust_are_among_them() {
    let mut it = Example::lasting_ms(1_000);
    let app = |line: u32| format!("<main> /app.rb:{line}");
    it.wall(MAIN, State::Running, 20, &app(1));
    it.wall(MAIN, State::Gc, 20, &format!("{}; (garbage collection)", app(2)));
    it.wall(MAIN, State::Gvl, 20, &app(3));
    it.wall(MAIN, State::Runnable, 20, &app(4));
    it.wall(MAIN, State::Waiting, 20, &format!("{}; Kernel#sleep", app(5)));
    it.wall(MAIN, State::Waiting, 20, &format!("{}; IO#gets", app(6)));
    let kinds: Vec<Kind> = findings(&it.profile()).iter().map(|it| it.kind).collect();
    assert_eq!(kinds.len(), MOST);
    assert_eq!(kinds.last(), Some(&Kind::Trust));
}

#[test]
fn commands_match_the_name_alone() {
    assert_eq!(details_of("Foo.bar"), r"profiler report FILE --method '^Foo\.bar$'");
    assert_eq!(details_of("Foo#[]"), r"profiler report FILE --method '^Foo#\[\]$'");
    assert_eq!(details_of("it's"), r"profiler report FILE --method '^it\'\''s$'");
}
