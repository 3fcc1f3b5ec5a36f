//! The thread that drains the ring in the background, at a pace that keeps it far from full.
//!
//! It never touches Ruby, and never needs the GVL. It sleeps 5 to 250 ms between two rounds. After a second without a
//! record it sleeps until there is one: an idle process is not woken.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crossbeam_channel::{unbounded, Receiver, Sender, TryRecvError};

use crate::pipeline::hub::Hub;
use crate::pipeline::registry::ThreadRegistry;

/// The messages to the collector thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    /// Records may come.
    Run,
    /// Stop draining now, whatever comes.
    Hold,
}

/// Bounds of the pause between two drains. With shallow stacks waking up is most of what the collector
/// costs. So it does not wake up more than four times a second without need.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// The time without a record after which it sleeps until there is one.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest sleep of that kind. It bounds what is late if a record and the collector have missed each other, and how long it takes
/// to notice that another program handles SIGPROF.
const LONGEST: Duration = Duration::from_secs(10);
/// The time after which whoever adds a record sees that the collector is about to sleep, or the collector sees the record. What a
/// processor has stored, others see far sooner.
const SEEN: Duration = Duration::from_micros(100);

/// The state that both ends share.
#[derive(Debug, Default)]
struct Shared {
    /// Whether records may come.
    active: AtomicBool,
    /// Whether the thread sleeps until it is woken, however long that takes.
    resting: AtomicBool,
}

/// The end that commands. The thread ends when this is dropped.
#[derive(Debug)]
pub struct Collector {
    /// Nothing once it is over.
    commands: Option<Sender<Command>>,
    thread: Thread,
    shared: &'static Shared,
}

/// The end that works: for the thread.
#[derive(Debug)]
pub struct Worker {
    commands: Receiver<Command>,
    shared: &'static Shared,
}

impl Collector {
    /// A collector whose thread `spawn` starts, for the [`Worker`] to work on. A few bytes of each are never freed: a process
    /// has only one.
    ///
    /// # Errors
    /// Those of `spawn`.
    pub fn start<E>(spawn: impl FnOnce(Worker) -> Result<Thread, E>) -> Result<Self, E> {
        let (sender, receiver) = unbounded();
        let shared: &'static Shared = Box::leak(Box::default());
        shared.resting.store(true, Ordering::SeqCst);
        let thread = spawn(Worker { commands: receiver, shared })?;
        Ok(Self { commands: Some(sender), thread, shared })
    }

    /// The thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Records may come from now on. Wakes the thread only if it rests, so that a session that follows
    /// another at once costs nothing here.
    pub fn run(&self) {
        self.shared.active.store(true, Ordering::SeqCst);
        // SeqCst pairs with the SeqCst in `Worker::try_rest`: one of us sees what the other wrote.
        if self.shared.resting.swap(false, Ordering::SeqCst) {
            self.send(Command::Run);
        }
    }

    /// None will come. The thread finds out by itself at the end of its pause.
    pub fn rest(&self) {
        self.shared.active.store(false, Ordering::SeqCst);
    }

    /// Keeps the thread from draining until [`Collector::run`], whatever comes.
    pub fn hold(&self) {
        self.rest();
        self.send(Command::Hold);
    }

    fn send(&self, command: Command) {
        if let Some(commands) = &self.commands {
            let _ = commands.send(command);
        }
        self.thread.unpark();
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.commands = None; // first, for the thread to find when it wakes
        self.thread.unpark();
    }
}

impl Worker {
    /// The body of the thread: drains, and sleeps just so long that the ring stays far from full. Ends
    /// when the commanding end is gone. After each round it calls `housekeeping`, for the thread to report its
    /// own cost and to do other work that is due now and then. `housekeeping` returns the longest pause before
    /// its next call.
    pub fn work(&self, hub: &Hub, registry: &dyn ThreadRegistry, housekeeping: &dyn Fn() -> Duration) {
        let (mut pause, mut quiet) = (PAUSE.0, Duration::ZERO);
        while let Ok(command) = self.next(hub, pause) {
            match command {
                Some(Command::Run) => pause = PAUSE.0,
                Some(Command::Hold) | None if self.try_rest() => continue,
                Some(Command::Hold) | None => {}
            }
            // An eighth of the ring a round is a good pace: eight times as much still fits.
            let fill = hub.fill() * 8;
            quiet = if fill == 0 { quiet.saturating_add(pause) } else { Duration::ZERO };
            pause = if fill > hub.ring.capacity() { pause / 2 } else { pause * 2 }.clamp(PAUSE.0, PAUSE.1);
            while hub.drain_batch(registry) {}
            pause = pause.min(housekeeping()).max(PAUSE.0);
            if quiet > PATIENCE && falls_asleep(hub) {
                (pause, quiet) = (LONGEST, Duration::ZERO);
            }
        }
    }

    /// The next command, or none after `pause`; who rests waits for as long as it takes. The channel itself would spin for a
    /// while each time, which takes three times as long as all the rest of a round.
    fn next(&self, hub: &Hub, pause: Duration) -> Result<Option<Command>, TryRecvError> {
        let began = Instant::now();
        loop {
            match self.commands.try_recv() {
                Err(TryRecvError::Empty) => {}
                result => return result.map(Some),
            }
            if self.shared.resting.load(Ordering::SeqCst) {
                thread::park();
                continue;
            }
            let was_woken = pause == LONGEST && !hub.collector_sleeps.load(Ordering::Relaxed);
            match pause.checked_sub(began.elapsed()) {
                Some(left) if !was_woken => thread::park_timeout(left),
                _ => {
                    hub.collector_sleeps.store(false, Ordering::Relaxed);
                    return Ok(None);
                }
            }
        }
    }

    /// Notes that the thread parks until a session starts. False if one has started.
    fn try_rest(&self) -> bool {
        if self.shared.active.load(Ordering::SeqCst) {
            return false;
        }
        self.shared.resting.store(true, Ordering::SeqCst);
        // Wanted again meanwhile, by somebody who did not see us lie down?
        let woken =
            self.shared.active.load(Ordering::SeqCst) && self.shared.resting.swap(false, Ordering::SeqCst);
        !woken
    }
}

/// Announces that the collector sleeps until it is woken. False if there is a record.
fn falls_asleep(hub: &Hub) -> bool {
    hub.collector_sleeps.store(true, Ordering::SeqCst);
    thread::sleep(SEEN);
    let is_empty = hub.fill() == 0;
    if !is_empty {
        hub.collector_sleeps.store(false, Ordering::Relaxed);
    }
    is_empty
}
