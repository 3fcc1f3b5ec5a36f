//! The sampler of the process: hooks, timers, ring and collector thread. It runs while there is a session. Everything that
//! it needs is created at the first start and then kept.
//!
//! All functions but `give_up` need the GVL. The sampler lock is taken before the drain lock. It is never held while the VM is
//! called in a way that could switch threads.

mod active;
mod begin;
mod child;
mod exec;
pub(crate) mod fork;
mod idle;
mod install;
mod mark;
mod readings;
mod refusal;
mod running;
mod settle;
mod state;
mod taken;
mod thread_hooks;
pub(crate) mod timers;

pub(crate) use begin::{join, start};
pub(crate) use exec::{disarm_for_exec, give_up_elsewhere, rearm_after_exec};
pub(crate) use idle::let_go;
pub(crate) use refusal::{NotStarted, Refusal};
#[cfg(feature = "testing")]
pub(crate) use running::hold_collector;
pub(crate) use running::{
    abandon, any, discard, give_up_objects, is_paused, is_running, mark, named, pause, resume, rotate,
    snapshot, stop,
};
pub(crate) use settle::{collector_failed, give_up};
#[cfg(feature = "testing")]
pub(crate) use state::lock;
pub(crate) use taken::Taken;
