//! The door to Ruby code: every call that dispatches a method goes through here.
//!
//! Such a call may switch threads, and it may raise an exception that has nothing to do with the question.
//! The VM delivers `Thread#raise`, `Thread#kill`, `Timeout`, `Interrupt` and a trap that raises as the frame
//! of the callee is popped. So callers finish their state before they ask, or undo it. An error is always
//! passed on: no function here drops one.
//!
//! * A question that Ruby answers with a NameError is asked twice, which distinguishes that answer from a
//!   NameError that another thread sent. An error is never kept as an answer.
//! * State is finished before a call into Ruby, or undone. Labels are in the fiber and in the state before
//!   `Fiber[]=` is called. `Labels.leave` undoes whatever `Labels.enter` did, even if it raised.
//! * A session is an object before it begins (`Life::New`), and ends by itself when the object is freed: the
//!   GC only notes the free, and a postponed job discards the session. Its result is kept until its Profile
//!   has reached the caller, so the next `stop` continues what an exception interrupted.
//! * No method is called in a postponed job, as the VM drops exceptions that are raised there.
//!
//! Sessions refuse to begin or end if less than 64 KB of the machine stack are left. Ruby's handler of
//! SIGSEGV jumps out of any code, even if it holds a lock, such as that of the allocator.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering};

use magnus::error::ErrorType;
use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{Error, Exception, Ruby, Value};
use rb_sys::{ID, VALUE};

/// The name of a method or variable, whose id is looked up in the VM once.
#[derive(Debug)]
pub(crate) struct Name(&'static CStr, AtomicU64);

impl Name {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self(name, AtomicU64::new(0))
    }

    /// Returns the id, which is valid for ever once the name is interned. The caller holds the GVL.
    pub(crate) fn id(&self) -> ID {
        match self.1.load(Ordering::Relaxed) {
            0 => {
                // SAFETY: the caller holds the GVL; the name is a C string.
                let id = unsafe { rb_sys::rb_intern(self.0.as_ptr()) };
                self.1.store(id as u64, Ordering::Relaxed);
                id
            }
            known => known as ID,
        }
    }
}

/// Calls `receiver.method(*arguments)`.
///
/// # Errors
/// The exception that the method raises, or one that was delivered during the call.
pub(crate) fn call<const N: usize>(
    receiver: Value,
    method: &Name,
    arguments: [Value; N],
) -> Result<Value, Error> {
    let arguments = arguments.map(|it| it.as_raw());
    // SAFETY: a Value proves that the GVL is held; all of them are on the stack.
    let answer = protect(|| unsafe {
        rb_sys::rb_funcallv(receiver.as_raw(), method.id(), N as _, arguments.as_ptr())
    });
    // SAFETY: a method returns a live object.
    answer.map(|it| unsafe { Value::from_raw(it) })
}

/// Calls an UnboundMethod on `receiver`.
///
/// # Errors
/// Same as for [`call`].
pub(crate) fn bind_call<const N: usize>(method: Value, arguments: [Value; N]) -> Result<Value, Error> {
    static BIND_CALL: Name = Name::new(c"bind_call");
    call(method, &BIND_CALL, arguments)
}

/// Yields to the block of the method that is running.
///
/// # Errors
/// Same as for [`call`]; also a `break` or `throw` out of the block.
pub(crate) fn yield_to_block(value: Value) -> Result<Value, Error> {
    // SAFETY: a Value proves that the GVL is held; the value is on the stack, and so is the block's result.
    let answer = protect(|| unsafe { rb_sys::rb_yield(value.as_raw()) });
    // SAFETY: a block returns a live object.
    answer.map(|it| unsafe { Value::from_raw(it) })
}

/// The machine stack that must be left for a call of the API: twice what stopping a session takes, which is
/// about 30 KB.
const STACK_BYTES: usize = 64 * 1024;
/// The part of the stack that one step checks: less than the 16 KB that Ruby's own check leaves.
const STACK_STEP: usize = 8 * 1024;

/// Fails if the machine stack is almost exhausted. Ruby jumps out of any code that runs into the end, and a
/// lock that is held there would stay locked for ever: the profiler's, or the allocator's.
///
/// # Errors
/// SystemStackError.
pub(crate) fn ensure_stack(ruby: &Ruby) -> Result<(), Error> {
    if has_stack(STACK_BYTES) {
        return Ok(());
    }
    Err(Error::new(ruby.exception_sys_stack_error(), "stack level too deep"))
}

/// Returns whether `bytes` of the stack are left, in addition to those that Ruby's own check reserves. That
/// check is about the place where it is called, so this function calls itself, one step deeper each time.
#[inline(never)]
fn has_stack(bytes: usize) -> bool {
    // SAFETY: callers are on a Ruby thread; the call compares two addresses.
    if unsafe { rb_sys::ruby_stack_check() } != 0 {
        return false;
    }
    let step = std::mem::MaybeUninit::<[u8; STACK_STEP]>::uninit();
    let enough = bytes == 0 || has_stack(bytes.saturating_sub(STACK_STEP));
    std::hint::black_box(&step); // keeps the array on the stack during the call
    enough
}

/// Asks a question that may have no answer. Returns `None` if Ruby raises a NameError.
///
/// # Errors
/// All other exceptions, and a NameError that another thread sent here: asked again, the question has an
/// answer.
pub(crate) fn unless_undefined<T>(
    ruby: &Ruby,
    question: impl Fn() -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    let undefined = |error: &Error| error.is_kind_of(ruby.exception_name_error());
    match question() {
        Err(error) if undefined(&error) => match question() {
            Ok(_) => Err(error),
            Err(again) if undefined(&again) => Ok(None),
            Err(other) => Err(other),
        },
        answer => answer.map(Some),
    }
}

/// Raises an error of [`call`] in a hook of the VM, which lets it through to the code that the hook
/// interrupts.
///
/// # Safety
/// No value with a destructor is live in the frames from here to the VM.
pub(crate) unsafe fn raise_from_hook(error: &Error) {
    // SAFETY: the GVL is held, as an error holds a Value; the caller has no live value with a destructor in
    // its frames.
    unsafe {
        match error.error_type() {
            ErrorType::Jump(tag) => rb_sys::rb_jump_tag(*tag as _),
            ErrorType::Exception(exception) => rb_sys::rb_exc_raise(exception.as_raw()),
            ErrorType::Error(..) => {} // made by Rust code, and never delivered
        }
    }
}

/// Runs `call`, which may raise, throw or end the thread. All of these become an error that ends this call
/// only.
///
/// # Errors
/// The exception, the throw or the end of the thread. `$!` is as it was before.
pub(super) fn protect(mut call: impl FnMut() -> VALUE) -> Result<VALUE, Error> {
    const RAISE: i32 = 6;
    // SAFETY: the callers hold the GVL, and no value with a destructor is alive inside `call`.
    let before = unsafe { rb_sys::rb_errinfo() };
    // SAFETY: the callers hold the GVL, and no value with a destructor is alive inside `call`.
    let (value, state) = unsafe { run(&mut call) };
    match state {
        0 => Ok(value),
        RAISE => {
            // SAFETY: the GVL is held.
            let raised = unsafe { rb_sys::rb_errinfo() };
            restore(before);
            // SAFETY: the raised exception is on the stack.
            let raised = Exception::from_value(unsafe { Value::from_raw(raised) });
            raised.map_or(Ok(value), |it| Err(it.into()))
        }
        // A throw, or the end of the thread: `$!` says which, and stays. magnus makes its error of a jump
        // that it sees.
        state => magnus::rb_sys::protect(|| {
            // SAFETY: continues the jump that was just stopped, inside magnus' own `protect`.
            unsafe { rb_sys::rb_jump_tag(state) }
        }),
    }
}

/// Runs `call`, which dispatches no method and so can raise only its own errors. Returns `None` if it raised.
///
/// # Safety
/// The caller holds the GVL, and no value with a destructor is alive inside `call` when it raises.
pub(crate) unsafe fn quietly(mut call: impl FnMut() -> VALUE) -> Option<VALUE> {
    // SAFETY: the caller holds the GVL.
    let before = unsafe { rb_sys::rb_errinfo() };
    // SAFETY: the caller holds the GVL, and no value with a destructor is alive inside `call` when it raises.
    let (value, state) = unsafe { run(&mut call) };
    if state == 0 {
        return Some(value);
    }
    restore(before);
    None
}

/// Calls a closure under `rb_protect`. Returns its value, and the VM's tag of the jump that ended it, or 0.
///
/// # Safety
/// Same as for [`quietly`].
unsafe fn run<F: FnMut() -> VALUE>(call: &mut F) -> (VALUE, i32) {
    unsafe extern "C" fn call_it<F: FnMut() -> VALUE>(data: VALUE) -> VALUE {
        // SAFETY: `data` is the address of the closure, which outlives the call.
        let call = unsafe { &mut *(data as *mut F) };
        call()
    }
    let mut state = 0;
    // SAFETY: the closure lives until rb_protect returns.
    let value = unsafe { rb_sys::rb_protect(Some(call_it::<F>), call as *mut F as VALUE, &raw mut state) };
    (value, state)
}

/// Restores the value that `$!` had before a raise was caught. That exception may be on its way through an
/// outer frame.
fn restore(before: VALUE) {
    // The VM refuses a value that is not an exception. So if a thread is being ended, the caught value stays
    // in `$!`.
    // SAFETY: the GVL is held; both calls only read and write a field of the current thread.
    unsafe {
        let is_exception = rb_sys::rb_obj_is_kind_of(before, rb_sys::rb_eException) == rb_sys::Qtrue as VALUE;
        if is_exception || before == rb_sys::Qnil as VALUE {
            rb_sys::rb_set_errinfo(before);
        }
    }
}
