//! Walking a stack, and asking the VM about its frames.

use core::ffi::c_int;

use rb_sys::{ruby_value_type, VALUE};

use crate::vm::methods;
use crate::vm::objects::{kind, ObjectKind};

// A handle is a VALUE, unchanged; this project supports 64-bit machines only.
const _: () = assert!(core::mem::size_of::<VALUE>() == core::mem::size_of::<u64>());

/// Writes the frames of the current thread's own stack, leaf first, and returns their number. If that is
/// `limit`, the root side may be missing.
///
/// # Signal safety
/// `rb_profile_frames` neither allocates nor locks; it reads the control frames of this thread, which the
/// interpreter keeps consistent at every instruction. It is not documented as safe in a handler, but every
/// Ruby profiler in production relies on it.
///
/// # Safety
/// Both buffers hold `limit` entries; the thread runs Ruby; no garbage is being collected.
#[inline]
pub(crate) unsafe fn walk(handles: *mut u64, lines: *mut c_int, limit: usize) -> usize {
    let limit = c_int::try_from(limit).unwrap_or(c_int::MAX);
    // SAFETY: the caller passes buffers of `limit` entries, on a Ruby thread and outside of a GC; a handle is
    // a VALUE.
    let count = unsafe { rb_sys::rb_profile_frames(0, limit, handles.cast::<VALUE>(), lines) };
    let count = usize::try_from(count).unwrap_or(0);
    #[cfg(not(ruby_gte_3_2))]
    // SAFETY: the first `count` entries of both buffers were just written, with live frames.
    let count = unsafe { without_dummy(handles, lines, count) };
    count
}

/// Writes the frames of another thread, which stands still. Before Ruby 3.3 there are never any.
///
/// # Safety
/// The caller holds the GVL; `thread` is a live Thread; both buffers hold `limit` entries; no garbage is
/// being collected.
#[cfg(ruby_gte_3_3)]
pub(crate) unsafe fn walk_of(thread: u64, handles: *mut u64, lines: *mut c_int, limit: usize) -> usize {
    let limit = c_int::try_from(limit).unwrap_or(c_int::MAX);
    // SAFETY: the caller holds the GVL and passes a live Thread and buffers of `limit` entries, outside of a
    // GC; a handle is a VALUE.
    let count = unsafe {
        rb_sys::rb_profile_thread_frames(thread as VALUE, 0, limit, handles.cast::<VALUE>(), lines)
    };
    usize::try_from(count).unwrap_or(0)
}

#[cfg(not(ruby_gte_3_3))]
pub(crate) unsafe fn walk_of(_thread: u64, _handles: *mut u64, _lines: *mut c_int, _limit: usize) -> usize {
    0
}

/// Returns the number of frames without a dummy at the root. Ruby 3.1 reports the main thread's dummy frame
/// as a second `<main>`, with line 0 (<https://bugs.ruby-lang.org/issues/18907>).
#[cfg(not(ruby_gte_3_2))]
unsafe fn without_dummy(handles: *const u64, lines: *const c_int, count: usize) -> usize {
    let Some(last) = count.checked_sub(1) else { return 0 };
    // SAFETY: `last` is inside both buffers, and its handle is an object of a live frame.
    let dummy = unsafe { *lines.add(last) == 0 && kind(*handles.add(last)) == ObjectKind::Iseq };
    if dummy {
        last
    } else {
        count
    }
}

/// The VM's description of a frame.
#[derive(Debug, Default)]
pub(crate) struct Description {
    /// A label such as `block in <main>` or `<class:Foo>`; `None` if there is an owner.
    pub(crate) label: Option<String>,
    /// The class or module that has the method, as an object; `None` outside of methods, and for code that
    /// `define_method` made a method.
    pub(crate) owner: Option<u64>,
    /// The name under which the method was defined. Outside of methods it is `None`, or the name of the
    /// enclosing method.
    pub(crate) method_name: Option<String>,
    /// The path, absolute if possible; `None` for a C function.
    pub(crate) path: Option<String>,
    /// The first line of the definition; 0 for a C function.
    pub(crate) first_line: u32,
}

/// Asks the VM about a handle from a walk. Returns `None` if it is not, or no longer, a frame: the VM's own
/// functions would then abort the process.
///
/// # Safety
/// The caller holds the GVL and is not in a GC; `handle` has been marked since it was walked.
pub(crate) unsafe fn describe(handle: u64) -> Option<Description> {
    let frame = handle as VALUE;
    // SAFETY: the handle was marked, so its slot holds an object and the flags can be read.
    let kind = unsafe { kind(handle) };
    if !matches!(kind, ObjectKind::Method | ObjectKind::Iseq) {
        return None;
    }
    type Getter = unsafe extern "C" fn(VALUE) -> VALUE;
    let get = |getter: Getter| {
        // SAFETY: the GVL is held, `frame` is an iseq or a method entry, and a VALUE has no destructor.
        unsafe { super::door::quietly(|| getter(frame)) }
    };
    let string = |getter: Getter| {
        let answer = get(getter)?;
        // SAFETY: the GVL is held; a String that was just returned is live.
        unsafe { rb_sys::RB_TYPE_P(answer, ruby_value_type::RUBY_T_STRING).then(|| super::text(answer)) }
    };
    let path = string(rb_sys::rb_profile_frame_path);
    // SAFETY: the caller holds the GVL outside of a GC, and the handle is alive.
    let owner = unsafe { owner(handle, kind) };
    Some(Description {
        label: if owner.is_none() { string(rb_sys::rb_profile_frame_label) } else { None },
        owner,
        method_name: string(rb_sys::rb_profile_frame_method_name),
        // For a C function the absolute path is the word "<cfunc>", and there is no path.
        path: path.map(|path| string(rb_sys::rb_profile_frame_absolute_path).unwrap_or(path)),
        first_line: get(rb_sys::rb_profile_frame_first_lineno).map_or(0, fixnum),
    })
}

/// Returns the part of a description that can be read without the GVL: the label of the code, and its path.
/// Returns `None` for a C function: its name is a Symbol, and the VM may be changing the table of Symbols.
///
/// # Safety
/// The handle has been marked since it was walked; no garbage is being collected, and none will be before
/// this returns.
pub(crate) unsafe fn describe_without_gvl(handle: u64) -> Option<Description> {
    let frame = handle as VALUE;
    // SAFETY: the slot holds an object, as it was marked. For both kinds the VM's functions read data of the
    // code that never changes while it lives; they neither allocate nor call anything.
    unsafe {
        if !matches!(kind(handle), ObjectKind::Method | ObjectKind::Iseq) {
            return None;
        }
        let string = |value: VALUE| {
            let is_string = rb_sys::RB_TYPE_P(value, ruby_value_type::RUBY_T_STRING);
            is_string.then(|| super::text(value))
        };
        let path = string(rb_sys::rb_profile_frame_path(frame))?;
        Some(Description {
            label: string(rb_sys::rb_profile_frame_label(frame)),
            path: Some(path),
            ..Description::default()
        })
    }
}

/// Returns the owner of a method entry.
unsafe fn owner(handle: u64, kind: ObjectKind) -> Option<u64> {
    if kind != ObjectKind::Method {
        return None;
    }
    // SAFETY: the caller holds the GVL outside of a GC, and the entry is alive.
    unsafe { methods::method(handle, &mut Vec::with_capacity(8)).owner }
}

/// Returns Ruby's label of an iseq, such as `block in <main>`. Allocates no Ruby object.
///
/// # Safety
/// The caller holds the GVL and is not in a GC; `iseq` is live.
pub(crate) unsafe fn label(iseq: u64) -> String {
    // SAFETY: the caller holds the GVL and passes a live iseq, which holds the label, a String.
    unsafe { super::text(rb_sys::rb_profile_frame_label(iseq as VALUE)) }
}

fn fixnum(value: VALUE) -> u32 {
    // A small Integer is its number, shifted left by one, with the lowest bit set.
    if value & 1 == 1 {
        u32::try_from((value as i64) >> 1).unwrap_or(0)
    } else {
        0
    }
}
