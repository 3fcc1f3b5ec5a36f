//! The quality of the data in sentences: how far the numbers can be trusted. The same in all outputs.

use crate::analysis::allocations::is_of_memory;
use crate::analysis::overhead::Overhead;
use crate::format::too_short;
use crate::profile::{Note, Profile, SampleType};
use crate::record::State;
use crate::text::units::{count, counted, duration, percent, round_duration};

/// The minimum time without a CPU that is worth a line, ns.
const MIN_CPU_WAIT_NS: u64 = 1_000_000;
/// The shortest search for what is live that is worth a line, ns.
const MIN_STOP_NS: u64 = 1_000_000;
/// Handlers that take this part of the time, a tenth, may have been limited: at most they take a fifth.
const LONG_HANDLERS_DIVISOR: u64 = 10;

/// Describes the effective and the requested interval; `None` for a profile without ticks.
pub(super) fn interval(profile: &Profile) -> Option<String> {
    let requested = profile.meta.interval_ns;
    let effective = profile.effective_interval_ns();
    if requested == 0 || effective == 0 {
        return None;
    }
    let (requested_text, effective_text) = (round_duration(requested), duration(effective));
    let of = if profile.sample_types.contains(&SampleType::Cpu) { "CPU" } else { "running" };
    let sentence = format!("one sample per {effective_text} of {of}, {requested_text} requested");
    if effective as f64 > requested as f64 * 1.5 {
        return Some(format!("{sentence}: {}", why_coarse(profile)));
    }
    Some(sentence)
}

fn why_coarse(profile: &Profile) -> &'static str {
    if dropped(profile) > profile.stats.counts.captured / 2 {
        return "many were dropped, and later ones carry their time";
    }
    if profile.meta.notes.iter().any(|it| matches!(it, Note::IntervalWidened { .. })) {
        return "longer intervals keep max_overhead";
    }
    match &*profile.meta.engine {
        "thread_timer" | "setitimer" => "this kernel's CPU timers are no finer",
        "safepoint" => "samples are taken only where Ruby checks for interrupts",
        _ if handlers_took_much(profile) => "sampling may use at most a fifth of a thread's time",
        _ => "the timers were late",
    }
}

/// Returns whether handlers took so much of the time that the limit of their share made intervals longer.
fn handlers_took_much(profile: &Profile) -> bool {
    let cpu_ns = profile.total().get(SampleType::Cpu);
    let ran_ns = if cpu_ns > 0 { cpu_ns } else { profile.wall_ns(State::Running) };
    profile.stats.handler_ns >= ran_ns / LONG_HANDLERS_DIVISOR
}

/// Describes the numbers of allocated and sampled objects; `None` if no objects were sampled.
pub(super) fn objects(profile: &Profile) -> Option<String> {
    profile.sample_types.contains(&SampleType::AllocObjects).then(|| {
        let (allocated, by_vm) = (profile.total().get(SampleType::AllocObjects), profile.stats.vm_objects);
        let counted = match by_vm {
            0 => String::new(),
            _ if profile.meta.every_bytes > 0 => format!(", by estimate (the VM counted {})", count(by_vm)),
            _ if by_vm == allocated => ", as many as the VM counted".into(),
            _ => {
                format!(" (the VM counted {}, including objects of other Ractors, objects that compaction moved, and objects allocated after a Ractor was freed)", count(by_vm))
            }
        };
        let sampled = match (profile.meta.every, profile.meta.every_bytes) {
            (every @ 2.., _) => format!("; one in {} sampled", count(every)),
            (_, 0) => String::new(),
            (_, bytes) => format!("; one per {} bytes sampled", count(bytes)),
        };
        let live = match profile.total().get(SampleType::InuseObjects) {
            _ if !profile.sample_types.contains(&SampleType::InuseObjects) => String::new(),
            live => format!("; {} live at the end", count(live)),
        };
        let what = if is_of_memory(profile) { " blocks from malloc" } else { "" };
        format!("{}{what} allocated{counted}{sampled}{live}", count(allocated))
    })
}

/// Describes the parts of the wall clock time of all threads; `None` if it was not measured.
pub(super) fn wall(profile: &Profile) -> Option<String> {
    profile.sample_types.contains(&SampleType::Wall).then(|| {
        let part = |state| duration(profile.wall_ns(state));
        let if_any = |state, words: &str| match profile.wall_ns(state) {
            0 => String::new(),
            ns => format!(", {words} {}", duration(ns)),
        };
        let blocked = if_any(State::Blocked, "blocked with the GVL");
        let runnable = if_any(State::Runnable, "without a CPU");
        format!(
            "running {}, waiting {}, waiting for the GVL {}, collecting garbage {}{blocked}{runnable}",
            part(State::Running),
            part(State::Waiting),
            part(State::Gvl),
            part(State::Gc)
        )
    })
}

/// Returns the numbers of ticks that became no sample, with the reason. Only reasons that occurred are
/// included.
pub(super) fn drops(profile: &Profile) -> Vec<(u64, &'static str)> {
    let reason = |name: &'static str| match name {
        "dropped_full" => "the ring was full",
        "dropped_busy" => "all buffers were in use",
        "dropped_in_gc" => "another thread was collecting garbage",
        "dropped_on_altstack" => "another signal handler was running",
        "dropped_not_ruby" => "the thread was running no Ruby",
        "dropped_no_frames" => "the stack was empty",
        "dropped_in_switch" => "the thread was between two fibers",
        other => other,
    };
    let dropped =
        profile.stats.counts.each().filter(|(name, number)| name.starts_with("dropped_") && *number > 0);
    dropped.map(|(name, number)| (number, reason(name))).collect()
}

/// Returns the sum of [`drops`].
pub(super) fn dropped(profile: &Profile) -> u64 {
    drops(profile).iter().fold(0, |sum, (number, _)| sum.saturating_add(*number))
}

/// Describes losses and irregularities: one sentence for each kind that occurred.
pub(super) fn caveats(profile: &Profile) -> Vec<String> {
    let counts = &profile.stats.counts;
    // Some timers are always late, and a few are not worth a line.
    let missed = if counts.overrun > counts.captured / 20 { counts.overrun } else { 0 };
    let kinds = [
        (
            missed,
            "sample",
            "fewer than requested, because timers were late; the sums of time are still right",
        ),
        (counts.late, "tick", "ignored, because the session had ended"),
        (
            counts.waits_interrupted,
            "wait",
            "interrupted to sample them: Ruby itself continues to wait, a C library may see EINTR",
        ),
        (counts.truncated, "stack", "cut at the depth limit"),
        (counts.threads_refused, "thread", "not profiled, because there was no slot or no timer"),
        (counts.foreign, "signal", "sent by others, and ignored"),
    ];
    let occurred = kinds.into_iter().filter(|(number, ..)| *number > 0);
    let occurred = occurred.map(|(number, noun, what)| format!("{} {what}", counted(number, noun)));
    occurred.chain(unseen(profile)).collect()
}

/// Describes the CPU time that no thread of the profile used. There is always a little: Ruby has a thread of
/// its own, and the clock of the process is coarser than those of threads.
fn unseen(profile: &Profile) -> Option<String> {
    let unseen_ns = profile.stats.unseen_cpu_ns;
    let all_ns = unseen_ns.saturating_add(profile.total().get(SampleType::Cpu));
    (unseen_ns >= 20_000_000 && unseen_ns > all_ns / 50).then(|| {
        let (time, share) = (duration(unseen_ns), percent(unseen_ns, all_ns));
        format!(
            "{time} of CPU ({share}) is not in this profile: other Ractors, or threads that are not Ruby's"
        )
    })
}

/// Describes the time without a CPU by the kernel's own count; `None` if there was almost none.
pub(super) fn cpu_waits(profile: &Profile) -> Option<String> {
    let (delay_ns, throttled_ns) = (profile.stats.run_delay_ns, profile.stats.throttled_ns);
    let parts = [
        (
            delay_ns,
            format!("threads waited {} for one by the kernel's count (run delay)", duration(delay_ns)),
        ),
        (throttled_ns, format!("its cgroup was throttled for {} (of all CPUs)", duration(throttled_ns))),
    ];
    let shown: Vec<String> = parts.into_iter().filter(|it| it.0 >= MIN_CPU_WAIT_NS).map(|it| it.1).collect();
    (!shown.is_empty()).then(|| shown.join("; "))
}

/// Describes the numbers of timeline events that were kept and dropped; `None` without a timeline.
pub(super) fn timeline(profile: &Profile) -> Option<String> {
    let timeline = profile.timeline.as_ref()?;
    let kept = counted(timeline.len() as u64, "event");
    Some(match timeline.dropped() {
        0 => kept,
        dropped => format!("{kept}; {} before them were discarded", counted(dropped, "event")),
    })
}

/// Describes the overhead, with its share and its parts. `None` if it is unknown, as in files of other tools.
pub(super) fn overhead(profile: &Profile) -> Option<String> {
    let overhead = Overhead::of(profile)?;
    // For a program that is too short, the share says nothing about a longer one.
    let share = if too_short(profile).is_some() { None } else { overhead.share() };
    let share = share.map(|(share, of)| format!("{share} {of}: ")).unwrap_or_default();
    let (handler, own) = (duration(profile.stats.handler_ns), duration(profile.stats.collector_ns));
    let live = collecting(profile).map(|it| format!("; {it}")).unwrap_or_default();
    Some(format!("{share}{handler} in signal handlers and hooks, {own} in threads of its own{live}"))
}

/// Describes how long the search for what is live took, which collects garbage. `None` if it is not worth a line.
fn collecting(profile: &Profile) -> Option<String> {
    let tracks = profile.meta.modes.iter().any(|mode| mode == "heap" || mode == "native");
    let stop_ns = profile.stats.stop_ns;
    (tracks && stop_ns >= MIN_STOP_NS)
        .then(|| format!("finding what is live took {}, which is not in the times", duration(stop_ns)))
}
