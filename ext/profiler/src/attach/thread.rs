//! Calls of C functions on a thread of another process.

use std::fs::{read_dir, read_to_string};
use std::ops::Range;
use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use profiler_core::attach::code::Code;
use profiler_core::attach::frame::{build, FunctionCall, Stopped, ORIG_RAX, RIP, RSP};
use profiler_core::attach::waits::{fitness, Fitness};
use profiler_core::attach::{request, RemoteMemory};

use super::place::{Mappings, OtherMemory};
use super::refusal::AttachRefusal;
use crate::sys::tracee::{extended_of_frames, NotStopped, Tracee};

/// The time in which a thread must stop. A thread that waits for a disk may not stop in time.
const PATIENCE: Duration = Duration::from_millis(500);
/// The number of attempts to find a suitable thread, and the pause between them.
const ATTEMPTS: usize = 20;
const PAUSE: Duration = Duration::from_millis(1);
/// The number of attempts in which only Ruby's timer thread is accepted.
const TIMER_ATTEMPTS: usize = 10;
/// The size of the stack that the function needs below the frame.
const STACK: u64 = 12 * 1024;
/// The signals that are not blocked during the call: faults and traps.
const FAULTS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];
/// The system calls that create or replace a thread, and the return from a signal handler. A thread in one of
/// them is left alone.
const NEVER: [i64; 7] = [
    libc::SYS_clone,
    libc::SYS_clone3,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_rt_sigreturn,
];

/// The code and data that were written into the process, with the addresses.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) code: Code,
    pub(super) code_at: u64,
    pub(super) request_at: u64,
}

/// What the called function needs of the thread that runs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: every thread will do.
    Any,
    /// The thread itself runs the job that the function registers, if it is a Ruby thread. Ruby before 3.3
    /// sets the interrupt flag of the calling thread alone, and a thread that waits in `read` never checks it,
    /// as the kernel restarts the call.
    RunsJob,
}

/// The threads of a process.
#[derive(Debug)]
pub(super) struct TracedThreads {
    pid: i32,
    /// The address range of the data of Ruby's library.
    ruby_data: Range<u64>,
    /// Whether this Ruby has a timer thread.
    has_timer: bool,
    /// The id of the timer thread, or 0 until it is found.
    timer: AtomicI32,
    /// The number of calls that needed a thread that runs a job. Each begins with another thread.
    turns: AtomicUsize,
}

impl TracedThreads {
    pub(super) fn new(pid: i32, ruby_data: Range<u64>, has_timer: bool) -> Self {
        Self { pid, ruby_data, has_timer, timer: AtomicI32::new(0), turns: AtomicUsize::new(0) }
    }

    /// Calls `function` on a thread of the process. Returns for how many nanoseconds that thread was stopped;
    /// the function has not returned yet.
    pub(super) fn call(
        &self,
        written: &Written,
        need: Need,
        function: u64,
        arguments: [u64; 3],
    ) -> Result<u64, AttachRefusal> {
        let runs_job = need == Need::RunsJob && !self.has_timer;
        let turn = if runs_job { self.turns.fetch_add(1, Ordering::Relaxed) } else { 0 };
        let mut why = "none of its threads can be used at the moment".to_owned();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                sleep(PAUSE);
            }
            let only_timer = self.has_timer && attempt < TIMER_ATTEMPTS;
            let Some(thread) = self.choose(only_timer, runs_job, turn + attempt)? else { continue };
            let begun = Instant::now();
            match Tracee::stop(thread, PATIENCE) {
                Ok(tracee) => match redirect(self.pid, written, &tracee, function, arguments) {
                    Ok(()) => {
                        drop(tracee);
                        return Ok(u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX));
                    }
                    Err(AttachRefusal::NotNow(reason)) => why = reason,
                    Err(refusal) => return Err(refusal),
                },
                Err(NotStopped::StoppedAlready) => {
                    return Err(AttachRefusal::Never("it is stopped: continue it first (kill -CONT)".into()))
                }
                Err(NotStopped::Refused(error)) if error.raw_os_error() == Some(libc::EPERM) => {
                    return Err(AttachRefusal::Never(
                        "the kernel does not let us trace it, or another program does".into(),
                    ))
                }
                Err(NotStopped::Late) => {
                    return Err(AttachRefusal::NotNow("one of its threads is waiting for a device".into()))
                }
                Err(NotStopped::Refused(_) | NotStopped::NotNow) => {}
            }
        }
        Err(AttachRefusal::NotNow(why))
    }

    /// Returns the most suitable thread, or the next one for each further attempt. If the thread itself has to
    /// run a job, prefers threads that run to those that wait. Returns `None` if there is none at the moment.
    fn choose(&self, only_timer: bool, runs_job: bool, attempt: usize) -> Result<Option<i32>, AttachRefusal> {
        let pid = self.pid;
        let look = |thread: i32| {
            let line = read_to_string(format!("/proc/{pid}/task/{thread}/syscall")).ok()?;
            fitness(&line, &self.ruby_data)
        };
        let known = self.timer.load(Ordering::Relaxed);
        if known != 0 && look(known).is_some_and(|fitness| fitness != Fitness::Waits) {
            return Ok(Some(known));
        }
        let gone = |_| AttachRefusal::Never("it has ended".into());
        let threads = read_dir(format!("/proc/{pid}/task")).map_err(gone)?.flatten();
        let threads = threads.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let mut fit: Vec<(Fitness, bool, i32)> =
            threads.filter_map(|thread| Some((look(thread)?, thread != pid, thread))).collect();
        fit.sort_unstable_by_key(|found| (runs_job && found.0 == Fitness::Waits, *found));
        if let Some((Fitness::Timer, _, thread)) = fit.first() {
            self.timer.store(*thread, Ordering::Relaxed);
            return Ok(Some(*thread));
        }
        if only_timer || fit.is_empty() {
            return Ok(None);
        }
        Ok(fit.get(attempt % fit.len()).map(|(_, _, thread)| *thread))
    }
}

/// Makes a stopped thread call a function when it continues.
fn redirect(
    pid: i32,
    written: &Written,
    tracee: &Tracee,
    function: u64,
    arguments: [u64; 3],
) -> Result<(), AttachRefusal> {
    let gone = |_| AttachRefusal::NotNow("its thread has ended".into());
    let not_now = |text: &str| AttachRefusal::NotNow(text.into());
    let registers = tracee.registers().map_err(gone)?;
    if NEVER.contains(&(registers[ORIG_RAX] as i64)) {
        return Err(not_now("its thread is creating a process or a thread"));
    }
    // The process may have called exec, or its id may belong to another process by now.
    let memory = OtherMemory::open(pid).map_err(gone)?;
    let mut code = vec![0; written.code.bytes.len()];
    if !memory.read(written.code_at, &mut code)
        || code != written.code.bytes
        || memory.u64(written.request_at) != Some(request::MAGIC)
    {
        return Err(AttachRefusal::Never("it has called exec".into()));
    }
    if is_in_sequence(&memory, tracee, registers[RIP]) {
        return Err(not_now("its thread is in a restartable sequence"));
    }
    let form = extended_of_frames().ok_or_else(|| {
        AttachRefusal::Never("this machine saves no extended state in signal frames".into())
    })?;
    let extended = tracee.extended().map_err(gone)?;
    let mask = tracee.mask().map_err(gone)?;
    let stopped = Stopped { registers, mask, extended: &extended };
    let restorer = written.code_at + written.code.restorer;
    let frame = build(&stopped, form, FunctionCall { function, arguments, restorer })
        .ok_or_else(|| not_now("its thread waits in a call that cannot be continued"))?;
    let mappings = Mappings::read(pid).map_err(gone)?;
    let stack = mappings.at(registers[RSP]);
    if !stack.is_some_and(|stack| stack.is_writable && stack.start + STACK <= frame.at) {
        return Err(not_now("its thread has too little stack"));
    }
    memory.write(frame.at, &frame.bytes).map_err(gone)?;
    tracee.set_registers(frame.registers).map_err(gone)?;
    // From here on, the thread recovers without our help.
    let faults = FAULTS.iter().fold(0_u64, |mask, signal| mask | 1 << (signal - 1));
    let _ = tracee.set_mask(!faults);
    Ok(())
}

/// Returns whether the thread is inside a restartable sequence, which an interruption would abort.
fn is_in_sequence(memory: &OtherMemory, tracee: &Tracee, at: u64) -> bool {
    const SEQUENCE: u64 = 8;
    let Some(rseq) = tracee.rseq().filter(|rseq| rseq.address != 0) else { return false };
    let Some(sequence) = memory.u64(rseq.address + SEQUENCE) else { return true };
    if sequence == 0 {
        return false;
    }
    match (memory.u64(sequence + 8), memory.u64(sequence + 16)) {
        (Some(start), Some(length)) => at.wrapping_sub(start) < length,
        _ => true,
    }
}
