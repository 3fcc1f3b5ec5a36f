//! Detects programs that are too short to be sampled, and advises on what would help.

use crate::profile::{Note, Profile, SampleType};
use crate::record::State;
use crate::text::units::{count, counted, duration, round_duration};

/// The number of samples below which a profile says next to nothing.
const FEW_SAMPLES: u64 = 20;
/// The number of samples that the recommended interval aims at.
const ENOUGH_SAMPLES: u64 = 100;
/// The time below which no interval helps: in its first 5 ms, a thread may have a timer that is no finer than
/// the kernel's tick.
const SHORTEST_NS: u64 = 5_000_000;
/// The finest interval that can be requested, ns.
const FINEST_NS: u64 = 50_000;

/// The advice for a profile with too few samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// The sentence for the reader.
    pub sentence: String,
    /// The interval that would help, ns; `None` if no interval would.
    pub interval_ns: Option<u64>,
}

/// Returns the advice for a program that was too short for the interval. A program that waited was not too
/// short: a long wait takes one sample. There is no advice for a part of a profile, a profile whose interval
/// limits the overhead, or a file of another tool.
#[must_use]
pub fn too_short(profile: &Profile) -> Option<TooShort> {
    let requested_ns = profile.meta.interval_ns;
    let samples = profile.total().get(SampleType::Samples);
    let explained = |note: &Note| {
        matches!(note, Note::Selected { .. } | Note::IntervalWidened { .. } | Note::ReadFrom { .. })
    };
    if requested_ns == 0 || samples >= FEW_SAMPLES || profile.meta.notes.iter().any(explained) {
        return None;
    }
    let measured = |it| profile.sample_types.contains(&it);
    if measured(SampleType::Wall) && waited(profile) {
        return None;
    }
    let cpu = measured(SampleType::Cpu);
    let time_ns = profile.total().get(if cpu { SampleType::Cpu } else { SampleType::Wall });
    let noun = if cpu { "CPU time" } else { "wall clock time" };
    let had = if samples == 0 { "no samples".into() } else { format!("only {}", counted(samples, "sample")) };
    let had = format!("{had} ({} of {noun})", duration(time_ns));
    let with_cpu_ns = profile.meta.duration_ns.saturating_sub(profile.stats.run_delay_ns);
    let ran_ns = time_ns.saturating_add(profile.meta.gc_left_out_ns());
    let enough_ns = ran_ns.max(FEW_SAMPLES.saturating_mul(requested_ns));
    let is_whole = !measured(SampleType::Wall) && !profile.meta.is_partial();
    let elsewhere = cpu && is_whole && with_cpu_ns / 2 > enough_ns;
    let coarse = time_ns / FEW_SAMPLES >= requested_ns;
    let interval_ns = interval_for(time_ns).filter(|it| *it < requested_ns && !coarse && !elsewhere);
    let paused_ns = profile.meta.paused_ns();
    let advice = match interval_ns {
        _ if samples == 0 && paused_ns > profile.meta.duration_ns / 2 => {
            format!("it was paused for {} of {}", duration(paused_ns), duration(profile.meta.duration_ns))
        }
        Some(ns) => format!(
            "an interval of {}, not {}, takes up to {}",
            round_duration(ns),
            round_duration(requested_ns),
            count(time_ns / ns)
        ),
        None if elsewhere => "most of the time it was not running, and mode wall shows why".into(),
        None if coarse => "samples are less frequent here than requested, so run longer".into(),
        None => "repeat the work many times, or run longer".into(),
    };
    let trust = if samples == 0 { "" } else { ", too few to rely on" };
    Some(TooShort { sentence: format!("{had}{trust}: {advice}"), interval_ns })
}

/// Returns whether threads mostly waited, in a profile that was long enough for samples of a running thread.
fn waited(profile: &Profile) -> bool {
    let enough_ns = FEW_SAMPLES.saturating_mul(profile.meta.interval_ns);
    let waited_ns = [State::Waiting, State::Blocked, State::Gvl].into_iter().map(|it| profile.wall_ns(it));
    let waited_ns = waited_ns.fold(0_u64, u64::saturating_add);
    profile.meta.duration_ns >= enough_ns && waited_ns >= profile.total().get(SampleType::Wall) / 2
}

/// Returns the interval, of 1, 2 or 5 times a power of ten, that is short enough for enough samples, or else
/// the finest one, which results in fewer.
fn interval_for(time_ns: u64) -> Option<u64> {
    let longest = time_ns / ENOUGH_SAMPLES;
    if time_ns < SHORTEST_NS {
        return None;
    }
    let powers = std::iter::successors(Some(10_000_u64), |it| it.checked_mul(10)).take(6);
    let round = powers.flat_map(|it| [it, it * 2, it * 5]).filter(|it| (FINEST_NS..=longest).contains(it));
    round.max().or(Some(FINEST_NS))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::format::read;

    fn ran(samples: u64, cpu_ns: u64, duration_ns: u64) -> Profile {
        let mut profile = read(b"main;a 1\n").unwrap();
        profile.meta.notes.clear();
        (profile.meta.interval_ns, profile.meta.duration_ns) = (1_000_000, duration_ns);
        profile.sample_types = vec![SampleType::Samples, SampleType::Cpu];
        let row = profile.samples.first_mut().unwrap();
        row.weights.set(SampleType::Samples, samples);
        row.weights.set(SampleType::Cpu, cpu_ns);
        profile
    }

    fn advice(samples: u64, cpu_ns: u64, duration_ns: u64) -> Option<TooShort> {
        too_short(&ran(samples, cpu_ns, duration_ns))
    }

    #[test]
    fn a_program_without_a_cpu_did_not_wait() {
        let mut profile = ran(6, 6_000_000, 900_000_000);
        assert!(too_short(&profile).unwrap().sentence.contains("mode wall"));
        profile.stats.run_delay_ns = 880_000_000;
        assert!(!too_short(&profile).unwrap().sentence.contains("mode wall"));
    }

    #[test]
    fn time_that_was_not_recorded_was_no_wait() {
        let unrecorded = [
            Note::Paused { ns: 800_000_000 },
            Note::OnlyUnderLabels { labels: vec!["a=1".into()] },
            Note::GcLeftOut { ns: 800_000_000 },
        ];
        for note in unrecorded {
            let mut profile = ran(6, 6_000_000, 900_000_000);
            assert!(too_short(&profile).unwrap().sentence.contains("mode wall"));
            profile.meta.notes.push(note);
            assert!(!too_short(&profile).unwrap().sentence.contains("mode wall"));
        }
    }

    #[test]
    fn advises_an_interval_that_would_do() {
        let of = |samples, cpu_ns, duration_ns| advice(samples, cpu_ns, duration_ns).unwrap();
        let short = of(15, 15_300_000, 16_000_000);
        assert_eq!(short.interval_ns, Some(100_000));
        assert_eq!(
            short.sentence,
            "only 15 samples (15.3 ms of CPU time), too few to rely on: an interval of 100 us, not 1 ms, takes up to 153"
        );
        assert_eq!(of(6, 6_000_000, 6_000_000).interval_ns, Some(50_000));
        let nothing = of(0, 400_000, 5_000_000_000);
        assert_eq!(nothing.interval_ns, None);
        assert_eq!(
            nothing.sentence,
            "no samples (400 us of CPU time): most of the time it was not running, and mode wall shows why"
        );
        assert_eq!(of(15, 60_000_000, 60_000_000).interval_ns, None, "the kernel's own tick");
        assert_eq!(advice(20, 20_000_000, 20_000_000), None);
    }

    /// Builds a program that sleeps and then runs, with both clocks measured.
    fn sleeper(asleep_ms: u64, ran_ms: u64) -> Option<TooShort> {
        let mut example = Example::lasting_ms(asleep_ms + ran_ms);
        let weights = |samples, wall_ms, cpu_ms| {
            [
                (SampleType::Samples, samples),
                (SampleType::Wall, wall_ms * 1_000_000),
                (SampleType::Cpu, cpu_ms * 1_000_000),
            ]
        };
        example.row(MAIN, State::Waiting, &[], &weights(1, asleep_ms, 0), "main /a.rb:1; Kernel#sleep");
        example.row(MAIN, State::Running, &[], &weights(ran_ms, ran_ms, ran_ms), "main /a.rb:2");
        too_short(&example.profile())
    }

    #[test]
    fn a_program_that_waits_is_long_enough() {
        assert_eq!(sleeper(8_000, 1), None);
        assert_eq!(sleeper(30, 10), None);
        assert!(sleeper(8, 5).is_some(), "as short as a program that computes");
        assert!(sleeper(4, 16).is_some(), "it mostly ran");
    }
}
