//! Allocations: the hook on them, and what can be read of an object that has just got its slot.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::vm::door::Name;
use crate::vm::hook_list::{Change, RAW};
use profiler_core::record::object_class::Class;
use rb_sys::{rb_event_flag_t, rb_event_hook_func_t, rb_trace_arg_t, ruby_value_type, VALUE};

/// A hook that is called for each allocated object, when it has its class and its slot but no contents. The object may be another
/// Ractor's: see [`events::in_other_ractor`](crate::vm::events::in_other_ractor).
pub(crate) type AllocationHook = unsafe extern "C" fn(VALUE, *mut c_void);

/// An [`AllocationHook`] whose body is `$body`, with what [`allocated_object`] needs as `$trace_arg`.
macro_rules! allocation_hook {
    ($name:ident, |$trace_arg:ident| $body:expr) => {
        unsafe extern "C" fn $name(_data: ::rb_sys::VALUE, $trace_arg: *mut ::core::ffi::c_void) {
            $body
        }
    };
}
pub(crate) use allocation_hook;

/// Whether a Ractor that starts while the hook is there kills the process.
pub(crate) const HOOK_KILLS_RACTORS: bool = !cfg!(ruby_gte_3_3);

/// The address of the VM's function that returns the size of an object's slot; 0 where there is none.
static SLOT_SIZE: AtomicUsize = AtomicUsize::new(0);
/// The size of all slots where the VM does not say it, and of most where it does; bytes.
pub(crate) const ONE_SIZE: u64 = 40;
/// The size of the largest slot of this Ruby or an older one; bytes.
pub(crate) const LARGEST_SLOT: u64 = if cfg!(ruby_gt_4_0) { 1_024 } else { 640 };

fn as_hook(hook: AllocationHook) -> rb_event_hook_func_t {
    // SAFETY: with the flag RAW the VM calls it with these two arguments.
    Some(unsafe {
        core::mem::transmute::<AllocationHook, unsafe extern "C" fn(u32, VALUE, VALUE, rb_sys::ID, VALUE)>(
            hook,
        )
    })
}

/// Calls `hook` for each allocated object from now on.
///
/// # Safety
/// The caller holds the GVL, and is not in a hook on objects; the hook neither raises nor allocates objects.
pub(crate) unsafe fn add_hook(hook: AllocationHook) {
    // SAFETY: looks a name up among those that are loaded.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rb_gc_obj_slot_size".as_ptr()) };
    SLOT_SIZE.store(found as usize, Relaxed);
    let event = rb_sys::RUBY_INTERNAL_EVENT_NEWOBJ as rb_event_flag_t;
    // SAFETY: a plain function that lives as long as the process.
    unsafe { Change::Add(as_hook(hook), event, RAW).make() };
}

/// Undoes [`add_hook`] or [`add_free_hook`].
///
/// # Safety
/// The caller holds the GVL, and is not in a hook on objects.
pub(crate) unsafe fn remove_hook(hook: AllocationHook) {
    // SAFETY: as promised.
    unsafe { Change::Remove(as_hook(hook)).make() };
}

/// Calls `hook` for each object that is freed, while garbage is being collected.
///
/// # Safety
/// As for [`add_hook`]; the hook calls nothing of the VM but [`allocated_object`].
pub(crate) unsafe fn add_free_hook(hook: AllocationHook) {
    let event = rb_sys::RUBY_INTERNAL_EVENT_FREEOBJ as rb_event_flag_t;
    // SAFETY: a plain function that lives as long as the process.
    unsafe { Change::Add(as_hook(hook), event, RAW).make() };
}

/// Has the VM call all hooks of the calling Ractor, also after it has taken those of another one for all.
///
/// # Safety
/// The caller holds the GVL, and is not inside a hook.
pub(crate) unsafe fn renew_hooks() {
    allocation_hook!(nothing, |_trace_arg| {});
    let event = rb_sys::RUBY_INTERNAL_EVENT_NEWOBJ as rb_event_flag_t;
    // SAFETY: as promised. Each of the two has the VM write down anew which events there are hooks on.
    unsafe {
        Change::Add(as_hook(nothing), event, RAW).make();
        remove_hook(nothing);
    }
}

/// Allocates an object that nobody keeps.
///
/// # Safety
/// The caller holds the GVL, and is not inside a hook.
pub(crate) unsafe fn allocate() {
    // SAFETY: the caller holds the GVL. It calls no method; where there is no memory it raises.
    unsafe { super::door::quietly(|| rb_sys::rb_obj_alloc(rb_sys::rb_cObject)) };
}

/// The number of garbage collections that there have been.
pub(crate) fn collections() -> u64 {
    // SAFETY: reads a number.
    unsafe { rb_sys::rb_gc_count() as u64 }
}

/// The object that an [`AllocationHook`] was called for.
///
/// # Signal safety
/// A read.
///
/// # Safety
/// `trace_arg` is the argument of the hook.
#[inline]
pub(crate) unsafe fn allocated_object(trace_arg: *mut c_void) -> u64 {
    // SAFETY: as promised; raises for other events only.
    unsafe { rb_sys::rb_tracearg_object(trace_arg.cast::<rb_trace_arg_t>()) as u64 }
}

/// The class of an object that has just been allocated. It can still get another one: a class gets its metaclass, and an
/// object that is hidden from Ruby loses its class.
///
/// # Signal safety
/// Two reads.
///
/// # Safety
/// It is the object of a hook that runs.
#[inline]
pub(crate) unsafe fn class_of_allocated(object: u64) -> Class {
    // SAFETY: every object begins with its flags and its class.
    let [flags, class] = unsafe { *(object as *const [u64; 2]) };
    let of_type = (flags & 0x1f) as u8;
    // In these the second word is something else.
    let internal = [
        ruby_value_type::RUBY_T_IMEMO,
        ruby_value_type::RUBY_T_NODE,
        ruby_value_type::RUBY_T_ICLASS,
        ruby_value_type::RUBY_T_ZOMBIE,
        ruby_value_type::RUBY_T_MOVED,
        ruby_value_type::RUBY_T_NONE,
    ];
    if class == 0 || internal.iter().any(|it| *it as u8 == of_type) {
        return Class::internal(of_type);
    }
    Class::of_handle(class)
}

/// The size of an object's slot, bytes. Memory that it has from `malloc` besides comes later.
///
/// # Signal safety
/// Reads the VM's notes of the page.
///
/// # Safety
/// It is a live object.
#[inline]
pub(crate) unsafe fn slot_size(object: u64) -> u64 {
    match SLOT_SIZE.load(Relaxed) {
        0 => ONE_SIZE,
        found => {
            // SAFETY: it is the VM's `size_t rb_gc_obj_slot_size(VALUE)`.
            let ask = unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(VALUE) -> usize>(found) };
            // SAFETY: as promised.
            unsafe { ask(object as VALUE) as u64 }
        }
    }
}

/// The number of objects that this process has allocated, as the VM counts them. On Ruby 3.4 a compaction adds to it.
///
/// # Safety
/// The caller holds the GVL. In a GC, only if it was asked before.
pub(crate) unsafe fn total_allocated() -> u64 {
    static QUESTION: Name = Name::new(c"total_allocated_objects");
    // SAFETY: as promised; a Symbol that was interned stays.
    unsafe { rb_sys::rb_gc_stat(rb_sys::rb_id2sym(QUESTION.id())) as u64 }
}
