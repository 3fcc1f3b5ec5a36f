//! Facts about this process: the Ruby that it runs, its JIT, its program.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::OnceLock;

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{prelude::*, Error, RString, Ruby, TryConvert, Value};
use rb_sys::VALUE;

use crate::vm::cached::Cached;
use crate::vm::door::{call, quietly, Name};

/// Returns why walking from a signal handler is unsafe here, or `None` if it is safe. The VM is asked only
/// once if the answer cannot change.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn unsafe_to_walk(ruby: &Ruby) -> Result<Option<String>, Error> {
    static ANSWER: Cached<(bool, Option<String>)> =
        Cached::new(|ruby| Ok((constant(ruby, &[c"RubyVM", c"ZJIT"]).is_some(), why_unsafe(ruby)?)));
    // `callcc` copies a stack over the running one, and a walk in the middle of that crashes. It comes with a
    // library.
    if constant(ruby, &[c"Continuation"]).is_some() {
        return Ok(Some("a continuation (callcc) replaces the stack while it may be walked".into()));
    }
    match ANSWER.get(ruby)? {
        // A program can turn ZJIT on by itself.
        (true, _) => why_unsafe(ruby),
        (false, answer) => Ok(answer.clone()),
    }
}

fn why_unsafe(ruby: &Ruby) -> Result<Option<String>, Error> {
    let version = text_of(ruby, c"RUBY_VERSION");
    if version == "3.2.0" {
        return Ok(Some("Ruby 3.2.0 crashes if a stack is walked at the wrong instant".into()));
    }
    // ZJIT of Ruby 4.0 fills a frame before it moves to it, and notes its place before it calls. Later
    // versions leave parts unwritten.
    if cfg!(ruby_gt_4_0) && jit(ruby, c"ZJIT")? {
        return Ok(Some(format!("ZJIT of Ruby {version} was not tested with walks at any instruction")));
    }
    if !cfg!(ruby_gte_3_3) && jit(ruby, c"YJIT")? {
        return Ok(Some(format!(
            "YJIT of Ruby {version} moves its frames before it fills them (fixed in 3.3)"
        )));
    }
    Ok(None)
}

/// Whether a native thread of the main Ractor ends with its Ruby thread. Before Ruby 3.3 native threads are
/// reused.
pub(crate) const ENDS_WITH_NATIVE: bool = cfg!(ruby_gte_3_3);

/// Returns whether several Ruby threads of the main Ractor share one native thread (`RUBY_MN_THREADS=1`).
pub(crate) fn shares_native_threads() -> bool {
    static MN_THREADS: OnceLock<bool> = OnceLock::new();
    let is_set = || cfg!(ruby_gte_3_3) && std::env::var("RUBY_MN_THREADS").is_ok_and(|it| it == "1");
    *MN_THREADS.get_or_init(is_set)
}

/// Returns whether there are Ractors besides the main one.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn has_ractors(ruby: &Ruby) -> Result<bool, Error> {
    static COUNT: Name = Name::new(c"count");
    match constant(ruby, &[c"Ractor"]) {
        None => Ok(false),
        Some(ractor) => Ok(usize::try_convert(call(ractor, &COUNT, [])?)? > 1),
    }
}

/// Returns `RUBY_DESCRIPTION`.
pub(crate) fn description(ruby: &Ruby) -> String {
    text_of(ruby, c"RUBY_DESCRIPTION")
}

/// Returns `$PROGRAM_NAME`.
pub(crate) fn program(_gvl: &Ruby) -> String {
    // SAFETY: a `Ruby` proves that the GVL is held; the variable is the VM's own and holds a String.
    unsafe {
        quietly(|| rb_sys::rb_gv_get(c"$0".as_ptr()))
            .filter(|name| rb_sys::RB_TYPE_P(*name, rb_sys::ruby_value_type::RUBY_T_STRING))
            .map(|name| super::text(name))
            .unwrap_or_default()
    }
}

/// The VM's key under which the main Ractor has a value and every other Ractor has none. Null until the
/// extension is loaded.
static MAIN_RACTOR: AtomicPtr<rb_sys::rb_ractor_local_key_struct> = AtomicPtr::new(std::ptr::null_mut());

/// Lets the extension's methods run in any Ractor, as the sampler has locks of its own. Only for the function
/// that Ruby calls when it loads the extension, which the main Ractor does.
pub(crate) fn allow_ractors(_gvl: &Ruby) {
    // SAFETY: a `Ruby` proves that the GVL is held. The first call only sets a flag of the loading thread; a
    // key without a type keeps a pointer and never dereferences it.
    let key = unsafe {
        rb_sys::rb_ext_ractor_safe(true);
        let key = rb_sys::rb_ractor_local_storage_ptr_newkey(std::ptr::null());
        rb_sys::rb_ractor_local_storage_ptr_set(key, std::ptr::from_ref(&MAIN_RACTOR).cast_mut().cast());
        key
    };
    // Release pairs with the Acquire in `on_main_ractor`.
    MAIN_RACTOR.store(key, Ordering::Release);
}

/// Returns whether the calling thread belongs to the main Ractor. The GVL that guards most of our state is
/// that Ractor's, and only it has our hooks on threads and fibers. This takes a few reads there, and a
/// search in a table in other Ractors.
pub(crate) fn on_main_ractor() -> bool {
    // Acquire pairs with the Release in `allow_ractors`.
    let key = MAIN_RACTOR.load(Ordering::Acquire);
    // SAFETY: the callers run Ruby, and the VM created the key.
    !key.is_null() && unsafe { !rb_sys::rb_ractor_local_storage_ptr(key).is_null() }
}

fn jit(ruby: &Ruby, name: &CStr) -> Result<bool, Error> {
    static ENABLED: Name = Name::new(c"enabled?");
    match constant(ruby, &[c"RubyVM", name]) {
        None => Ok(false),
        Some(jit) => Ok(call(jit, &ENABLED, [])?.to_bool()),
    }
}

/// Returns a constant that holds a String, as text; empty if there is none.
fn text_of(ruby: &Ruby, name: &CStr) -> String {
    let string = constant(ruby, &[name]).and_then(RString::from_value);
    // SAFETY: the GVL is held, and the String is alive on the stack.
    string.map(|it| unsafe { super::text(it.as_raw()) }).unwrap_or_default()
}

/// Returns a constant, or `None` if there is none. Calls no method, not even `const_missing`.
fn constant(_gvl: &Ruby, path: &[&CStr]) -> Option<Value> {
    // SAFETY: a `Ruby` proves that the GVL is held; all constants of a path except the last are modules of
    // Ruby's own.
    unsafe {
        let inside = |module: VALUE, name: &&CStr| {
            let id = rb_sys::rb_intern(name.as_ptr());
            let defined = rb_sys::rb_const_defined(module, id) != 0;
            defined.then(|| quietly(|| rb_sys::rb_const_get(module, id))).flatten()
        };
        path.iter().try_fold(rb_sys::rb_cObject, inside).map(|it| Value::from_raw(it))
    }
}

/// Returns an address in the library that Ruby is in.
pub(crate) fn code_of_ruby() -> usize {
    rb_sys::rb_gc_start as *const () as usize
}
