//! Walking a stack, and asking what a frame of it is.

use core::ffi::c_int;

use rb_sys::{ruby_value_type, VALUE};

// A handle is a VALUE as it is; this project knows 64-bit machines only.
const _: () = assert!(core::mem::size_of::<VALUE>() == core::mem::size_of::<u64>());

/// Writes the frames of the current thread's own stack, leaf first, and gives how many there were;
/// `limit` of them means that the root side may be missing.
///
/// # Signal safety
/// `rb_profile_frames` neither allocates nor locks; it reads the control frames of this thread, which
/// the interpreter keeps whole at every instruction. It is not documented as safe in a handler, and
/// every Ruby profiler in production relies on it.
///
/// # Safety
/// Both buffers have room for `limit`; the thread runs Ruby; no garbage is being collected.
#[inline]
pub(crate) unsafe fn walk(handles: *mut u64, lines: *mut c_int, limit: usize) -> usize {
    let limit = c_int::try_from(limit).unwrap_or(c_int::MAX);
    // SAFETY: as promised by the caller; a handle is a VALUE.
    let count = unsafe { rb_sys::rb_profile_frames(0, limit, handles.cast::<VALUE>(), lines) };
    let count = usize::try_from(count).unwrap_or(0);
    #[cfg(not(ruby_gte_3_2))]
    // SAFETY: the first `count` of both buffers were just written, with live frames.
    let count = unsafe { without_dummy(handles, lines, count) };
    count
}

/// Ruby 3.1 reports the main thread's dummy frame as a second `<main>` at the root, with line 0
/// (<https://bugs.ruby-lang.org/issues/18907>).
#[cfg(not(ruby_gte_3_2))]
unsafe fn without_dummy(handles: *const u64, lines: *const c_int, count: usize) -> usize {
    /// How Ruby 3.1 tells an iseq among its internal objects (imemo.h).
    const IMEMO_SHIFT: u64 = 12;
    const IMEMO_MASK: u64 = 0xf;
    const IMEMO_ISEQ: u64 = 7;
    let Some(last) = count.checked_sub(1) else { return 0 };
    // SAFETY: `last` is inside both buffers, and its handle is an object of a live frame, whose
    // first word holds its flags.
    let (line, flags) = unsafe { (*lines.add(last), *(*handles.add(last) as *const u64)) };
    if line == 0 && (flags >> IMEMO_SHIFT) & IMEMO_MASK == IMEMO_ISEQ {
        last
    } else {
        count
    }
}

/// What the VM says of a frame.
#[derive(Debug, Default)]
pub(crate) struct Description {
    /// `bar`, `block in <main>`, `<class:Foo>`; nothing for a C function.
    pub(crate) label: Option<String>,
    /// `Foo`, with addresses where the VM puts them; nothing outside a method.
    pub(crate) class_path: Option<String>,
    /// Name under which the method was defined.
    pub(crate) method_name: Option<String>,
    /// Whether the owner is a singleton class.
    pub(crate) singleton: bool,
    /// Absolute where there is one; nothing for a C function.
    pub(crate) path: Option<String>,
    /// First line of the definition; 0 for a C function.
    pub(crate) first_line: u32,
}

/// Asks the VM about a handle that a walk gave. Nothing when it is not a frame (any more): the VM's
/// own functions would abort the process then.
///
/// # Safety
/// The caller holds the GVL and is not in a GC; `handle` has been marked since it was walked.
pub(crate) unsafe fn describe(handle: u64) -> Option<Description> {
    let frame = handle as VALUE;
    // SAFETY: the handle was marked, so its slot holds an object and the flags can be read.
    if unsafe { rb_sys::RB_BUILTIN_TYPE(frame) } != ruby_value_type::RUBY_T_IMEMO {
        return None;
    }
    type Ask = unsafe extern "C" fn(VALUE) -> VALUE;
    let ask = |question: Ask| {
        // SAFETY: the GVL is held, `frame` is an iseq or a method entry, and a VALUE has no destructor.
        unsafe { super::quietly(|| question(frame)) }
    };
    let string = |question: Ask| {
        let answer = ask(question)?;
        // SAFETY: the GVL is held; a String that was just returned is live.
        unsafe { rb_sys::RB_TYPE_P(answer, ruby_value_type::RUBY_T_STRING).then(|| super::text(answer)) }
    };
    let path = string(rb_sys::rb_profile_frame_path);
    Some(Description {
        label: string(rb_sys::rb_profile_frame_label),
        class_path: string(rb_sys::rb_profile_frame_classpath),
        method_name: string(rb_sys::rb_profile_frame_method_name),
        singleton: ask(rb_sys::rb_profile_frame_singleton_method_p) == Some(rb_sys::Qtrue as VALUE),
        // For a C function the absolute path is the word "<cfunc>", and there is no path.
        path: path.map(|path| string(rb_sys::rb_profile_frame_absolute_path).unwrap_or(path)),
        first_line: ask(rb_sys::rb_profile_frame_first_lineno).map_or(0, fixnum),
    })
}

fn fixnum(value: VALUE) -> u32 {
    // A small Integer is its number, shifted left by one, with the lowest bit set.
    if value & 1 == 1 {
        u32::try_from((value as i64) >> 1).unwrap_or(0)
    } else {
        0
    }
}
