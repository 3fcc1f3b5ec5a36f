//! A profile with a bit of everything, for the golden files.

use profiler_core::profile::{Function, Marker, Meta, Note, Profile, SampleType, Stats, Thread};
use profiler_core::record::counters::Counts;
use profiler_core::record::State;

use crate::build::{build, Row};

fn function(class_name: &str, sign: &str, method_name: &str, path: &str, first_line: u32) -> Function {
    Function {
        name: format!("{class_name}{sign}{method_name}"),
        class_name: class_name.into(),
        method_name: method_name.into(),
        path: path.into(),
        first_line,
    }
}

fn bare(name: &str, path: &str, first_line: u32) -> Function {
    Function {
        name: name.into(),
        class_name: String::new(),
        method_name: String::new(),
        path: path.into(),
        first_line,
    }
}

pub(crate) fn example() -> Profile {
    let app = "/app/lib/shop.rb";
    let main = (bare("<main>", "/app/bin/shop", 1), 12);
    let each = (function("Array", "#", "each", "<cfunc>", 0), 12);
    let save = |line| (function("Shop::Order", "#", "save", app, 40), line);
    let save_now = (function("Shop::Order", "#", "save!", app, 60), 61);
    let compare = (function("Shop::Order", "#", "<=>", app, 20), 21);
    let anonymous = (function("#<anonymous subclass of Shop::Order>", "#", "total", app, 80), 82);
    let nasty = (bare("<script>alert('x')</script>; \"&\"\n\u{202e}Größe 12", "/tmp/a b;c\n.rb", 7), 8);
    let gc = (bare("(garbage collection)", "", 0), 0);

    let row = |frames: &[&(Function, u32)], thread, count, cpu_us: u64| Row {
        frames: frames.iter().map(|it| (*it).clone()).collect(),
        thread,
        state: State::Running,
        labels: Vec::new(),
        weights: vec![(SampleType::Samples, count), (SampleType::Cpu, cpu_us * 1_000)],
    };
    let labelled = |mut row: Row| {
        row.labels = vec![("endpoint".into(), "orders#index".into()), ("state".into(), "open".into())];
        row
    };
    let in_gc = |mut row: Row| {
        row.state = State::Gc;
        row
    };
    let rows = [
        row(&[&main, &each, &save(41), &compare], 0, 100, 401_234),
        row(&[&main, &each, &save(43)], 0, 50, 200_100),
        row(&[&main, &each, &save(44), &each, &save(41)], 0, 25, 99_900),
        row(&[&main, &each, &save_now], 0, 20, 81_000),
        labelled(row(&[&main, &anonymous], 1, 10, 40_000)),
        row(&[&main, &nasty], 1, 4, 16_000),
        in_gc(row(&[&main, &anonymous, &gc], 1, 2, 8_016)),
        row(&[&main], 0, 0, 750),
        row(&[&main, &save_now], 1, 0, 0),
    ];
    let threads = [
        Thread { native_id: 4711, name: "main".into() },
        Thread { native_id: 4712, name: "worker; 1".into() },
    ];
    let mut profile = build(&[SampleType::Samples, SampleType::Cpu], &threads, &rows);
    let marker = |started_at_ns, duration_ns, name: &str| Marker {
        started_at_ns,
        duration_ns,
        name: name.into(),
        thread: threads[0].clone(),
    };
    profile.markers = vec![
        marker(1_700_000_000_500_000_000, 250_000_000, "import"),
        marker(1_700_000_000_600_000_000, 0, "de<ploy>;\u{7}"),
    ];
    profile.meta = Meta {
        modes: vec!["cpu".into()],
        engine: "thread_timer".into(),
        interval_ns: 1_000_000,
        every: 0,
        every_bytes: 0,
        started_at_ns: 1_795_239_130_500_000_000,
        duration_ns: 1_234_567_890,
        ruby: "ruby 3.3.8 (2025-04-09 revision b200bad6cd) [x86_64-linux]".into(),
        program: "/app/bin/shop".into(),
        pid: 4711,
        profiler_version: "0.1.0".into(),
        user: [("deploy".to_owned(), "2026-11".to_owned())].into(),
        notes: vec![Note::Text("Threads of other Ractors are not in it.".into())],
        merged: None,
    };
    profile.stats = Stats {
        counts: Counts {
            captured: 211,
            captured_in_gc: 2,
            truncated: 1,
            dropped_full: 1,
            dropped_in_gc: 12,
            overrun: 620,
            ..Counts::default()
        },
        handler_ns: 1_500_000,
        collector_ns: 700_000,
        stop_ns: 90_000,
        names_ns: 400_000,
        unseen_cpu_ns: 60_000_000,
        run_delay_ns: 0,
        throttled_ns: 0,
        vm_objects: 0,
    };
    profile
}
