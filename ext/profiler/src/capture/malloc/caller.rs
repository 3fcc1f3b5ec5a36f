//! The library that asked for a block: the nearest caller that does not only pass requests on, as `operator new`
//! and `strdup` do.
//!
//! No unwinder is used, as one can take locks and allocate. The frames of functions that pass requests on are
//! small, so the words above the return address are searched for the next one: a word that is an address in
//! another library, right behind a call. If there is none, the library is the one that called malloc.

use ::core::prelude::rust_2021::*;

use ::profiler_core::memory::pages::{Source, PRESENT};
use ::profiler_core::tables::libraries::Libraries;

use crate::sys::own_memory::LiveMemory;

/// The number of words that are searched. In larger frames, words of earlier calls could be left over.
const WORDS: usize = 24;
/// Returns the number of the library. `place` is where the address to which malloc returns is on the stack.
///
/// *Runs on:* any thread, in malloc. *Calls:* the system, if malloc's caller only passes requests on.
pub(super) fn library(libraries: &Libraries, place: usize) -> u32 {
    // SAFETY: the stub passes the place of its own return address, which is there until malloc returns.
    let direct = libraries.at(unsafe { *(place as *const usize) } as u64);
    if !libraries.passes_on(direct) {
        return direct;
    }
    let mut words = [0; WORDS];
    let above = place as u64 + 8;
    // The stack may end before: then the half of it is tried.
    let count = [WORDS, WORDS / 2, WORDS / 4]
        .into_iter()
        .find(|count| words.get_mut(..*count).is_some_and(|words| LiveMemory.copy(above, PRESENT, words)));
    let mut callers = words.iter().take(count.unwrap_or(0)).filter_map(|word| {
        let library = libraries.at(*word);
        (library != Libraries::NONE && !libraries.passes_on(library) && follows_call(*word))
            .then_some(library)
    });
    callers.next().unwrap_or(direct)
}

/// Returns whether the address is right behind an instruction that calls.
fn follows_call(address: u64) -> bool {
    let mut before = [0];
    LiveMemory.copy(address.wrapping_sub(8), PRESENT, &mut before) && ends_with_call(before[0].to_le_bytes())
}

/// Returns whether these bytes end with a call: to a distance, or through a register or memory.
fn ends_with_call(code: [u8; 8]) -> bool {
    const DIRECT: u8 = 0xe8;
    const INDIRECT: u8 = 0xff;
    // The second byte of an indirect call has 2 in its middle bits, and says how many bytes follow it.
    let is_call = |byte: u8, rest: usize| {
        let (mode, operation, operand) = (byte >> 6, byte >> 3 & 7, byte & 7);
        let sib = usize::from(mode != 3 && operand == 4);
        let displacement = match (mode, operand) {
            (0, 5) | (2, _) => 4,
            (1, _) => 1,
            _ => 0,
        };
        operation == 2 && rest == sib + displacement
    };
    let indirect = |start: usize| code[start] == INDIRECT && is_call(code[start + 1], code.len() - start - 2);
    code[3] == DIRECT || (1..=6).any(indirect)
}

#[cfg(test)]
mod tests {
    use super::ends_with_call;
    use ::core::prelude::rust_2021::*;
    use ::std::assert;

    #[test]
    fn calls_are_told_from_other_code() {
        let calls = [
            [0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4],             // call rel32
            [0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4],             // call [rip + 4030201h]
            [0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0], // call rax
            [0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4], // call r12
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x18], // call [rax + 18h]
            [0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08], // call [rsp + 8]
            [0x90, 0xff, 0x94, 0x24, 0, 1, 0, 0],             // call [rsp + 100h]
            [0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x13], // call [rbx]
        ];
        assert!(calls.into_iter().all(ends_with_call));
        let others = [
            [0x90; 8],
            [0x90, 0x90, 0xff, 0x25, 1, 2, 3, 4], // jmp [rip + 4030201h]
            [0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0], // jmp rax
            [0x90, 0x90, 0x90, 0xe9, 1, 2, 3, 4], // jmp rel32
            [0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50], // the call goes on behind the address
        ];
        assert!(!others.into_iter().any(ends_with_call));
    }
}
