//! Redirects calls between libraries: replaces the addresses of functions in the global offset tables of all
//! loaded libraries, and puts them back.
//!
//! Everything is done inside of `dl_iterate_phdr`, which holds the lock under which libraries are unmapped, so a
//! listed library is mapped. A slot is written only if it has exactly the address that is replaced.
//!
//! A library may be in the middle of its relocation on another thread. The linker makes its slots read-only when
//! it is done (RELRO), so such slots are changed only once they are read-only; until then the library is left
//! for a later pass. Slots that stay writable are changed by an atomic exchange.

use ::core::ffi::{c_void, CStr};
use ::core::prelude::rust_2021::*;
use ::core::sync::atomic::{AtomicUsize, Ordering};
use ::std::vec::Vec;

use super::libraries::{each_library, page_size, Library};
pub(crate) use super::libraries::{loads, name_at};

/// A function whose callers are redirected.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) name: &'static CStr,
    /// The address of the function that is called instead.
    pub(crate) to: usize,
    /// The address of the function itself; 0 if there is none.
    pub(crate) from: usize,
}

/// What a pass over all libraries has found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pass {
    /// The number of libraries with redirected slots.
    pub(crate) redirected: u64,
    /// The number of libraries with slots that the system did not let us change.
    pub(crate) refused: u64,
    /// The number of libraries that are still being loaded.
    pub(crate) unfinished: u64,
    /// The number of slots that were changed.
    pub(crate) changed: u64,
}

/// Memory of the process with its protection: start, end, and whether it can be written to.
type Mapping = (usize, usize, bool);

/// Replaces the address `from` of each of these functions by `to`, in all libraries but the one of this code
/// and the linker. `note` gets the addresses and the name of every library.
pub(crate) fn redirect(functions: &[Redirect], note: &mut dyn FnMut(usize, usize, &str)) -> Pass {
    walk(functions, true, note)
}

/// Puts back the addresses of these functions wherever they are replaced.
pub(crate) fn restore(functions: &[Redirect]) -> Pass {
    walk(functions, false, &mut |_, _, _| {})
}

/// Returns why calls of `function` cannot be redirected, if its address `at` is that of a stub in the program
/// itself and not its own. That is so in programs that are not position-independent and refer to it.
pub(crate) fn is_stub_of_program(at: usize) -> bool {
    let mut is_stub = false;
    each_library(&mut |library| {
        if library.is_program && library.contains(at) {
            is_stub = library
                .relocations()
                .any(|(symbol, _)| !library.defines(symbol) && library.name_of(symbol) == Some(c"malloc"));
        }
    });
    is_stub
}

fn walk(functions: &[Redirect], add: bool, note: &mut dyn FnMut(usize, usize, &str)) -> Pass {
    let mut pass = Pass::default();
    let mut mappings = None;
    each_library(&mut |library| {
        // Read while the linker holds its lock, so that no library has changed since.
        let mappings = mappings.get_or_insert_with(self::mappings);
        note(library.start, library.end, &library.name());
        // Our own calls are not redirected, nor those of the linker and of the kernel's own library.
        let is_own = functions.iter().any(|it| library.contains(it.to));
        if is_own || library.is_system {
            return;
        }
        let mut outcome = Outcome::default();
        for (symbol, slot) in library.relocations() {
            let Some(name) = library.name_of(symbol) else { continue };
            let Some(function) = functions.iter().find(|it| it.name == name) else { continue };
            let from = function.from;
            if from == 0 {
                continue;
            }
            let (old, new) = if add { (from, function.to) } else { (function.to, from) };
            let or_stub = add && !library.defines(symbol);
            outcome.note(change(library, slot, (old, new), or_stub, add, mappings), &mut pass.changed);
        }
        pass.redirected += u64::from(outcome.done && !outcome.refused && !outcome.unfinished);
        pass.refused += u64::from(outcome.refused);
        pass.unfinished += u64::from(outcome.unfinished && !outcome.refused);
    });
    pass
}

/// What became of the slots of one library.
#[derive(Default)]
struct Outcome {
    done: bool,
    refused: bool,
    unfinished: bool,
}

impl Outcome {
    fn note(&mut self, change: Change, changed: &mut u64) {
        match change {
            Change::Made => (self.done, *changed) = (true, *changed + 1),
            Change::Before => self.done = true,
            Change::Refused => self.refused = true,
            Change::Unfinished => self.unfinished = true,
            Change::Foreign => {}
        }
    }
}

/// What became of one slot.
enum Change {
    Made,
    /// The slot has the new address already.
    Before,
    /// The system refused to make it writable.
    Refused,
    /// The library is still being loaded.
    Unfinished,
    /// The slot has another address.
    Foreign,
}

/// Changes a slot from one address to another. With `or_stub`, also from a stub that finds the function at
/// its first call. `may_load` is false if the library is known to be loaded completely.
fn change(
    library: &Library<'_>,
    slot: usize,
    (old, new): (usize, usize),
    or_stub: bool,
    may_load: bool,
    mappings: &[Mapping],
) -> Change {
    let Some(value) = library.read::<usize>(slot) else { return Change::Foreign };
    if value == new {
        return Change::Before;
    }
    let is_stub = || or_stub && library.is_code(value);
    if value != old && !is_stub() {
        return Change::Foreign;
    }
    let is_writable = mappings.iter().find(|it| (it.0..it.1).contains(&slot)).map(|it| it.2);
    match (library.is_relro(slot), is_writable) {
        // SAFETY: the segment can be written to, and stays mapped; other threads only read the slot, or
        // exchange it as well.
        (false, Some(true)) => unsafe { exchange(slot, value, new) },
        (true, Some(true)) if may_load => Change::Unfinished,
        (true, Some(false)) => {
            let page = slot & !(page_size() - 1);
            // SAFETY: the page belongs to the library, which stays mapped, and is only made writable.
            let opened = unsafe {
                ::libc::mprotect(page as *mut c_void, page_size(), ::libc::PROT_READ | ::libc::PROT_WRITE)
            };
            if opened != 0 {
                return Change::Refused;
            }
            // SAFETY: the page can be written to now, and gets its protection back.
            unsafe {
                let change = exchange(slot, value, new);
                ::libc::mprotect(page as *mut c_void, page_size(), ::libc::PROT_READ);
                change
            }
        }
        // SAFETY: the segment can be written to, and stays mapped. We change slots back only, which are
        // relocated.
        (true, Some(true)) => unsafe { exchange(slot, value, new) },
        (_, None) if !mappings.is_empty() => Change::Unfinished,
        (_, None) | (false, Some(false)) => Change::Refused,
    }
}

/// Changes a slot, if it has not changed since it was read.
///
/// # Safety
/// The slot is aligned, mapped and writable.
unsafe fn exchange(slot: usize, old: usize, new: usize) -> Change {
    // SAFETY: the caller's promise.
    let slot = unsafe { &*(slot as *const AtomicUsize) };
    match slot.compare_exchange(old, new, Ordering::Release, Ordering::Relaxed) {
        Ok(_) => Change::Made,
        Err(_) => Change::Foreign,
    }
}

/// Returns the readable mappings of this process. Empty if the system does not tell.
fn mappings() -> Vec<Mapping> {
    let text = ::std::fs::read("/proc/self/maps").unwrap_or_default();
    let mapping = |line: &[u8]| {
        let line = ::core::str::from_utf8(line.get(..line.len().min(64))?).ok()?;
        let mut fields = line.split(' ');
        let (start, end) = fields.next()?.split_once('-')?;
        let access = fields.next()?.as_bytes();
        let number = |it| usize::from_str_radix(it, 16).ok();
        (access.first() == Some(&b'r')).then_some((
            number(start)?,
            number(end)?,
            access.get(1) == Some(&b'w'),
        ))
    };
    text.split(|it| *it == b'\n').filter_map(mapping).collect()
}
