//! What threads wait for, in example profiles.

use super::*;
use crate::analysis::example::{Example, MAIN};

#[test]
fn a_function_tells_the_cause() {
    for (name, cause) in [
        ("Kernel#sleep", Some(Cause::Sleep)),
        ("IO#gets", Some(Cause::Io)),
        ("IO.select", Some(Cause::Event)),
        ("TCPServer#accept_nonblock", Some(Cause::Connection)),
        ("Thread::Mutex#synchronize", Some(Cause::Lock)),
        ("Monitor#enter", Some(Cause::Lock)),
        ("Thread::Mutex#sleep", Some(Cause::Sleep)),
        ("Thread::ConditionVariable#wait", Some(Cause::Queue)),
        ("Thread::Queue#pop", Some(Cause::Queue)),
        ("Thread::SizedQueue#push", Some(Cause::FullQueue)),
        ("Thread#join", Some(Cause::Thread)),
        ("Process.wait", Some(Cause::Process)),
        ("Kernel#`", Some(Cause::Process)),
        ("PG::Connection#exec", None),
        ("<main>", None),
    ] {
        assert_eq!(Cause::named_by(name), cause, "{name}");
    }
}

/// Returns the cause of the longest wait of a profile with such stacks.
fn cause(is_sampled: bool, rows: &[(State, u64, u64, &str)]) -> Cause {
    let mut example = Example::lasting_ms(1_000);
    for (state, wall_ms, cpu_ms, stack) in rows {
        let weights = [(SampleType::Wall, wall_ms * 1_000_000), (SampleType::Cpu, cpu_ms * 1_000_000)];
        example.row(MAIN, *state, &[], &weights, stack);
    }
    let mut profile = example.profile();
    if is_sampled {
        profile.meta.notes.push(Note::WaitsSampled {});
    }
    let sites = Sites::of(&profile);
    let causes = Causes::of(&profile, &sites);
    let waits = profile.samples.iter().filter(|it| it.state == State::Waiting);
    causes.cause(&sites, waits.max_by_key(|it| it.weights.get(SampleType::Wall)).unwrap().stack)
}

#[test]
fn a_caller_whose_block_runs_does_not_wait() {
    let waits = |stack: &str| cause(true, &[(State::Waiting, 100, 0, stack)]);
    let gem = |name: &str| format!("<main> /app.rb:1; {name} /g/gems/g-1.0/g.rb:5");
    assert_eq!(
        waits(&format!("{}; IO.foreach; G#row /g/gems/g-1.0/g.rb:9; String#gsub", gem("G#x"))),
        Cause::HeldUp
    );
    assert_eq!(
        waits(&format!("{}; Monitor#synchronize; G#load /g/gems/g-1.0/g.rb:9", gem("G#x"))),
        Cause::HeldUp
    );
    assert_eq!(waits(&format!("{}; Monitor#synchronize", gem("G#x"))), Cause::Lock);
    assert_eq!(waits(&format!("{}; Thread::Mutex#synchronize; Augeas.open", gem("G#x"))), Cause::Other);
    let condition = "Monitor#wait_for_cond; Thread::ConditionVariable#wait; Thread::Mutex#sleep";
    let mixin = "MonitorMixin::ConditionVariable#wait /usr/lib/ruby/3.1.0/monitor.rb:107";
    assert_eq!(waits(&format!("{}; {mixin}; {condition}", gem("G#x"))), Cause::Queue);
    assert_eq!(waits(&format!("{}; Thread::Mutex#sleep", gem("G#x"))), Cause::Sleep);
    let wrapper = "OpenSSL::SSL::SSLSocket#connect /usr/lib/ruby/3.1.0/openssl/ssl.rb:5";
    assert_eq!(waits(&format!("{}; {wrapper}; OpenSSL::Provider#x", gem("G#x"))), Cause::Io);
}

#[test]
fn a_function_that_also_runs_was_held_up_where_waits_are_sampled() {
    let parse = "<main> /app.rb:1; JSON::Ext::Parser#parse";
    assert_eq!(
        cause(true, &[(State::Waiting, 300, 0, parse), (State::Running, 100, 100, parse)]),
        Cause::HeldUp
    );
    let query = "<main> /app.rb:1; PG::Connection#exec";
    assert_eq!(
        cause(true, &[(State::Waiting, 300, 0, query), (State::Running, 10, 10, query)]),
        Cause::Other
    );
    let write = "<main> /app.rb:1; IO#write";
    assert_eq!(
        cause(true, &[(State::Waiting, 300, 0, write), (State::Running, 200, 200, write)]),
        Cause::HeldUp
    );
}

#[test]
fn a_function_that_uses_a_cpu_without_the_gvl_computes() {
    let deflate = "<main> /app.rb:1; Zlib::Deflate#deflate";
    assert_eq!(cause(false, &[(State::Waiting, 300, 290, deflate)]), Cause::Computing);
    assert_eq!(cause(false, &[(State::Waiting, 300, 2, deflate)]), Cause::Other);
}

#[test]
fn the_kernels_run_delay_tells_who_was_held_up() {
    let mut example = Example::lasting_ms(1_000);
    example.wall(MAIN, State::Running, 100, "<main> /app.rb:1");
    example.wall(MAIN, State::Waiting, 300, "<main> /app.rb:1");
    example.wall(MAIN, State::Waiting, 200, "<main> /app.rb:1; SQLite3::Statement#step");
    example.wall(MAIN, State::Waiting, 50, "<main> /app.rb:1; IO#write");
    example.wall(MAIN, State::Waiting, 20, "<main> /app.rb:1; IO.open");
    example.wall(MAIN, State::Waiting, 40, "<main> /app.rb:1; IO#read");
    example.wall(MAIN, State::Waiting, 10, "<main> /app.rb:1; Kernel#sleep");
    example.wall("server", State::Waiting, 5, "(unsampled)");
    let mut profile = example.profile();
    profile.meta.notes.push(Note::WaitsSampled {});
    let causes_at = |delay_ms: u64| {
        let mut profile = profile.clone();
        profile.stats.run_delay_ns = delay_ms * 1_000_000;
        let sites = Sites::of(&profile);
        let causes = Causes::of(&profile, &sites);
        let waits = profile.samples.iter().filter(|it| it.state == State::Waiting);
        waits.map(|it| causes.cause(&sites, it.stack)).collect::<Vec<_>>()
    };
    // A wait without a sample is none of a thread that wants to run.
    let held_up = Cause::HeldUp;
    assert_eq!(causes_at(540), [held_up, held_up, held_up, held_up, Cause::Io, Cause::Sleep, Cause::Other]);
    assert_eq!(
        causes_at(310),
        [held_up, Cause::Other, Cause::Io, Cause::Io, Cause::Io, Cause::Sleep, Cause::Other]
    );
}
