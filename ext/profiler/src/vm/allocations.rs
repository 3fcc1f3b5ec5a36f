//! Allocations: the hook on them, and what can be read of an object that has just got its slot.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use profiler_core::record::object_class::Class;

use crate::vm::door::Name;
use crate::vm::hook_list::{ListChange, RAW};
use rb_sys::{rb_event_flag_t, rb_event_hook_func_t, rb_trace_arg_t, ruby_value_type, VALUE};

/// A hook that is called for each allocated object, when it has its class and its slot but no contents yet.
/// The object may belong to another Ractor: see
/// [`events::in_other_ractor`](crate::vm::events::in_other_ractor).
pub(crate) type AllocationHook = unsafe extern "C" fn(VALUE, *mut c_void);

/// Defines an [`AllocationHook`] with the body `$body`, in which `$trace_arg` is the argument for
/// [`allocated_object`].
macro_rules! allocation_hook {
    ($name:ident, |$trace_arg:ident| $body:expr) => {
        unsafe extern "C" fn $name(_data: ::rb_sys::VALUE, $trace_arg: *mut ::core::ffi::c_void) {
            $body
        }
    };
}
pub(crate) use allocation_hook;

/// Whether a Ractor that starts while the hook is installed kills the process.
pub(crate) const HOOK_KILLS_RACTORS: bool = !cfg!(ruby_gte_3_3);

/// The address of the VM's function that returns the size of an object's slot; 0 if the VM has none.
static SLOT_SIZE: AtomicUsize = AtomicUsize::new(0);
/// The size in bytes of all slots if the VM does not report it, and of most slots if it does.
pub(crate) const ONE_SIZE: u64 = 40;
/// The size in bytes of the largest slot, on this Ruby or an older one.
pub(crate) const LARGEST_SLOT: u64 = if cfg!(ruby_gt_4_0) { 1_024 } else { 640 };

fn as_hook(hook: AllocationHook) -> rb_event_hook_func_t {
    // SAFETY: with the flag RAW the VM calls the hook with these two arguments.
    Some(unsafe {
        core::mem::transmute::<AllocationHook, unsafe extern "C" fn(u32, VALUE, VALUE, rb_sys::ID, VALUE)>(
            hook,
        )
    })
}

/// Installs `hook`, which is then called for each allocated object.
///
/// # Safety
/// The caller holds the GVL, and is not in a hook on objects; the hook neither raises nor allocates objects.
pub(crate) unsafe fn add_hook(hook: AllocationHook) {
    // SAFETY: looks up a name in the loaded libraries.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"rb_gc_obj_slot_size".as_ptr()) };
    SLOT_SIZE.store(found as usize, Relaxed);
    let event = rb_sys::RUBY_INTERNAL_EVENT_NEWOBJ as rb_event_flag_t;
    // SAFETY: the caller holds the GVL and is in no such hook; the hook is a plain function that lives as
    // long as the process.
    unsafe { ListChange::Add(as_hook(hook), event, RAW).make() };
}

/// Removes a hook that [`add_hook`] or [`add_free_hook`] installed.
///
/// # Safety
/// The caller holds the GVL, and is not in a hook on objects.
pub(crate) unsafe fn remove_hook(hook: AllocationHook) {
    // SAFETY: the caller holds the GVL, and is not in a hook on objects.
    unsafe { ListChange::Remove(as_hook(hook)).make() };
}

/// Installs `hook`, which is then called for each object that is freed, while garbage is being collected.
///
/// # Safety
/// Same as for [`add_hook`]; of the VM the hook calls only [`allocated_object`].
pub(crate) unsafe fn add_free_hook(hook: AllocationHook) {
    let event = rb_sys::RUBY_INTERNAL_EVENT_FREEOBJ as rb_event_flag_t;
    // SAFETY: the caller holds the GVL and is in no such hook; the hook is a plain function that lives as
    // long as the process.
    unsafe { ListChange::Add(as_hook(hook), event, RAW).make() };
}

/// Re-enables this Ractor's hooks after the VM mistook another Ractor's hooks for all of them.
///
/// # Safety
/// The caller holds the GVL, and is not inside a hook.
pub(crate) unsafe fn renew_hooks() {
    allocation_hook!(nothing, |_trace_arg| {});
    let event = rb_sys::RUBY_INTERNAL_EVENT_NEWOBJ as rb_event_flag_t;
    // SAFETY: the caller holds the GVL and is not inside a hook. Each of the two changes makes the VM record
    // again which events have hooks.
    unsafe {
        ListChange::Add(as_hook(nothing), event, RAW).make();
        remove_hook(nothing);
    }
}

/// Allocates an object that is garbage at once.
///
/// # Safety
/// The caller holds the GVL, and is not inside a hook.
pub(crate) unsafe fn allocate() {
    // SAFETY: the caller holds the GVL. The allocation calls no method; it raises only if there is no memory.
    unsafe { super::door::quietly(|| rb_sys::rb_obj_alloc(rb_sys::rb_cObject)) };
}

/// Returns the number of garbage collections so far.
pub(crate) fn collections() -> u64 {
    // SAFETY: only reads a number.
    unsafe { rb_sys::rb_gc_count() as u64 }
}

/// Returns the object that an [`AllocationHook`] was called for.
///
/// # Signal safety
/// One read.
///
/// # Safety
/// `trace_arg` is the argument of the hook.
#[inline]
pub(crate) unsafe fn allocated_object(trace_arg: *mut c_void) -> u64 {
    // SAFETY: `trace_arg` is the argument of the hook; the call raises for other events only.
    unsafe { rb_sys::rb_tracearg_object(trace_arg.cast::<rb_trace_arg_t>()) as u64 }
}

/// Returns the class of an object that has just been allocated. The object can still get another class: a
/// class gets its metaclass, and an object that is hidden from Ruby loses its class.
///
/// # Signal safety
/// Two reads.
///
/// # Safety
/// `object` is the object of the hook that is running.
#[inline]
pub(crate) unsafe fn class_of_allocated(object: u64) -> Class {
    // SAFETY: every object begins with its flags and its class.
    let [flags, class] = unsafe { *(object as *const [u64; 2]) };
    let of_type = (flags & 0x1f) as u8;
    // In these types the second word is not a class.
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

/// Returns the size of an object's slot in bytes. Memory that the object has from `malloc` comes later and is
/// not included.
///
/// # Signal safety
/// Reads the VM's notes about the page.
///
/// # Safety
/// `object` is a live object.
#[inline]
pub(crate) unsafe fn slot_size(object: u64) -> u64 {
    match SLOT_SIZE.load(Relaxed) {
        0 => ONE_SIZE,
        found => {
            // SAFETY: the address is that of the VM's `size_t rb_gc_obj_slot_size(VALUE)`.
            let ask = unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(VALUE) -> usize>(found) };
            // SAFETY: the caller passes a live object.
            unsafe { ask(object as VALUE) as u64 }
        }
    }
}

/// Returns the number of objects that this process has allocated, as the VM counts them. On Ruby 3.4 a
/// compaction adds to the count.
///
/// # Safety
/// The caller holds the GVL. During a GC, only if this was called before.
pub(crate) unsafe fn total_allocated() -> u64 {
    static QUESTION: Name = Name::new(c"total_allocated_objects");
    // SAFETY: the caller holds the GVL; an interned Symbol lives for ever.
    unsafe { rb_sys::rb_gc_stat(rb_sys::rb_id2sym(QUESTION.id())) as u64 }
}
