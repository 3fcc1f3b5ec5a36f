//! The thread that drains the ring in the background, often enough to keep it far from full.
//!
//! The thread never touches Ruby and never needs the GVL. It sleeps 5 to 250 ms between two rounds. If few
//! records arrive, it sleeps until there are enough of them, so a process that is idle but for a few waits is
//! not disturbed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crossbeam_channel::{unbounded, Receiver, Sender, TryRecvError};

use crate::pipeline::hub::Hub;
use crate::pipeline::registry::ThreadRegistry;

/// A message to the collector thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Command {
    /// Records may arrive.
    Run,
    /// Stop draining now, even if records arrive.
    Hold,
}

/// The bounds of the pause between two drains. With shallow stacks, waking up is most of the collector's
/// overhead, so it wakes up at most four times a second unless there is need.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// The number of words in a second up to which the collector sleeps until it is woken: about 20 records. A
/// thread that computes has more, even at 100 Hz.
const FEW_WORDS: u128 = 1_024;
/// The number of words in the ring from which on a sleeping collector is woken.
const ENOUGH_WORDS: usize = 1_024;
/// The longest such sleep. It bounds the time until we notice that another program handles SIGPROF.
const LONGEST: Duration = Duration::from_secs(60);

/// The state shared by both ends.
#[derive(Debug, Default)]
struct Shared {
    /// Whether records may arrive.
    active: AtomicBool,
    /// Whether the thread is parked until it is woken, for however long that takes.
    resting: AtomicBool,
}

/// The controlling end of the collector. The thread ends when it is dropped.
#[derive(Debug)]
pub struct Collector {
    /// The sender of commands; `None` once the collector is dropped.
    commands: Option<Sender<Command>>,
    thread: Thread,
    shared: &'static Shared,
}

/// The working end of the collector, used by its thread.
#[derive(Debug)]
pub struct Worker {
    commands: Receiver<Command>,
    shared: &'static Shared,
}

impl Collector {
    /// Starts a collector whose thread is started by `spawn` and runs the [`Worker`]. A few bytes of each
    /// collector are never freed: a process has only one.
    ///
    /// # Errors
    /// Returns the errors of `spawn`.
    pub fn start<E>(spawn: impl FnOnce(Worker) -> Result<Thread, E>) -> Result<Self, E> {
        let (sender, receiver) = unbounded();
        let shared: &'static Shared = Box::leak(Box::default());
        shared.resting.store(true, Ordering::SeqCst);
        let thread = spawn(Worker { commands: receiver, shared })?;
        Ok(Self { commands: Some(sender), thread, shared })
    }

    /// Returns the thread.
    #[must_use]
    pub fn thread(&self) -> &Thread {
        &self.thread
    }

    /// Announces that records may arrive from now on. Wakes the thread only if it is parked, so a session
    /// that starts right after another one pays nothing here.
    pub fn run(&self) {
        self.shared.active.store(true, Ordering::SeqCst);
        // SeqCst pairs with the SeqCst in `Worker::try_rest`: one of the two sees what the other wrote.
        if self.shared.resting.swap(false, Ordering::SeqCst) {
            self.send(Command::Run);
        }
    }

    /// Announces that no more records will arrive. The thread notices at the end of its pause.
    pub fn rest(&self) {
        self.shared.active.store(false, Ordering::SeqCst);
    }

    /// Stops the thread from draining until the next [`Collector::run`], even if records arrive.
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
        self.commands = None; // first, so that the thread sees it when it wakes
        self.thread.unpark();
    }
}

impl Worker {
    /// Runs the body of the thread: drains the ring, and sleeps only so long that the ring stays far from
    /// full. Returns when the controlling end is gone.
    ///
    /// After each round it calls `housekeeping`, which reports the thread's own overhead and does other work
    /// that is due now and then. `housekeeping` returns the longest pause before its next call.
    pub fn work(&self, hub: &Hub, registry: &dyn ThreadRegistry, housekeeping: &dyn Fn() -> Duration) {
        let (mut pause, mut last_round) = (PAUSE.0, Instant::now());
        while let Ok(command) = self.next(hub, pause) {
            match command {
                Some(Command::Run) => pause = PAUSE.0,
                Some(Command::Hold) | None if self.try_rest() => continue,
                Some(Command::Hold) | None => {}
            }
            let fill = hub.fill();
            let since_last = last_round.elapsed();
            last_round = Instant::now();
            let are_few = fill as u128 * 1_000 <= FEW_WORDS * since_last.as_millis();
            // An eighth of the ring per round is a good pace: even eight times as much still fits.
            let is_pace = fill * 8 <= hub.ring.capacity();
            pause = if is_pace { pause * 2 } else { pause / 2 }.clamp(PAUSE.0, PAUSE.1);
            while hub.drain_batch(registry) {}
            pause = pause.min(housekeeping()).max(PAUSE.0);
            if are_few && since_last >= PAUSE.1 && pause == PAUSE.1 {
                hub.collector_sleeps.store(true, Ordering::Relaxed);
                pause = LONGEST;
            }
        }
    }

    /// Returns the next command, or `None` after `pause`. A parked thread waits without a limit. The channel
    /// itself would spin for a while each time, which takes three times as long as all the rest of a round.
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

    /// Marks the thread as parked until a session starts. Returns false if one has started.
    fn try_rest(&self) -> bool {
        if self.shared.active.load(Ordering::SeqCst) {
            return false;
        }
        self.shared.resting.store(true, Ordering::SeqCst);
        // Did a session start meanwhile, without seeing that this thread is about to park?
        let woken =
            self.shared.active.load(Ordering::SeqCst) && self.shared.resting.swap(false, Ordering::SeqCst);
        !woken
    }
}

impl Hub {
    /// Returns whether the collector sleeps although there is enough for it to drain. Whoever adds a record
    /// checks this, and wakes it. If the answer is outdated, the next record wakes it.
    ///
    /// # Signal safety
    /// A load, and two more if it sleeps.
    #[inline]
    #[must_use]
    pub fn has_enough_for_collector(&self) -> bool {
        self.collector_sleeps.load(Ordering::Relaxed) && self.fill() >= ENOUGH_WORDS
    }
}
