//! The control socket: other programs of the same user look into this process, even while it runs no Ruby
//! code.
//!
//! A native thread accepts connections, and each has a thread that needs no GVL. A request that needs Ruby is
//! a call, which a Ruby thread of ours takes and answers. A dump is both: the running threads are asked at
//! once, by a signal, and Ruby names what they answer. If Ruby does not answer within a second, the others
//! are asked as well, and the dump has only what is known without Ruby.
//!
//! A call posts a semaphore, for which the Ruby thread waits without the GVL (`lib/profiler/control.rb`). The
//! connection waits for the answer, for a limited time.
//!
//! The app may close any descriptor. Before each use a descriptor is compared with the file that it was
//! ([`crate::sys::descriptor`]). If the listening socket is gone, Ruby opens another one. If the process has
//! no descriptor left, one client is still served.
//!
//! A session without samples (`watch:`) registers the threads and notes their waits, but ticks none of them:
//! `TickRequest::has_samples` is false for it. To the hub it is a session of no threads.
//!
//! A forked child closes its copies of the parent's sockets, by their numbers, and starts again. It has none
//! of the threads, and takes none of their locks.

mod at_signal;
mod calls;
mod connection;
mod dump;
mod listener;
mod process;
mod server;
mod stream;

pub(crate) use at_signal::{action_of, dump_at, is_dump_signal, restore, serve_again};
pub(crate) use calls::{Answer, ControlQuestion};
pub(crate) use process::program;
pub(crate) use server::Server;
