//! A signal frame for a stopped thread, with which it calls a function and then continues where it was.
//!
//! When the function returns, the kernel restores all registers and the signal mask from the frame, as it
//! does after a signal handler. So once the thread has its new registers, it recovers without our help, even
//! if the attacher dies.

/// The registers, in the order of the kernel's `user_regs_struct`.
pub type Registers = [u64; 27];

const R15: usize = 0;
const R14: usize = 1;
const R13: usize = 2;
const R12: usize = 3;
const RBP: usize = 4;
const RBX: usize = 5;
const R11: usize = 6;
const R10: usize = 7;
const R9: usize = 8;
const R8: usize = 9;
const RAX: usize = 10;
const RCX: usize = 11;
const RDX: usize = 12;
const RSI: usize = 13;
const RDI: usize = 14;
/// The number of the system call that was interrupted.
pub const ORIG_RAX: usize = 15;
/// The address of the next instruction.
pub const RIP: usize = 16;
const CS: usize = 17;
const EFLAGS: usize = 18;
/// The stack pointer.
pub const RSP: usize = 19;
const SS: usize = 20;

/// The order of the registers in a signal frame.
const SAVED: [usize; 18] =
    [R8, R9, R10, R11, R12, R13, R14, R15, RDI, RSI, RBP, RBX, RDX, RAX, RCX, RSP, RIP, EFLAGS];

const FUTEX: u64 = 202;
/// The bits of a futex operation that are not flags, and the operation whose timeout is absolute.
const FUTEX_COMMAND: u64 = 0x7f;
const FUTEX_WAIT_BITSET: u64 = 9;

const RED_ZONE: u64 = 128;
const UCONTEXT: usize = 304;
const SIGINFO: usize = 128;
const FLAG_DIRECTION: u64 = 0x400;
const FLAG_TRAP: u64 = 0x100;
/// `UC_FP_XSTATE`, `UC_SIGCONTEXT_SS`, `UC_STRICT_RESTORE_SS`.
const UC_FLAGS: u64 = 7;
/// An invalid mode for an alternate stack. The kernel then keeps the alternate stack of the thread.
const NO_STACK: u64 = 5;
const MAGIC_1: u32 = 0x4650_5853;
const MAGIC_2: u32 = 0x4650_5845;
/// The offsets of the bytes that software may use in the legacy part of the extended state, and of the
/// header.
const OWN_BYTES: usize = 464;
const HEADER: usize = 512;

/// The layout of the extended state (the SSE and AVX registers) in signal frames on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extended {
    /// The size in bytes.
    pub size: u32,
    /// The components that it contains, as bits.
    pub features: u64,
}

/// The state of a stopped thread.
#[derive(Clone, Debug)]
pub struct Stopped<'state> {
    /// The registers.
    pub registers: Registers,
    /// The blocked signals, as bits.
    pub mask: u64,
    /// The extended state, in the format in which the kernel reports it to a tracer.
    pub extended: &'state [u8],
}

/// A call to a C function.
#[derive(Clone, Copy, Debug)]
pub struct FunctionCall {
    /// The address of the function.
    pub function: u64,
    /// The arguments.
    pub arguments: [u64; 3],
    /// The address of code that calls `rt_sigreturn`.
    pub restorer: u64,
}

/// A signal frame, with the registers that make a thread use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalFrame {
    /// The address at which the frame must be written.
    pub at: u64,
    /// The contents of the frame.
    pub bytes: Vec<u8>,
    /// The registers with which the function is entered.
    pub registers: Registers,
}

/// Returns the registers with which the thread repeats the system call that was interrupted, if there was
/// one. Returns `None` if only the kernel can resume that call.
#[must_use]
pub fn restarted(mut registers: Registers) -> Option<Registers> {
    let call = registers[ORIG_RAX];
    if call as i64 >= 0 {
        let is_absolute = call == FUTEX && registers[RSI] & FUTEX_COMMAND == FUTEX_WAIT_BITSET;
        match registers[RAX] as i64 {
            // ERESTARTSYS, ERESTARTNOINTR, ERESTARTNOHAND
            -514..=-512 => {}
            // ERESTART_RESTARTBLOCK
            -516 if is_absolute => {}
            -516 => return None,
            _ => return Some(registers), // it is over
        }
        registers[RAX] = call;
        registers[RIP] -= 2;
    }
    Some(registers)
}

/// Builds the frame for a call. Returns `None` if the thread cannot make one in its current state.
#[must_use]
pub fn build(stopped: &Stopped<'_>, extended: Extended, call: FunctionCall) -> Option<SignalFrame> {
    let saved = restarted(stopped.registers)?;
    let size = usize::try_from(extended.size).ok()?;
    let state = stopped.extended.get(..size)?;
    let used = u64::from_le_bytes(stopped.extended.get(HEADER..HEADER + 8)?.try_into().ok()?);
    if used & !extended.features != 0 {
        return None; // such as AMX, whose state is not in frames of most processes
    }
    let below = saved[RSP].checked_sub(RED_ZONE)?;
    let state_at = below.checked_sub(size as u64 + 4)? & !63;
    let at = (state_at.checked_sub((8 + UCONTEXT + SIGINFO) as u64)? & !15).checked_sub(8)?;

    let mut bytes = Vec::with_capacity(size + 1_024);
    let put =
        |bytes: &mut Vec<u8>, words: &[u64]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    put(&mut bytes, &[call.restorer, UC_FLAGS, 0, 0, NO_STACK, 0]);
    SAVED.iter().for_each(|place| put(&mut bytes, &[saved[*place]]));
    let segments = (saved[CS] & 0xffff) | ((saved[SS] & 0xffff) << 48);
    put(&mut bytes, &[segments, 0, 0, stopped.mask, 0, state_at]);
    put(&mut bytes, &[0; 8]);
    put(&mut bytes, &[stopped.mask]);
    bytes.resize(usize::try_from(state_at - at).ok()?, 0);
    let start = bytes.len();
    bytes.extend_from_slice(state);
    let own = bytes.get_mut(start + OWN_BYTES..start + OWN_BYTES + 48)?;
    own.fill(0);
    own.get_mut(..4)?.copy_from_slice(&MAGIC_1.to_le_bytes());
    own.get_mut(4..8)?.copy_from_slice(&(extended.size + 4).to_le_bytes());
    own.get_mut(8..16)?.copy_from_slice(&extended.features.to_le_bytes());
    own.get_mut(16..20)?.copy_from_slice(&extended.size.to_le_bytes());
    bytes.extend_from_slice(&MAGIC_2.to_le_bytes());

    let mut registers = saved;
    registers[RSP] = at;
    registers[RIP] = call.function;
    registers[RAX] = 0;
    [registers[RDI], registers[RSI], registers[RDX]] = call.arguments;
    registers[ORIG_RAX] = u64::MAX; // or the kernel would make the system call again
    registers[EFLAGS] &= !(FLAG_DIRECTION | FLAG_TRAP);
    Some(SignalFrame { at, bytes, registers })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const CALL: FunctionCall = FunctionCall { function: 0x1000, arguments: [1, 2, 3], restorer: 0x2000 };
    const FORM: Extended = Extended { size: 832, features: 7 };

    fn registers() -> Registers {
        let mut registers: Registers = std::array::from_fn(|place| 100 + place as u64);
        registers[RSP] = 0x7fff_ffff_0123;
        registers[ORIG_RAX] = u64::MAX;
        registers
    }

    fn word(frame: &SignalFrame, at: usize) -> u64 {
        u64::from_le_bytes(frame.bytes.get(at..at + 8).unwrap().try_into().unwrap())
    }

    #[test]
    fn is_below_the_red_zone_and_keeps_everything() {
        let stopped = Stopped { registers: registers(), mask: 0x55, extended: &[0; 11_008] };
        let frame = build(&stopped, FORM, CALL).unwrap();
        let end = frame.at + frame.bytes.len() as u64;
        assert!(end <= 0x7fff_ffff_0123 - RED_ZONE && frame.at % 16 == 8);
        assert_eq!(frame.registers[RSP], frame.at);
        assert_eq!((word(&frame, 0), word(&frame, 8)), (0x2000, 7));
        assert_eq!((word(&frame, 48), word(&frame, 48 + 15 * 8)), (109, 0x7fff_ffff_0123)); // r8, rsp
        assert_eq!(word(&frame, 8 + 296), 0x55);
        let state = word(&frame, 48 + 184);
        assert_eq!(state % 64, 0);
        assert_eq!(end, state + 832 + 4);
        assert_eq!(frame.bytes.get(frame.bytes.len() - 4..).unwrap(), MAGIC_2.to_le_bytes());
    }

    #[test]
    fn makes_interrupted_calls_again() {
        let of = |call: u64, result: i64, operation: u64| {
            let mut registers = registers();
            (registers[ORIG_RAX], registers[RAX], registers[RSI]) = (call, result as u64, operation);
            restarted(registers).map(|after| (after[RAX] as i64, registers[RIP] - after[RIP]))
        };
        assert_eq!(of(0, -512, 0), Some((0, 2)));
        assert_eq!(of(271, -514, 0), Some((271, 2)));
        assert_eq!(of(202, -516, 0x189), Some((202, 2)));
        assert_eq!(of(202, -516, 0x80), None); // its timeout is relative
        assert_eq!(of(7, -516, 0), None);
        assert_eq!(of(232, -4, 0), Some((-4, 0)));
        assert_eq!(of(u64::MAX, -512, 0), Some((-512, 0))); // not in a call
    }

    #[test]
    fn refuses_parts_that_frames_do_not_have() {
        let mut extended = [0; 11_008];
        extended[HEADER + 2] = 4; // bit 18
        let stopped = Stopped { registers: registers(), mask: 0, extended: &extended };
        assert_eq!(build(&stopped, FORM, CALL), None);
    }
}
