use ::std::collections::HashMap;
use ::std::prelude::rust_2021::*;
use ::std::{assert, assert_eq};

use super::*;
use crate::rng;

#[test]
fn it_is_a_map_that_never_grows() {
    for seed in 1..=20u64 {
        let mut bits = seed << 32 | 1;
        let mut random = |below: u64| {
            bits = rng::after(bits);
            (bits >> 20) % below
        };
        let mut tracked = Tracked::with_capacity(64);
        let mut model: HashMap<u64, (TrackedId, u64)> = HashMap::new();
        for turn in 0..4_000 {
            let address = 0x7f00_0000_0000 + 40 * random(200);
            match random(20) {
                0..=9 => {
                    model.remove(&address);
                    let id = tracked.insert(address, turn);
                    assert_eq!(id.is_none(), model.len() == 64, "seed {seed}");
                    if let Some(id) = id {
                        assert!(model.values().all(|(other, _)| *other != id));
                        tracked.weigh(id, turn, 40 * turn);
                        model.insert(address, (id, turn));
                    }
                }
                10 if turn % 50 == 0 => {
                    let moved = |address: u64| address ^ 0x10_0000;
                    tracked.relocate(moved);
                    model = model.into_iter().map(|(address, it)| (moved(address), it)).collect();
                }
                11 if turn % 500 == 0 => {
                    tracked.clear();
                    model.clear();
                }
                _ => assert_eq!(tracked.remove(address), model.remove(&address).is_some()),
            }
            assert_eq!(tracked.len(), model.len());
        }
        assert!(tracked.is_sound(), "seed {seed}");
        let mut alive: Vec<(TrackedId, u64)> = tracked.alive().map(|it| (it.id, it.objects)).collect();
        let mut expected: Vec<(TrackedId, u64)> = model.into_values().collect();
        alive.sort_unstable_by_key(|(id, _)| id.place);
        expected.sort_unstable_by_key(|(id, _)| id.place);
        assert_eq!(alive, expected, "seed {seed}");
    }
}
