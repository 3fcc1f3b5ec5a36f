//! The thread that drains the ring in the background, at a pace that keeps it far from full.

use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError};

use crate::hub::{Hub, ThreadRegistry};

/// What the collector thread is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Records may come.
    Run,
    /// None will come: sleep until told otherwise.
    Rest,
}

/// Bounds of the pause between two drains. To wake up is most of what the collector costs with shallow
/// stacks, so it does not do so more than four times a second without need.
const PAUSE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(250));

/// The body of the collector thread: drains, and sleeps just so long that the ring stays far from
/// full. Ends when the sending side of `commands` is gone. After each round `report` is called, for
/// the thread to tell its own cost.
pub fn collect(hub: &Hub, registry: &dyn ThreadRegistry, commands: &Receiver<Command>, report: &dyn Fn()) {
    let mut running = false;
    let mut pause = PAUSE.0;
    loop {
        let command = if running {
            commands.recv_timeout(pause)
        } else {
            commands.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match command {
            Ok(command) => running = command == Command::Run,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // An eighth of the ring a round is a good pace: eight times as much still fits.
        let fill = hub.fill() * 8;
        pause = if fill > hub.ring.capacity() { pause / 2 } else { pause * 2 }.clamp(PAUSE.0, PAUSE.1);
        while hub.drain_batch(registry) {}
        report();
    }
}
