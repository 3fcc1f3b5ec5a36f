//! Servers: programs that handle requests or jobs, in a method that their stacks show.

use crate::ids::{Id, StackId};
use crate::profile::Profile;

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

/// The methods with which a server starts its app: they run `config.ru` and initializers.
const STARTERS: [&str; 5] = [
    "Rack::Builder.parse_file",
    "Rack::Builder.load_file",
    "Rack::Builder.new_from_string",
    "Rails::Application#initialize!",
    "Sidekiq::CLI#boot_application",
];

/// The functions of a profile that handle a request or a job, and those that start the app.
pub(super) struct Handlers<'profile> {
    profile: &'profile Profile,
    /// Whether each function is a handler.
    is_handler: Vec<bool>,
    /// Whether each function starts the app.
    is_starter: Vec<bool>,
}

impl<'profile> Handlers<'profile> {
    pub(super) fn of(profile: &'profile Profile) -> Self {
        let among = |names: &[&str]| {
            profile.functions.iter().map(|it| names.contains(&it.name.as_str())).collect::<Vec<_>>()
        };
        Self { profile, is_handler: among(&HANDLERS), is_starter: among(&STARTERS) }
    }

    /// Returns whether the stack belongs to a request or a job.
    pub(super) fn has(&self, stack: StackId) -> bool {
        self.any(stack, &self.is_handler)
    }

    /// Returns whether the stack belongs to the start of the app.
    pub(super) fn starts(&self, stack: StackId) -> bool {
        self.any(stack, &self.is_starter) && !self.has(stack)
    }

    fn any(&self, stack: StackId, is: &[bool]) -> bool {
        let mut frames = self.profile.frames_of(stack);
        frames.any(|it| is.get(it.function.index()).copied().unwrap_or(false))
    }
}
