//! What a process needs that is joined while it runs: a file is loaded.

use std::ffi::CStr;

use magnus::error::ErrorType;
use magnus::rb_sys::AsRawValue;
use rb_sys::VALUE;

use super::door::protect;

/// Loads a file. The extension need not have been initialised.
///
/// # Errors
/// The message of the exception that the file raises.
///
/// # Safety
/// The caller is on a Ruby thread of its own, and holds the GVL.
pub(crate) unsafe fn load(path: &CStr) -> Result<(), String> {
    let loaded = protect(|| {
        // SAFETY: the GVL is held, and the path is a C string that outlives the call. No value with a
        // destructor is alive.
        unsafe { rb_sys::rb_load(rb_sys::rb_str_new_cstr(path.as_ptr()), 0) };
        rb_sys::Qnil as VALUE
    });
    let Err(error) = loaded else { return Ok(()) };
    let ErrorType::Exception(exception) = error.error_type() else {
        return Err("the thread that loads the profiler was ended".into());
    };
    // SAFETY: the GVL is held; the exception is on the stack, and so is the String that the call returns.
    let message = protect(|| unsafe { rb_sys::rb_obj_as_string(exception.as_raw()) });
    // SAFETY: the call returned a String, and no Ruby code runs while it is read.
    Err(message.map_or_else(|_| "the profiler could not be loaded".into(), |it| unsafe { super::text(it) }))
}
