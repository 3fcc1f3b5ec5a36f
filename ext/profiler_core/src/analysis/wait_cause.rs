//! The cause of a wait, derived from the function that waits.

use super::sites::Sites;
use crate::ids::{Id, StackId};
use crate::profile::{Frame, Function, Language, Note, Profile, SampleType};
use crate::record::State;

/// The event that a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cause {
    /// A point in time.
    Sleep,
    /// A file, a socket or a terminal.
    Io,
    /// Any of several files or events, as event loops wait when they have nothing to do.
    Event,
    /// A connection, as servers wait for it.
    Connection,
    /// A Mutex or a Monitor.
    Lock,
    /// An element of a queue, or a condition variable.
    Queue,
    /// Space in a queue of limited size.
    FullQueue,
    /// The end of a thread.
    Thread,
    /// The end of a process.
    Process,
    /// Anything that a C function does without the GVL, such as a database query or a lookup of a host.
    Other,
    /// Not a wait: a C function that computes without the GVL, as compression does.
    Computing,
    /// Not a wait: code that lacked a CPU or the GVL. Only where waits are sampled, as sampling cannot tell
    /// these apart.
    HeldUp,
}

/// Classes whose C functions compute.
const COMPUTING: [&str; 31] = [
    "Array",
    "BasicObject",
    "Class",
    "Comparable",
    "Complex",
    "Enumerable",
    "Enumerator",
    "Exception",
    "Float",
    "GC",
    "Hash",
    "Integer",
    "Kernel",
    "Marshal",
    "MatchData",
    "Math",
    "Method",
    "Module",
    "Numeric",
    "Object",
    "Proc",
    "Process",
    "Random",
    "Range",
    "Rational",
    "Regexp",
    "Set",
    "String",
    "StringScanner",
    "Struct",
    "Symbol",
];

/// Classes whose methods wait for input and output.
const IO: [&str; 12] = [
    "IO",
    "File",
    "Socket",
    "BasicSocket",
    "TCPSocket",
    "UDPSocket",
    "UNIXSocket",
    "IPSocket",
    "Addrinfo",
    "OpenSSL::SSL::SSLSocket",
    "IO::Buffer",
    "Dir",
];

impl Cause {
    /// Returns the cause that a function stands for.
    fn named_by(name: &str) -> Option<Self> {
        let (class, method) = name.rsplit_once(['#', '.'])?;
        Some(match (class, method) {
            ("Kernel" | "Thread" | "Thread::Mutex", "sleep") | ("Thread", "stop") => Self::Sleep,
            ("Thread::Mutex" | "Monitor", _) => Self::Lock,
            ("Thread::SizedQueue", "push" | "<<" | "enq") => Self::FullQueue,
            ("Thread::Queue" | "Thread::SizedQueue" | "Thread::ConditionVariable", _) => Self::Queue,
            ("MonitorMixin::ConditionVariable", _) => Self::Queue,
            ("Thread", "join" | "value") => Self::Thread,
            ("Process" | "Process::Status", "wait" | "wait2" | "waitpid" | "waitpid2" | "waitall")
            | ("Kernel", "system" | "`") => Self::Process,
            ("Socket" | "TCPServer" | "UNIXServer" | "OpenSSL::SSL::SSLServer", _)
                if method.contains("accept") =>
            {
                Self::Connection
            }
            ("IO" | "Kernel", "select") | ("NIO::Selector" | "Epoll", _) => Self::Event,
            ("Kernel", "gets" | "readline" | "readlines" | "open" | "print" | "puts" | "p") => Self::Io,
            (class, _) if IO.contains(&class) => Self::Io,
            _ => return None,
        })
    }

    /// Returns whether a thread that waits this way waits for others to have work for it, and a program does
    /// so beside its work.
    pub(super) fn is_for_work(self) -> bool {
        matches!(self, Self::Event | Self::Connection | Self::Queue | Self::Thread)
    }

    /// Returns whether a thread that waits this way has work, however long that takes.
    pub(super) fn has_work(self) -> bool {
        matches!(self, Self::Lock | Self::FullQueue | Self::Computing | Self::HeldUp)
    }

    /// Returns the words before the function that waits.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Sleep => "sleeping",
            Self::Io => "waiting for IO",
            Self::Event => "waiting for events",
            Self::Connection => "waiting for connections",
            Self::Lock => "waiting for a lock",
            Self::Queue => "waiting for a queue",
            Self::FullQueue => "waiting for a full queue",
            Self::Thread => "waiting for other threads",
            Self::Process => "waiting for another process",
            Self::Other | Self::Computing | Self::HeldUp => "waiting",
        }
    }
}

/// Methods through which condition variables wait, so their callers tell more.
const HELPERS: [&str; 2] = ["Thread::Mutex#sleep", "Monitor#wait_for_cond"];
/// A C function that runs for more than this part of the time in which it counts as waiting computes; the
/// rest was held up.
const COMPUTES: f64 = 0.2;
/// A C function that uses a CPU for more than this part of its waiting computes without the GVL.
const COMPUTES_WITHOUT_GVL: f64 = 0.5;

/// The causes of a profile's waits.
pub(super) struct Causes<'profile> {
    profile: &'profile Profile,
    /// The times by function at the leaf.
    at_leaf: Vec<AtLeaf>,
    is_sampled: bool,
    /// Whether the kernel's count of run delay explains apparent waits in unknown functions and for writes.
    is_delayed: bool,
}

/// The times with a function at the leaf, ns.
#[derive(Clone, Copy, Default)]
struct AtLeaf {
    ran_ns: u64,
    waited_ns: u64,
    /// The CPU time in waits.
    cpu_ns: u64,
}

impl<'profile> Causes<'profile> {
    pub(super) fn of(profile: &'profile Profile, sites: &Sites<'_>) -> Self {
        let mut at_leaf = vec![AtLeaf::default(); profile.functions.len()];
        for sample in &profile.samples {
            let Some(leaf) = profile.frames_of(sample.stack).next() else { continue };
            let Some(sum) = at_leaf.get_mut(leaf.function.index()) else { continue };
            let wall_ns = sample.weights.get(SampleType::Wall);
            match sample.state {
                State::Running => sum.ran_ns = sum.ran_ns.saturating_add(wall_ns),
                State::Waiting => {
                    sum.waited_ns = sum.waited_ns.saturating_add(wall_ns);
                    sum.cpu_ns = sum.cpu_ns.saturating_add(sample.weights.get(SampleType::Cpu));
                }
                _ => {}
            }
        }
        let mut causes = Self { profile, at_leaf, is_sampled: is_sampled(profile), is_delayed: false };
        causes.is_delayed = causes.is_sampled && causes.explains_delay(sites);
        causes
    }

    /// Returns whether threads lacked a CPU for most of the time in which they seem to wait in unknown
    /// functions, to write or for the file system, beyond the time in which computing code was held up. A
    /// thread that reads from an open file or socket may wait for others, however busy the machine is.
    fn explains_delay(&self, sites: &Sites<'_>) -> bool {
        let (mut held_up_ns, mut uncertain_ns): (u64, u64) = (0, 0);
        for sample in &self.profile.samples {
            let wall_ns = sample.weights.get(SampleType::Wall);
            let cause = match sample.state {
                State::Waiting => self.cause(sites, sample.stack),
                State::Runnable => Cause::HeldUp,
                _ => continue,
            };
            match cause {
                Cause::HeldUp => held_up_ns = held_up_ns.saturating_add(wall_ns),
                Cause::Io | Cause::Other if self.is_uncertain(sites, sample.stack) => {
                    uncertain_ns = uncertain_ns.saturating_add(wall_ns);
                }
                _ => {}
            }
        }
        let delay_ns = self.profile.stats.run_delay_ns.saturating_sub(held_up_ns);
        delay_ns > uncertain_ns / 2
    }

    /// Returns the cause of a wait in the stack. Only the leaf determines it, or the Ruby method around a C
    /// leaf: the block of a caller further out is running, so that caller does not wait.
    pub(super) fn cause(&self, sites: &Sites<'_>, stack: StackId) -> Cause {
        let mut frames = self.profile.frames_of(stack);
        let Some(leaf) = frames.next() else { return Cause::Other };
        let name = sites.name(leaf);
        let named = if HELPERS.contains(&name) {
            let mut callers = frames.take_while(|it| !sites.is_app(*it)).map(|it| sites.name(it));
            let named = callers.find(|it| !HELPERS.contains(it)).and_then(Cause::named_by);
            named.filter(|it| *it == Cause::Queue).or_else(|| Cause::named_by(name))
        } else {
            let mut wrapper = || frames.next().filter(|it| sites.is_ruby(*it) && !sites.is_app(*it));
            let computes = self.kind(leaf) != Some(Language::Cfunc) || is_computing(name);
            Cause::named_by(name)
                .or_else(|| wrapper().filter(|_| !computes).and_then(|it| Cause::named_by(sites.name(it))))
        };
        match named {
            Some(cause) if !matches!(cause, Cause::Io | Cause::Other) => cause,
            named => self.held_up(leaf, name, named).or(named).unwrap_or(Cause::Other),
        }
    }

    /// Returns the cause if the leaf did not wait but computed without the GVL, or was held up.
    fn held_up(&self, leaf: Frame, name: &str, named: Option<Cause>) -> Option<Cause> {
        let sum = self.at_leaf.get(leaf.function.index()).copied().unwrap_or_default();
        if !self.is_sampled {
            let computes = sum.cpu_ns as f64 > sum.waited_ns as f64 * COMPUTES_WITHOUT_GVL;
            return computes.then_some(Cause::Computing);
        }
        let ran = sum.ran_ns as f64 > sum.waited_ns as f64 * COMPUTES;
        let computes = named.is_none() && (self.kind(leaf) == Some(Language::Ruby) || is_computing(name));
        // A thread that wants to run is sampled sooner or later, however busy the machine is.
        let is_unsampled = self.kind(leaf) == Some(Language::Synthetic);
        let is_delayed = self.is_delayed && !is_unsampled && (named.is_none() || is_local(name));
        (ran || computes || is_delayed).then_some(Cause::HeldUp)
    }

    fn is_uncertain(&self, sites: &Sites<'_>, stack: StackId) -> bool {
        let leaf = self.profile.frames_of(stack).next();
        leaf.is_some_and(|it| Cause::named_by(sites.name(it)).is_none() || is_local(sites.name(it)))
    }

    fn kind(&self, frame: Frame) -> Option<Language> {
        self.profile.function(frame.function).map(Function::kind)
    }
}

/// Returns whether waits were sampled by signals, so that a thread which could run but did not counts as
/// waiting.
pub(super) fn is_sampled(profile: &Profile) -> bool {
    profile.meta.notes.contains(&Note::WaitsSampled {})
}

/// Returns whether a function for IO mostly does not wait for others: it writes, or asks the file system.
fn is_local(name: &str) -> bool {
    const WRITES: [&str; 9] =
        ["write", "print", "puts", "p", "<<", "printf", "putc", "syswrite", "write_nonblock"];
    // They take the path of a file. `File.open` is a method of IO.
    const OF_PATHS: [&str; 8] = [
        "IO.open",
        "IO.read",
        "IO.binread",
        "IO.readlines",
        "IO.foreach",
        "IO.write",
        "IO.binwrite",
        "Kernel#open",
    ];
    let is_local =
        |(class, method): (&str, &str)| WRITES.contains(&method) || matches!(class, "File" | "Dir");
    OF_PATHS.contains(&name) || name.rsplit_once(['#', '.']).is_some_and(is_local)
}

/// Returns whether this is a C function of a class whose methods compute, apart from those that
/// [`Cause::named_by`] knows.
fn is_computing(name: &str) -> bool {
    name.rsplit_once(['#', '.']).is_some_and(|(class, _)| COMPUTING.contains(&class))
}

#[cfg(all(test, not(loom)))]
mod tests;
