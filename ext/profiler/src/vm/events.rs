//! Hooks on the start and the exit of Ruby threads, and on garbage collection.

use rb_sys::{rb_event_flag_t, ID, VALUE};

use crate::vm::hook_list::ListChange;
use crate::vm::process::on_main_ractor;

/// Whether hooks on objects and on garbage collection belong to the VM, which calls them in each Ractor, with
/// its lock held. Before Ruby 4.0 they belong to the Ractor that added them.
pub(crate) const GLOBAL_HOOKS: bool = cfg!(ruby_gte_4_0);

/// Whether the hook on freed objects is called for those of all Ractors, while all of them stand still.
/// Before Ruby 4.0 a Ractor does not report the objects that it frees. After 4.0 each Ractor collects its own
/// heap while the others run.
pub(crate) const GLOBAL_FREES: bool = GLOBAL_HOOKS && !cfg!(ruby_gt_4_0);

/// Returns whether a hook on objects or on garbage collection is called in a Ractor other than the main one,
/// whose GVL guards our state.
///
/// # Signal safety
/// A few reads; in another Ractor a search in its table.
#[inline]
pub(crate) fn in_other_ractor() -> bool {
    GLOBAL_HOOKS && !on_main_ractor()
}

/// A hook that is called with the event and the Thread object, on the thread itself and with the GVL.
///
/// One hook serves both starts and exits of threads, because the VM checks every hook for every allocated
/// object, which takes 2 ns per hook.
pub(crate) type ThreadHook = unsafe extern "C" fn(rb_event_flag_t, VALUE, VALUE, ID, VALUE);

/// Defines a [`ThreadHook`] with the body `$body`, in which `$event` is the event and `$thread` the Thread's
/// VALUE.
macro_rules! thread_hook {
    ($name:ident, |$event:ident, $thread:ident| $body:expr) => {
        unsafe extern "C" fn $name(
            $event: ::rb_sys::rb_event_flag_t,
            _data: ::rb_sys::VALUE,
            thread: ::rb_sys::VALUE,
            _method: ::rb_sys::ID,
            _class: ::rb_sys::VALUE,
        ) {
            let $thread = thread as u64;
            $body
        }
    };
}
pub(crate) use thread_hook;

/// Installs `hook`, which is then called on each thread of the main Ractor before its block, where [`begins`]
/// is true, and after it. Ruby 3.1 omits the call after the block if an exception or `Thread#kill` ends the
/// thread.
///
/// # Safety
/// The caller holds the GVL; the hook neither raises nor releases it.
pub(crate) unsafe fn hook_threads(hook: ThreadHook) {
    let events = rb_sys::RUBY_EVENT_THREAD_BEGIN | rb_sys::RUBY_EVENT_THREAD_END;
    // SAFETY: the caller holds the GVL; the hook is a plain function that lives as long as the process.
    unsafe { rb_sys::rb_add_event_hook(Some(hook), events as rb_event_flag_t, 0) };
}

/// Returns whether the event of a hook is the beginning of a thread or of a garbage collection.
#[inline]
pub(crate) fn begins(event: rb_event_flag_t) -> bool {
    let beginnings = rb_sys::RUBY_EVENT_THREAD_BEGIN | rb_sys::RUBY_INTERNAL_EVENT_GC_ENTER;
    event & beginnings as rb_event_flag_t != 0
}

/// Removes a hook that [`hook_threads`] or [`hook_gc`] installed.
///
/// # Safety
/// The caller holds the GVL and is not inside a hook.
pub(crate) unsafe fn unhook(hook: ThreadHook) {
    // SAFETY: the caller holds the GVL and is not inside a hook.
    unsafe { ListChange::Remove(Some(hook)).make() };
}

/// Whether hooks on garbage collection cost nothing and do no harm. On Ruby 3.1 they slow allocation by a
/// seventh, and a process was seen to die of them.
pub(crate) const GC_HOOKS: bool = cfg!(ruby_gte_3_3);

/// Installs `hook`, which is then called on each thread as it begins to collect garbage, where [`begins`] is
/// true, and as it is done. A collection consists of many such pairs, as sweeping comes in steps. The thread
/// may belong to another Ractor: see [`in_other_ractor`].
///
/// # Safety
/// The caller holds the GVL, and is not inside a hook; of the VM the hook calls only a walk.
pub(crate) unsafe fn hook_gc(hook: ThreadHook) {
    let events = rb_sys::RUBY_INTERNAL_EVENT_GC_ENTER | rb_sys::RUBY_INTERNAL_EVENT_GC_EXIT;
    // SAFETY: the caller holds the GVL and is in no hook; `hook` is a plain function that lives as long as
    // the process.
    unsafe { ListChange::Add(Some(hook), events as rb_event_flag_t, 0).make() };
}
