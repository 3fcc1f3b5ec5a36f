//! From an interrupt to a record in the ring. THE RULES of this folder:
//!
//! * What runs here runs inside a signal handler or a hook of the VM, anywhere between two
//!   instructions of the app. It must not allocate, lock, wait, log, format or panic, and it leaves
//!   errno as it was. It calls the system's functions that are safe in a handler, and of the VM only
//!   what `vm::state`, `vm::frames::walk` and `vm::jobs::trigger` wrap. `rb_profile_frames` is not
//!   documented as safe here; `spec/programs/stress/README.md` has the experiments that show that it is.
//! * One exception: the hook on allocations is in no handler and runs with the GVL. It takes the drain lock
//!   where it finds the ring full, as there is nobody to wait for. The holder of that lock needs nothing from anybody.
//! * A tick ends as a record or as a count with a reason.
//! * A signal may come late: after the stop, after its thread, in a forked child. Ring, counters and
//!   thread states are never freed, and [`crate::shared::Capture::enabled`] is the first thing asked.
//! * No stack is walked while garbage is collected. A handler on another thread than the collecting
//!   one could have begun before. So a walk holds one of the buffers of [`walk`] from before it asks
//!   about GC until its record is published. The mark function waits until no buffer is held. From
//!   then on `during_gc` keeps new walks out, until the GC, and with it every compaction, is over.
//!   The frames that were walked before are in the ring by then, and pinned.
//!
//! The life of a sample stands in ARCHITECTURE.md.

pub(crate) mod allocation;
pub(crate) mod block;
pub(crate) mod dump;
pub(crate) mod gvl_holder;
pub(crate) mod handler;
pub(crate) mod header;
pub(crate) mod hook_loss;
mod interrupted;
pub(crate) mod wait;
pub(crate) mod walk;
