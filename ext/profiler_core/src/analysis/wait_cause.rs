//! The cause of a wait, from the function that waits.

use super::sites::Sites;
use crate::ids::StackId;
use crate::profile::{Frame, Function, Kind, Note, Profile};

/// The event that a thread waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Cause {
    /// A time.
    Sleep,
    /// A file, a socket or a terminal.
    Io,
    /// A connection or an event, as servers and loops do when they have nothing to do.
    Event,
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
    /// Whatever a C function does without the GVL: a query of a database, a lookup of a host.
    Other,
    /// No wait: code that had no CPU, or not the GVL. Only where waits are sampled, as that cannot tell them apart.
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
    /// The cause of a wait in the stack: the innermost function that tells it, before any code of the app.
    pub(super) fn of(profile: &Profile, sites: &Sites<'_>, stack: StackId) -> Self {
        let inner = |it: &Frame| !sites.is_app(*it);
        let mut frames = profile.frames_of(stack).take_while(inner);
        let named = frames.find_map(|it| Self::named_by(sites.name(it)));
        named.unwrap_or(if is_sampled(profile) && computes(profile, sites, stack) {
            Self::HeldUp
        } else {
            Self::Other
        })
    }

    /// The cause that a function stands for. `Mutex#sleep` is how a condition variable waits, so its caller tells more.
    fn named_by(name: &str) -> Option<Self> {
        let (class, method) = name.rsplit_once(['#', '.'])?;
        let accepts = method.contains("accept") || method == "select";
        Some(match (class, method) {
            ("Thread::Mutex", "sleep") | ("Monitor", "wait_for_cond") => return None,
            ("Kernel" | "Thread", "sleep") | ("Thread", "stop") => Self::Sleep,
            ("Thread::Mutex" | "Monitor", _) => Self::Lock,
            ("Thread::SizedQueue", "push" | "<<" | "enq") => Self::FullQueue,
            ("Thread::Queue" | "Thread::SizedQueue" | "Thread::ConditionVariable", _) => Self::Queue,
            ("MonitorMixin::ConditionVariable", _) => Self::Queue,
            ("Thread", "join" | "value") => Self::Thread,
            ("Process" | "Process::Status", "wait" | "wait2" | "waitpid" | "waitpid2" | "waitall")
            | ("Kernel", "system" | "`") => Self::Process,
            ("IO" | "Kernel" | "Socket" | "TCPServer" | "UNIXServer" | "OpenSSL::SSL::SSLServer", _)
                if accepts =>
            {
                Self::Event
            }
            ("NIO::Selector" | "Epoll", _) => Self::Event,
            ("Kernel", "gets" | "readline" | "readlines" | "open" | "print" | "puts" | "p") => Self::Io,
            (class, _) if IO.contains(&class) => Self::Io,
            _ => return None,
        })
    }

    /// Whether a thread that waits so waits for others to have work for it, and a program does it beside its work.
    pub(super) fn is_for_work(self) -> bool {
        matches!(self, Self::Event | Self::Queue | Self::Thread)
    }

    /// Whether a thread that waits so has work, however long that takes.
    pub(super) fn has_work(self) -> bool {
        matches!(self, Self::Lock | Self::FullQueue | Self::HeldUp)
    }

    /// The words before the function that waits.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Sleep => "sleeping",
            Self::Io => "waiting for IO",
            Self::Event => "waiting for connections or events",
            Self::Lock => "waiting for a lock",
            Self::Queue => "waiting for a queue",
            Self::FullQueue => "waiting for a full queue",
            Self::Thread => "waiting for other threads",
            Self::Process => "waiting for another process",
            Self::Other | Self::HeldUp => "waiting",
        }
    }
}

/// Whether waits were sampled by signals, so that a thread that could run and did not counts as waiting.
pub(super) fn is_sampled(profile: &Profile) -> bool {
    profile.meta.notes.contains(&Note::WaitsSampled {})
}

/// Whether the leaf is Ruby code, or a function in C that waits for nothing.
fn computes(profile: &Profile, sites: &Sites<'_>, stack: StackId) -> bool {
    let leaf = profile.frames_of(stack).next();
    let class = |it: Frame| sites.name(it).rsplit_once(['#', '.']).map_or("", |(class, _)| class);
    leaf.is_some_and(|it| {
        let kind = profile.function(it.function).map(Function::kind);
        kind == Some(Kind::Ruby) || (kind == Some(Kind::Cfunc) && COMPUTING.contains(&class(it)))
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_function_tells_the_cause() {
        for (name, cause) in [
            ("Kernel#sleep", Some(Cause::Sleep)),
            ("IO#gets", Some(Cause::Io)),
            ("IO.select", Some(Cause::Event)),
            ("TCPServer#accept_nonblock", Some(Cause::Event)),
            ("Thread::Mutex#synchronize", Some(Cause::Lock)),
            ("Monitor#enter", Some(Cause::Lock)),
            ("Thread::Mutex#sleep", None),
            ("Thread::ConditionVariable#wait", Some(Cause::Queue)),
            ("Thread::Queue#pop", Some(Cause::Queue)),
            ("Thread::SizedQueue#push", Some(Cause::FullQueue)),
            ("Thread#join", Some(Cause::Thread)),
            ("Process.wait", Some(Cause::Process)),
            ("Kernel#`", Some(Cause::Process)),
            ("PG::Connection#exec", None),
            ("<main>", None),
        ] {
            assert_eq!(Cause::named_by(name), cause, "{name}");
        }
    }
}
