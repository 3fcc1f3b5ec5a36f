//! The time in which a thread of a session ran or collected garbage by the wall clock but used no CPU.
//!
//! In a GC, this time is measured. In running code, it is the amount by which running plus the CPU time of GC
//! exceeds the CPU clock between two records. From Ruby 3.3 on, it counts neither as running nor as GC. It has
//! two parts, which are states of their own:
//!
//! * **runnable**: the thread was ready but had no CPU. The extension reads the kernel's count of that time,
//!   and each record carries it as a clock. It goes to the stack of the record that carries it, where the
//!   thread got a CPU again. Such time in a GC goes to the next record of a GC.
//! * **blocked**: the rest. The thread waited in C code while it held the GVL. It goes to records of blocks
//!   ([`Kind::Block`](crate::record::Kind::Block)).
//!
//! A block that is long enough is always found, and gets exactly its own time. Shorter blocks are found by
//! chance, in proportion to their length, so the record of one stands for as much time as lies between two
//! looks. Blocked time that was not found is kept for these. (If a long block took the kept time, short ones
//! would lack it.)
//!
//! CPU time of C code without the GVL belongs to a wait. It can hide time without a CPU in the same interval,
//! but never adds any.

use super::account::forward;
use crate::record::WallTimes;

/// The clocks up to which wall clock time was compared with CPU time, and the part of the difference that no
/// row has yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct OffCpuAccount {
    cpu_ns: u64,
    /// The clocks of running and of GC with a CPU, added up.
    ran_ns: u64,
    gc_off_cpu_ns: u64,
    runnable_clock_ns: u64,
    /// Time without a CPU that has not been taken out of running yet.
    unsplit_ns: u64,
    /// Time without a CPU in GC since the last record of a GC.
    in_gc_ns: u64,
    /// Runnable time that no row has yet.
    runnable_ns: u64,
    /// Blocked time that no row has yet.
    blocked_ns: u64,
}

/// Time without a CPU that no row has when a thread is finished, ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    pub(super) runnable_ns: u64,
    pub(super) blocked_ns: u64,
}

impl OffCpuAccount {
    pub(super) fn at(cpu_ns: u64, walls: &WallTimes, runnable_clock_ns: u64) -> Self {
        Self {
            cpu_ns,
            ran_ns: walls.running_ns + walls.gc_ns,
            gc_off_cpu_ns: walls.gc_off_cpu_ns,
            runnable_clock_ns,
            unsplit_ns: 0,
            in_gc_ns: 0,
            runnable_ns: 0,
            blocked_ns: 0,
        }
    }

    /// Compares the advance of the clocks since the last call. Returns the blocked time among it, ns.
    pub(super) fn compare(&mut self, cpu_ns: u64, walls: &WallTimes, runnable_ns: u64) -> u64 {
        let ran_ns = forward(&mut self.ran_ns, walls.running_ns + walls.gc_ns);
        let running_off_ns = ran_ns.saturating_sub(forward(&mut self.cpu_ns, cpu_ns));
        let gc_off_ns = forward(&mut self.gc_off_cpu_ns, walls.gc_off_cpu_ns);
        self.unsplit_ns += running_off_ns;
        self.in_gc_ns += gc_off_ns;
        let off_ns = running_off_ns + gc_off_ns;
        let ready_ns = forward(&mut self.runnable_clock_ns, runnable_ns);
        // A reading may also cover time before the last record.
        let earlier_ns = ready_ns.saturating_sub(off_ns).min(self.blocked_ns);
        let now_ns = ready_ns.min(off_ns);
        self.runnable_ns += now_ns + earlier_ns;
        self.blocked_ns = self.blocked_ns - earlier_ns + (off_ns - now_ns);
        off_ns - now_ns
    }

    /// Returns the part of a running time that had a CPU, as far as no other row has it.
    pub(super) fn split(&mut self, ns: u64) -> u64 {
        let without_ns = ns.min(self.unsplit_ns);
        self.unsplit_ns -= without_ns;
        ns - without_ns
    }

    /// Takes the runnable time outside of GC that no row has yet. The caller has to attribute it.
    pub(super) fn take_runnable(&mut self) -> u64 {
        let in_gc_ns = self.runnable_ns.min(self.in_gc_ns);
        std::mem::replace(&mut self.runnable_ns, in_gc_ns) - in_gc_ns
    }

    /// Takes the runnable time in GC that no row has yet. The caller has to attribute it.
    pub(super) fn take_runnable_in_gc(&mut self) -> u64 {
        let in_gc_ns = std::mem::take(&mut self.in_gc_ns).min(self.runnable_ns);
        self.runnable_ns -= in_gc_ns;
        in_gc_ns
    }

    /// Takes the blocked time of a block that was blocked for `own_ns` since the last record and was first
    /// seen `seen_ns` ago. Blocks of `whole_ns` and more are always found.
    pub(super) fn take_block(&mut self, own_ns: u64, whole_ns: u64, seen_ns: u64) -> u64 {
        let weight_ns = if own_ns >= whole_ns {
            own_ns
        } else if seen_ns >= whole_ns {
            // A tick came between the end of the block and its record. The block began at most one look
            // before it was seen.
            self.blocked_ns.min(seen_ns + whole_ns / 2)
        } else {
            self.blocked_ns.min(whole_ns)
        };
        self.blocked_ns -= weight_ns.min(self.blocked_ns);
        weight_ns
    }

    /// Takes the time that no row has yet. Time that was not taken out of running stays there.
    pub(super) fn finish(&mut self) -> Rest {
        let Self { unsplit_ns, runnable_ns, blocked_ns, .. } = *self;
        self.forget();
        let kept_ns = unsplit_ns.min(runnable_ns);
        let blocked_ns = blocked_ns.saturating_sub(unsplit_ns - kept_ns);
        Rest { runnable_ns: runnable_ns - kept_ns, blocked_ns }
    }

    /// Discards the time that no row has yet.
    pub(super) fn forget(&mut self) {
        (self.unsplit_ns, self.in_gc_ns, self.runnable_ns, self.blocked_ns) = (0, 0, 0, 0);
    }
}
