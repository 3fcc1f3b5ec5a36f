//! The promises of the ring, one for each test.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::VecDeque;

use profiler_core::record::ring::{Full, Ring};
use proptest::prelude::*;

fn push(ring: &Ring, words: &[u64]) -> Result<(), Full> {
    ring.try_push(words.len(), |slot| words.iter().for_each(|word| slot.write(*word)))
}

fn pop(ring: &Ring) -> Option<Vec<u64>> {
    let mut scratch = Vec::new();
    ring.pop(&mut scratch).then_some(scratch)
}

#[test]
fn pops_in_push_order() {
    let ring = Ring::with_capacity(16);
    push(&ring, &[1, 2]).unwrap();
    push(&ring, &[]).unwrap();
    push(&ring, &[3]).unwrap();
    assert_eq!(ring.fill(), 6);
    assert_eq!(
        [pop(&ring), pop(&ring), pop(&ring), pop(&ring)],
        [Some(vec![1, 2]), Some(vec![]), Some(vec![3]), None]
    );
    assert_eq!(ring.fill(), 0);
}

#[test]
fn a_full_ring_rejects_without_writing() {
    let ring = Ring::with_capacity(4);
    push(&ring, &[1, 2]).unwrap();
    assert_eq!(push(&ring, &[3]), Err(Full));
    assert_eq!(push(&ring, &[]), Ok(()), "what fits, fits");
    assert_eq!(pop(&ring), Some(vec![1, 2]));
    assert_eq!(push(&ring, &[7, 8, 9, 10]), Err(Full), "longer than the ring");
}

#[test]
fn nested_producers_neither_wait_nor_interleave() {
    let ring = Ring::with_capacity(32);
    ring.try_push(3, |slot| {
        slot.write(1);
        push(&ring, &[10, 20]).unwrap();
        assert_eq!(pop(&ring), None, "the outer record is not whole, and order is kept");
        slot.write(2);
        slot.write(3);
    })
    .unwrap();
    assert_eq!(pop(&ring), Some(vec![1, 2, 3]));
    assert_eq!(pop(&ring), Some(vec![10, 20]));
}

#[test]
fn missing_words_are_zero_and_excess_words_dropped() {
    let ring = Ring::with_capacity(16);
    ring.try_push(2, |slot| slot.write(5)).unwrap();
    ring.try_push(1, |slot| {
        slot.write(6);
        slot.write(7);
    })
    .unwrap();
    assert_eq!(pop(&ring), Some(vec![5, 0]));
    assert_eq!(pop(&ring), Some(vec![6]));
}

#[test]
fn peeking_visits_every_record_and_removes_none() {
    let ring = Ring::with_capacity(8);
    push(&ring, &[1, 2, 3]).unwrap();
    push(&ring, &[4, 5, 6]).unwrap();
    let (mut scratch, mut seen, mut at) = (Vec::new(), Vec::new(), ring.oldest());
    while let Some(next) = ring.peek(at, &mut scratch) {
        seen.push(scratch.clone());
        at = next;
    }
    assert_eq!(seen, [vec![1, 2, 3], vec![4, 5, 6]], "also when the ring is full to the brim");
    assert_eq!(pop(&ring), Some(vec![1, 2, 3]));
}

#[test]
fn concurrent_producers_lose_no_accepted_record() {
    let ring = Ring::with_capacity(256);
    let per_thread = if cfg!(miri) { 50 } else { 20_000 };
    let (mut scratch, mut next, mut taken) = (Vec::new(), [0u64; 3], 0);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..3u64)
            .map(|thread| {
                let ring = &ring;
                scope.spawn(move || {
                    let mut accepted = 0;
                    for turn in 0..per_thread {
                        let words = [thread, accepted, turn % 7];
                        let len = 2 + (turn % 2) as usize;
                        accepted += u64::from(push(ring, words.get(..len).unwrap_or(&[])).is_ok());
                    }
                    accepted
                })
            })
            .collect();
        let mut peek = |ring: &Ring| {
            while ring.pop(&mut scratch) {
                let (thread, number) = (scratch[0] as usize, scratch[1]);
                assert_eq!(number, next[thread], "a thread's records stay in order, none twice");
                next[thread] += 1;
                taken += 1;
            }
        };
        while workers.iter().any(|worker| !worker.is_finished()) {
            peek(&ring);
        }
        // Only a join orders what the threads wrote before what is read now: that one is finished does not.
        let accepted: u64 = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        peek(&ring);
        assert_eq!(taken, accepted);
    });
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: if cfg!(miri) { 4 } else { 256 }, ..ProptestConfig::default() })]
    #[test]
    fn behaves_like_a_bounded_queue(ops in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u64>(), 0..9)), 0..400)) {
        let ring = Ring::with_capacity(32);
        let mut model: VecDeque<Vec<u64>> = VecDeque::new();
        for op in ops {
            match op {
                Some(words) => {
                    let room = model.iter().map(|it| it.len() + 1).sum::<usize>() + words.len() < 32;
                    prop_assert_eq!(push(&ring, &words).is_ok(), room);
                    if room { model.push_back(words) }
                }
                None => prop_assert_eq!(pop(&ring), model.pop_front()),
            }
        }
    }
}
