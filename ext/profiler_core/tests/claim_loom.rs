//! A claimable number under every order of events that the memory model allows.
#![cfg(loom)]
#![allow(clippy::unwrap_used, missing_docs)]

use loom::sync::{Arc, Mutex};
use profiler_core::claim::Claimable;

/// Allocates the lowest number that is free, so that one comes back as soon as it can.
#[derive(Default)]
struct Kernel(Mutex<[Option<&'static str>; 4]>);

impl Kernel {
    fn create(&self, owner: &'static str) -> u64 {
        let mut timers = self.0.lock().unwrap();
        let number = timers.iter().position(Option::is_none).unwrap();
        timers[number] = Some(owner);
        number as u64
    }

    fn delete(&self, number: u64, owner: &'static str) {
        assert_eq!(self.0.lock().unwrap()[number as usize].take(), Some(owner));
    }

    fn owner(&self, number: u64) -> Option<&'static str> {
        self.0.lock().unwrap()[number as usize]
    }
}

/// Sets the timer of a thread that ends, while the app creates a timer of its own.
#[test]
fn a_deleted_timer_is_never_set() {
    loom::model(|| {
        let shared = Arc::new((Kernel::default(), Claimable::new()));
        shared.1.put(shared.0.create("ours"));
        let ends = {
            let shared = shared.clone();
            loom::thread::spawn(move || {
                let (kernel, timer) = &*shared;
                if let Some(number) = timer.take() {
                    kernel.delete(number, "ours");
                }
                kernel.create("the app's");
            })
        };
        let (kernel, timer) = &*shared;
        if let Some(claim) = timer.claim() {
            assert_eq!(kernel.owner(claim.number()), Some("ours"));
            if let Some(number) = claim.release() {
                kernel.delete(number, "ours");
            }
        }
        ends.join().unwrap();
        let left = kernel.0.lock().unwrap().iter().flatten().copied().collect::<Vec<_>>();
        assert_eq!(left, ["the app's"]);
    });
}

/// Sets a timer while its thread ends and another one starts in its place.
#[test]
fn a_reused_slot_keeps_its_new_timer() {
    loom::model(|| {
        let shared = Arc::new((Kernel::default(), Claimable::new()));
        shared.1.put(shared.0.create("first"));
        let lives = {
            let shared = shared.clone();
            loom::thread::spawn(move || {
                let (kernel, timer) = &*shared;
                if let Some(number) = timer.take() {
                    kernel.delete(number, "first");
                }
                timer.put(kernel.create("second"));
            })
        };
        let (kernel, timer) = &*shared;
        if let Some(claim) = timer.claim() {
            assert!(kernel.owner(claim.number()).is_some());
            if let Some(number) = claim.release() {
                kernel.delete(number, "first");
            }
        }
        lives.join().unwrap();
        let number = timer.take().unwrap();
        assert_eq!(kernel.owner(number), Some("second"));
        kernel.delete(number, "second");
        assert!(kernel.0.lock().unwrap().iter().all(Option::is_none));
    });
}
