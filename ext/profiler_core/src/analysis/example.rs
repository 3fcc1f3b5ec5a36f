//! Profiles for tests, from stacks as text.

use crate::ids::StackId;
use crate::profile::table_builder::{SampleKey, TableBuilder};
use crate::profile::{Frame, Function, Node, Profile, SampleType, Thread, Weights};
use crate::record::State;

/// The name of the main thread.
pub(crate) const MAIN: &str = "main";
const PID: u32 = 4_711;

/// A growing profile.
#[derive(Default)]
pub(crate) struct Example {
    tables: TableBuilder,
    types: Vec<SampleType>,
    duration_ms: u64,
}

impl Example {
    pub(crate) fn lasting_ms(duration_ms: u64) -> Self {
        Self { duration_ms, ..Self::default() }
    }

    /// Adds wall clock time of a thread. The stack has its root first: `name path:line; name path:line`. A
    /// frame without a path is a C function.
    pub(crate) fn wall(&mut self, thread: &str, state: State, ms: u64, stack: &str) {
        self.row(thread, state, &[], &[(SampleType::Wall, ms * 1_000_000), (SampleType::Samples, ms)], stack);
    }

    pub(crate) fn row(
        &mut self,
        thread: &str,
        state: State,
        labels: &[(&str, &str)],
        weights: &[(SampleType, u64)],
        stack: &str,
    ) {
        let mut sum = Weights::default();
        for (of, weight) in weights {
            sum.set(*of, *weight);
            self.types.push(*of);
        }
        let native_id = if thread == MAIN { u64::from(PID) } else { u64::from(PID) + 1 };
        let thread = self.tables.thread(Thread { native_id, name: thread.into() });
        let mut parent: Option<StackId> = None;
        for frame in stack.split("; ") {
            let frame = self.frame(frame);
            let frame = self.tables.frame(frame);
            parent = Some(self.tables.stack(Node { parent, frame }));
        }
        let label = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let labels = labels.iter().map(label).collect();
        self.tables.add_row(SampleKey { stack: parent.unwrap(), thread, state, labels }, &sum);
    }

    fn frame(&mut self, text: &str) -> Frame {
        let located = text.rsplit_once(' ').and_then(|(name, place)| Some((name, place.rsplit_once(':')?)));
        let (name, path, line) = match located {
            Some((name, (path, line))) => (name, path, line.parse().unwrap()),
            None if text.starts_with('(') => (text, "", 0),
            None => (text, Function::CFUNC, 0),
        };
        let function =
            self.tables.function(Function { path: path.into(), first_line: 1, ..Function::named(name) });
        Frame { function, line }
    }

    pub(crate) fn profile(self) -> Profile {
        let mut profile = self.tables.into_profile();
        profile.sample_types = SampleType::ALL.into_iter().filter(|it| self.types.contains(it)).collect();
        profile.meta.duration_ns = self.duration_ms * 1_000_000;
        profile.meta.interval_ns = 1_000_000;
        profile.meta.pid = PID;
        profile.stats.counts.captured = profile.total().get(SampleType::Samples);
        profile
    }
}
