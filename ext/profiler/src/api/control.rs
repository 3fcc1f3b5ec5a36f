//! The class `Profiler::ControlServer`: the server of a control socket, for the Ruby thread that answers
//! requests which need Ruby.

use std::collections::BTreeMap;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex, PoisonError};

use magnus::{
    function, method, prelude::*, DataTypeFunctions, Error, RModule, RString, Ruby, TypedData, Value,
};

use crate::control::{
    action_of, dump_at, is_dump_signal, restore, serve_again, Answer, ControlQuestion, Server,
};
use crate::vm;
use crate::vm::cached::define_class;
use crate::vm::exceptions::error;
use crate::vm::without_gvl::{briefly_without_gvl, wait_for};

/// The answers of `Signal.trap` if the app does not trap the signal.
const NO_TRAPS: [&str; 4] = ["DEFAULT", "SYSTEM_DEFAULT", "IGNORE", "EXIT"];

/// The class `Profiler::ControlServer`.
#[derive(TypedData)]
#[magnus(class = "Profiler::ControlServer", free_immediately)]
struct ControlServer {
    server: Arc<Server>,
    /// The dumps that Ruby has taken and not answered, by call.
    dumps: Mutex<BTreeMap<u64, ControlQuestion>>,
}

impl DataTypeFunctions for ControlServer {}

impl ControlServer {
    /// Implements `ControlServer._new`: creates a server that does not listen yet.
    fn new(ruby: &Ruby) -> Self {
        Self { server: Server::new(vm::process::description(ruby)), dumps: Mutex::default() }
    }

    /// Implements `server._listen(listener)`: accepts connections from the socket with that descriptor, which
    /// belongs to the server from then on, in place of the previous one. Connections stay.
    fn listen(ruby: &Ruby, rb_self: &Self, listener: RawFd) -> Result<(), Error> {
        // SAFETY: the caller has given up the descriptor.
        let listener = unsafe { OwnedFd::from_raw_fd(listener) };
        rb_self.server.listen(listener).map_err(|why| {
            error(ruby, "Error", format!("cannot accept connections on the control socket: {why}"))
        })
    }

    /// Implements `server._wait`: waits for a call, without the GVL. Raises an exception that is delivered to
    /// the thread meanwhile.
    fn wait(ruby: &Ruby, rb_self: &Self) -> Result<(), Error> {
        wait_for(ruby, rb_self.server.calls.bell())
    }

    /// Implements `server._next`: returns the next call as its number, that of its connection, and its line.
    /// The line is nil if the client has disconnected, "dump" for [`ControlServer::dump`], and "lost" if no
    /// socket is listening any more. Returns nil if there is no call.
    fn next(&self) -> Option<(u64, u64, Option<String>)> {
        let call = self.server.calls.next()?;
        let line = match call.question {
            ControlQuestion::Line(line) => Some(line),
            ControlQuestion::Gone => None,
            ControlQuestion::Lost => Some("lost".into()),
            dump @ ControlQuestion::Dump(..) => {
                self.dumps.lock().unwrap_or_else(PoisonError::into_inner).insert(call.number, dump);
                Some("dump".into())
            }
        };
        Some((call.number, call.connection, line))
    }

    /// Implements `server._answer(number, head, body)`: answers with a line of JSON, without its line end,
    /// and the bytes that follow it.
    fn answer(&self, number: u64, head: String, body: RString) {
        // SAFETY: no Ruby code runs while the bytes are copied.
        let body = unsafe { body.as_slice() }.to_vec();
        self.server.calls.answer(number, Answer::new(head, body));
    }

    /// Implements `server._farewell(connection, head, body)`: sends a client its last answer, even if it has not
    /// asked, and waits until it is sent, for half a second at most. The GVL stays held: as the process ends, each
    /// turn of another thread would take time.
    fn farewell(&self, connection: u64, head: String, body: RString) {
        // SAFETY: no Ruby code runs while the bytes are copied.
        let body = unsafe { body.as_slice() }.to_vec();
        self.server.farewell(connection, Answer::new(head, body));
    }

    /// Implements `server._dump(number)`: answers a call for a dump.
    fn dump(ruby: &Ruby, rb_self: &Self, number: u64) -> Result<(), Error> {
        let dump = rb_self.dumps.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
        if let Some(ControlQuestion::Dump(taking, form)) = dump {
            let named = taking.name(ruby)?;
            // A text of a megabyte, if there are many threads.
            let answer = briefly_without_gvl(ruby, || Answer::dump(&taking.with(&named), form));
            rb_self.server.calls.answer(number, answer);
        }
        Ok(())
    }

    /// Implements `server._dump_at(signal)`: prints a dump on stderr when the signal arrives. If the app
    /// traps the signal, its trap is called too.
    fn dump_at(ruby: &Ruby, rb_self: &Self, signal: i32) -> Result<(), Error> {
        let done = if is_dump_signal(signal) {
            serve_again(&rb_self.server)
        } else {
            let before = action_of(signal);
            let is_trapped = is_trapped(ruby, signal)?;
            dump_at(&rb_self.server, signal, before, is_trapped)
        };
        done.map_err(|why| error(ruby, "Error", format!("cannot install a signal that prints a dump: {why}")))
    }

    /// Implements `ControlServer._restore_signal`: restores the handler that `_dump_at` replaced.
    fn restore_signal(_ruby: &Ruby, _class: Value) {
        restore();
    }

    /// Implements `server._close`.
    fn close(&self) {
        self.server.close();
    }

    /// Implements `server._leave`: closes, in a forked child, the descriptors of the parent.
    fn leave(&self) {
        self.server.leave_to_parent();
    }
}

/// Returns whether the app traps a signal. Ruby reveals that only to a caller that replaces the trap, so it
/// is restored at once. A handler that Ruby does not know counts as a trap too.
fn is_trapped(ruby: &Ruby, signal: i32) -> Result<bool, Error> {
    let signals: RModule = ruby.class_object().const_get("Signal")?;
    let before: Value = signals.funcall("trap", (signal, "IGNORE"))?;
    if before.is_nil() {
        return Ok(true);
    }
    signals.funcall::<_, _, Value>("trap", (signal, before))?;
    let command = RString::from_value(before).map(RString::to_string).transpose()?;
    Ok(!command.is_some_and(|it| NO_TRAPS.contains(&&*it)))
}

/// Defines the class.
pub(crate) fn init(ruby: &Ruby, profiler: RModule) -> Result<(), Error> {
    let class = define_class::<ControlServer>(ruby, profiler, "ControlServer")?;
    class.singleton_class()?.define_method("_new", function!(ControlServer::new, 0))?;
    class.singleton_class()?.define_method("_restore_signal", method!(ControlServer::restore_signal, 0))?;
    class.define_method("_listen", method!(ControlServer::listen, 1))?;
    class.define_method("_wait", method!(ControlServer::wait, 0))?;
    class.define_method("_next", method!(ControlServer::next, 0))?;
    class.define_method("_answer", method!(ControlServer::answer, 3))?;
    class.define_method("_farewell", method!(ControlServer::farewell, 3))?;
    class.define_method("_dump", method!(ControlServer::dump, 1))?;
    class.define_method("_dump_at", method!(ControlServer::dump_at, 1))?;
    class.define_method("_close", method!(ControlServer::close, 0))?;
    class.define_method("_leave", method!(ControlServer::leave, 0))?;
    Ok(())
}
