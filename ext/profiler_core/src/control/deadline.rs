//! When the next line of a connection is overdue.

use std::time::{Duration, Instant};

/// The time for a whole line to arrive once its first byte has, and for the first line of a connection.
pub const LINE: Duration = Duration::from_secs(5);

/// The time by which the next line has to be there. Only bytes move it: a call that ends early, as at SIGCONT, does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// `None` for a client that may be silent for ever.
    till: Option<Instant>,
    /// Whether the line has begun to arrive.
    is_partial: bool,
}

impl Deadline {
    /// The deadline of a line that is awaited from now on. `silence` is the time until its first byte; `None` if that may take any time.
    #[must_use]
    pub fn new(silence: Option<Duration>, is_partial: bool, now: Instant) -> Self {
        let time = if is_partial { Some(LINE) } else { silence };
        Self { till: time.and_then(|it| now.checked_add(it)), is_partial }
    }

    /// Notes that bytes of the line have arrived.
    pub fn received(&mut self, now: Instant) {
        if !self.is_partial {
            *self = Self::new(None, true, now);
        }
    }

    /// The time that is left, at most `longest`. `None` once the line is overdue.
    #[must_use]
    pub fn left(&self, longest: Duration, now: Instant) -> Option<Duration> {
        let left = self.till.map_or(longest, |till| till.saturating_duration_since(now));
        (!left.is_zero()).then(|| left.min(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn ends_a_silent_connection() {
        let now = Instant::now();
        let deadline = Deadline::new(Some(LINE), false, now);
        assert_eq!(deadline.left(HOUR, now), Some(LINE));
        assert_eq!(deadline.left(HOUR, now + LINE), None);
    }

    #[test]
    fn gives_a_line_that_has_begun_its_time_once() {
        let now = Instant::now();
        let mut deadline = Deadline::new(Some(HOUR), false, now);
        deadline.received(now + LINE);
        deadline.received(now + LINE * 2);
        assert_eq!(deadline.left(HOUR, now + LINE * 2), None);
        assert_eq!(Deadline::new(None, true, now).left(HOUR, now + LINE), None);
    }

    #[test]
    fn waits_for_ever_for_a_client_that_may_be_silent() {
        let now = Instant::now();
        let mut deadline = Deadline::new(None, false, now);
        assert_eq!(deadline.left(HOUR, now + HOUR * 100), Some(HOUR));
        deadline.received(now + HOUR);
        assert_eq!(deadline.left(HOUR, now + HOUR + LINE), None);
    }
}
