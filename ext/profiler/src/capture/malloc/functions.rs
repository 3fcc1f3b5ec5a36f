//! The functions that are called in place of malloc and its relatives.
//!
//! Each begins with a stub in assembly, which passes on where its return address is on the stack. All of them
//! end in the real function, so the program sees only what that returns.

use ::core::arch::global_asm;
use ::core::ffi::{c_int, c_void, CStr};
use ::core::mem::transmute;
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicUsize, Ordering};

use super::countdown::{is_due, passes};
use super::{redirected, sample, BLOCKS};
use crate::sys::got::Redirect;

/// The places of the functions in [`FUNCTIONS`].
const MALLOC: usize = 0;
const CALLOC: usize = 1;
const REALLOC: usize = 2;
const REALLOCARRAY: usize = 3;
const POSIX_MEMALIGN: usize = 4;
const ALIGNED_ALLOC: usize = 5;
const MEMALIGN: usize = 6;
const VALLOC: usize = 7;
const PVALLOC: usize = 8;
const FREE: usize = 9;
const DLSYM: usize = 10;
const NUMBER: usize = 11;

/// The names of the functions.
const NAMES: [&CStr; NUMBER] = [
    c"malloc",
    c"calloc",
    c"realloc",
    c"reallocarray",
    c"posix_memalign",
    c"aligned_alloc",
    c"memalign",
    c"valloc",
    c"pvalloc",
    c"free",
    c"dlsym",
];

/// The addresses of the real functions; 0 for those that this libc does not have. Set before the first call is
/// redirected, and never changed.
static REAL: [AtomicUsize; NUMBER] = [const { AtomicUsize::new(0) }; NUMBER];

// With the flag for indirect calls first. The first argument after those of the function is the place of the
// address to which it returns; the stubs of `dlsym` and `free` need none.
global_asm!(
    ".pushsection .text.profiler_malloc,\"ax\",@progbits",
    ".macro PROFILER_STUB name, register, target",
    ".globl \\name",
    ".hidden \\name",
    ".type \\name, @function",
    ".p2align 4",
    "\\name:",
    "endbr64",
    "mov \\register, rsp",
    "jmp \\target",
    ".size \\name, . - \\name",
    ".endm",
    "PROFILER_STUB profiler_stub_malloc, rsi, {malloc}",
    "PROFILER_STUB profiler_stub_calloc, rdx, {calloc}",
    "PROFILER_STUB profiler_stub_realloc, rdx, {realloc}",
    "PROFILER_STUB profiler_stub_reallocarray, rcx, {reallocarray}",
    "PROFILER_STUB profiler_stub_posix_memalign, rcx, {posix_memalign}",
    "PROFILER_STUB profiler_stub_aligned_alloc, rdx, {aligned_alloc}",
    "PROFILER_STUB profiler_stub_memalign, rdx, {memalign}",
    "PROFILER_STUB profiler_stub_valloc, rsi, {valloc}",
    "PROFILER_STUB profiler_stub_pvalloc, rsi, {pvalloc}",
    ".globl profiler_stub_dlsym",
    ".hidden profiler_stub_dlsym",
    ".type profiler_stub_dlsym, @function",
    ".p2align 4",
    "profiler_stub_dlsym:",
    "endbr64",
    "push rdi",
    "push rsi",
    "sub rsp, 8",
    "call {look}",
    "add rsp, 8",
    "pop rsi",
    "pop rdi",
    "jmp qword ptr [rip + {real} + {dlsym}]",
    ".size profiler_stub_dlsym, . - profiler_stub_dlsym",
    ".popsection",
    malloc = sym on_malloc,
    calloc = sym on_calloc,
    realloc = sym on_realloc,
    reallocarray = sym on_reallocarray,
    posix_memalign = sym on_posix_memalign,
    aligned_alloc = sym on_aligned_alloc,
    memalign = sym on_memalign,
    valloc = sym on_valloc,
    pvalloc = sym on_pvalloc,
    look = sym on_dlsym,
    real = sym REAL,
    dlsym = const DLSYM * 8,
);

extern "C" {
    fn profiler_stub_malloc();
    fn profiler_stub_calloc();
    fn profiler_stub_realloc();
    fn profiler_stub_reallocarray();
    fn profiler_stub_posix_memalign();
    fn profiler_stub_aligned_alloc();
    fn profiler_stub_memalign();
    fn profiler_stub_valloc();
    fn profiler_stub_pvalloc();
    fn profiler_stub_dlsym();
}

/// Returns the functions whose callers are redirected, and notes where the real ones are.
pub(super) fn functions() -> [Redirect; NUMBER] {
    let stubs = [
        profiler_stub_malloc as *const () as usize,
        profiler_stub_calloc as *const () as usize,
        profiler_stub_realloc as *const () as usize,
        profiler_stub_reallocarray as *const () as usize,
        profiler_stub_posix_memalign as *const () as usize,
        profiler_stub_aligned_alloc as *const () as usize,
        profiler_stub_memalign as *const () as usize,
        profiler_stub_valloc as *const () as usize,
        profiler_stub_pvalloc as *const () as usize,
        on_free as *const () as usize,
        profiler_stub_dlsym as *const () as usize,
    ];
    ::core::array::from_fn(|place| {
        let (name, to) = (NAMES[place], stubs[place]);
        if REAL[place].load(Ordering::Relaxed) == 0 {
            // SAFETY: the name is a C string. Our own call is not redirected.
            let found = unsafe { ::libc::dlsym(::libc::RTLD_DEFAULT, name.as_ptr()) } as usize;
            REAL[place].store(found, Ordering::Relaxed);
        }
        Redirect { name, to, from: REAL[place].load(Ordering::Relaxed) }
    })
}

/// Returns the address of the real malloc.
pub(super) fn real_malloc() -> usize {
    REAL[MALLOC].load(Ordering::Relaxed)
}

/// Returns the real function at that place, as a function of type `$type`.
macro_rules! real {
    ($place:ident as $type:ty) => {
        // SAFETY: the address is that of the function, which has this type. It was set before any call was
        // redirected.
        unsafe { transmute::<usize, $type>(REAL[$place].load(Ordering::Relaxed)) }
    };
}

type OfSize = unsafe extern "C" fn(usize) -> *mut c_void;
type OfTwo = unsafe extern "C" fn(usize, usize) -> *mut c_void;
type OfBlock = unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void;
type OfBlockAndTwo = unsafe extern "C" fn(*mut c_void, usize, usize) -> *mut c_void;
type IntoPlace = unsafe extern "C" fn(*mut *mut c_void, usize, usize) -> c_int;
type OfPointer = unsafe extern "C" fn(*mut c_void);

/// Defines a function that allocates what the size in `$size` says, with these arguments and the place of the
/// return address as the last one. What most calls run keeps nothing on the stack, and jumps to the real function.
macro_rules! allocating {
    ($name:ident, $place:ident as $type:ty, ($($argument:ident),+), $size:expr) => {
        unsafe extern "C" fn $name($($argument: usize,)+ place: usize) -> *mut c_void {
            #[cold]
            #[inline(never)]
            unsafe extern "C" fn at_sample_point($($argument: usize,)+ place: usize) -> *mut c_void {
                let (real, size): (_, usize) = (real!($place as $type), $size);
                let due = is_due(size);
                // SAFETY: the caller's own arguments.
                let block = unsafe { real($($argument),+) };
                if due {
                    sample(block as usize, size, place);
                }
                block
            }
            if passes($size) {
                let real = real!($place as $type);
                // SAFETY: the caller's own arguments.
                return unsafe { real($($argument),+) };
            }
            // SAFETY: the caller's own arguments.
            unsafe { at_sample_point($($argument,)+ place) }
        }
    };
}

allocating!(on_malloc, MALLOC as OfSize, (size), size);
// A product that is too large fails, and a failure is not sampled.
allocating!(on_calloc, CALLOC as OfTwo, (number, size), number.saturating_mul(size));
allocating!(on_aligned_alloc, ALIGNED_ALLOC as OfTwo, (alignment, size), size);
allocating!(on_memalign, MEMALIGN as OfTwo, (alignment, size), size);
allocating!(on_valloc, VALLOC as OfSize, (size), size);
allocating!(on_pvalloc, PVALLOC as OfSize, (size), size);

unsafe extern "C" fn on_realloc(block: *mut c_void, size: usize, place: usize) -> *mut c_void {
    if !BLOCKS.may_have(block as u64) && passes(size) {
        let real = real!(REALLOC as OfBlock);
        // SAFETY: the caller's own arguments.
        return unsafe { real(block, size) };
    }
    // SAFETY: the caller's own arguments.
    unsafe { resize(block, size, place) }
}

/// Resizes a block that is in the table, or has a sample point.
///
/// # Safety
/// Same as for `realloc`.
#[cold]
#[inline(never)]
unsafe extern "C" fn resize(block: *mut c_void, size: usize, place: usize) -> *mut c_void {
    // The block leaves the table first: afterwards another thread may have the address.
    let held = BLOCKS.hold(block as u64);
    let (real, due) = (real!(REALLOC as OfBlock), is_due(size));
    // SAFETY: the caller's own arguments.
    let resized = unsafe { real(block, size) };
    if let Some(held) = held {
        // A call that fails leaves the block as it was, unless it was asked to free it.
        BLOCKS.release(&held, !resized.is_null() || size == 0);
    }
    if due {
        sample(resized as usize, size, place);
    }
    resized
}

unsafe extern "C" fn on_reallocarray(
    block: *mut c_void,
    number: usize,
    size: usize,
    place: usize,
) -> *mut c_void {
    match number.checked_mul(size) {
        // Not the real one, which calls realloc: the bytes would count twice.
        // SAFETY: the caller's own arguments.
        Some(bytes) => unsafe { on_realloc(block, bytes, place) },
        None => {
            let real = real!(REALLOCARRAY as OfBlockAndTwo);
            // SAFETY: the caller's own arguments, whose product is too large, so the call fails.
            unsafe { real(block, number, size) }
        }
    }
}

unsafe extern "C" fn on_posix_memalign(
    block: *mut *mut c_void,
    alignment: usize,
    size: usize,
    place: usize,
) -> c_int {
    let real = real!(POSIX_MEMALIGN as IntoPlace);
    let due = is_due(size);
    // SAFETY: the caller's own arguments.
    let failed = unsafe { real(block, alignment, size) };
    if due && failed == 0 {
        // SAFETY: the call has succeeded, so it has written the block's address there.
        sample(unsafe { *block } as usize, size, place);
    }
    failed
}

unsafe extern "C" fn on_free(block: *mut c_void) {
    #[cold]
    #[inline(never)]
    unsafe extern "C" fn of_sampled(block: *mut c_void) {
        BLOCKS.remove(block as u64);
        let real = real!(FREE as OfPointer);
        // SAFETY: the caller's own argument.
        unsafe { real(block) }
    }
    if BLOCKS.may_have(block as u64) {
        // SAFETY: the caller's own argument.
        return unsafe { of_sampled(block) };
    }
    let real = real!(FREE as OfPointer);
    // SAFETY: the caller's own argument.
    unsafe { real(block) }
}

/// Looks for libraries that were loaded since the last look. Called before the real `dlsym`.
///
/// *Runs on:* any thread. *GVL:* held or not. *Calls:* the linker, as `dlsym` does, and malloc, but not through
/// a redirected slot. *Never:* waits for another look.
extern "C" fn on_dlsym() {
    redirected::look_for_new();
}
