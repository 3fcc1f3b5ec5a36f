//! The wall clock of one thread, in four parts: running, waiting, waiting for the GVL, collecting garbage.
//!
//! Three of them are measured where they end; running is what is left. That a thread blocks is provisional: only
//! when it says that it is ready, or runs again, was it a wait. If it blocks again instead, it has been running.
//!
//! Written by the thread itself, in hooks of the VM, but for `ready_ns`, which whoever wakes it writes. Read by the
//! thread's own handler, which may have interrupted a hook: so what has ended is added first, and what is open is
//! cleared after. In between running looks shorter than it is, and catches up.

use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{compiler_fence, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

use crate::random;
use crate::sample::Walls;

/// See the module. Times are on the monotonic clock, ns; 0 is never.
#[derive(Debug)]
pub struct WallClock {
    /// Since when it is measured.
    on_since_ns: AtomicU64,
    /// How long it was measured before that.
    before_ns: AtomicU64,
    waiting_ns: AtomicU64,
    gvl_ns: AtomicU64,
    gc_ns: AtomicU64,
    /// When it blocked.
    blocked_ns: AtomicU64,
    /// When it could have gone on.
    ready_ns: AtomicU64,
    /// When it began to collect garbage.
    gc_since_ns: AtomicU64,
    /// How much is to be collected between two records, on average, ns.
    interval_ns: AtomicU64,
    /// The next wait that brings the two kinds of waiting above this is captured.
    wait_due_ns: AtomicU64,
    /// The next GC that brings collecting above this is captured.
    gc_due_ns: AtomicU64,
    random: AtomicU64,
}

impl Default for WallClock {
    fn default() -> Self {
        Self::new()
    }
}

impl WallClock {
    /// Not measured yet.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            on_since_ns: AtomicU64::new(0),
            before_ns: AtomicU64::new(0),
            waiting_ns: AtomicU64::new(0),
            gvl_ns: AtomicU64::new(0),
            gc_ns: AtomicU64::new(0),
            blocked_ns: AtomicU64::new(0),
            ready_ns: AtomicU64::new(0),
            gc_since_ns: AtomicU64::new(0),
            interval_ns: AtomicU64::new(0),
            wait_due_ns: AtomicU64::new(0),
            gc_due_ns: AtomicU64::new(0),
            random: AtomicU64::new(0),
        }
    }

    /// For a new life. Not measured yet.
    pub fn reset(&self) {
        for clock in [&self.on_since_ns, &self.before_ns, &self.waiting_ns, &self.gvl_ns, &self.gc_ns] {
            clock.store(0, Relaxed);
        }
        self.forget_open();
    }

    fn forget_open(&self) {
        for open in [&self.blocked_ns, &self.ready_ns, &self.gc_since_ns] {
            open.store(0, Relaxed);
        }
    }

    /// Whether it is measured.
    #[inline]
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.on_since_ns.load(Relaxed) != 0
    }

    /// Measures from `now_ns` on. A thread that is not `running` has been waiting until it says otherwise. If it is
    /// measured already, only the interval changes. With the GVL.
    pub fn turn_on(&self, now_ns: u64, interval_ns: u64, running: bool) {
        let changed = self.interval_ns.swap(interval_ns, Relaxed) != interval_ns;
        if !self.is_on() {
            self.forget_open();
            if !running {
                self.blocked_ns.store(now_ns, Relaxed);
            }
            self.on_since_ns.store(now_ns, Relaxed);
        } else if !changed {
            return;
        }
        self.draw_wait();
        self.draw_gc();
    }

    /// Measures no longer. With the GVL, or on the thread itself.
    pub fn turn_off(&self, now_ns: u64) {
        if self.is_on() {
            let walls = self.read(now_ns);
            self.before_ns.store(walls.running_ns + walls.waiting_ns + walls.gvl_ns + walls.gc_ns, Relaxed);
            self.waiting_ns.store(walls.waiting_ns, Relaxed);
            self.gvl_ns.store(walls.gvl_ns, Relaxed);
            self.gc_ns.store(walls.gc_ns, Relaxed);
            self.on_since_ns.store(0, Relaxed);
            self.forget_open();
        }
    }

    /// The four clocks at `now_ns`, with what is open counted up to then.
    ///
    /// # Signal safety
    /// Loads.
    #[inline]
    #[must_use]
    pub fn read(&self, now_ns: u64) -> Walls {
        let on_since_ns = self.on_since_ns.load(Relaxed);
        let on_ns = if on_since_ns == 0 { 0 } else { now_ns.saturating_sub(on_since_ns) };
        let total_ns = self.before_ns.load(Relaxed) + on_ns;
        let (mut waiting_ns, mut gvl_ns) = (self.waiting_ns.load(Relaxed), self.gvl_ns.load(Relaxed));
        let (blocked_ns, ready_ns) = (self.blocked_ns.load(Relaxed), self.ready_ns.load(Relaxed));
        if blocked_ns != 0 {
            let till_ns = if ready_ns >= blocked_ns { ready_ns } else { now_ns };
            waiting_ns += till_ns.saturating_sub(blocked_ns);
            gvl_ns += now_ns.saturating_sub(till_ns);
        }
        let mut gc_ns = self.gc_ns.load(Relaxed);
        let gc_since_ns = self.gc_since_ns.load(Relaxed);
        if gc_since_ns != 0 {
            gc_ns += now_ns.saturating_sub(gc_since_ns);
        }
        let running_ns = total_ns.saturating_sub(waiting_ns + gvl_ns + gc_ns);
        Walls { running_ns, waiting_ns, gvl_ns, gc_ns }
    }

    /// Whether it blocks, or waits for the GVL.
    ///
    /// # Signal safety
    /// A load.
    #[inline]
    #[must_use]
    pub fn is_blocked(&self) -> bool {
        self.blocked_ns.load(Relaxed) != 0
    }

    /// It blocks.
    #[inline]
    pub fn block(&self, now_ns: u64) {
        self.ready_ns.store(0, Relaxed);
        self.blocked_ns.store(now_ns, Relaxed);
    }

    /// It could go on, if it had the GVL. Told by whoever wakes it.
    #[inline]
    pub fn ready(&self, now_ns: u64) {
        self.ready_ns.store(now_ns, Relaxed);
    }

    /// It goes on. True when the wait that has ended here is to be captured.
    #[inline]
    pub fn go_on(&self, now_ns: u64) -> bool {
        if !self.is_blocked() {
            return false;
        }
        let Walls { waiting_ns, gvl_ns, .. } = self.read(now_ns);
        self.waiting_ns.store(waiting_ns, Relaxed);
        self.gvl_ns.store(gvl_ns, Relaxed);
        compiler_fence(SeqCst);
        self.blocked_ns.store(0, Relaxed);
        if waiting_ns + gvl_ns < self.wait_due_ns.load(Relaxed) {
            return false;
        }
        self.draw_wait();
        true
    }

    /// It begins to collect garbage.
    #[inline]
    pub fn enter_gc(&self, now_ns: u64) {
        self.gc_since_ns.store(now_ns, Relaxed);
    }

    /// It is done with that. True when this GC is to be captured.
    #[inline]
    pub fn exit_gc(&self, now_ns: u64) -> bool {
        let gc_ns = self.read(now_ns).gc_ns;
        self.gc_ns.store(gc_ns, Relaxed);
        compiler_fence(SeqCst);
        self.gc_since_ns.store(0, Relaxed);
        if gc_ns < self.gc_due_ns.load(Relaxed) {
            return false;
        }
        self.draw_gc();
        true
    }

    fn draw_wait(&self) {
        let so_far_ns = self.waiting_ns.load(Relaxed) + self.gvl_ns.load(Relaxed);
        self.wait_due_ns.store(so_far_ns + self.gap_ns(), Relaxed);
    }

    fn draw_gc(&self) {
        self.gc_due_ns.store(self.gc_ns.load(Relaxed) + self.gap_ns(), Relaxed);
    }

    /// A random time with the interval as its mean, distributed exponentially: so that whatever is the next to end
    /// is as likely to be captured as it is long, and no rhythm of the program can fall into step. At least 1.
    fn gap_ns(&self) -> u64 {
        let mut bits = self.random.load(Relaxed);
        if bits == 0 {
            // A seed of its own for each clock, from where that lies.
            bits = (::core::ptr::from_ref(self) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        }
        bits = random::after(bits);
        self.random.store(bits, Relaxed);
        // In (0, 1]: 53 bits are what a double holds.
        let uniform = ((bits >> 11) + 1) as f64 / (1u64 << 53) as f64;
        (-uniform.ln() * self.interval_ns.load(Relaxed) as f64) as u64 + 1
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use ::std::assert_eq;

    fn on(interval_ns: u64) -> WallClock {
        let clock = WallClock::new();
        clock.turn_on(100, interval_ns, true);
        clock
    }

    fn parts(clock: &WallClock, now_ns: u64) -> [u64; 4] {
        let Walls { running_ns, waiting_ns, gvl_ns, gc_ns } = clock.read(now_ns);
        [running_ns, waiting_ns, gvl_ns, gc_ns]
    }

    #[test]
    fn the_parts_add_up_at_every_moment() {
        let clock = on(1_000_000);
        clock.block(110);
        assert_eq!(parts(&clock, 115), [10, 5, 0, 0]);
        clock.ready(130);
        assert_eq!(parts(&clock, 135), [10, 20, 5, 0]);
        clock.go_on(140);
        assert_eq!(parts(&clock, 150), [20, 20, 10, 0]);
        clock.enter_gc(160);
        assert_eq!(parts(&clock, 165), [30, 20, 10, 5]);
        clock.exit_gc(170);
        clock.turn_off(180);
        assert_eq!(parts(&clock, 999), [40, 20, 10, 10]);
        clock.turn_on(1_000, 5, false);
        assert_eq!(parts(&clock, 1_003), [40, 23, 10, 10]);
    }

    #[test]
    fn who_blocks_twice_has_been_running_in_between() {
        let clock = on(1);
        clock.block(110);
        clock.block(120);
        clock.ready(125);
        assert!(clock.go_on(125));
        assert_eq!(parts(&clock, 125), [20, 5, 0, 0]);
    }

    #[test]
    fn who_was_never_told_to_be_ready_was_waiting() {
        let clock = WallClock::new();
        clock.turn_on(100, 1, false);
        clock.go_on(150);
        assert_eq!(parts(&clock, 150), [0, 50, 0, 0]);
    }

    #[test]
    fn two_waits_in_turn_are_captured_equally_often() {
        let clock = on(1_000_000);
        let (mut now_ns, mut captured) = (100, [0i32; 2]);
        for turn in 0..20_000 {
            clock.block(now_ns);
            now_ns += 600_000;
            captured[turn % 2] += i32::from(clock.go_on(now_ns));
        }
        // About 9,000 in all; the difference has a standard deviation of some 70.
        assert!(captured[0] > 4_000 && (captured[0] - captured[1]).abs() < 500, "{captured:?}");
    }
}
