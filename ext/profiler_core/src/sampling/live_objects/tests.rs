use ::std::collections::HashMap;
use ::std::prelude::rust_2021::*;
use ::std::{assert, assert_eq};

use super::*;
use crate::rng;

#[test]
fn behaves_like_a_map_of_fixed_capacity() {
    for seed in 1..=20u64 {
        let mut bits = seed << 32 | 1;
        let mut random = |below: u64| {
            bits = rng::after(bits);
            (bits >> 20) % below
        };
        let mut objects = LiveObjects::with_capacity(64).unwrap();
        let mut model: HashMap<u64, (ObjectId, u64)> = HashMap::new();
        for turn in 0..4_000 {
            let address = 0x7f00_0000_0000 + 40 * random(200);
            match random(20) {
                0..=9 => {
                    model.remove(&address);
                    let id = objects.insert(address, turn);
                    assert_eq!(id.is_none(), model.len() == 64, "seed {seed}");
                    if let Some(id) = id {
                        assert!(model.values().all(|(other, _)| *other != id));
                        objects.set_weight(id, turn, 40 * turn);
                        model.insert(address, (id, turn));
                    }
                }
                10 if turn % 50 == 0 => {
                    let moved = |address: u64| address ^ 0x10_0000;
                    objects.relocate(moved);
                    model = model.into_iter().map(|(address, it)| (moved(address), it)).collect();
                }
                11 if turn % 500 == 0 => {
                    objects.clear();
                    model.clear();
                }
                _ => assert_eq!(objects.remove(address), model.remove(&address).is_some()),
            }
            assert_eq!(objects.len(), model.len());
        }
        assert!(objects.is_sound(), "seed {seed}");
        let mut live: Vec<(ObjectId, u64)> = objects.iter().map(|it| (it.id, it.objects)).collect();
        let mut expected: Vec<(ObjectId, u64)> = model.into_values().collect();
        live.sort_unstable_by_key(|(id, _)| id.slot);
        expected.sort_unstable_by_key(|(id, _)| id.slot);
        assert_eq!(live, expected, "seed {seed}");
    }
}
