//! Code that ran: the hottest function, or the one that holds the time.

use super::*;

/// A program that runs for 1 s, 700 ms of which `Order#parse` takes, and `scan_ms` of these `String#scan`.
fn parsing(scan_ms: u64) -> Profile {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, scan_ms, "<main> /app.rb:9; Order#parse /app.rb:41; String#scan");
    example.wall(MAIN, State::Running, 700 - scan_ms, "<main> /app.rb:9; Order#parse /app.rb:42");
    example.wall(MAIN, State::Running, 300, "<main> /app.rb:9; Order#save /app.rb:50");
    example.profile()
}

#[test]
fn the_hottest_method_has_its_line_and_the_c_function_that_it_calls() {
    let expected =
        finding(FindingKind::Running, "running String#scan, called from Order#parse", "/app.rb:41", 70);
    assert_eq!(found(&parsing(660)), [expected]);
}

#[test]
fn a_function_with_a_part_of_the_time_has_the_percentage_of_that_part() {
    let expected =
        finding(FindingKind::Running, "running Order#parse, 40.0% in String#scan", "/app.rb:41", 70);
    assert_eq!(found(&parsing(400)), [expected]);
}

#[test]
fn a_method_that_only_calls_a_block_is_not_what_ran() {
    let of = |callee: &str, path: &str| {
        let mut example = Example::lasting_ms(1_000);
        let total = "<main> /app.rb:9; Cart#total /app.rb:4";
        example.wall(MAIN, State::Running, 600, &format!("{total}; {callee}{path}"));
        example.wall(
            MAIN,
            State::Running,
            400,
            &format!("{total}; {callee}{path}; Cart#total /app.rb:4; Integer.sqrt"),
        );
        found(&example.profile()).remove(0).1
    };
    assert_eq!(of("Integer#times", " <internal:numeric>:237"), "running Cart#total");
    assert_eq!(of("Integer#times", ""), "running Cart#total");
    assert_eq!(of("Array#sort_by!", ""), "running Cart#total, 60.0% in Array#sort_by!", "it sorts as well");
}

#[test]
fn a_method_of_a_gem_has_the_line_of_the_app_that_called_it() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(
        MAIN,
        State::Running,
        500,
        "<main> /app.rb:9; Order#parse /app.rb:41; CSV#each /g/gems/csv-3.2/csv.rb:7",
    );
    example.wall(
        MAIN,
        State::Running,
        500,
        "<main> /app.rb:9; Order#parse /app.rb:41; CSV#shift /g/gems/csv-3.2/csv.rb:8; String#scan",
    );
    let running = found(&example.profile());
    assert_eq!(
        running,
        [finding(FindingKind::Running, "running CSV#each, called from Order#parse", "/app.rb:41", 50)]
    );
}

#[test]
fn many_methods_of_gems_count_for_the_app_that_called_them() {
    let mut example = Example::lasting_ms(1_000);
    for method in 0..25 {
        example.wall(
            MAIN,
            State::Running,
            40,
            &format!("<main> /app.rb:9; Order#load /app.rb:12; A#m{method} /g/gems/a-1.0/a.rb:7"),
        );
    }
    let running = found(&example.profile());
    assert_eq!(running, [finding(FindingKind::Running, "inside Order#load", "/app.rb:12", 100)]);
}

#[test]
fn flat_time_has_the_innermost_function_that_holds_half_of_it() {
    let mut example = Example::lasting_ms(1_000);
    let site = "<main> /usr/bin/jekyll:9; Site#place /app/site.rb:12; Liquid::For#render /g/gems/liquid-5.1/for.rb:4; Array#each; Liquid::Body#node /g/gems/liquid-5.1/body.rb:8";
    for method in 0..14 {
        let class = if method < 8 { "Lookup" } else { "Filter" };
        example.wall(
            MAIN,
            State::Running,
            50,
            &format!("{site}; {class}#evaluate /g/gems/liquid-5.1/l.rb:3; Part#m{method} /g/gems/liquid-5.1/p.rb:7"),
        );
    }
    for method in 0..6 {
        example.wall(
            MAIN,
            State::Running,
            50,
            &format!("<main> /usr/bin/jekyll:9; Site#m{method} /app/site.rb:30"),
        );
    }
    let expected = [
        finding(
            FindingKind::Running,
            "inside Liquid::Body#node, called from Site#place: 40.0% Lookup#evaluate, 30.0% Filter#evaluate",
            "/app/site.rb:12",
            70,
        ),
        finding(FindingKind::Running, "running Part#m0, called from Site#place", "/app/site.rb:12", 5),
    ];
    assert_eq!(found(&example.profile()), expected);
}

#[test]
fn the_text_of_an_executable_is_not_named() {
    let mut example = Example::lasting_ms(1_000);
    let exe = "<main> /usr/bin/nanoc:23; <top (required)> /g/gems/nanoc-4.12/bin/nanoc:8";
    for method in 0..10 {
        let compile = "Nanoc::CLI.run /g/gems/nanoc-4.12/lib/cli.rb:7; Nanoc::Compiler#run /g/gems/nanoc-4.12/lib/c.rb:9";
        let part = |name: &str| format!("{name}#m{method} /g/gems/nanoc-4.12/lib/p.rb:3");
        example.wall(MAIN, State::Running, 40, &format!("{exe}; {compile}; {}", part("Item")));
        example.wall(MAIN, State::Running, 60, &format!("{exe}; {}", part("Config")));
    }
    let text = found(&example.profile())[0].1.clone();
    assert!(text.starts_with("inside Nanoc::Compiler#run: "), "{text}");
}

#[test]
fn a_method_that_runs_a_block_does_not_hold_its_time() {
    let mut example = Example::lasting_ms(1_000);
    let each = "<main> /app.rb:9; Orders#index /app.rb:4; Delegation#each /g/gems/ar-7.2/d.rb:8; Array#each; Orders#index /app.rb:5";
    for method in 0..10 {
        let query = format!("Relation#load /g/gems/ar-7.2/r.rb:3; Part#m{method} /g/gems/ar-7.2/p.rb:7");
        example.wall(MAIN, State::Running, 60, &format!("{each}; {query}"));
        example.wall(MAIN, State::Running, 40, &format!("<main> /app.rb:9; Other#m{method} /app.rb:30"));
    }
    let text = found(&example.profile())[0].1.clone();
    assert!(text.starts_with("inside Relation#load, called from Orders#index:"), "{text}");
    let mut example = Example::lasting_ms(1_000);
    for method in 0..10 {
        let part =
            format!("Part{}#x /g/gems/ar-7.2/p.rb:7; Leaf#m{method} /g/gems/ar-7.2/p.rb:7", method % 4);
        example.wall(MAIN, State::Running, 60, &format!("{each}; {part}"));
        example.wall(MAIN, State::Running, 40, &format!("<main> /app.rb:9; Other#m{method} /app.rb:30"));
    }
    assert_eq!(found(&example.profile())[0].1, "inside Orders#index: 18.0% Part0#x, 18.0% Part1#x");
}

#[test]
fn a_method_that_others_call_again_holds_all_of_its_time() {
    let mut example = Example::lasting_ms(1_000);
    let gem = "/g/gems/doc-1.0/lib/doc.rb";
    let render = format!("<main> /usr/bin/doc:9; Page#render {gem}:3");
    for method in 0..10 {
        let once = format!("Section#new {gem}:8; Part{}#draw {gem}:20", method % 4);
        let leaf = format!("Leaf#m{method} {gem}:40");
        example.wall(MAIN, State::Running, 30, &format!("{render}; {once}; {leaf}"));
        example.wall(MAIN, State::Running, 30, &format!("{render}; {once}; {once}; {leaf}"));
        example.wall(MAIN, State::Running, 5, &format!("{render}; {leaf}"));
        example.wall(MAIN, State::Running, 35, &format!("<main> /usr/bin/doc:9; Other#m{method} {gem}:30"));
    }
    let text = found(&example.profile())[0].1.clone();
    assert!(text.starts_with("inside Section#new: 18.0% Part0#draw, 18.0% Part1#draw"), "{text}");
}

#[test]
fn one_function_that_ran_is_always_named() {
    let mut example = Example::lasting_ms(1_000);
    for method in 0..25 {
        example.wall(MAIN, State::Running, 40, &format!("M#m{method} /app.rb:{}", method + 1));
    }
    assert_eq!(found(&example.profile()), [finding(FindingKind::Running, "running M#m0", "/app.rb:1", 4)]);
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Gc, 960, "(garbage collection)");
    example.wall(MAIN, State::Running, 40, "<main> /app.rb:3");
    let expected = [
        finding(FindingKind::Gc, "collecting garbage", "", 96),
        finding(FindingKind::Running, "running <main>", "/app.rb:3", 4),
    ];
    assert_eq!(found(&example.profile())[..2], expected);
    assert_eq!(found(&Profile::default()), []);
}

#[test]
fn what_the_profiler_does_itself_is_not_what_ran() {
    let mut example = Example::lasting_ms(1_000);
    let notify = "<main> /app.rb:9; Order#load /app.rb:4; Timed#finish /g/gems/notify-1.0/timed.rb:7";
    let own = "Profiler::InRails::Markers.sql /g/gems/profiler-0.1.0/lib/profiler/in_rails/markers.rb:40";
    example.wall(MAIN, State::Running, 900, &format!("{notify}; {own}; String#scan"));
    example.wall(MAIN, State::Running, 100, "<main> /app.rb:9; Order#load /app.rb:4");
    let text = found(&example.profile()).remove(0).1;
    assert_eq!(text, "running Order#load");
}

#[test]
fn a_loop_and_its_block_are_one_piece_of_code() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, 500, "<main> /a.rb:1; Integer#times");
    example.wall(MAIN, State::Running, 400, "<main> /a.rb:1; Integer#times; block in <main> /a.rb:1");
    example.wall(MAIN, State::Running, 100, "<main> /a.rb:2; Integer#times; block in <main> /a.rb:2");
    assert_eq!(found(&example.profile()), [finding(FindingKind::Running, "running <main>", "/a.rb:1", 90)]);
    let mut example = Example::lasting_ms(1_000);
    let outer = "<main> /a.rb:1; Integer#times; block in <main> /a.rb:2; Array#each";
    example.wall(MAIN, State::Running, 500, outer);
    example.wall(
        MAIN,
        State::Running,
        300,
        &format!("{outer}; block (2 levels) in <main> /a.rb:3; Integer#+"),
    );
    example.wall(MAIN, State::Running, 200, "<main> /a.rb:1; Integer#times; block in <main> /a.rb:4");
    let found = found(&example.profile());
    assert_eq!(found, [finding(FindingKind::Running, "running block in <main>", "/a.rb:2", 80)]);
}
