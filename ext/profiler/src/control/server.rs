//! The connections of a control socket, and the thread that accepts them.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use super::calls::{Answer, CallQueue};
use super::connection::Connection;
use super::listener::Listener;
use super::stream::Stream;
use crate::sys::descriptor::{Descriptor, DescriptorSlot};
use crate::sys::{peer, sigprof};

/// The largest number of connections at once.
const MAX_CONNECTIONS: usize = 16;
/// The time that the end of the process may wait for a client to receive its last answer. It is sent at once,
/// unless it is larger than what the system keeps of a socket that nobody reads.
const FAREWELL: Duration = Duration::from_millis(500);

/// The server of a control socket.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) calls: CallQueue,
    /// The result of `RUBY_DESCRIPTION`.
    pub(super) ruby: String,
    closing: AtomicBool,
    /// The listening socket. It is here for a forked child, which has to close its copy; so are the next two.
    listener: DescriptorSlot,
    /// A second descriptor of that socket: see [`Listener::accept`].
    reserve: DescriptorSlot,
    connections: [DescriptorSlot; MAX_CONNECTIONS],
    /// The numbers of these connections, by which Ruby knows them.
    numbers: [AtomicU64; MAX_CONNECTIONS],
    /// Held while a descriptor is closed, or shut down by its number. Not in a forked child.
    ends: Mutex<()>,
    last: AtomicU64,
}

impl Server {
    /// Creates a server that does not listen yet.
    pub(crate) fn new(ruby: String) -> Arc<Self> {
        Arc::new(Self {
            calls: CallQueue::new(),
            ruby,
            closing: AtomicBool::new(false),
            listener: DescriptorSlot::new(),
            reserve: DescriptorSlot::new(),
            connections: [const { DescriptorSlot::new() }; MAX_CONNECTIONS],
            numbers: [const { AtomicU64::new(0) }; MAX_CONNECTIONS],
            ends: Mutex::new(()),
            last: AtomicU64::new(0),
        })
    }

    /// Accepts connections from `listener` from now on, in place of the previous socket. Connections stay.
    ///
    /// # Errors
    /// The errors of the system, which may refuse a thread.
    pub(crate) fn listen(self: &Arc<Self>, listener: OwnedFd) -> io::Result<()> {
        let listener = Listener::new(UnixListener::from(listener))?;
        self.stop_listening();
        self.listener.claim(&listener.descriptor);
        let own = Arc::clone(self);
        let accept = move || own.accept(listener);
        let spawned = sigprof::without_signals(|| Builder::new().name("profiler live".into()).spawn(accept));
        spawned.map(drop).inspect_err(|_| _ = self.listener.take())
    }

    /// Returns whether the server is open.
    pub(super) fn is_open(&self) -> bool {
        !self.closing.load(Ordering::Relaxed)
    }

    /// Accepts until `listener` is no longer the server's, or the app has closed it.
    fn accept(self: &Arc<Self>, listener: Listener) {
        let descriptor = listener.descriptor;
        while self.is_open() && self.listener.get() == Some(descriptor) {
            match listener.accept(&self.reserve) {
                Ok(Some(stream)) if self.is_open() => self.welcome(stream),
                Ok(_) => {}
                Err(_) => break, // the number is another file's
            }
        }
        let held = self.hold_ends();
        let is_current = self.listener.get() == Some(descriptor) && self.listener.take().is_some();
        drop(listener);
        drop(held);
        if is_current && self.is_open() {
            self.calls.lost();
        }
    }

    /// Starts a thread for a client, if it belongs to the same user, and there are not too many.
    fn welcome(self: &Arc<Self>, stream: UnixStream) {
        let Some(uid) = peer::uid(&stream) else { return };
        if uid != 0 && uid != peer::own_uid() {
            return;
        }
        let Some(stream) = Stream::new(stream) else { return };
        let Some(place) = self.connections.iter().position(|it| it.claim(&stream.descriptor)) else {
            return Connection::refuse(&stream, "too many connections");
        };
        let (own, number) = (Arc::clone(self), self.last.fetch_add(1, Ordering::Relaxed) + 1);
        if let Some(slot) = self.numbers.get(place) {
            slot.store(number, Ordering::Relaxed); // the thread that is started next asks Ruby, which then uses it
        }
        let serve = move || {
            Connection::new(&own.calls, &own.ruby, &stream, number).serve();
            own.end(place, number, stream);
        };
        let spawned = sigprof::without_signals(|| Builder::new().name("profiler client".into()).spawn(serve));
        if spawned.is_err() {
            self.free(place);
        }
    }

    fn end(&self, place: usize, number: u64, stream: Stream) {
        let _held = self.hold_ends();
        self.free(place);
        drop(self.calls.farewell(number)); // it came too late
        drop(stream);
    }

    /// Sends a connection its last answer, even if it has not asked, and receives no more requests from it. Waits
    /// until it is sent, for a limited time. A no-op if the client has gone.
    pub(crate) fn farewell(&self, connection: u64, mut answer: Answer) {
        let sending = answer.sending();
        let held = self.hold_ends();
        let is_number = |number: &AtomicU64| number.load(Ordering::Relaxed) == connection;
        let place = self.numbers.iter().position(is_number).and_then(|place| self.connections.get(place));
        let Some(descriptor) = place.and_then(DescriptorSlot::get) else { return };
        self.calls.bid_farewell(connection, answer);
        descriptor.shut_down_reading(); // ends the wait of its thread
        drop(held);
        let _ = sending.recv_timeout(FAREWELL);
    }

    fn hold_ends(&self) -> MutexGuard<'_, ()> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn free(&self, place: usize) {
        if let Some(place) = self.connections.get(place) {
            place.take();
        }
    }

    /// Stops accepting connections.
    fn stop_listening(&self) {
        let _held = self.hold_ends();
        if let Some(listener) = self.listener.take() {
            listener.shut_down(); // the thread that waits for the listener closes it
        }
        if let Some(reserve) = self.reserve.take() {
            reserve.close();
        }
    }

    /// Closes the server. Connections end, and the answers that they wait for are not sent.
    pub(crate) fn close(&self) {
        if self.closing.swap(true, Ordering::Relaxed) {
            return;
        }
        self.stop_listening();
        self.calls.close();
        let held = self.hold_ends();
        // The threads that read return from their system calls.
        self.connections.iter().filter_map(DescriptorSlot::get).for_each(|it| it.shut_down());
        drop(held);
    }

    /// Closes the copies of all descriptors in a forked child, which has none of the threads. There these
    /// hold the server for ever, so no descriptor is closed a second time.
    pub(crate) fn leave_to_parent(&self) {
        if self.closing.swap(true, Ordering::Relaxed) {
            return;
        }
        let slots = self.connections.iter().chain([&self.listener, &self.reserve]);
        slots.filter_map(DescriptorSlot::take).for_each(|it: Descriptor| it.close());
    }
}
