//! Writes a profile with many events, for `rake bench:files` and `rake bench:viewer`: `big_file PATH [EVENTS [STACKS]]`.
#![allow(clippy::unwrap_used, missing_docs)]

use std::fs::File;

use profiler_core::format::{self, Format};
use profiler_core::ids::{FrameId, FunctionId, Id, Interner, RowId, StackId};
use profiler_core::profile::timeline::{Timeline, TimelineEvent};
use profiler_core::profile::{Frame, Function, Meta, Node, Profile, Sample, SampleType, Thread, Weights};
use profiler_core::record::State;
use profiler_core::rng::after;

const THREADS: usize = 8;
const STACKS: usize = 5_000;
const FUNCTIONS: usize = 2_000; // or one for five stacks, where there are more than that
const DEPTH: u64 = 40;

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let argument =
        |place, default| std::env::args().nth(place).map_or(default, |it| it.parse::<usize>().unwrap());
    let (events, stacks) = (argument(2, 1_000_000), argument(3, STACKS));
    let functions = FUNCTIONS.max(stacks / 5);
    let mut bits = 0x9e37_79b9_7f4a_7c15;
    let mut below = |limit: u64| {
        bits = after(bits);
        (bits >> 11) % limit
    };
    let mut profile = Profile {
        sample_types: vec![SampleType::Samples, SampleType::Cpu, SampleType::Wall],
        threads: (0..THREADS)
            .map(|it| Thread { native_id: it as u64 + 1, name: format!("worker {it}") })
            .collect(),
        meta: Meta { modes: vec!["cpu".into(), "wall".into()], interval_ns: 1_000_000, ..Meta::default() },
        ..Profile::default()
    };
    for it in 0..functions {
        profile.functions.push(Function {
            name: format!("Shop::Module{}::Order#method_{it}", it % 50),
            class_name: format!("Shop::Module{}::Order", it % 50),
            method_name: format!("method_{it}"),
            path: format!("/srv/shop/app/models/module_{}/order.rb", it % 50),
            first_line: it as u32 + 1,
        });
        profile.frames.push(Frame { function: FunctionId::from_index(it), line: it as u32 + 3 });
    }
    let mut tree: Interner<Node, StackId> = Interner::default();
    for thread in 0..THREADS {
        for _ in 0..stacks / THREADS {
            let (mut stack, depth) = (None, DEPTH / 2 + below(DEPTH));
            for level in 0..depth {
                // Calls fan out towards the leaf, as those of programs do.
                let choices = 1 + level * level / 100;
                let frame = FrameId::from_index(((level * 37 + below(choices)) % functions as u64) as usize);
                stack = Some(tree.intern(Node { parent: stack, frame }));
            }
            let state = if below(4) == 0 { State::Waiting } else { State::Running };
            let weights = Weights::default();
            profile.samples.push(Sample {
                stack: stack.unwrap(),
                thread,
                state,
                labels: Vec::new(),
                weights,
            });
        }
    }
    profile.stacks = tree.into_rows();
    let mut timeline = Timeline::default();
    let mut time_ns = 0;
    for _ in 0..events {
        time_ns += below(200_000);
        let row = below(profile.samples.len() as u64) as usize;
        let sample = &mut profile.samples[row];
        let mut weights = Weights::default();
        let ns = 500_000 + below(1_000_000);
        weights.set(SampleType::Samples, 1);
        weights.set(SampleType::Wall, ns);
        weights.set(SampleType::Cpu, if sample.state == State::Running { ns } else { 0 });
        sample.weights.add(&weights);
        timeline.push(&TimelineEvent { time_ns, row: RowId::from_index(row), weights });
    }
    profile.timeline = Some(timeline);
    profile.meta.duration_ns = time_ns;
    format::write(Format::Pprof, &profile, &mut File::create(path).unwrap()).unwrap();
}
