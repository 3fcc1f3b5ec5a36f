use super::*;

/// Builds a program that spends 600 ms on loading a gem and 300 ms on its own work.
fn loader() -> Example {
    let mut example = Example::lasting_ms(1_000);
    let rouge = "<main> /k.rb:1; Kernel#require; <top (required)> /g/gems/rouge-3.3/lib/rouge.rb:7";
    example.wall(MAIN, State::Running, 400, &format!("{rouge}; Kernel#require_relative"));
    example.wall(MAIN, State::Waiting, 100, &format!("{rouge}; Kernel#require_relative; IO#read"));
    example.wall(MAIN, State::Gc, 60, &format!("{rouge}; (garbage collection)"));
    example.wall(
        MAIN,
        State::Running,
        40,
        "<main> /k.rb:2; Kernel#require; <top (required)> /g/gems/b-1.0/b.rb:7",
    );
    example.wall(MAIN, State::Running, 300, "<main> /k.rb:5; Page#render /k.rb:9");
    example
}

#[test]
fn of_many_small_gems_none_is_named() {
    let mut example = Example::lasting_ms(1_000);
    for gem in 0..9 {
        let stack = format!("<main> /k.rb:1; Kernel#require; <top (required)> /g/gems/g{gem}-1.0/g.rb:7");
        example.wall(MAIN, State::Running, 90, &stack);
    }
    example.wall(MAIN, State::Running, 100, "<main> /k.rb:5; Page#render /k.rb:9");
    assert_eq!(found(&example.profile())[0], finding(FindingKind::Loading, "loading code", "/k.rb:1", 89));
}

#[test]
fn a_tool_that_loads_itself_is_named_without_the_line_of_its_executable() {
    let mut example = Example::lasting_ms(1_000);
    let tool = "<main> /usr/bin/tool:5";
    example.wall(
        MAIN,
        State::Running,
        500,
        &format!("{tool}; Kernel#require; <top (required)> /g/gems/tool-1.0/lib/tool.rb:7"),
    );
    example.wall(MAIN, State::Running, 100, &format!("{tool}; Tool#run /g/gems/tool-1.0/lib/tool.rb:9; Kernel#require; <top (required)> /g/gems/b-1.0/b.rb:1"));
    example.wall(MAIN, State::Running, 400, &format!("{tool}; Tool#run /g/gems/tool-1.0/lib/tool.rb:9"));
    let text = found(&example.profile())[0].1.clone();
    assert!(text.starts_with("loading code, 500 ms of it for tool"), "{text}");
}

#[test]
fn loading_code_is_a_part_of_the_time_with_its_gem_and_line() {
    let expected = [
        finding(FindingKind::Loading, "loading code for rouge", "/k.rb:1", 67),
        finding(FindingKind::Running, "running Page#render", "/k.rb:9", 33),
    ];
    assert_eq!(found(&loader().profile()), expected);
}

#[test]
fn the_rows_that_load_have_the_weight_of_the_finding() {
    let profile = loader().profile();
    let first = findings(&profile).remove(0);
    let weights = loading_rows(&profile).into_iter().map(|row| profile.samples[row].weights.get(first.of));
    assert_eq!(weights.sum::<u64>(), first.weight);
}

#[test]
fn what_a_server_loads_before_its_requests_is_a_note() {
    let mut profile = loader().profile();
    profile.requests.record(&crate::profile::LabelSet::EMPTY, 1);
    let expected = [
        finding(FindingKind::Running, "running Page#render", "/k.rb:9", 100),
        finding(
            FindingKind::Loading,
            "loaded code for 600 ms: left out, because it was before the requests",
            "",
            0,
        ),
    ];
    assert_eq!(found(&profile), expected);
}

/// Returns the findings of a server whose main thread loads for 600 ms and whose worker handles requests for
/// `handled_ms`. They load for 200 ms more.
fn served(handled_ms: u64, handler: &str) -> Vec<(FindingKind, String, String, u32)> {
    let mut example = Example::lasting_ms(10_000);
    let gem = "<main> /usr/bin/puma:9; Kernel#require; <top (required)> /g/gems/rails-7.2/lib/rails.rb:7";
    example.wall(MAIN, State::Running, 600, gem);
    example.wall(MAIN, State::Running, 200, "<main> /usr/bin/puma:9; Puma#run /g/gems/puma-6.0/a.rb:5");
    let pool = format!("Pool#run /g/gems/puma-6.0/pool.rb:3; {handler} /g/gems/puma-6.0/s.rb:4");
    let show = format!("{pool}; Shop#show /app/shop.rb:5");
    example.wall("worker", State::Running, handled_ms, &show);
    example.wall(
        "worker",
        State::Running,
        200,
        &format!("{show}; Kernel#require; <top (required)> /g/gems/late-1.0/l.rb:1"),
    );
    found(&example.profile())
}

#[test]
fn a_server_is_known_by_the_method_that_handles_its_requests() {
    let expected = [
        finding(FindingKind::Running, "running Shop#show", "/app/shop.rb:5", 67),
        finding(FindingKind::Loading, "loading code for late, required by Shop#show", "/app/shop.rb:5", 17),
        finding(
            FindingKind::Loading,
            "loaded code for 600 ms: left out, because it was before the requests",
            "",
            0,
        ),
    ];
    assert_eq!(served(800, "Puma::Server#process_client"), expected);
    // Its start took twice as long.
    let found = served(100, "Puma::Server#process_client");
    assert!(
        found.iter().all(|it| it.0 != FindingKind::Loading || it.2.is_empty() || it.2 == "/app/shop.rb:5"),
        "{found:?}"
    );
    assert_eq!(found.last().unwrap().1, expected[2].1);
}

#[test]
fn what_starts_the_app_is_left_out_with_what_is_loaded() {
    let mut example = Example::lasting_ms(10_000);
    let rack = "<main> /usr/bin/puma:9; Rack::Builder.new_from_string /g/gems/rack-3.0/b.rb:7";
    example.wall(
        MAIN,
        State::Blocked,
        700,
        &format!("{rack}; #<instance of Rack::Builder>.warm_up /config.ru:5; Kernel#spawn"),
    );
    example.wall(
        MAIN,
        State::Running,
        200,
        &format!(
            "{rack}; Rails::Application#initialize! /g/gems/railties-7.2/a.rb:3; I#run /g/gems/a-1.0/i.rb:2"
        ),
    );
    let handler = "Pool#run /g/gems/puma-6.0/pool.rb:3; Puma::Server#process_client /g/gems/puma-6.0/s.rb:4";
    example.wall("worker", State::Running, 300, &format!("{handler}; Shop#show /app/shop.rb:5"));
    let expected = [
        finding(FindingKind::Running, "running Shop#show", "/app/shop.rb:5", 100),
        finding(
            FindingKind::Loading,
            "loaded code for 900 ms: left out, because it was before the requests",
            "",
            0,
        ),
    ];
    assert_eq!(found(&example.profile()), expected);
}

#[test]
fn a_program_that_hardly_handles_requests_has_its_loading_in_the_shares() {
    for (handled_ms, handler) in [(700, "Pool#handle"), (40, "Puma::Server#process_client")] {
        let found = served(handled_ms, handler);
        assert_eq!(found[0].0, FindingKind::Loading, "{found:?}");
        assert!(found[0].3 > 40, "{found:?}");
    }
}
