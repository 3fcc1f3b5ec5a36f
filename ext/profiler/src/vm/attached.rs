//! Loads a file, with all that it requires, into a process that a command has attached to.
//!
//! Ruby releases the GVL to read a file. If other threads compute, each of them then keeps the GVL for 100 ms
//! before the next file is read, so a hundred files would take ten seconds and more. From 3.3 on, Ruby also
//! releases the GVL to look files up, so the turns of the threads are [shortened](super::turns) while files are
//! loaded. Before Ruby reads a file, it asks the method `load_iseq` of `RubyVM::InstructionSequence` for its
//! code, if there is such a method (Bootsnap defines one). Ours is defined while the files are loaded. It reads
//! them with the GVL, and only those that the loading thread requires.

use std::ffi::CStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use magnus::error::ErrorType;
use magnus::rb_sys::AsRawValue;
use rb_sys::VALUE;

use super::door::protect;
use super::turns::ShortTurns;

/// The class that Ruby asks for the code of a file.
const CODE: &CStr = c"RubyVM::InstructionSequence";
const LOAD_ISEQ: &CStr = c"load_iseq";
/// The size in bytes of the largest file that is read with the GVL.
const MAX_BYTES: u64 = 1 << 20;

/// The number of attempts to remove the method. Where it stays after all, it returns nil.
const MAX_REMOVALS: usize = 10;

/// The thread that loads the files; 0 if there is none.
static LOADER: AtomicUsize = AtomicUsize::new(0);

/// Loads a file. The extension need not have been initialised.
///
/// # Errors
/// The message of the exception that the file raises.
///
/// # Safety
/// The caller is on a Ruby thread of its own, and holds the GVL.
pub(crate) unsafe fn load(path: &CStr) -> Result<(), String> {
    // SAFETY: the caller is a Ruby thread with the GVL, and the value is dropped here.
    let short_turns = unsafe { ShortTurns::begin() };
    // SAFETY: the caller holds the GVL.
    let reads_at_once = protect(|| unsafe { define() }).is_ok_and(|it| it == rb_sys::Qtrue as VALUE);
    let loaded = protect(|| {
        // SAFETY: the GVL is held, and the path is a C string that outlives the call. No value with a
        // destructor is alive.
        unsafe { rb_sys::rb_load(rb_sys::rb_str_new_cstr(path.as_ptr()), 0) };
        rb_sys::Qnil as VALUE
    });
    drop(short_turns);
    if reads_at_once {
        LOADER.store(0, Ordering::Relaxed);
        // An app may kill all of its threads again and again, and each kill ends one call.
        // SAFETY: the GVL is held.
        let is_removed = || protect(|| unsafe { remove() }).is_ok();
        let _ = (0..MAX_REMOVALS).any(|_| is_removed());
    }
    let Err(error) = loaded else { return Ok(()) };
    let ErrorType::Exception(exception) = error.error_type() else {
        return Err("the thread that loads the profiler was ended".into());
    };
    // SAFETY: the GVL is held; the exception is on the stack, and so is the String that the call returns.
    let message = protect(|| unsafe { rb_sys::rb_obj_as_string(exception.as_raw()) });
    // SAFETY: the call returned a String, and no Ruby code runs while it is read.
    Err(message.map_or_else(|_| "the profiler could not be loaded".into(), |it| unsafe { super::text(it) }))
}

/// Defines `load_iseq` for the calling thread. Returns false as a Ruby value if the process has one already.
///
/// # Safety
/// The caller holds the GVL, and is inside of [`protect`].
unsafe fn define() -> VALUE {
    // SAFETY: the GVL is held. The class exists in every CRuby, and the function has the arguments that are
    // declared. The thread is alive as long as it loads files.
    unsafe {
        let class = rb_sys::rb_path2class(CODE.as_ptr());
        if rb_sys::rb_respond_to(class, rb_sys::rb_intern(LOAD_ISEQ.as_ptr())) != 0 {
            return rb_sys::Qfalse as VALUE;
        }
        LOADER.store(rb_sys::rb_thread_current() as usize, Ordering::Relaxed);
        let function: unsafe extern "C" fn(VALUE, VALUE) -> VALUE = load_iseq;
        // The C API takes a function without a type for its arguments.
        let function: unsafe extern "C" fn() -> VALUE = ::std::mem::transmute(function);
        rb_sys::rb_define_singleton_method(class, LOAD_ISEQ.as_ptr(), Some(function), 1);
    }
    rb_sys::Qtrue as VALUE
}

/// Removes what [`define`] has defined, unless that is done.
///
/// # Safety
/// Same as for [`define`].
unsafe fn remove() -> VALUE {
    // SAFETY: the GVL is held, and the class exists in every CRuby.
    unsafe {
        let class = rb_sys::rb_path2class(CODE.as_ptr());
        if rb_sys::rb_respond_to(class, rb_sys::rb_intern(LOAD_ISEQ.as_ptr())) == 0 {
            return rb_sys::Qnil as VALUE;
        }
        let class = rb_sys::rb_singleton_class(class);
        let name = rb_sys::rb_id2sym(rb_sys::rb_intern(LOAD_ISEQ.as_ptr()));
        rb_sys::rb_funcallv(class, rb_sys::rb_intern(c"remove_method".as_ptr()), 1, &raw const name)
    }
}

/// Implements `RubyVM::InstructionSequence.load_iseq(path)`: returns the compiled file, or nil, with which Ruby
/// loads it itself.
///
/// *Runs on:* any Ruby thread that loads a file. *GVL:* held. *Calls:* Ruby's compiler.
unsafe extern "C" fn load_iseq(class: VALUE, path: VALUE) -> VALUE {
    let nil = rb_sys::Qnil as VALUE;
    // SAFETY: a method is called with the GVL.
    if unsafe { rb_sys::rb_thread_current() } as usize != LOADER.load(Ordering::Relaxed) {
        return nil;
    }
    let source = {
        // SAFETY: Ruby passes the path as a String.
        let Some(text) = (unsafe { read(path) }) else { return nil };
        // SAFETY: the GVL is held, and the bytes outlive the call. If memory ends, Ruby loads the file.
        protect(|| unsafe { rb_sys::rb_utf8_str_new(text.as_ptr().cast(), text.len() as _) })
    };
    let Ok(source) = source else { return nil };
    let arguments = [source, path, path];
    // SAFETY: the GVL is held, the values are on the stack, and no value with a destructor is alive.
    unsafe { rb_sys::rb_funcallv(class, rb_sys::rb_intern(c"compile".as_ptr()), 3, arguments.as_ptr()) }
}

/// Reads a regular file of moderate size.
///
/// # Safety
/// The path is a String, and the GVL is held.
unsafe fn read(path: VALUE) -> Option<Vec<u8>> {
    // SAFETY: the String is alive, and no Ruby code runs while its bytes are used.
    let path = unsafe {
        let length = usize::try_from(rb_sys::RSTRING_LEN(path)).ok()?;
        std::slice::from_raw_parts(rb_sys::RSTRING_PTR(path).cast::<u8>(), length)
    };
    let file = File::open(Path::new(std::ffi::OsStr::from_bytes(path))).ok()?;
    file.metadata().ok().filter(|it| it.is_file() && it.len() <= MAX_BYTES)?;
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}
