//! Objects: where they come from, and which class they have.

use super::*;

#[test]
fn objects_have_their_place_and_class() {
    let mut example = Example::lasting_ms(1_000);
    let of = |bytes, live| {
        [
            (SampleType::AllocSpace, bytes),
            (SampleType::AllocObjects, bytes / 40),
            (SampleType::InuseSpace, live),
        ]
    };
    example.row(
        MAIN,
        State::Running,
        &[("class", "String")],
        &of(80 << 20, 1 << 20),
        "<main> /app.rb:3; Row#name /app.rb:8; String#+",
    );
    example.row(
        MAIN,
        State::Running,
        &[("class", "Array")],
        &of(20 << 20, 20 << 20),
        "<main> /app.rb:3; Cache#add /app.rb:9",
    );
    let expected = [
        finding(FindingKind::Live, "live at the end: 20.0 MiB of Array in Cache#add", "/app.rb:9", 95),
        finding(
            FindingKind::Allocations,
            "allocated: 80.0 MiB of String in Row#name, 98.8% died",
            "/app.rb:8",
            80,
        ),
    ];
    assert_eq!(found(&example.profile())[..2], expected);
}

#[test]
fn memory_has_its_place_and_library() {
    let mut example = Example::lasting_ms(1_000);
    let of = |bytes, live| [(SampleType::AllocSpace, bytes), (SampleType::InuseSpace, live)];
    let mut row = |library, weights: &[_], stack| {
        example.row(MAIN, State::Running, &[("library", library)], weights, stack);
    };
    row("libruby.so", &of(90 << 20, 1 << 20), "<main> /app.rb:3; Row#name /app.rb:8; String#+");
    row("libruby.so", &of(20 << 20, 20 << 20), "(unsampled)");
    row("leaky.so", &of(12 << 20, 12 << 20), "<main> /app.rb:3; native_bug /app.rb:7");
    let expected = [
        finding(
            FindingKind::Live,
            "12.0 MiB of C memory still held, allocated in native_bug by leaky.so",
            "/app.rb:7",
            36,
        ),
        finding(
            FindingKind::Allocations,
            "allocated: 90.0 MiB of C memory in Row#name by libruby.so, 98.9% was freed",
            "/app.rb:8",
            74,
        ),
    ];
    assert_eq!(found(&example.profile())[..2], expected);
}

#[test]
fn leaked_memory_comes_first() {
    let mut example = Example::lasting_ms(1_000);
    let mut row = |owner, bytes: u64, stack| {
        let labels = [("library", "leaky.so"), ("owner", owner)];
        example.row(MAIN, State::Running, &labels, &[(SampleType::InuseSpace, bytes)], stack);
    };
    row("String", 30 << 20, "<main> /app.rb:3; Row#name /app.rb:8; String#+");
    row("(unreferenced)", 10 << 20, "<main> /app.rb:3; native_bug /app.rb:7");
    let text = "leaked: nothing refers to 10.0 MiB, allocated in native_bug by leaky.so";
    assert_eq!(found(&example.profile())[0], finding(FindingKind::Live, text, "/app.rb:7", 25));
}

#[test]
fn the_largest_objects_are_named_where_nothing_else_was_measured() {
    let mut example = Example::lasting_ms(1_000);
    for line in 1..=20 {
        let weights = [(SampleType::AllocSpace, 1_000 + line), (SampleType::AllocObjects, 1)];
        let stack = format!("<main> /app.rb:30; Row#m{line} /app.rb:{line}");
        example.row(MAIN, State::Running, &[("class", "String")], &weights, &stack);
    }
    let expected =
        finding(FindingKind::Allocations, "allocated: 1020 B of String in Row#m20", "/app.rb:20", 5);
    assert_eq!(found(&example.profile())[0], expected);
}

#[test]
fn objects_without_a_class_can_be_live_too() {
    let mut example = Example::lasting_ms(1_000);
    let weights = [(SampleType::AllocSpace, 80 << 20), (SampleType::InuseSpace, 80 << 20)];
    example.row(MAIN, State::Running, &[], &weights, "<main> /app.rb:3; Cache#add /app.rb:9");
    let expected =
        finding(FindingKind::Allocations, "allocated: 80.0 MiB of objects in Cache#add", "/app.rb:9", 100);
    assert_eq!(found(&example.profile())[1], expected);
}

#[test]
fn samples_of_objects_are_not_time() {
    let mut example = Example::lasting_ms(1_000);
    let loads = "<main> /app.rb:1; Kernel#require; <top (required)> /g/gems/csv-3.3/csv.rb:1";
    let weights = |objects| {
        [
            (SampleType::Samples, objects),
            (SampleType::AllocObjects, objects),
            (SampleType::AllocSpace, 40 * objects),
        ]
    };
    example.row(MAIN, State::Running, &[("class", "String")], &weights(30), loads);
    example.row(MAIN, State::Running, &[("class", "String")], &weights(10), "<main> /app.rb:2");
    let expected =
        finding(FindingKind::Allocations, "allocated: 1.56 KiB of String in <main>", "/app.rb:1", 100);
    assert_eq!(found(&example.profile())[0], expected);
}
