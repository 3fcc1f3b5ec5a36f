//! A connection: requests, one line each, and their answers. The client may be any program of the same user,
//! and may send anything.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use profiler_core::control::deadline::{Deadline, LINE};
use profiler_core::control::request::{ControlRequest, Form, LONGEST};
use profiler_core::control::who::Who;

use super::calls::{Answer, CallQueue, ControlQuestion};
use super::dump::Taking;
use super::process;
use super::stream::Stream;
use crate::shared::CAPTURE;
use crate::sys::process::age_s;
use crate::{sampler, threads};

/// The time between two requests of a client that has no sessions, and the longest that one call of the system waits.
const IDLE: Duration = Duration::from_secs(3_600);
/// The time that a client may take to receive an answer.
const RECEIVE: Duration = Duration::from_secs(30);
/// The time for which a dump waits for Ruby.
const DUMP: Duration = Duration::from_secs(1);
/// The time for which any other request waits for Ruby: starting a session is quick, but naming a large one
/// is not.
const RUBY: Duration = Duration::from_secs(60);

/// A connection of one client.
pub(super) struct Connection<'server> {
    calls: &'server CallQueue,
    /// The result of `RUBY_DESCRIPTION`.
    ruby: &'server str,
    stream: &'server Stream,
    number: u64,
    /// Whether Ruby knows the connection.
    is_known: bool,
    /// The beginning of the next lines, as far as it was read.
    read: Vec<u8>,
}

impl<'server> Connection<'server> {
    pub(super) fn new(
        calls: &'server CallQueue,
        ruby: &'server str,
        stream: &'server Stream,
        number: u64,
    ) -> Self {
        Self { calls, ruby, stream, number, is_known: false, read: Vec::new() }
    }

    /// Tells a client that it is not served.
    pub(super) fn refuse(stream: &Stream, why: &str) {
        let _ = stream.send(&line(&Answer::error(why)), Duration::ZERO); // this is the thread that accepts
    }

    /// Serves the client until it disconnects.
    pub(super) fn serve(mut self) {
        let mut silence = Some(LINE);
        while let Ok(Some(line)) = self.next_line(silence) {
            let answer = match ControlRequest::parse(&line) {
                Ok(request) => self.answer(request),
                Err(why) => Answer::error(&why),
            };
            if self.send(&answer).is_err() {
                break;
            }
            // A session that ends with its connection may run for days, and the client has nothing to say meanwhile.
            silence = (!self.is_known).then_some(IDLE);
        }
        if let Some(farewell) = self.calls.farewell(self.number) {
            let _ = self.send(&farewell); // the client may have gone
        }
        if self.is_known {
            self.calls.gone(self.number);
        }
    }

    fn answer(&mut self, request: ControlRequest) -> Answer {
        match request {
            ControlRequest::Who => self.who(),
            ControlRequest::Dump(form) => dump(self.calls, self.ruby, self.number, form),
            ControlRequest::Ruby(line) => {
                self.is_known = true;
                self.ask(ControlQuestion::Line(line), RUBY).unwrap_or_else(|| {
                    Answer::error(
                        "the process cannot run Ruby code now, or is busy (profiler dump shows where it is)",
                    )
                })
            }
        }
    }

    fn ask(&self, question: ControlQuestion, patience: Duration) -> Option<Answer> {
        self.calls.ask(self.number, question, patience)
    }

    fn who(&self) -> Answer {
        let who = Who {
            pid: std::process::id(),
            program: process::program(),
            ruby: self.ruby.into(),
            profiler: env!("CARGO_PKG_VERSION").into(),
            age_s: age_s(),
            threads: threads::live().count(),
            sessions: sampler::sessions(),
        };
        Answer::new(who.json(), Vec::new())
    }

    /// Returns the next line, with its end. `None` if the client has gone, or the line is overdue.
    fn next_line(&mut self, silence: Option<Duration>) -> io::Result<Option<Vec<u8>>> {
        let mut deadline = Deadline::new(silence, !self.read.is_empty(), Instant::now());
        let mut buffer = [0; 4_096];
        loop {
            if let Some(end) = self.read.iter().position(|it| *it == b'\n') {
                let rest = self.read.split_off(end + 1);
                return Ok(Some(std::mem::replace(&mut self.read, rest)));
            }
            if self.read.len() > LONGEST {
                self.send(&Answer::error(&format!("the request is longer than {LONGEST} bytes")))?;
                return Ok(None);
            }
            let Some(left) = deadline.left(IDLE, Instant::now()) else { return Ok(None) };
            match self.stream.receive(&mut buffer, left) {
                Ok(0) => return Ok(None),
                Ok(count) => {
                    self.read.extend(buffer.iter().take(count));
                    deadline.received(Instant::now());
                }
                Err(why) if is_worth_another_try(&why) => {}
                Err(why) => return Err(why),
            }
        }
    }

    /// Sends an answer, within the time that the client may take in all.
    fn send(&self, answer: &Answer) -> io::Result<()> {
        let till = Instant::now() + RECEIVE;
        let mut bytes: &[u8] = &line(answer);
        while !bytes.is_empty() {
            let left = till.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match self.stream.send(bytes, left) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => bytes = bytes.get(count..).unwrap_or(&[]),
                Err(why) if is_worth_another_try(&why) => {}
                Err(why) => return Err(why),
            }
        }
        Ok(())
    }
}

/// Returns a dump of where all threads are: with Ruby's names, or with what is known without Ruby.
pub(super) fn dump(calls: &CallQueue, ruby: &str, connection: u64, form: Form) -> Answer {
    let Some(hub) = CAPTURE.hub() else { return Answer::error("no thread is known yet") };
    let taking = Arc::new(Taking::begin(hub));
    let named = calls.ask(connection, ControlQuestion::Dump(Arc::clone(&taking), form), DUMP);
    named.unwrap_or_else(|| Answer::dump(&taking.finish_without_ruby(ruby), form))
}

/// Returns whether a transfer may succeed if it is repeated at once: no data was there after all, or a signal
/// interrupted it.
fn is_worth_another_try(why: &io::Error) -> bool {
    matches!(why.kind(), io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock)
}

/// Returns the bytes of an answer: its line, which states how many bytes follow, and those.
fn line(answer: &Answer) -> Vec<u8> {
    let mut bytes = answer.head.clone().into_bytes();
    bytes.push(b'\n');
    bytes.extend_from_slice(&answer.body);
    bytes
}
