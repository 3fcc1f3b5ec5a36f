//! The counts of jemalloc about itself, by its function `mallctl`.

use std::ffi::{c_char, c_int, c_void, CStr};

use profiler_core::memory::rows::JemallocCount;

use super::allocator;

/// `int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen)`
type Mallctl = unsafe extern "C" fn(*const c_char, *mut c_void, *mut usize, *mut c_void, usize) -> c_int;

/// Returns what jemalloc says about itself. `None` if malloc is another one, or jemalloc was built without
/// statistics.
pub(super) fn count() -> Option<JemallocCount> {
    allocator::refusal()?; // with glibc's malloc, jemalloc may be loaded and unused
                           // SAFETY: the name is a C string.
    let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"mallctl".as_ptr()) };
    if found.is_null() {
        return None;
    }
    // SAFETY: the function that jemalloc exports by this name has this type.
    let mallctl = unsafe { std::mem::transmute::<*mut c_void, Mallctl>(found) };
    let mut epoch = 1_u64;
    let mut size = size_of::<u64>();
    let place = (&raw mut epoch).cast::<c_void>();
    // The statistics are of the time at which the epoch was last written.
    // SAFETY: both places are of 8 bytes, as this name has them.
    let refreshed = unsafe { mallctl(c"epoch".as_ptr(), place, &raw mut size, place, size_of::<u64>()) };
    let number = |name: &CStr| {
        let (mut number, mut size) = (0_usize, size_of::<usize>());
        let (place, size) = ((&raw mut number).cast::<c_void>(), &raw mut size);
        // SAFETY: the place has the size that is passed, which jemalloc compares with its own.
        let failed = unsafe { mallctl(name.as_ptr(), place, size, std::ptr::null_mut(), 0) };
        (failed == 0).then_some(number as u64)
    };
    (refreshed == 0).then_some(())?;
    Some(JemallocCount {
        allocated: number(c"stats.allocated")?,
        active: number(c"stats.active")?,
        metadata: number(c"stats.metadata")?,
        resident: number(c"stats.resident")?,
        retained: number(c"stats.retained")?,
        arenas: number_of_arenas(mallctl),
    })
}

/// Returns the number of arenas; 0 if it is unknown.
fn number_of_arenas(mallctl: Mallctl) -> u64 {
    let (mut number, mut size) = (0_u32, size_of::<u32>());
    let place = (&raw mut number).cast::<c_void>();
    // SAFETY: the place has the size that is passed, which jemalloc compares with its own.
    unsafe { mallctl(c"arenas.narenas".as_ptr(), place, &raw mut size, std::ptr::null_mut(), 0) };
    u64::from(number)
}
