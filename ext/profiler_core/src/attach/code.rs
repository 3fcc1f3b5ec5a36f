//! Machine code for the process to attach to: the body of a postponed job and that of a Ruby thread.
//!
//! Ruby may run the job near the end of a stack, so the job only creates the thread. The thread loads our
//! library and jumps to its [`FUNCTION`](super::request::FUNCTION). If that fails, it stores the failure in
//! the request. Ruby may run the job more often than it was registered, so the job returns if the request is
//! not wanted.

use super::request::{self, Progress};

/// `RTLD_NOW`.
const NOW: u32 = 2;

/// The assembled code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The instructions.
    pub bytes: Vec<u8>,
    /// The offset of the two instructions that call `rt_sigreturn`.
    pub restorer: u64,
}

impl Code {
    /// An upper bound of the length in bytes.
    pub const LENGTH: usize = 160;

    /// Assembles the code, which calls `functions`.
    #[must_use]
    pub fn new(functions: Functions) -> Self {
        let offset = |offset: usize| u8::try_from(offset).unwrap_or(u8::MAX);
        let mut code = Assembler::default();
        code.put(&[0x53, 0x48, 0x89, 0xfb]); // push rbx; mov rbx, rdi
        code.put(&[0xb8]).number(Progress::Wanted as u32); // mov eax, WANTED
        code.put(&[0xb9]).number(Progress::Taken as u32); // mov ecx, TAKEN
        code.put(&[0xf0, 0x0f, 0xb1, 0x4b, offset(request::STATE)]); // lock cmpxchg [rbx + STATE], ecx
        let not_wanted = code.jump(&[0x75]); // jne
        let thread = code.jump(&[0x48, 0x8d, 0x3d, 0, 0, 0]); // lea rdi, [rip + ...]
        code.put(&[0x48, 0x89, 0xde]); // mov rsi, rbx
        code.call(functions.rb_thread_create);
        code.land(not_wanted);
        code.put(&[0x5b, 0xc3]); // pop rbx; ret

        code.land_far(thread);
        code.put(&[0x53, 0x48, 0x89, 0xfb]); // push rbx; mov rbx, rdi
        code.put(&[0x48, 0x8d, 0xbb]).number(request::PATHS as u32); // lea rdi, [rbx + PATHS]
        code.put(&[0xbe]).number(NOW); // mov esi, NOW
        code.call(functions.dlopen);
        code.put(TEST);
        let not_loaded = code.jump(&[0x74]); // je
        code.put(&[0x48, 0x89, 0xc7]); // mov rdi, rax
        code.put(&[0x48, 0x8d, 0xb3]).number(request::NAME as u32); // lea rsi, [rbx + NAME]
        code.call(functions.dlsym);
        code.put(TEST);
        let not_found = code.jump(&[0x74]); // je
        code.put(&[0x48, 0x89, 0xdf, 0x5b, 0xff, 0xe0]); // mov rdi, rbx; pop rbx; jmp rax
        code.land(not_loaded);
        code.land(not_found);
        code.put(&[0xc7, 0x43, offset(request::STATE)]).number(Progress::NotLoaded as u32); // mov [rbx + STATE], ...
        code.put(&[0x31, 0xc0, 0x5b, 0xc3]); // xor eax, eax; pop rbx; ret
        let restorer = code.0.len() as u64;
        code.put(&[0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05]); // mov rax, 15; syscall
        Self { bytes: code.0, restorer }
    }
}

/// `test rax, rax`.
const TEST: &[u8] = &[0x48, 0x85, 0xc0];

/// The addresses of the functions that the code calls.
#[derive(Clone, Copy, Debug)]
pub struct Functions {
    /// `dlopen` of the C library.
    pub dlopen: u64,
    /// `dlsym` of the C library.
    pub dlsym: u64,
    /// `rb_thread_create` of Ruby.
    pub rb_thread_create: u64,
}

#[derive(Default)]
struct Assembler(Vec<u8>);

impl Assembler {
    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn number(&mut self, number: u32) {
        self.put(&number.to_le_bytes());
    }

    fn call(&mut self, address: u64) {
        self.put(&[0x48, 0xb8]).put(&address.to_le_bytes()); // mov rax, address
        self.put(&[0xff, 0xd0]); // call rax
    }

    /// Appends an instruction with a forward reference. The next byte that is appended, initially 0, is the
    /// lowest byte of its distance. Returns the offset of the end of the instruction.
    fn jump(&mut self, instruction: &[u8]) -> usize {
        self.put(instruction).put(&[0]);
        self.0.len()
    }

    /// Makes the current offset the target of a jump whose distance is one byte.
    fn land(&mut self, jump: usize) {
        self.set(jump - 1, self.0.len() - jump);
    }

    /// Makes the current offset the target of an instruction whose distance is four bytes.
    fn land_far(&mut self, instruction: usize) {
        self.set(instruction - 4, self.0.len() - instruction);
    }

    fn set(&mut self, place: usize, distance: usize) {
        if let Some(place) = self.0.get_mut(place) {
            *place = u8::try_from(distance).unwrap_or(u8::MAX);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    const FUNCTIONS: Functions = Functions {
        dlopen: 0x1122_3344_5566_7788,
        dlsym: 0x99aa_bbcc_ddee_ff00,
        rb_thread_create: 0x1234_5678_9abc_def0,
    };

    #[test]
    fn is_short_and_jumps_to_where_it_means() {
        let code = Code::new(FUNCTIONS);
        assert!(code.bytes.len() <= Code::LENGTH, "{}", code.bytes.len());
        assert_eq!(code.bytes.get(code.restorer as usize..).unwrap(), b"\x48\xc7\xc0\x0f\0\0\0\x0f\x05");
        let jump = code.bytes.iter().position(|byte| *byte == 0x75).unwrap();
        let target = jump + 2 + usize::from(code.bytes[jump + 1]);
        assert_eq!(code.bytes.get(target..target + 2).unwrap(), [0x5b, 0xc3]);
        let lea = code.bytes.windows(3).position(|part| part == [0x48, 0x8d, 0x3d]).unwrap();
        let distance = u32::from_le_bytes(code.bytes.get(lea + 3..lea + 7).unwrap().try_into().unwrap());
        let thread = lea + 7 + distance as usize;
        assert_eq!(code.bytes.get(thread..thread + 4).unwrap(), [0x53, 0x48, 0x89, 0xfb]);
        let addresses = [FUNCTIONS.dlopen, FUNCTIONS.dlsym, FUNCTIONS.rb_thread_create].map(u64::to_le_bytes);
        assert!(addresses.iter().all(|address| code.bytes.windows(8).any(|part| part == address)));
    }
}
