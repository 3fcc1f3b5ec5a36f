//! The control socket: other programs of the same user look into this process, even while it runs no Ruby code.
//!
//! A native thread accepts connections, and each has a thread that needs no GVL. What needs Ruby is a call, which a Ruby thread of
//! ours takes and answers. A dump is both: the running threads are asked at once, by a signal, and Ruby names what they answer. If
//! Ruby has no time for a second, the others are asked as well, and what is known without it has to do.
//!
//! A call posts a semaphore, for which the Ruby thread waits without the GVL (`lib/profiler/control.rb`). The connection waits for
//! the answer, for a time.
//!
//! The app may close any descriptor. Each is compared with the file that it was before it is used ([`crate::sys::descriptor`]).
//! Where the listening socket is gone, Ruby opens another one. Where the process has no descriptor left, one client is still served.
//!
//! A session without samples (`watch:`) has the threads registered and their waits noted, and ticks nothing:
//! `Ticks::has_samples` is false for it. To the hub it is one of no threads.
//!
//! A forked child closes its copies of the parent's sockets, by their numbers, and begins anew. It has none of the
//! threads, and takes none of their locks.

mod at_signal;
mod calls;
mod connection;
mod dump;
mod listener;
mod process;
mod server;
mod stream;

pub(crate) use at_signal::{action_of, dump_at, is_at, restore, serve_again};
pub(crate) use calls::{Answer, Question};
pub(crate) use server::Server;
