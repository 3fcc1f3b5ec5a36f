//! The malloc of this process: whose it is, and its own counts.

use std::ffi::{c_void, CStr};
use std::hint::black_box;

use profiler_core::memory::pages::{Source, PRESENT};
use profiler_core::memory::rows::MallocCount;

use crate::sys::own_memory::LiveMemory;

/// The numbers of `mallinfo2`.
#[repr(C)]
struct Info([usize; 10]);

/// The places of numbers in it: `hblkhd`, `uordblks`, `fordblks`.
const MAPPED: usize = 4;
const IN_USE: usize = 7;
const FREE: usize = 8;

/// Returns the path of the library that malloc is from.
fn library() -> Option<String> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: the name is a C string, and the result is a local struct. The path lives as long as the
    // library.
    unsafe {
        let malloc = libc::dlsym(libc::RTLD_DEFAULT, c"malloc".as_ptr());
        if malloc.is_null() || libc::dladdr(malloc, found.as_mut_ptr()) == 0 {
            return None;
        }
        let path = found.assume_init().dli_fname;
        (!path.is_null()).then(|| CStr::from_ptr(path).to_string_lossy().into_owned())
    }
}

/// Returns why the chunks of this malloc cannot be walked. `None` if it is glibc's.
pub(super) fn refusal() -> Option<String> {
    let path = library().unwrap_or_else(|| "the program itself".into());
    let name = path.rsplit('/').next().unwrap_or(&path);
    let is_glibc = name.starts_with("libc.so") || name.starts_with("libc-2");
    (!is_glibc)
        .then(|| format!("malloc comes from {path}, and only the chunks of glibc's malloc can be walked"))
}

/// Returns what malloc says about itself. `None` if it is not glibc's, or older than 2.33.
pub(super) fn count() -> Option<MallocCount> {
    if refusal().is_some() {
        return None;
    }
    // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr()) };
    if found.is_null() {
        return None;
    }
    // SAFETY: glibc's function has this type.
    let info = unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> Info>(found)() };
    let Info(numbers) = info;
    Some(MallocCount {
        in_use: numbers[IN_USE] as u64,
        free: numbers[FREE] as u64,
        mapped: numbers[MAPPED] as u64,
    })
}

/// Returns the word that glibc writes into the free chunks which threads keep; 0 if it is unknown. It is a
/// random number of the process (glibc 2.34 and later).
pub(super) fn tcache_key() -> u64 {
    const BYTES: usize = 1_000;
    // SAFETY: what is allocated is freed once.
    let freed = unsafe {
        let block = black_box(libc::malloc(BYTES));
        libc::free(block);
        block as u64
    };
    let mut words = [0; 2];
    if freed == 0 || !LiveMemory.copy(freed, PRESENT, &mut words) {
        return 0;
    }
    let [_, key] = words;
    // Without such a mark, it is the address of another free chunk, or of malloc's data.
    let is_address = LiveMemory.copy(key & !7, PRESENT, &mut [0]);
    if is_address {
        0
    } else {
        key
    }
}
