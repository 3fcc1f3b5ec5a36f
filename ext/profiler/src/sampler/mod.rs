//! The sampler of the process: hooks, timers, ring and collector thread. It runs while there is a session.
//! All its parts are created at the first start and then kept.
//!
//! All functions except `give_up` need the GVL. The sampler lock is taken before the drain lock. It is never
//! held while the VM is called in a way that could switch threads.

mod begin;
mod child;
mod collection;
mod cpu_waits;
mod cumulative;
mod exec;
pub(crate) mod fork;
mod governor;
mod install;
mod keepers;
mod mark;
mod markers;
mod object_windows;
mod readings;
mod reconcile;
mod refusal;
mod running;
mod settle;
mod slices;
mod state;
mod tables;
mod take;
mod thread_hooks;
mod tick_request;
pub(crate) mod timers;
mod totals;

pub(crate) use begin::{join, start};
pub(crate) use exec::{disarm_for_exec, give_up_elsewhere, rearm_after_exec};
#[cfg(feature = "testing")]
pub(crate) use keepers::count as keepers;
pub(crate) use reconcile::{collector_failed, give_up};
pub(crate) use refusal::{NotStarted, Refusal};
#[cfg(feature = "testing")]
pub(crate) use running::hold_collector;
pub(crate) use running::{
    abandon, any, any_unscoped, count_request, discard, give_up_objects, is_paused, is_running, pause,
    record_marker, result_threads, resume, sample_objects,
};
pub(crate) use settle::{settle, unsettle, PartEnd};
pub(crate) use slices::{begin_slice, end_unless_sliced};
#[cfg(feature = "testing")]
pub(crate) use state::lock;
pub(crate) use tables::forget_code;
pub(crate) use take::{take, SessionFacts};
pub(crate) use totals::{sessions, totals, Totals};
