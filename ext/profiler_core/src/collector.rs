//! The thread that drains the ring in the background, at a pace that keeps it far from full.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crossbeam_channel::{unbounded, Receiver, RecvTimeoutError, Sender};

use crate::hub::{Hub, ThreadRegistry};

/// What the collector thread is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    /// Records may come.
    Run,
    /// Stop draining now, whatever comes.
    Hold,
}

/// Bounds of the pause between two drains. To wake up is most of what the collector costs with shallow
/// stacks, so it does not do so more than four times a second without need.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// What the two ends share.
#[derive(Debug, Default)]
struct Needs {
    /// Whether records may come.
    wanted: AtomicBool,
    /// Whether the thread sleeps until it is told otherwise.
    resting: AtomicBool,
}

/// The end that commands. The thread ends when this is dropped.
#[derive(Debug)]
pub struct Collector {
    commands: Sender<Command>,
    needs: &'static Needs,
}

/// The end that works: for the thread.
#[derive(Debug)]
pub struct Worker {
    commands: Receiver<Command>,
    needs: &'static Needs,
}

/// Both ends. A few bytes of each pair are never freed: there is one in a process.
#[must_use]
pub fn pair() -> (Collector, Worker) {
    let (sender, receiver) = unbounded();
    let needs: &'static Needs = Box::leak(Box::default());
    needs.resting.store(true, Ordering::SeqCst);
    (Collector { commands: sender, needs }, Worker { commands: receiver, needs })
}

impl Collector {
    /// Records may come from now on. Wakes the thread only if it rests, so that a session that follows
    /// another at once costs nothing here.
    pub fn run(&self) {
        self.needs.wanted.store(true, Ordering::SeqCst);
        // SeqCst pairs with the SeqCst in `Worker::rests`: one of us sees what the other wrote.
        if self.needs.resting.swap(false, Ordering::SeqCst) {
            let _ = self.commands.send(Command::Run);
        }
    }

    /// None will come. The thread finds out by itself at the end of its pause.
    pub fn rest(&self) {
        self.needs.wanted.store(false, Ordering::SeqCst);
    }

    /// Keeps the thread from draining until [`Collector::run`], whatever comes.
    pub fn hold(&self) {
        self.rest();
        let _ = self.commands.send(Command::Hold);
    }
}

impl Worker {
    /// The body of the thread: drains, and sleeps just so long that the ring stays far from full. Ends
    /// when the commanding end is gone. After each round `look_after` is called, for the thread to tell its
    /// own cost and to do what else has to be done now and then. It says after which pause it wants to be
    /// called again at the latest.
    pub fn work(&self, hub: &Hub, registry: &dyn ThreadRegistry, look_after: &dyn Fn() -> Duration) {
        let mut pause = PAUSE.0;
        loop {
            let command = if self.needs.resting.load(Ordering::SeqCst) {
                self.commands.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                self.commands.recv_timeout(pause)
            };
            match command {
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(Command::Run) => pause = PAUSE.0,
                Ok(Command::Hold) | Err(RecvTimeoutError::Timeout) if self.rests() => continue,
                Ok(Command::Hold) | Err(RecvTimeoutError::Timeout) => {}
            }
            // An eighth of the ring a round is a good pace: eight times as much still fits.
            let fill = hub.fill() * 8;
            pause = if fill > hub.ring.capacity() { pause / 2 } else { pause * 2 }.clamp(PAUSE.0, PAUSE.1);
            while hub.drain_batch(registry) {}
            pause = pause.min(look_after()).max(PAUSE.0);
        }
    }

    /// Lies down if nothing is wanted.
    fn rests(&self) -> bool {
        if self.needs.wanted.load(Ordering::SeqCst) {
            return false;
        }
        self.needs.resting.store(true, Ordering::SeqCst);
        // Wanted again meanwhile, by somebody who did not see us lie down?
        let woken =
            self.needs.wanted.load(Ordering::SeqCst) && self.needs.resting.swap(false, Ordering::SeqCst);
        !woken
    }
}
