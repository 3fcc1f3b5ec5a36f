//! The thread that accepts connections.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{sleep, Builder};
use std::time::Duration;

use super::calls::Calls;
use super::connection::Connection;
use crate::sys::{peer, sigprof};

/// Connections at once.
const MOST: usize = 16;
/// The pause where the process has no descriptor left.
const PAUSE: Duration = Duration::from_secs(1);
/// No descriptor.
const NONE: RawFd = -1;

/// The server of a control socket.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) calls: Calls,
    /// `RUBY_DESCRIPTION`.
    pub(super) ruby: String,
    closing: AtomicBool,
    listener: RawFd,
    /// The descriptors of the connections, for a forked child, which has to close its copies.
    connections: [AtomicI32; MOST],
    /// Held while a descriptor is closed, or shut down by its number. Not in a forked child.
    ends: Mutex<()>,
    last: AtomicU64,
}

impl Server {
    /// Serves the socket that listens. `waker` is written to when there is a call for Ruby.
    ///
    /// # Errors
    /// Those of the system, which may refuse a thread.
    pub(crate) fn start(listener: OwnedFd, waker: OwnedFd, ruby: String) -> io::Result<Arc<Self>> {
        let server = Arc::new(Self {
            calls: Calls::new(waker),
            ruby,
            closing: AtomicBool::new(false),
            listener: listener.as_raw_fd(),
            connections: [const { AtomicI32::new(NONE) }; MOST],
            ends: Mutex::new(()),
            last: AtomicU64::new(0),
        });
        let own = Arc::clone(&server);
        let listener = UnixListener::from(listener);
        listener.set_nonblocking(false)?; // Ruby may have made it so
        let accept = move || own.accept(&listener);
        sigprof::without_signals(|| Builder::new().name("profiler live".into()).spawn(accept))?;
        Ok(server)
    }

    /// Whether it serves.
    pub(super) fn is_open(&self) -> bool {
        !self.closing.load(Ordering::Relaxed)
    }

    fn accept(self: &Arc<Self>, listener: &UnixListener) {
        // The number of the listener stays its own until this ends, which is when it was shut down.
        while self.is_open() {
            match listener.accept() {
                Ok((stream, _)) if self.is_open() => self.welcome(stream),
                Ok(_) => {}
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(_) if !self.is_open() => {}
                Err(_) => sleep(PAUSE),
            }
        }
    }

    /// Starts a thread for a client, if it is of the same user, and there are not too many.
    fn welcome(self: &Arc<Self>, stream: UnixStream) {
        let Some(uid) = peer::uid(&stream) else { return };
        if uid != 0 && uid != peer::own_uid() {
            return;
        }
        let descriptor = stream.as_raw_fd();
        let claim = |it: &&AtomicI32| {
            it.compare_exchange(NONE, descriptor, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        };
        let Some(place) = self.connections.iter().position(|it| claim(&it)) else {
            return Connection::refuse(&stream, "too many connections");
        };
        let (own, number) = (Arc::clone(self), self.last.fetch_add(1, Ordering::Relaxed) + 1);
        let serve = move || {
            Connection::new(&own.calls, &own.ruby, &stream, number).serve();
            own.end(place, stream);
        };
        let spawned = sigprof::without_signals(|| Builder::new().name("profiler client".into()).spawn(serve));
        if spawned.is_err() {
            self.free(place);
        }
    }

    fn end(&self, place: usize, stream: UnixStream) {
        let _held = self.hold_ends();
        self.free(place);
        drop(stream);
    }

    fn hold_ends(&self) -> MutexGuard<'_, ()> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self, place: usize) {
        if let Some(place) = self.connections.get(place) {
            place.store(NONE, Ordering::Relaxed);
        }
    }

    /// Ends it. Connections end, and what they wait for is not answered.
    pub(crate) fn close(&self) {
        if self.closing.swap(true, Ordering::Relaxed) {
            return;
        }
        let held = self.hold_ends();
        let open = self.connections.iter().map(|it| it.load(Ordering::Relaxed)).filter(|it| *it != NONE);
        // The thread that accepts, and those that read, come back from their system calls.
        open.chain([self.listener]).for_each(peer::shut_down);
        drop(held);
        self.calls.wake();
    }

    /// Closes the copies of all descriptors in a forked child, which has none of the threads. These hold the server for ever there,
    /// so nobody closes one a second time.
    pub(crate) fn leave_to_parent(&self) {
        if self.closing.swap(true, Ordering::Relaxed) {
            return;
        }
        let open =
            self.connections.iter().map(|it| it.swap(NONE, Ordering::Relaxed)).filter(|it| *it != NONE);
        open.chain([self.listener, self.calls.waker()]).for_each(peer::close);
    }
}
