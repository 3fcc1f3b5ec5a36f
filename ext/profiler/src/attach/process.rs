//! The process to attach to.

use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

use profiler_core::attach::code::{Code, Functions};
use profiler_core::attach::request::{self, Progress};
use profiler_core::attach::{symbols::RemoteLibrary, RemoteMemory};
use profiler_core::memory::mapping::Mapping;

use super::place::{range, Loaded, Mappings, OtherMemory};
use super::refusal::AttachRefusal;
use super::thread::{Need, TracedThreads, Written};
use crate::sys::clock;

/// Signals that Ruby handles with one function, unless C code of the program has replaced it.
const RUBYS: [i32; 7] =
    [libc::SIGHUP, libc::SIGUSR1, libc::SIGUSR2, libc::SIGALRM, libc::SIGQUIT, libc::SIGTERM, libc::SIGINT];
/// The time that a call on a stopped thread may take to return.
const RETURN: Duration = Duration::from_secs(1);
/// The maximum length of a version or platform in bytes.
const LONGEST: usize = 64;

/// The addresses that calls into the process need.
#[derive(Debug)]
struct Prepared {
    written: Written,
    /// The number of an unused signal.
    spare: i32,
    /// The address of Ruby's signal handler.
    handler: AtomicU64,
}

/// A process with a Ruby, and the addresses in it that attaching needs.
#[derive(Debug)]
pub(crate) struct Attachment {
    pid: i32,
    memory: OtherMemory,
    ruby: RemoteLibrary,
    /// The address of `sigaction` in the C library.
    sigaction: u64,
    functions: Functions,
    /// The address of the function of Ruby that registers jobs.
    register: u64,
    /// The value of `RUBY_VERSION`.
    pub(crate) version: String,
    /// The value of `RUBY_PLATFORM`.
    pub(crate) platform: String,
    threads: TracedThreads,
    prepared: OnceLock<Prepared>,
}

impl Attachment {
    /// Inspects a process, and locks it against other attachers.
    pub(crate) fn new(pid: i32) -> Result<Self, AttachRefusal> {
        let refused =
            |error: io::Error| AttachRefusal::never(format!("the kernel does not let us read it ({error})"));
        let memory = OtherMemory::open(pid).map_err(refused)?;
        // SAFETY: the call takes no pointer.
        if unsafe { libc::flock(memory.0.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
            return Err(AttachRefusal::NotNow("another profiler attach is working on it".into()));
        }
        let mappings = Mappings::read(pid).map_err(refused)?;
        let libraries = mappings.libraries(&memory);
        // Other libraries may export functions of these names that call those of the C library.
        let is_libc = |it: &&Loaded| it.path.contains("/libc.so") || it.path.contains("/libc-");
        let exported = |name: &str| {
            let of_libc = libraries.iter().filter(is_libc).find_map(|it| it.library.find(&memory, name));
            of_libc.or_else(|| libraries.iter().find_map(|it| it.library.find(&memory, name)))
        };
        let ruby = libraries.iter().find(|it| it.library.find(&memory, "ruby_version").is_some());
        let Some(Loaded { library: ruby, .. }) = ruby else {
            let musl = mappings.text().contains("/ld-musl-");
            let why = if musl {
                "its C library is musl, and only glibc is supported"
            } else {
                "it does not run Ruby"
            };
            return Err(AttachRefusal::never(why));
        };
        let missing = |name: &str| AttachRefusal::never(format!("its Ruby does not export {name}"));
        let of_ruby = |name: &str| ruby.find(&memory, name).ok_or_else(|| missing(name));
        of_ruby("rb_load")?;
        let text = |name: &str| memory.text(of_ruby(name).ok()?, LONGEST);
        let of_libc = |name: &str| {
            exported(name).ok_or_else(|| AttachRefusal::never(format!("its C library exports no {name}")))
        };
        let version = text("ruby_version").ok_or_else(|| missing("ruby_version"))?;
        let has_timer = !["3.1.", "3.2."].iter().any(|older| version.starts_with(older));
        Ok(Self {
            threads: TracedThreads::new(pid, range(ruby.data), has_timer),
            pid,
            sigaction: of_libc("sigaction")?,
            functions: Functions {
                dlopen: of_libc("dlopen")?,
                dlsym: of_libc("dlsym")?,
                rb_thread_create: of_ruby("rb_thread_create")?,
            },
            register: of_ruby("rb_postponed_job_register_one")?,
            version,
            platform: text("ruby_platform").unwrap_or_default(),
            ruby: ruby.clone(),
            memory,
            prepared: OnceLock::new(),
        })
    }

    /// Writes the code and an idle request, and finds Ruby's signal handler. `pid` is the id of the process
    /// in its own namespace, and `spare` an unused signal.
    pub(crate) fn prepare(
        &self,
        pid: u32,
        library: &[u8],
        script: &[u8],
        spare: i32,
    ) -> Result<(), AttachRefusal> {
        let code = Code::new(self.functions);
        let request = request::bytes(pid, library, script)
            .ok_or_else(|| AttachRefusal::never("a path has a zero byte"))?;
        let mappings =
            Mappings::read(self.pid).map_err(|why| AttachRefusal::never(format!("its mappings: {why}")))?;
        let mut libraries = mappings.libraries(&self.memory);
        libraries.sort_by_key(|it| it.library != self.ruby); // Ruby's own comes first
        let code_at = libraries
            .iter()
            .find_map(|mapped| {
                let fits = |row: &Mapping<'_>| row.is_executable && !row.is_writable;
                mappings.unused(&self.memory, mapped.library.code, code.bytes.len(), &code.bytes, fits)
            })
            .ok_or_else(|| AttachRefusal::never("no library has unused room in its last page of code"))?;
        let request_at = libraries
            .iter()
            .filter(|it| it.path.contains(".so") && !it.path.contains("/ld-linux")) // a heap may begin behind the program's data
            .find_map(|mapped| {
                let fits = |row: &Mapping<'_>| row.is_writable;
                mappings.unused(
                    &self.memory,
                    mapped.library.data,
                    request.len(),
                    &request::MAGIC.to_le_bytes(),
                    fits,
                )
            })
            .ok_or_else(|| AttachRefusal::never("no library has unused room in its last page of data"))?;
        self.refuse_busy(request_at, pid)?;
        let write = |at, bytes: &[u8]| {
            self.memory.write(at, bytes).map_err(|why| {
                AttachRefusal::never(format!(
                    "the kernel does not let us write to it ({why}; see proc_mem.force_override)"
                ))
            })
        };
        write(request_at, &request)?;
        let mut there = vec![0; code.bytes.len()];
        if !self.memory.read(code_at, &mut there) || there != code.bytes {
            write(code_at, &code.bytes)?;
        }
        let prepared =
            Prepared { written: Written { code, code_at, request_at }, spare, handler: AtomicU64::new(0) };
        let prepared = self.prepared.get_or_init(|| prepared);
        prepared.handler.store(self.find_handler(prepared)?, Ordering::Relaxed);
        Ok(())
    }

    /// Refuses a process in which an earlier request is in progress. The request of a parent, of which a
    /// forked child has a copy, does not count.
    fn refuse_busy(&self, request_at: u64, pid: u32) -> Result<(), AttachRefusal> {
        let is_ours = self.memory.u64(request_at) == Some(request::MAGIC)
            && self.memory.u32(request_at + 20) == Some(pid);
        let state = self.memory.u32(request_at + request::STATE as u64).and_then(Progress::from_number);
        match state {
            Some(Progress::Taken | Progress::Loading) if is_ours => {
                Err(AttachRefusal::NotNow("an earlier profiler attach is still working in it".into()))
            }
            _ => Ok(()),
        }
    }

    /// Finds Ruby's signal handler. Calls `sigaction` on a thread of the process for several signals, until
    /// two have the same handler in Ruby's library.
    fn find_handler(&self, prepared: &Prepared) -> Result<u64, AttachRefusal> {
        let at = prepared.written.request_at + request::MESSAGE as u64;
        let code = range(self.ruby.code);
        let mut seen: Vec<u64> = Vec::new();
        let mut found = None;
        for signal in RUBYS {
            self.memory
                .write(at, &u64::MAX.to_le_bytes())
                .map_err(|why| AttachRefusal::never(why.to_string()))?;
            self.call(prepared, self.sigaction, [signal as u64, 0, at])?;
            let begun = Instant::now();
            let handler = loop {
                match self.memory.u64(at) {
                    Some(u64::MAX) if begun.elapsed() < RETURN => sleep(Duration::from_micros(50)),
                    Some(u64::MAX) | None => {
                        return Err(AttachRefusal::NotNow("one of its threads gets no CPU".into()))
                    }
                    Some(handler) => break handler,
                }
            };
            if code.contains(&handler) && seen.contains(&handler) {
                found = Some(handler);
                break;
            }
            seen.push(handler);
        }
        let _ = self.memory.write(at, &[0; request::MESSAGE_BYTES]);
        found.ok_or_else(|| {
            AttachRefusal::never("Ruby's handler of signals is not the one that it has installed")
        })
    }

    fn call(&self, prepared: &Prepared, function: u64, arguments: [u64; 3]) -> Result<u64, AttachRefusal> {
        self.threads.call(&prepared.written, Need::Any, function, arguments)
    }

    fn prepared(&self) -> Result<&Prepared, AttachRefusal> {
        self.prepared.get().ok_or_else(|| AttachRefusal::never("it was not prepared"))
    }

    /// Makes Ruby run the job, which does nothing after `patience`. Returns for how many nanoseconds a thread
    /// was stopped.
    pub(crate) fn ask(&self, patience: Duration) -> Result<u64, AttachRefusal> {
        let prepared = self.prepared()?;
        let deadline = clock::monotonic_ns() + u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX / 2);
        let write = |at: u64, bytes: &[u8]| {
            self.memory.write(at, bytes).map_err(|why| AttachRefusal::never(format!("it has ended ({why})")))
        };
        write(prepared.written.request_at + 8, &deadline.to_le_bytes())?;
        if self.state()?.0 == Progress::Idle {
            write(
                prepared.written.request_at + request::STATE as u64,
                &(Progress::Wanted as u32).to_le_bytes(),
            )?;
        }
        let arguments = [0, prepared.written.code_at, prepared.written.request_at];
        self.threads.call(&prepared.written, Need::RunsJob, self.register, arguments)
    }

    /// Wakes Ruby's main thread by calling the signal handler with an unused signal. Returns for how many
    /// nanoseconds a thread was stopped.
    pub(crate) fn wake(&self) -> Result<u64, AttachRefusal> {
        let prepared = self.prepared()?;
        self.call(prepared, prepared.handler.load(Ordering::Relaxed), [prepared.spare as u64, 0, 0])
    }

    /// Returns the state of the request, and the reason if it failed.
    pub(crate) fn state(&self) -> Result<(Progress, String), AttachRefusal> {
        let at = self.prepared()?.written.request_at;
        let number = self.memory.u32(at + request::STATE as u64);
        let state =
            number.and_then(Progress::from_number).ok_or_else(|| AttachRefusal::never("it has ended"))?;
        let message =
            self.memory.text(at + request::MESSAGE as u64, request::MESSAGE_BYTES).unwrap_or_default();
        Ok((state, message))
    }

    /// Unlocks the process, so that others can attach to it.
    pub(crate) fn release(&self) {
        // SAFETY: the call takes no pointer.
        unsafe { libc::flock(self.memory.0.as_raw_fd(), libc::LOCK_UN) };
    }

    /// Withdraws the request. Returns false if the job has begun.
    pub(crate) fn withdraw(&self) -> Result<bool, AttachRefusal> {
        let at = self.prepared()?.written.request_at + request::STATE as u64;
        if self.state()?.0 != Progress::Wanted {
            return Ok(false);
        }
        let idle = (Progress::Idle as u32).to_le_bytes();
        self.memory.write(at, &idle).map_err(|why| AttachRefusal::never(format!("it has ended ({why})")))?;
        sleep(Duration::from_millis(2));
        Ok(self.state()?.0 == Progress::Idle)
    }
}
