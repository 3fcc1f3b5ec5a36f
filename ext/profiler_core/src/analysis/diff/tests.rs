use super::*;
use crate::ids::{FrameId, FunctionId, Id, StackId};
use crate::profile::{Frame, Node, Sample, Weights};
use crate::record::State;
use crate::rng;

const COMPARE: Compare = Compare { of: SampleType::Cpu, total: false, absolute: false };

/// Generates a run of a program with 50 functions. The first function has a fifth of the time, times
/// `slower`, and the others share the rest. Each tick falls on one of them at random. Each run favours some
/// of them slightly, by `lean`.
fn run(seed: u64, ticks: u64, slower: f64, lean: f64) -> Profile {
    let mut bits = seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut unit = || {
        bits = rng::after(bits);
        (bits >> 11) as f64 / (1_u64 << 53) as f64
    };
    for _ in 0..10 {
        unit();
    }
    let mut shares: Vec<f64> = (0..50).map(|it| if it == 0 { 0.2 * slower } else { 0.8 / 49.0 }).collect();
    shares.iter_mut().for_each(|it| *it *= 1.0 + lean * (unit() - 0.5));
    let all: f64 = shares.iter().sum();
    let mut counts = vec![0_u64; shares.len()];
    for _ in 0..(ticks as f64 * all) as u64 {
        let mut at = unit() * all;
        let place = shares.iter().position(|it| {
            at -= it;
            at < 0.0
        });
        counts[place.unwrap_or(0)] += 1;
    }
    let mut profile =
        Profile { sample_types: vec![SampleType::Samples, SampleType::Cpu], ..Profile::default() };
    for (place, count) in counts.into_iter().enumerate() {
        let name = format!("Foo#m{place}");
        profile.frames.push(Frame { function: FunctionId::from_index(place), line: 1 });
        profile.stacks.push(Node { parent: None, frame: FrameId::from_index(place) });
        profile.functions.push(Function {
            class_name: "Foo".into(),
            method_name: name.clone(),
            name,
            path: "foo.rb".into(),
            first_line: 1,
        });
        let mut weights = Weights::default();
        weights.set(SampleType::Samples, count);
        weights.set(SampleType::Cpu, count * 1_000_000);
        let stack = StackId::from_index(place);
        profile.samples.push(Sample { stack, thread: 0, state: State::Running, labels: Vec::new(), weights });
    }
    profile
}

/// Compares three runs on each side, from `seed` on. On the later side, the first function takes `slower`
/// times as long.
fn compared(seed: u64, ticks: u64, slower: f64, lean: f64, compare: Compare) -> Diff {
    let side = |from: u64, slower| -> Vec<Profile> {
        (from..from + 3).map(|it| run(it, ticks, slower, lean)).collect()
    };
    let (before, after) = (side(seed * 6 + 1, 1.0), side(seed * 6 + 4, slower));
    diff(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>(), compare)
}

fn significant(diff: &Diff) -> usize {
    diff.changes.iter().filter(|it| it.significant()).count()
}

#[test]
fn equal_profiles_rarely_differ_significantly() {
    for (lean, absolute) in [(0.0, false), (0.1, false), (0.0, true), (0.1, true)] {
        let compare = Compare { absolute, ..COMPARE };
        let wrong =
            (0..60).filter(|seed| significant(&compared(*seed, 5_000, 1.0, lean, compare)) > 0).count();
        assert!(wrong <= 6, "{wrong} of 60 with lean {lean}, absolute {absolute}");
    }
}

#[test]
fn lists_the_largest_slowdowns_first() {
    let named = |seed: &u64| {
        let diff = compared(*seed, 40_000, 1.1, 0.0, COMPARE);
        let first = &diff.changes[0];
        first.significant() && first.delta() > 0.0 && first.function.name == "Foo#m0"
    };
    let right = (0..20).filter(named).count();
    assert!(right >= 19, "{right} of 20");
}

/// Tests that noise which falls into one run and not into the next neither counts as changed nor hides what
/// has changed.
#[test]
fn a_noisy_function_does_not_affect_others() {
    let (mut named, mut wrong) = (0, 0);
    for seed in 0..40 {
        let mut bits = seed;
        let mut side = |from: u64, slower| -> Vec<Profile> {
            (from..from + 3)
                .map(|it| {
                    let mut run = run(it, 40_000, slower, 0.0);
                    bits = rng::after(bits + 77);
                    let count = (bits >> 32) % 3 * 250;
                    run.samples[49].weights.set(SampleType::Samples, count);
                    run.samples[49].weights.set(SampleType::Cpu, count * 1_000_000);
                    run
                })
                .collect()
        };
        let (before, after) = (side(seed * 6 + 1, 1.0), side(seed * 6 + 4, 1.1));
        let diff = diff(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>(), COMPARE);
        named += usize::from(diff.changes[0].function.name == "Foo#m0" && diff.changes[0].significant());
        wrong += usize::from(diff.changes.iter().any(|it| it.function.name == "Foo#m49" && it.significant()));
    }
    assert!(named >= 38 && wrong <= 2, "{named} and {wrong} of 40");
}

#[test]
fn single_runs_are_compared_by_sample_counts() {
    let (before, after) = (run(1, 20_000, 1.0, 0.0), run(2, 20_000, 1.5, 0.0));
    let diff = diff(&[&before], &[&after], COMPARE);
    assert_eq!((diff.compared, diff.spread), (50, 1.0));
    assert!(diff.changes[0].significant() && diff.changes[0].function.name == "Foo#m0");
    assert!((diff.changes[0].before - 0.2).abs() < 0.02);
}

#[test]
fn functions_with_few_samples_are_not_tested() {
    let diff = compared(1, 20, 1.0, 0.0, COMPARE);
    assert_eq!(significant(&diff), 0);
    assert!(diff.compared <= 1);
    assert!(diff.changes.iter().filter(|it| it.samples < MIN_SAMPLES).all(|it| it.chance == 1.0));
}

#[test]
fn time_without_a_cpu_is_as_well_known_as_the_rest_of_its_stack() {
    // Half of the weight of every row was without a CPU, and is in a row without records.
    let split = |profile: &Profile| {
        let mut split = profile.clone();
        for sample in &profile.samples {
            let half = sample.weights.get(SampleType::Cpu) / 2;
            let mut runnable = Sample { state: State::Runnable, ..sample.clone() };
            runnable.weights = Weights::default();
            runnable.weights.set(SampleType::Cpu, half);
            split.samples.push(runnable);
        }
        for sample in split.samples.iter_mut().filter(|it| it.state == State::Running) {
            let whole = sample.weights.get(SampleType::Cpu);
            sample.weights.set(SampleType::Cpu, whole - whole / 2);
        }
        split
    };
    let sides = [(1, 1.0), (4, 1.5)].map(|(from, slower)| {
        (from..from + 3).map(|seed| run(seed, 5_000, slower, 0.0)).collect::<Vec<Profile>>()
    });
    let [before, after] = sides.clone().map(|side| side.iter().map(split).collect::<Vec<_>>());
    let found = diff(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>(), COMPARE);
    let [before, after] = sides;
    let whole = diff(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>(), COMPARE);
    assert!(significant(&whole) > 0);
    assert_eq!(significant(&found), significant(&whole));
}

/// Generates a run of a program whose functions ran for these numbers of milliseconds, with one sample each.
fn timed(functions: &[(&str, u64)]) -> Profile {
    let mut it = crate::analysis::example::Example::lasting_ms(1_000);
    for (name, ms) in functions {
        let weights = [(SampleType::Samples, *ms), (SampleType::Cpu, ms * 1_000_000)];
        it.row("main", State::Running, &[], &weights, &format!("{name} /app.rb:1"));
    }
    it.profile()
}

fn verdicts(diff: &Diff) -> Vec<(String, Verdict)> {
    let changed = diff.changes.iter().filter(|it| it.verdict() != Verdict::Same);
    changed.map(|it| (it.function.name.clone(), it.verdict())).collect()
}

#[test]
fn what_stays_is_no_slower_as_something_else_goes() {
    let before = timed(&[("Object#totals", 2_340), ("Object#load", 200), ("Object#save", 170)]);
    let after = timed(&[("Object#load", 201), ("Object#save", 172)]);
    let faster = diff(&[&before], &[&after], COMPARE);
    assert_eq!(verdicts(&faster), [("Object#totals".to_owned(), Verdict::Faster)]);
    assert!(faster.changes.iter().all(|it| !it.is_slower(0.05)));
    let headline = faster.headline().unwrap();
    assert_eq!(
        headline,
        "7.3 times faster: 2.71 s -> 373 ms, because Object#totals went from 2.34 s to nothing"
    );
    let slower = diff(&[&after], &[&before], COMPARE);
    assert_eq!(verdicts(&slower), [("Object#totals".to_owned(), Verdict::Slower)]);
    assert!(slower.changes[0].is_slower(0.05));
    let headline = slower.headline().unwrap();
    assert_eq!(
        headline,
        "7.3 times slower: 373 ms -> 2.71 s, because Object#totals went from nothing to 2.34 s"
    );
}

#[test]
fn c_functions_are_a_reason_for_their_caller() {
    let run = |ms: u64| {
        let mut it = crate::analysis::example::Example::lasting_ms(1_000);
        let mut row = |ms: u64, stack: &str| {
            let weights = [(SampleType::Samples, ms), (SampleType::Cpu, ms * 1_000_000)];
            it.row("main", State::Running, &[], &weights, stack);
        };
        row(ms * 3 + 1, "<main> /app.rb:1; Object#totals /app.rb:2; Comparable#==");
        row(ms * 2 + 1, "<main> /app.rb:1; Object#totals /app.rb:2; Date#<=>");
        row(ms + 1, "<main> /app.rb:1; Object#totals /app.rb:2");
        row(200, "<main> /app.rb:1; Object#load /app.rb:5; IO#read");
        it.profile()
    };
    let headline = diff(&[&run(200)], &[&run(10)], COMPARE).headline().unwrap();
    assert_eq!(
        headline,
        "5.3 times faster: 1.40 s -> 263 ms, because Object#totals went from 1.20 s to 63.0 ms"
    );
}

#[test]
fn what_grows_while_something_else_goes_is_slower() {
    let before = timed(&[("Object#totals", 2_340), ("Object#load", 200), ("Object#save", 170)]);
    let after = timed(&[("Object#load", 400), ("Object#save", 170)]);
    let found = diff(&[&before], &[&after], COMPARE);
    let expected = [("Object#totals", Verdict::Faster), ("Object#load", Verdict::Slower)];
    assert_eq!(verdicts(&found), expected.map(|(name, verdict)| (name.to_owned(), verdict)));
}

#[test]
fn the_same_work_on_another_machine_is_no_regression() {
    let before = timed(&[("Object#load", 600), ("Object#save", 400)]);
    let after = timed(&[("Object#load", 900), ("Object#save", 600)]);
    let found = diff(&[&before], &[&after], COMPARE);
    assert_eq!(verdicts(&found), []);
    assert_eq!(
        found.headline().unwrap(),
        "50% slower: 1.00 s -> 1.50 s, because Object#load went from 600 ms to 900 ms"
    );
}

#[test]
fn a_busy_machine_is_the_reason_where_it_took_the_cpu() {
    let run = |without_cpu_ms, delay_ms: u64| {
        let mut it = crate::analysis::example::Example::lasting_ms(1_000);
        it.wall("main", State::Running, 1_000, "Object#load /app.rb:1");
        it.wall("main", State::Runnable, without_cpu_ms, "Object#load /app.rb:1");
        it.wall("main", State::Waiting, delay_ms, "Object#load /app.rb:1; String#scan");
        let mut profile = it.profile();
        profile.stats.run_delay_ns = delay_ms * 1_000_000;
        profile
    };
    let headline = |before: &Profile, after: &Profile| {
        diff(&[before], &[after], Compare { of: SampleType::Wall, ..COMPARE }).headline().unwrap()
    };
    let busy = "60% slower: 1.00 s -> 1.60 s, because it had no CPU for 0 before and 600 ms after";
    assert_eq!(headline(&run(0, 0), &run(600, 0)), busy);
    assert_eq!(headline(&run(0, 0), &run(0, 600)), busy, "the kernel's count");
    assert_eq!(
        headline(&run(600, 0), &run(0, 0)),
        "38% less time: 1.60 s -> 1.00 s, because it had no CPU for 600 ms before and 0 after"
    );
    // Half of the work on a machine that is as busy as before.
    let side = |ran_ms, without_cpu_ms| {
        let mut it = crate::analysis::example::Example::lasting_ms(1_000);
        it.wall("main", State::Running, ran_ms, "Object#load /app.rb:1");
        it.wall("main", State::Runnable, without_cpu_ms, "Object#load /app.rb:1");
        it.profile()
    };
    assert_eq!(
        headline(&side(400, 1_600), &side(200, 800)),
        "2.0 times faster: 2.00 s -> 1.00 s, because Object#load went from 2.00 s to 1.00 s"
    );
}

#[test]
fn requests_are_compared_with_requests() {
    let side = |load, render, requests: u64| {
        let mut profile = timed(&[("Object#load", load), ("Object#render", render)]);
        (0..requests).for_each(|_| profile.requests.record(&crate::profile::LabelSet::EMPTY, 1));
        profile
    };
    let found = diff(&[&side(1_000, 1_000, 100)], &[&side(1_200, 2_000, 200)], COMPARE);
    assert_eq!(verdicts(&found), [("Object#load".to_owned(), Verdict::Faster)]);
    assert_eq!(
        found.headline().unwrap(),
        "20% less time: 20.0 ms -> 16.0 ms a request, because Object#load went from 10.0 ms to 6.00 ms"
    );
    assert_eq!(diff(&[&side(9, 9, 0)], &[&side(9, 9, 1)], COMPARE).requests, None);
}

/// Generates a run whose method waits once, for `ms` milliseconds, beside 200 ms of code that runs.
fn waiting(ms: u64) -> Profile {
    let mut it = crate::analysis::example::Example::lasting_ms(1_000);
    it.wall("main", State::Running, 200, "<main> /app.rb:1; Object#load /app.rb:5");
    let weights = [(SampleType::Samples, 1), (SampleType::Wall, ms * 1_000_000)];
    it.row("main", State::Waiting, &[], &weights, "<main> /app.rb:1; Object#fetch /app.rb:9; Kernel#sleep");
    it.profile()
}

/// Compares runs that wait for these milliseconds.
fn waits(before: &[u64], after: &[u64]) -> Diff {
    let [before, after] = [before, after].map(|side| side.iter().map(|it| waiting(*it)).collect::<Vec<_>>());
    let compare = Compare { of: SampleType::Wall, ..COMPARE };
    diff(&before.iter().collect::<Vec<_>>(), &after.iter().collect::<Vec<_>>(), compare)
}

#[test]
fn a_wait_is_known_by_its_runs() {
    let grown = waits(&[100, 101, 99], &[900, 902, 899]);
    assert_eq!(verdicts(&grown)[0], ("Kernel#sleep".to_owned(), Verdict::Slower));
    assert!(grown.changes[0].is_slower(0.05));
    assert_eq!(verdicts(&waits(&[100, 104, 96], &[101, 98, 105])), []);
    assert_eq!(verdicts(&waits(&[100, 400, 250], &[300, 120, 480])), [], "they differ as much on one side");
    assert_eq!(verdicts(&waits(&[100], &[900])), [], "one run does not say how much it varies");
}

#[test]
fn a_wait_is_the_reason_of_the_method_that_waits() {
    let found = waits(&[100], &[900]);
    assert_eq!(
        found.headline().unwrap(),
        "3.7 times slower: 300 ms -> 1.10 s, because Object#fetch went from 100 ms to 900 ms"
    );
    assert!(found.grew());
}

#[test]
fn a_change_that_chance_explains_is_no_reason() {
    let before = timed(&[("Object#load", 100), ("Object#save", 60)]);
    let after = timed(&[("Object#load", 84), ("Object#save", 60)]);
    assert_eq!(diff(&[&before], &[&after], COMPARE).headline().unwrap(), "10% less time: 160 ms -> 144 ms");
}

#[test]
fn changes_that_differ_in_their_last_digits_are_equal() {
    assert!((0.1_f64 + 0.2).to_bits() != 0.3_f64.to_bits());
    assert_eq!(rounded(0.1 + 0.2).to_bits(), rounded(0.3).to_bits());
    assert_eq!(rounded(1.5e9 + 0.000_000_1).to_bits(), 1.5e9_f64.to_bits());
    assert!(rounded(0.3) < rounded(0.300_000_001));
    assert_eq!(rounded(0.0).to_bits(), 0.0_f64.to_bits());
}
