//! Servers: programs that handle requests or jobs, in a method that their stacks show.

use crate::ids::{Id, StackId};
use crate::profile::{Function, Profile};

/// The methods that handle one request or job. The app is called from there.
const HANDLERS: [&str; 11] = [
    "Profiler::Middleware#call",
    "Puma::Server#process_client",
    "Unicorn::HttpServer#process_client",
    "Pitchfork::HttpServer#process_client",
    "WEBrick::HTTPServer#service",
    "Async::HTTP::Server#accept",
    "Sidekiq::Processor#process",
    "Resque::Worker#perform",
    "Delayed::Worker#run",
    "GoodJob::JobPerformer#next",
    "SolidQueue::ClaimedExecution#perform",
];

/// The functions of a profile that handle a request or a job.
pub(super) struct Handlers<'profile> {
    profile: &'profile Profile,
    /// Whether each function is a handler.
    is_handler: Vec<bool>,
}

impl<'profile> Handlers<'profile> {
    pub(super) fn of(profile: &'profile Profile) -> Self {
        let is_handler = |it: &Function| HANDLERS.contains(&it.name.as_str());
        Self { profile, is_handler: profile.functions.iter().map(is_handler).collect() }
    }

    /// Returns whether the stack belongs to a request or a job.
    pub(super) fn has(&self, stack: StackId) -> bool {
        let is_handler = |place: usize| self.is_handler.get(place).copied().unwrap_or(false);
        self.profile.frames_of(stack).any(|it| is_handler(it.function.index()))
    }
}
