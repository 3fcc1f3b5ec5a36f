//! The requests that Ruby answers. A connection waits for the answer, without the GVL.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, SendError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use profiler_core::control::dump::Dump;
use profiler_core::control::request::Form;
use profiler_core::control::{body_line, error_line};

use super::dump::Taking;
use crate::sys::semaphore::Semaphore;

/// The largest number of calls that may wait. Each connection makes one at a time.
const MAX_CALLS: usize = 64;

/// A question for Ruby.
#[derive(Clone, Debug)]
pub(crate) enum ControlQuestion {
    /// A request, as its line.
    Line(String),
    /// The names of a dump.
    Dump(Arc<Taking>, Form),
    /// The client has disconnected.
    Gone,
    /// The listening socket was closed by the app.
    Lost,
}

/// A call, as Ruby takes it.
#[derive(Debug)]
pub(crate) struct ControlCall {
    pub(crate) number: u64,
    pub(crate) connection: u64,
    pub(crate) question: ControlQuestion,
}

/// An answer: a line of JSON, and bytes that follow it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
    /// Dropped with the answer, once it was sent or cannot be.
    sent: Option<Sender<()>>,
}

impl Answer {
    /// Creates an answer.
    pub(crate) fn new(head: String, body: Vec<u8>) -> Self {
        Self { head, body, sent: None }
    }

    /// Creates an error answer.
    pub(crate) fn error(why: &str) -> Self {
        Self::new(error_line(why), Vec::new())
    }

    /// Returns a channel that disconnects once the answer was sent, or cannot be.
    pub(super) fn sending(&mut self) -> Receiver<()> {
        let (sender, receiver) = channel();
        self.sent = Some(sender);
        receiver
    }

    /// Creates the answer with a dump in that form.
    pub(crate) fn dump(dump: &Dump, form: Form) -> Self {
        let body = match form {
            Form::Text => dump.text(),
            Form::Json => format!("{}\n", dump.json()),
        };
        Self::new(body_line(body.len()), body.into_bytes())
    }
}

#[derive(Debug, Default)]
struct Queue {
    /// Whether the server is closed, so that nobody answers any more.
    closed: bool,
    last: u64,
    waiting: VecDeque<ControlCall>,
    /// The connections that wait for answers, by call.
    askers: BTreeMap<u64, Asker>,
    /// The last answers of connections that had not asked, by connection.
    farewells: BTreeMap<u64, Answer>,
}

/// A connection that waits for an answer.
#[derive(Debug)]
struct Asker {
    connection: u64,
    sender: Sender<Answer>,
}

/// The calls of a server.
#[derive(Debug)]
pub(crate) struct CallQueue {
    queue: Mutex<Queue>,
    /// Posted for each call. It needs no descriptor, so it wakes the Ruby thread even if there is none left.
    bell: Box<Semaphore>,
}

impl CallQueue {
    pub(super) fn new() -> Self {
        let bell = Box::new(Semaphore::new());
        // SAFETY: the box is the semaphore's final place in memory, and no thread waits for it yet.
        unsafe { bell.init() };
        Self { queue: Mutex::default(), bell }
    }

    /// Asks Ruby, and waits for its answer. Returns `None` if that took too long, or there is no Ruby thread
    /// to answer any more.
    pub(super) fn ask(
        &self,
        connection: u64,
        question: ControlQuestion,
        patience: Duration,
    ) -> Option<Answer> {
        let (sender, receiver) = channel();
        let number = self.push(connection, question, Some(sender))?;
        let answer = receiver.recv_timeout(patience);
        if matches!(answer, Err(RecvTimeoutError::Timeout)) {
            let mut queue = self.lock();
            queue.askers.remove(&number);
            queue.waiting.retain(|it| it.number != number);
        }
        answer.ok()
    }

    /// Notifies Ruby that a client has disconnected.
    pub(super) fn gone(&self, connection: u64) {
        self.push(connection, ControlQuestion::Gone, None);
    }

    /// Notifies Ruby that no socket is listening any more.
    pub(super) fn lost(&self) {
        self.push(0, ControlQuestion::Lost, None);
    }

    fn push(&self, connection: u64, question: ControlQuestion, asker: Option<Sender<Answer>>) -> Option<u64> {
        let mut queue = self.lock();
        if queue.closed || (queue.waiting.len() >= MAX_CALLS && asker.is_some()) {
            return None;
        }
        queue.last += 1;
        let number = queue.last;
        if let Some(sender) = asker {
            if let Some(farewell) = queue.farewells.remove(&connection) {
                let _ = sender.send(farewell); // its receiver is the caller's
                return Some(number);
            }
            queue.askers.insert(number, Asker { connection, sender });
        }
        queue.waiting.push_back(ControlCall { number, connection, question });
        drop(queue);
        self.wake();
        Some(number)
    }

    /// Gives a connection its last answer: to the call whose answer it waits for, to its next one, or else to
    /// [`CallQueue::farewell`].
    pub(super) fn bid_farewell(&self, connection: u64, answer: Answer) {
        let mut queue = self.lock();
        let call = queue.askers.iter().find(|(_, asker)| asker.connection == connection);
        let asker = call.map(|(number, _)| *number).and_then(|number| queue.askers.remove(&number));
        let left = match asker {
            // An asker that has just stopped waiting comes back for it.
            Some(asker) => asker.sender.send(answer).err().map(|SendError(answer)| answer),
            None => Some(answer),
        };
        queue.farewells.extend(left.map(|answer| (connection, answer)));
    }

    /// Removes and returns the last answer of a connection that does not ask any more.
    pub(super) fn farewell(&self, connection: u64) -> Option<Answer> {
        self.lock().farewells.remove(&connection)
    }

    /// Ends the waits for answers, as the server is closed. Later calls are refused.
    pub(super) fn close(&self) {
        let mut queue = self.lock();
        queue.closed = true;
        queue.waiting.clear();
        queue.askers.clear();
    }

    fn wake(&self) {
        // SAFETY: the semaphore was initialised in `new`.
        unsafe { self.bell.post() };
    }

    /// Returns the semaphore for which the Ruby thread waits.
    pub(crate) fn bell(&self) -> &Semaphore {
        &self.bell
    }

    /// Removes and returns the next call, for the Ruby thread.
    pub(crate) fn next(&self) -> Option<ControlCall> {
        self.lock().waiting.pop_front()
    }

    /// Answers a call. If no connection waits for the answer any more, it is dropped.
    pub(crate) fn answer(&self, number: u64, answer: Answer) {
        let asker = self.lock().askers.remove(&number);
        if let Some(asker) = asker {
            let _ = asker.sender.send(answer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for CallQueue {
    fn drop(&mut self) {
        // SAFETY: the semaphore is initialised. The Ruby thread waits for it only while it has the server,
        // and so has each thread that posts it.
        unsafe { self.bell.destroy() };
    }
}
