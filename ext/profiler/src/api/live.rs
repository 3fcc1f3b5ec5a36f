//! `Profiler::LiveServer`: the server of a control socket, for the Ruby thread that answers what needs Ruby.

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

use magnus::{function, method, prelude::*, DataTypeFunctions, Error, RModule, RString, Ruby, TypedData};

use crate::live::{dump_at, Answer, Question, Server};
use crate::vm;
use crate::vm::cached::define_class;
use crate::vm::exceptions::error;
use crate::vm::without_gvl::briefly_without_gvl;

/// The class `Profiler::LiveServer`.
#[derive(TypedData)]
#[magnus(class = "Profiler::LiveServer", free_immediately)]
struct LiveServer {
    server: Arc<Server>,
    /// The dumps that Ruby has taken and not answered, by call.
    dumps: Mutex<BTreeMap<u64, Question>>,
}

impl DataTypeFunctions for LiveServer {}

impl LiveServer {
    /// `LiveServer._start(listener, waker)`: serves the socket with the descriptor `listener`, which is its own from then on. A byte
    /// is written to `waker` when there is a call.
    fn start(ruby: &Ruby, listener: RawFd, waker: RawFd) -> Result<Self, Error> {
        // SAFETY: the caller has given both up.
        let (listener, waker) = unsafe { (OwnedFd::from_raw_fd(listener), OwnedFd::from_raw_fd(waker)) };
        let started = Server::start(listener, waker, vm::process::description(ruby));
        let server = started
            .map_err(|why| error(ruby, "Error", format!("the control socket has no thread: {why}")))?;
        Ok(Self { server, dumps: Mutex::default() })
    }

    /// `server._next`: the next call as its number, that of its connection, and its line. The line is nil if the client has gone,
    /// and "dump" for [`LiveServer::dump`]. Nil if there is no call.
    fn next(&self) -> Option<(u64, u64, Option<String>)> {
        let call = self.server.calls.next()?;
        let line = match call.question {
            Question::Line(line) => Some(line),
            Question::Gone => None,
            dump @ Question::Dump(..) => {
                self.dumps.lock().unwrap_or_else(PoisonError::into_inner).insert(call.number, dump);
                Some("dump".into())
            }
        };
        Some((call.number, call.connection, line))
    }

    /// `server._answer(number, head, body)`: a line of JSON, without its end, and the bytes that follow it.
    fn answer(&self, number: u64, head: String, body: RString) {
        // SAFETY: nothing of Ruby runs while the bytes are copied.
        let body = unsafe { body.as_slice() }.to_vec();
        self.server.calls.answer(number, Answer { head, body });
    }

    /// `server._dump(number)`: answers a call that is a dump.
    fn dump(ruby: &Ruby, it: &Self, number: u64) -> Result<(), Error> {
        let dump = it.dumps.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        if let Some(Question::Dump(taking, form)) = dump {
            let named = taking.name(ruby)?;
            // Text of a megabyte, if there are many threads.
            let answer = briefly_without_gvl(ruby, || Answer::dump(&taking.with(&named), form));
            it.server.calls.answer(number, answer);
        }
        Ok(())
    }

    /// `server._dump_at(signal)`: has the signal of that number print a dump on stderr.
    fn dump_at(ruby: &Ruby, it: &Self, signal: i32) -> Result<(), Error> {
        dump_at(&it.server, signal)
            .map_err(|why| error(ruby, "Error", format!("no signal can print a dump: {why}")))
    }

    /// `server._close`.
    fn close(&self) {
        self.server.close();
    }

    /// `server._leave`: closes, in a forked child, what is the parent's.
    fn leave(&self) {
        self.server.leave_to_parent();
    }
}

/// Defines the class.
pub(crate) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    let class = define_class::<LiveServer>(ruby, profiler, "LiveServer")?;
    class.singleton_class()?.define_method("_start", function!(LiveServer::start, 2))?;
    class.define_method("_next", method!(LiveServer::next, 0))?;
    class.define_method("_answer", method!(LiveServer::answer, 3))?;
    class.define_method("_dump", method!(LiveServer::dump, 1))?;
    class.define_method("_dump_at", method!(LiveServer::dump_at, 1))?;
    class.define_method("_close", method!(LiveServer::close, 0))?;
    class.define_method("_leave", method!(LiveServer::leave, 0))?;
    Ok(())
}
