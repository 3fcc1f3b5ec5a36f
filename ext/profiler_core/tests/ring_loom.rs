//! The ring under every order of events that the memory model allows.
#![cfg(loom)]
#![allow(clippy::unwrap_used, missing_docs)]

use loom::sync::Arc;
use profiler_core::record::ring::Ring;

/// Two producers and a consumer: a record is seen whole or not at all, and none twice.
#[test]
fn a_published_record_is_seen_complete() {
    loom::model(|| {
        let ring = Arc::new(Ring::with_capacity(8));
        let producers: Vec<_> = [10u64, 20]
            .into_iter()
            .map(|tag| {
                let ring = ring.clone();
                loom::thread::spawn(move || {
                    ring.try_push(2, |slot| {
                        slot.write(tag);
                        slot.write(tag + 1);
                    })
                    .is_ok()
                })
            })
            .collect();
        let mut scratch = Vec::new();
        let mut seen = Vec::new();
        if ring.pop(&mut scratch) {
            seen.push(scratch.clone());
        }
        let accepted = producers.into_iter().map(|it| it.join().unwrap()).filter(|it| *it).count();
        while ring.pop(&mut scratch) {
            seen.push(scratch.clone());
        }
        assert_eq!(seen.len(), accepted);
        seen.sort();
        assert_eq!(seen, [vec![10, 11], vec![20, 21]]);
    });
}

/// Space is returned only after it was zeroed: the next lap never reads an old head.
#[test]
fn words_are_zero_for_the_next_lap() {
    loom::model(|| {
        let ring = Arc::new(Ring::with_capacity(4));
        ring.try_push(2, |slot| {
            slot.write(1);
            slot.write(2);
        })
        .unwrap();
        let producer = {
            let ring = ring.clone();
            loom::thread::spawn(move || {
                let push = |word| ring.try_push(1, |slot| slot.write(word)).is_ok();
                [push(7), push(8)].into_iter().filter(|it| *it).count()
            })
        };
        let mut scratch = Vec::new();
        assert!(ring.pop(&mut scratch));
        assert_eq!(scratch, [1, 2]);
        let mut more = Vec::new();
        if ring.pop(&mut scratch) {
            more.push(scratch.clone());
        }
        let accepted = producer.join().unwrap();
        while ring.pop(&mut scratch) {
            more.push(scratch.clone());
        }
        assert_eq!(more.len(), accepted);
        assert!(more.iter().all(|it| *it == [7] || *it == [8]));
    });
}
