//! Sessions that are rotated: each result begins where the one before ended.

use std::collections::BTreeMap;

use profiler_core::pipeline::hub::Hub;
use profiler_core::pipeline::registry::ThreadLife;
use profiler_core::pipeline::SessionId;
use profiler_core::profile::{Profile, SampleType};
use profiler_core::record::State;
use profiler_core::result::taken::Take;
use profiler_core::session::spec::SessionSpec;
use proptest::prelude::*;

use crate::world::*;

fn rotate(hub: &Hub, session: SessionId, registry: &Ended, alive: &[ThreadLife], at_ns: u64) -> Profile {
    named(hub, hub.take(session, registry, alive, Take::Rotate, at_ns).unwrap())
}

#[test]
fn each_result_begins_where_the_one_before_ended() {
    let (hub, registry) = (Hub::new(4096), Ended::default());
    let session = hub.open(SessionSpec::default(), &registry, 0, &[now(1, 0)]);
    record(&hub, 1, State::Running, 10, &[16]);
    let first = rotate(&hub, session, &registry, &[life(1, 0, 15, "one")], 15);
    let second = rotate(&hub, session, &registry, &[life(1, 0, 18, "one")], 18);
    record(&hub, 1, State::Running, 30, &[32]);
    // The other thread was started and ended in between.
    registry.0.lock().unwrap().push(life(2, 100, 107, "two"));
    let third = finish(&hub, session, &registry, &[life(1, 0, 31, "one")]);
    assert_eq!(rows(&first), [("one: Foo#m16".to_owned(), 15)]);
    assert_eq!(
        rows(&second),
        [("one: Foo#m16".to_owned(), 3)],
        "nothing was sampled: the stack before has it"
    );
    assert_eq!(rows(&third), [("one: Foo#m32".to_owned(), 13), ("two: (unsampled)".to_owned(), 7)]);
    let samples = [&first, &second, &third].map(|it| it.total().get(SampleType::Samples));
    assert_eq!(samples, [1, 0, 1]);
}

/// A step of a random program.
#[derive(Clone, Debug)]
enum Step {
    /// A thread runs for some nanoseconds and is sampled in a method.
    Tick(u32, u64, u64),
    /// A thread runs for some nanoseconds without a sample.
    Unseen(u32, u64),
    End(u32),
    Rotate,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1..5_u32, 1..100_u64, 2..9_u64).prop_map(|(thread, ns, method)| Step::Tick(thread, ns, method * 16)),
        3 => (1..5_u32, 1..100_u64).prop_map(|(thread, ns)| Step::Unseen(thread, ns)),
        1 => (1..5_u32).prop_map(Step::End),
        2 => Just(Step::Rotate),
    ];
    proptest::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn the_results_sum_up_to_the_clocks_of_the_threads(steps in steps()) {
        let (hub, registry) = (Hub::new(1 << 15), Ended::default());
        // The clock of each thread that lives; in the registry a thread has another id in each life.
        let mut clocks: BTreeMap<u32, (u32, u64)> = (1..5).map(|it| (it, (it, 100))).collect();
        let mut next = 5;
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        let mut expected: BTreeMap<String, u64> = BTreeMap::new();
        let begun: Vec<_> = (1..5).map(|it| now(it, 100)).collect();
        let session = hub.open(SessionSpec::default(), &registry, 0, &begun);
        let alive = |clocks: &BTreeMap<u32, (u32, u64)>| -> Vec<_> {
            clocks.values().map(|(id, cpu_ns)| life(*id, 100, *cpu_ns, &id.to_string())).collect()
        };
        let mut add = |profile: &Profile| {
            for sample in &profile.samples {
                let name = profile.threads[sample.thread].name.clone();
                *sums.entry(name).or_default() += sample.weights.get(SampleType::Cpu);
            }
        };
        for step in steps {
            match step {
                Step::Tick(thread, ns, method) => {
                    let (id, cpu_ns) = clocks.get_mut(&thread).unwrap();
                    *cpu_ns += ns;
                    *expected.entry(id.to_string()).or_default() += ns;
                    record(&hub, *id, State::Running, *cpu_ns, &[method]);
                }
                Step::Unseen(thread, ns) => {
                    let (id, cpu_ns) = clocks.get_mut(&thread).unwrap();
                    *cpu_ns += ns;
                    *expected.entry(id.to_string()).or_default() += ns;
                }
                Step::End(thread) => {
                    let (id, cpu_ns) = clocks.insert(thread, (next, 100)).unwrap();
                    next += 1;
                    registry.0.lock().unwrap().push(life(id, 100, cpu_ns, &id.to_string()));
                }
                Step::Rotate => add(&rotate(&hub, session, &registry, &alive(&clocks), 0)),
            }
        }
        add(&finish(&hub, session, &registry, &alive(&clocks)));
        sums.retain(|_, ns| *ns > 0);
        prop_assert_eq!(sums, expected);
    }
}
