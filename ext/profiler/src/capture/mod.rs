//! From an interrupt to a record in the ring. THE RULES of this folder:
//!
//! * Code here runs inside a signal handler or a hook of the VM, anywhere between two instructions of the
//!   app. It must not allocate, lock, wait, log, format or panic, and it leaves errno as it was. It calls
//!   only those functions of the system that are safe in a handler, and of the VM only what `vm::state`,
//!   `vm::frames::walk` and `vm::jobs::trigger` wrap. `rb_profile_frames` is not documented as safe here;
//!   `spec/programs/stress/README.md` describes the experiments which show that it is.
//! * There is one exception: the hook on allocations runs in no handler, and with the GVL. If it finds the ring
//!   full, it takes the drain lock and drains the ring itself, as it can wait for no other thread to do so. The
//!   holder of that lock needs nothing from any other thread.
//! * A tick ends as a record, or as a count with a reason.
//! * A signal may arrive late: after the stop, after the end of its thread, or in a forked child. Ring,
//!   counters and thread states are never freed, and [`crate::shared::Capture::enabled`] is checked first.
//! * No stack is walked while garbage is collected. A handler on a thread other than the collecting one could
//!   have begun before the GC. So a walk holds one of the buffers of [`walk`] from before it asks about GC
//!   until its record is published. The mark function waits until no buffer is held. From then on `during_gc`
//!   keeps new walks out, until the GC, and with it every compaction, is over. By then the frames of earlier
//!   walks are in the ring, and pinned.
//!
//! ARCHITECTURE.md describes the life of a sample.

pub(crate) mod allocation;
pub(crate) mod block;
pub(crate) mod dump;
pub(crate) mod gc;
pub(crate) mod gvl_holder;
pub(crate) mod handler;
pub(crate) mod header;
pub(crate) mod hook_loss;
mod interrupted;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
pub(crate) mod malloc;
#[cfg(not(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64")))]
#[path = "malloc_elsewhere.rs"]
pub(crate) mod malloc;
pub(crate) mod wait;
pub(crate) mod walk;
