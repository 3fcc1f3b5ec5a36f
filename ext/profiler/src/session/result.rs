//! What a session gives: its profile, with names, and with all that the header says.

use magnus::Ruby;
use profiler_core::analysis::gc;
use profiler_core::analysis::trim::trim;
use profiler_core::blocks::Distance;
use profiler_core::hub::Closed;
use profiler_core::names::Names;
use profiler_core::profile::{Meta, SampleType, Stats};

use super::Running;
use crate::capture::engine::{perf, Engine};
use crate::capture::{clock, CAPTURE};
use crate::config::{self, Threads};
use crate::names::VmNames;
use crate::profile::Profile;
use crate::sampler::{self, Taken};
use crate::{fork, vm};

impl Running {
    /// The Profile of what the session gave. `asked_ns` is when it was asked for.
    pub(super) fn profile(&self, ruby: &Ruby, taken: Taken, asked_ns: u64) -> Profile {
        let drained_ns = clock::monotonic_ns();
        let cost = taken.cost();
        let Taken {
            closed,
            start,
            engine,
            given_up,
            no_objects,
            unfollowed,
            labels_refused,
            mut markers,
            markers_refused,
            ..
        } = taken;
        let mut profile = named(ruby, closed);
        let seen_cpu_ns = profile.total().get(SampleType::Cpu);
        if let Some(roots) = &self.config.trim_path {
            profile = trim(&profile, roots);
        }
        markers.sort_unstable();
        profile.markers = markers;
        profile.add_labels(&self.config.static_labels);
        profile.stats = Stats {
            stop_ns: drained_ns - asked_ns,
            names_ns: clock::monotonic_ns() - drained_ns,
            unseen_cpu_ns: cost.unseen_cpu_ns.saturating_sub(seen_cpu_ns),
            ..cost
        };
        let mut notes = self.config.notes.clone();
        notes.extend(vm::process::shared_threads());
        if matches!(self.config.threads, Threads::All) {
            notes.extend(vm::process::other_ractors(ruby));
        }
        notes.extend(given_up.map(|why| format!("{why}: nothing was recorded from then on")));
        notes.extend(no_objects.map(|why| format!("{why}: no object was looked at from then on")));
        if unfollowed > 0 {
            notes.push(format!(
                "too many objects were alive at once: {unfollowed} that were looked at count as made only"
            ));
        }
        let timed = self.config.measures.timed();
        let (engine_name, chosen) = (if timed { engine.name() } else { "" }, self.config.engine.name());
        match engine {
            _ if !timed || engine == self.config.engine => {}
            Engine::Setitimer => {
                notes.push(format!("the system gave no timer for each thread, so {engine_name} was used"));
            }
            _ => notes.push(format!(
                "engine {engine_name}, not {chosen}: other sessions had it, or the system refused"
            )),
        }
        if engine == Engine::Perf && perf::was_short_since(start.monotonic_ns) {
            notes.push(perf::SHORT_NOTE.into());
        }
        if labels_refused > 0 {
            notes.push(format!(
                "too many different sets of labels: {labels_refused} times they became (other)"
            ));
        }
        if markers_refused > 0 {
            notes.push(format!("too many markers: the last {markers_refused} were left out"));
        }
        if sampler::collector_failed() {
            notes.push(
                "the collector thread failed, so the ring may have been full (please report this)".into(),
            );
        }
        let (objects, bytes) = match self.config.every {
            Distance::Objects(number) => (number, 0),
            Distance::Bytes(number) => (0, number),
        };
        profile.meta = Meta {
            modes: config::modes(self.config.measures),
            engine: engine_name.into(),
            interval_ns: self.config.interval_ns,
            every: objects,
            every_bytes: bytes,
            started_at_ns: start.at_ns,
            duration_ns: asked_ns.saturating_sub(start.monotonic_ns),
            ruby: vm::process::description(ruby).into(),
            program: vm::process::program(ruby),
            pid: fork::pid(),
            profiler_version: env!("CARGO_PKG_VERSION").into(),
            user: self.config.metadata.clone(),
            notes,
        };
        Profile::new(match self.config.gc {
            Some(place) => gc::place(&profile, place),
            None => profile,
        })
    }
}

/// Asks the VM for the names that are not known yet. The epoch keeps the handles marked meanwhile.
fn named(ruby: &Ruby, closed: Closed) -> profiler_core::profile::Profile {
    let functions = VmNames(ruby).functions(&closed.unknown);
    let names = closed.unknown.iter().copied().zip(functions).collect();
    match CAPTURE.hub() {
        Some(hub) => hub.finish(closed, names),
        None => profiler_core::profile::Profile::default(),
    }
}
