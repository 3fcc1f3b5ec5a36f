//! Hooks on the start and the exit of Ruby threads, and on garbage collection.

use rb_sys::{rb_event_flag_t, ID, VALUE};

use crate::vm::hook_list::Change;
use crate::vm::process::on_main_ractor;

/// Whether hooks on objects and on garbage collection are the VM's, which calls them in each Ractor, with its lock held. Before Ruby
/// 4.0 they belong to the Ractor that added them.
pub(crate) const GLOBAL_HOOKS: bool = cfg!(ruby_gte_4_0);

/// Whether the hook on freed objects is called for those of all Ractors, while all of them stand still. Before Ruby 4.0 a Ractor does not
/// report what it frees. After 4.0 each one collects its own heap beside the others.
pub(crate) const GLOBAL_FREES: bool = GLOBAL_HOOKS && !cfg!(ruby_gt_4_0);

/// Whether a hook on objects or on garbage collection is called in a Ractor other than the main one, whose GVL guards our state.
///
/// # Signal safety
/// A few reads; in another Ractor a search in its table.
#[inline]
pub(crate) fn in_other_ractor() -> bool {
    GLOBAL_HOOKS && !on_main_ractor()
}

/// A hook that is called on the thread itself, with the GVL, with the event and the Thread object.
///
/// The same hook serves starts and exits of threads. The VM asks every hook about every allocated object, which takes 2 ns a hook.
pub(crate) type ThreadHook = unsafe extern "C" fn(rb_event_flag_t, VALUE, VALUE, ID, VALUE);

/// A [`ThreadHook`] whose body is `$body`, with what has happened as `$event` and the Thread's VALUE as `$thread`.
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

/// Calls `hook` on each thread of the main Ractor before its block, where [`begins`] is true, and after it. Ruby 3.1 leaves
/// out the call after it when an exception ends the thread, or `Thread#kill`.
///
/// # Safety
/// The caller holds the GVL; the hook neither raises nor lets go of it.
pub(crate) unsafe fn hook_threads(hook: ThreadHook) {
    let events = rb_sys::RUBY_EVENT_THREAD_BEGIN | rb_sys::RUBY_EVENT_THREAD_END;
    // SAFETY: a plain function that lives as long as the process.
    unsafe { rb_sys::rb_add_event_hook(Some(hook), events as rb_event_flag_t, 0) };
}

/// Whether the event of a hook is a beginning: that of a thread, or of a garbage collection.
#[inline]
pub(crate) fn begins(event: rb_event_flag_t) -> bool {
    let beginnings = rb_sys::RUBY_EVENT_THREAD_BEGIN | rb_sys::RUBY_INTERNAL_EVENT_GC_ENTER;
    event & beginnings as rb_event_flag_t != 0
}

/// Undoes [`hook_threads`] or [`hook_gc`].
///
/// # Safety
/// The caller holds the GVL and is not inside a hook.
pub(crate) unsafe fn unhook(hook: ThreadHook) {
    // SAFETY: as promised.
    unsafe { Change::Remove(Some(hook)).make() };
}

/// Whether hooks on garbage collection cost nothing and do no harm. On Ruby 3.1 they slow allocation by a seventh, and
/// a process was seen to die of them.
pub(crate) const GC_HOOKS: bool = cfg!(ruby_gte_3_3);

/// Calls `hook` on each thread as it begins to collect garbage, where [`begins`] is true, and as it is done. A collection is
/// many such pairs, as sweeping comes in steps. The thread may be another Ractor's: see [`in_other_ractor`].
///
/// # Safety
/// The caller holds the GVL, and is not inside a hook; the hook calls nothing of the VM but a walk.
pub(crate) unsafe fn hook_gc(hook: ThreadHook) {
    let events = rb_sys::RUBY_INTERNAL_EVENT_GC_ENTER | rb_sys::RUBY_INTERNAL_EVENT_GC_EXIT;
    // SAFETY: a plain function that lives as long as the process.
    unsafe { Change::Add(Some(hook), events as rb_event_flag_t, 0).make() };
}
