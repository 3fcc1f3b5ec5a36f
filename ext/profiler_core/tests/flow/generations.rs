//! Generations that are frozen while sessions run: no result shows it, and handles are released.

use std::collections::{BTreeMap, BTreeSet};

use profiler_core::ids::LabelSetId;
use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::registry::ThreadLife;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::{Frame, LabelSet, Note, Profile, SampleType};
use profiler_core::record::State;
use profiler_core::result::taken::Take;
use profiler_core::session::spec::SessionSpec;
use proptest::prelude::*;

use crate::world::*;

/// Whether there was something to be named.
fn name_pending(hub: &Hub, most: usize) -> bool {
    let pending = hub.pending(most);
    let any = pending.is_some();
    if let Some(pending) = pending {
        assert!(pending.handles.len() <= most);
        let functions = pending.handles.iter().map(|handle| function(*handle)).collect();
        hub.name_pending(pending, functions);
    }
    any
}

fn live_handles(hub: &Hub) -> BTreeSet<u64> {
    let mut handles = BTreeSet::new();
    hub.each_live_handle(|handle| {
        handles.insert(handle);
    });
    handles
}

/// Handles that are kept in place of the hub, with the numbers of their generations.
#[derive(Default)]
struct Keepers(Vec<(u64, Vec<u64>)>);

impl Keepers {
    fn fill(&mut self, hub: &Hub, count: usize) {
        let mut handles = vec![0; count];
        if let Some(generation) = hub.find_unkept(&mut handles) {
            assert!(hub.has_unkept(count) && handles.iter().all(|it| live_handles(hub).contains(it)));
            self.0.push((generation, handles));
            hub.keep(generation, count);
        }
    }

    /// All handles that a garbage collection marks now.
    fn marked(&mut self, hub: &Hub) -> BTreeSet<u64> {
        let generations = hub.generations();
        self.0.retain(|(generation, _)| generations.contains(generation));
        self.0.iter().flat_map(|(_, handles)| handles).copied().chain(live_handles(hub)).collect()
    }
}

/// A step of a random program. Sessions and threads have small numbers.
#[derive(Clone, Debug)]
enum Step {
    /// A thread runs for some nanoseconds and is sampled in a stack.
    Tick(u32, u64, Vec<u64>),
    /// A thread runs for some nanoseconds without a sample.
    Unseen(u32, u64),
    /// The thread has that label from now on.
    Label(u32, u32),
    End(u32),
    /// Opens that session, or closes it.
    Toggle(usize),
    Rotate(usize),
    Snapshot(usize),
    /// Copies the results that nobody has copied yet out of the tables.
    Copy,
    /// Names the results that nobody has named yet.
    Name,
    /// Names some functions that sums of running sessions wait for.
    NamePending(usize),
    /// Fills a keeper of this size, if there are enough handles.
    Keep(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let stack = proptest::collection::vec((2..40_u64).prop_map(|method| method * 16), 1..5);
    let step = prop_oneof![
        8 => (1..4_u32, 1..100_u64, stack).prop_map(|(thread, ns, stack)| Step::Tick(thread, ns, stack)),
        2 => (1..4_u32, 1..100_u64).prop_map(|(thread, ns)| Step::Unseen(thread, ns)),
        2 => (1..4_u32, 0..9_u32).prop_map(|(thread, value)| Step::Label(thread, value)),
        1 => (1..4_u32).prop_map(Step::End),
        1 => (0..3_usize).prop_map(Step::Toggle),
        1 => (0..3_usize).prop_map(Step::Rotate),
        1 => (0..3_usize).prop_map(Step::Snapshot),
        1 => Just(Step::Copy),
        1 => Just(Step::Name),
        1 => (1..9_usize).prop_map(Step::NamePending),
        1 => (1..9_usize).prop_map(Step::Keep),
    ];
    proptest::collection::vec(step, 0..80)
}

/// The labels of each row, with the row and its CPU time.
type Rows = Vec<(String, u64)>;

fn labelled_rows(profile: &Profile) -> Rows {
    let name = |frame: Frame| profile.function(frame.function).unwrap().name.clone();
    let mut rows: Vec<_> = profile
        .samples
        .iter()
        .map(|sample| {
            let frames: Vec<String> = profile.frames_of(sample.stack).map(name).collect();
            let thread = &profile.threads[sample.thread].name;
            (
                format!("{thread} {:?}: {}", sample.labels, frames.join(";")),
                sample.weights.get(SampleType::Cpu),
            )
        })
        .collect();
    rows.sort();
    rows
}

/// The rows of all results of that program, in the order in which they were requested, and the handles that
/// were marked after each step.
fn play(steps: &[Step], freeze_at: usize, keeps: bool) -> (Vec<Rows>, Vec<BTreeSet<u64>>) {
    let (mut keepers, mut marked) = (Keepers::default(), Vec::new());
    let (hub, registry) = (Hub::new(1 << 15), Ended::default());
    hub.freeze_at(freeze_at);
    // The clock of each thread that lives; in the registry a thread has another id in each life.
    let mut clocks: BTreeMap<u32, (u32, u64)> = (1..4).map(|it| (it, (it, 100))).collect();
    let mut next = 4;
    let mut open: [Option<SessionId>; 3] = [None; 3];
    let (mut taken, mut waiting, mut results) = (Vec::new(), Vec::new(), Vec::new());
    let alive = |clocks: &BTreeMap<u32, (u32, u64)>| -> Vec<ThreadLife> {
        clocks.values().map(|(id, cpu_ns)| life(*id, 100, *cpu_ns, &id.to_string())).collect()
    };
    let close_all = (0..3).map(Step::Toggle);
    let closing: Vec<Step> = close_all.chain([Step::Name]).collect();
    // The labels of each thread, with their ids in the table, by its number.
    let mut current: BTreeMap<u32, (LabelSet, LabelSetId)> = BTreeMap::new();
    let mut table = hub.labels_table();
    for (place, step) in steps.iter().chain(&closing).enumerate() {
        if table != hub.labels_table() && place % 2 == 0 {
            // Until then the threads have ids of the table before, as threads that have no GVL.
            table = hub.labels_table();
            current.values_mut().for_each(|(set, id)| *id = hub.intern_labels(set, 0).1);
        }
        match step {
            Step::Tick(thread, ns, stack) => {
                let (id, cpu_ns) = clocks.get_mut(thread).unwrap();
                *cpu_ns += ns;
                if open.iter().any(Option::is_some) {
                    let labels = current.get(thread).map_or(LabelSetId::NONE, |(_, labels)| *labels);
                    record_labelled(&hub, *id, State::Running, *cpu_ns, stack, labels);
                }
            }
            Step::Label(thread, value) => {
                let set = labels(&value.to_string());
                let id = hub.intern_labels(&set, 0).1;
                current.insert(*thread, (set, id));
            }
            Step::Unseen(thread, ns) => clocks.get_mut(thread).unwrap().1 += ns,
            Step::End(thread) => {
                let (id, cpu_ns) = clocks.insert(*thread, (next, 100)).unwrap();
                next += 1;
                registry.0.lock().unwrap().push(life(id, 100, cpu_ns, &id.to_string()));
            }
            Step::Toggle(number) => match open[*number].take() {
                Some(session) => {
                    taken.push(hub.take(session, &registry, &alive(&clocks), Take::Close, 0).unwrap())
                }
                None if place < steps.len() => {
                    let begun: Vec<_> = clocks.values().map(|(id, cpu_ns)| now(*id, *cpu_ns)).collect();
                    open[*number] = Some(hub.open(SessionSpec::default(), &registry, 0, &begun));
                }
                None => {}
            },
            Step::Rotate(number) => {
                let session = open[*number];
                taken
                    .extend(session.and_then(|it| hub.take(it, &registry, &alive(&clocks), Take::Rotate, 0)));
            }
            Step::Snapshot(number) => {
                let session = open[*number];
                taken.extend(
                    session.and_then(|it| hub.take(it, &registry, &alive(&clocks), Take::Snapshot, 0)),
                );
            }
            Step::NamePending(most) => {
                name_pending(&hub, *most);
            }
            Step::Keep(count) if keeps => keepers.fill(&hub, *count),
            Step::Keep(_) => {}
            Step::Copy => waiting.extend(taken.drain(..).map(|it| copied(&hub, it))),
            Step::Name => {
                waiting.extend(taken.drain(..).map(|it| copied(&hub, it)));
                results.extend(waiting.drain(..).map(|it| labelled_rows(&resolved(&hub, it))));
            }
        }
        marked.push(keepers.marked(&hub));
    }
    assert!(live_handles(&hub).is_empty(), "all is named");
    (results, marked)
}

proptest! {
    #[test]
    fn results_are_the_same_whenever_a_generation_is_frozen(steps in steps(), freeze_at in 1..30_usize) {
        prop_assert_eq!(play(&steps, freeze_at, true).0, play(&steps, usize::MAX / 16, false).0);
    }

    #[test]
    fn handles_are_marked_whoever_keeps_them(steps in steps(), freeze_at in 1..30_usize) {
        prop_assert_eq!(play(&steps, freeze_at, true).1, play(&steps, freeze_at, false).1);
    }
}

#[test]
fn code_that_is_gone_is_let_go_while_a_session_runs() {
    let (hub, registry) = (Hub::new(1 << 15), Ended::default());
    hub.freeze_at(100);
    let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let other = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let mut most = 0;
    for round in 0..100_u64 {
        for tick in 0..50_u64 {
            let method = 8 * (1 + round * 50 + tick); // each is new
            record(&hub, 1, State::Running, 1 + round * 50 + tick, &[method]);
        }
        let alive = [life(1, 0, 50 + round * 50, "one")];
        let taken = hub.take(session, &registry, &alive, Take::Rotate, 0).unwrap();
        let profile = named(&hub, taken);
        assert_eq!(profile.samples.iter().map(|it| it.weights.get(SampleType::Cpu)).sum::<u64>(), 50);
        while name_pending(&hub, 30) {}
        most = most.max(live_handles(&hub).len());
    }
    assert!(most < 200, "{most} handles at once");
    let whole = finish(&hub, other, &registry, &[life(1, 0, 5_000, "one")]);
    assert_eq!(rows(&whole).iter().map(|(_, ns)| ns).sum::<u64>(), 5_000);
}

#[test]
fn a_session_that_gives_no_result_keeps_bounded_sets_of_labels() {
    let (hub, registry) = (Hub::new(1 << 15), Ended::default());
    hub.freeze_at(5);
    let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let other = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let ticks = 10_000_u64;
    for tick in 1..=ticks {
        let labels = hub.intern_labels(&labels(&tick.to_string()), 0).1;
        record_labelled(&hub, 1, State::Running, tick, &[16 * (1 + tick % 50)], labels);
        if tick % 100 == 0 {
            let _ =
                named(&hub, hub.take(other, &registry, &[life(1, 0, tick, "one")], Take::Rotate, 0).unwrap());
            while name_pending(&hub, 30) {}
        }
    }
    let closed = hub.take(session, &registry, &[life(1, 0, ticks, "one")], Take::Close, 0).unwrap();
    let profile = named(&hub, closed);
    let refused = profile.meta.notes.iter().find_map(|it| match it {
        Note::LabelsRefused { times } => Some(*times),
        _ => None,
    });
    assert_eq!(refused, Some(ticks - 4_096));
    let mut sets: Vec<_> = profile.samples.iter().map(|it| it.labels.clone()).collect();
    sets.sort();
    sets.dedup();
    assert!((4_096..4_300).contains(&sets.len()), "{} sets", sets.len());
    assert_eq!(profile.total().get(SampleType::Cpu), ticks, "no time is lost");
}

#[test]
fn generations_last_longer_where_the_same_code_comes_back() {
    let (hub, registry) = (Hub::new(1 << 15), Ended::default());
    hub.freeze_at(100);
    let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    let mut rounds = Vec::new();
    for tick in 0..50_000_u64 {
        record(&hub, 1, State::Running, 1 + tick, &[8 * (1 + tick * 7 % 600)]);
        while hub.drain_batch(&registry) {}
        if hub.wants_renewal() {
            rounds.push(tick);
            hub.freeze_generation();
            assert!(hub.wants_renewal(), "sums wait for names");
            while name_pending(&hub, usize::MAX) {}
        }
    }
    assert!(
        (2..10).contains(&rounds.len()),
        "renewed in rounds {rounds:?}, and not once in 100 new functions"
    );
    assert!(rounds.iter().all(|it| *it < 5_000), "{rounds:?}");
    let profile = finish(&hub, session, &registry, &[life(1, 0, 50_000, "one")]);
    assert_eq!(profile.total().get(SampleType::Cpu), 50_000);
}
