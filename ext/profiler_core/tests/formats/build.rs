//! Profiles from rows that are written out in full, and the other way round.

use profiler_core::ids::{FrameId, FunctionId, Interner, StackId};
use profiler_core::profile::{Frame, Function, Node, Profile, Sample, SampleType, Thread, Weights};
use profiler_core::record::State;

/// A row with everything in it. Frames are root first.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) frames: Vec<(Function, u32)>,
    pub(crate) thread: usize,
    pub(crate) state: State,
    pub(crate) labels: Vec<(String, String)>,
    pub(crate) weights: Vec<(SampleType, u64)>,
}

impl Row {
    pub(crate) fn weighs(&self) -> bool {
        self.weights.iter().any(|(_, weight)| *weight > 0)
    }
}

/// The profile of these rows, its tables in order of first use.
pub(crate) fn build(types: &[SampleType], threads: &[Thread], rows: &[Row]) -> Profile {
    let mut functions: Interner<Function, FunctionId> = Interner::default();
    let mut frames: Interner<Frame, FrameId> = Interner::default();
    let mut stacks: Interner<Node, StackId> = Interner::default();
    let mut samples = Vec::new();
    for row in rows {
        let mut stack = None;
        for (function, line) in &row.frames {
            let function = functions.intern(function.clone());
            let frame = frames.intern(Frame { function, line: *line });
            stack = Some(stacks.intern(Node { parent: stack, frame }));
        }
        let mut weights = Weights::default();
        row.weights.iter().for_each(|(of, weight)| weights.set(*of, *weight));
        samples.push(Sample {
            stack: stack.unwrap(),
            thread: row.thread,
            state: row.state,
            labels: row.labels.clone(),
            weights,
        });
    }
    Profile {
        sample_types: types.to_vec(),
        functions: functions.into_rows(),
        frames: frames.into_rows(),
        stacks: stacks.into_rows(),
        threads: threads.to_vec(),
        samples,
        ..Profile::default()
    }
}
