use super::*;
use crate::memory::holders::{HolderRow, Why};
use crate::memory::ledger::tests::with_kinds;
use crate::memory::rows::{ArenaRow, HintRow, SizeRow};
use crate::memory::slots::{type_name, HeapSlot};

const MIB: u64 = 1 << 20;

fn kinds(ledger: &Ledger) -> Vec<String> {
    all(ledger).into_iter().map(|it| it.kind).collect()
}

#[test]
fn finds_each_kind_where_it_is_large() {
    let mut ledger = with_kinds(&[
        ("unreferenced", 50 * MIB, 10_000),
        ("free_chunks", 90 * MIB, 7),
        ("empty_pages", 10 * MIB, 7),
        ("jit", 20 * MIB, 1),
    ]);
    assert_eq!(kinds(&ledger), ["jit", "empty_pages"], "the others need a snapshot");
    let arena = |main, top| ArenaRow { main, top, ..ArenaRow::default() };
    ledger.snapshot = Some(Snapshot {
        trimmable: 60 * MIB,
        arenas: vec![arena(true, 99 * MIB), arena(false, 30 * MIB), arena(false, 10 * MIB)],
        sizes: vec![SizeRow { size: 5_008, count: 10_000, bytes: 50 * MIB }],
        hints: vec![HintRow { path: "/usr/lib/libleak.so".into(), count: 9_000, bytes: 45 * MIB }],
        ..Snapshot::default()
    });
    assert_eq!(kinds(&ledger), ["free_pages", "leak", "tops", "fragments", "jit", "empty_pages"]);
    let found = all(&ledger);
    assert!(found[1].text.contains("10,000 of 4.89 KiB"), "{}", found[1].text);
    assert!(found[1].remedy.contains("libleak.so: 90.0%"), "{}", found[1].remedy);
    assert!(found[2].text.starts_with("40.0 MiB are free at the ends of 2 arenas"), "{}", found[2].text);
}

#[test]
fn names_the_class_with_most_or_the_object_that_retains_it() {
    let mut ledger = with_kinds(&[("of_objects", 100 * MIB, 9)]);
    let owner =
        |name: &str, bytes, objects| OwnerRow { name: name.into(), bytes, objects, ..OwnerRow::default() };
    let anonymous = vec![owner("#<anonymous subclass of Object>", 26 * MIB, 7)];
    ledger.snapshot = Some(Snapshot { owners: anonymous, ..Snapshot::default() });
    assert!(all(&ledger)[0].remedy.contains("--why '*' PID"), "{}", all(&ledger)[0].remedy);
    let internal = format!("{INTERNAL}Array");
    let owners = vec![
        owner(&internal, 40 * MIB, 5),
        owner("(all other classes)", 35 * MIB, 9),
        owner("libz.so", 30 * MIB, 0),
        owner("Mail", 26 * MIB, 7),
    ];
    ledger.snapshot = Some(Snapshot { owners, ..Snapshot::default() });
    let found = all(&ledger);
    assert_eq!(found[0].text, "26.0 MiB belong to 7 objects of class Mail, with their memory of malloc");
    assert!(found[0].remedy.contains("--why Mail PID"), "{}", found[0].remedy);

    let step = |class: &str, retained, is_dominator| StepRow {
        class: class.into(),
        retained,
        is_dominator,
        ..StepRow::default()
    };
    let path = vec![
        step("Object", 90 * MIB, false),
        step("Store", 21 * MIB, true),
        step("Hash", 20 * MIB, true),
        step("Mail", MIB, true),
    ];
    let why = Why { holders: vec![HolderRow { path, ..HolderRow::default() }], ..Why::default() };
    ledger.snapshot.as_mut().unwrap().why = Some(why);
    let found = all(&ledger);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, "20.0 MiB would be free without one object of class Hash");
}

#[test]
fn names_loaded_code_if_it_is_much() {
    let owner = |name: &str, bytes| OwnerRow { name: name.into(), bytes, ..OwnerRow::default() };
    let owners = ["iseq (code)", "Class", "Hash"].map(|name| owner(&format!("{INTERNAL}{name}"), 20 * MIB));
    let mut ledger = with_kinds(&[("of_objects", 200 * MIB, 9)]);
    ledger.snapshot = Some(Snapshot {
        owners: [&owners[..], &[owner("Module", 20 * MIB)]].concat(),
        ..Snapshot::default()
    });
    let found = all(&ledger);
    assert_eq!(found[0].text, "40.0 MiB are Ruby code that was loaded, with its classes, methods and caches");
    assert!(found[0].remedy.starts_with("profiler boot --mode native"), "{}", found[0].remedy);
    ledger.rss *= 2;
    assert!(all(&ledger).is_empty());
    for name in CODE {
        assert!((0..HeapSlot::TYPES).any(|number| type_name(number) == name), "{name}");
    }
}

#[test]
fn explains_address_space_last() {
    let mut ledger = with_kinds(&[("jit", 30 * MIB, 1), ("files", 70 * MIB, 0)]);
    (ledger.address_space, ledger.reserved) = (3_172 * MIB, 2_048 * MIB);
    let found = all(&ledger);
    assert_eq!(kinds(&ledger), ["jit", "address_space"]);
    assert_eq!(found[1].text, "3.00 GiB of address space are not resident, and need no memory");
    assert!(found[1].remedy.contains("2.00 GiB are reserved"), "{}", found[1].remedy);
    ledger.reserved = 100 * MIB;
    assert!(!all(&ledger)[1].remedy.contains("reserved"));
    ledger.address_space = 1_100 * MIB;
    assert_eq!(kinds(&ledger), ["jit"]);
}

#[test]
fn is_silent_about_little_and_about_broken_walks() {
    let mut ledger =
        with_kinds(&[("unreferenced", MIB / 2, 9), ("jit", 10 * MIB, 1), ("files", 900 * MIB, 0)]);
    ledger.snapshot = Some(Snapshot::default());
    assert!(all(&ledger).is_empty());
    for (not_walked, found) in [(MIB, 1), (3 * MIB, 0)] {
        let mut leak = with_kinds(&[("unreferenced", 20 * MIB, 9), ("not_walked", not_walked, 1)]);
        leak.snapshot = Some(Snapshot { broken_chains: 1, ..Snapshot::default() });
        assert_eq!(all(&leak).len(), found);
    }
}
