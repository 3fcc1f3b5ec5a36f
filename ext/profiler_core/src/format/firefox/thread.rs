//! The samples and markers of a thread, in chronological order.

use std::io::Write;

use super::table::{self, numbers, SharedTables};
use super::{array, json, meta, ms, weight, weight_type};
use crate::error::Error;
use crate::format::sample_series::Share;
use crate::ids::RowId;
use crate::profile::{Marker, Profile, Sample, SampleType};
use crate::record::State;

/// The number of intervals from which a share also gets a sample at its start, so that it is drawn from there
/// on.
const LONG: u64 = 2;

struct Entry {
    at_ns: u64,
    stack: Option<usize>,
    weight: u64,
    cpu_ns: u64,
}

struct Mark {
    from_ns: u64,
    to_ns: u64,
    kind: Kind,
}

enum Kind {
    /// A garbage collection, with the labels of its row and its cause.
    Gc {
        row: RowId,
        kind: String,
        reason: String,
    },
    Gvl {
        row: RowId,
    },
    /// A marker of the app, with the index of its name.
    User {
        name: usize,
    },
}

impl Kind {
    fn row(&self) -> Option<RowId> {
        match self {
            Self::Gc { row, .. } | Self::Gvl { row } => Some(*row),
            Self::User { .. } => None,
        }
    }
}

/// Allocated bytes with a stack and a class.
struct Allocation {
    at_ns: u64,
    stack: Option<usize>,
    bytes: u64,
    /// The index of the class's name.
    class: usize,
}

pub(super) struct ThreadTables<'profile> {
    profile: &'profile Profile,
    of: SampleType,
    name: &'profile str,
    tables: SharedTables<'profile>,
    entries: Vec<Entry>,
    marks: Vec<Mark>,
    allocated: Vec<Allocation>,
    alive: Vec<Allocation>,
}

impl<'profile> ThreadTables<'profile> {
    pub(super) fn new(profile: &'profile Profile, of: SampleType, name: &'profile str) -> Self {
        let tables = SharedTables::new(profile);
        let (entries, marks, allocated, alive) = Default::default();
        Self { profile, of, name, tables, entries, marks, allocated, alive }
    }

    /// Returns the weight of the thread's samples.
    pub(super) fn total(&self) -> u64 {
        self.entries.iter().fold(0, |sum, it| sum.saturating_add(it.weight))
    }

    /// Returns the time of the last sample.
    pub(super) fn last_ns(&self) -> u64 {
        self.entries.last().map_or(0, |it| it.at_ns)
    }

    /// Adds a share of a sample. `known` is the index of its stack, once it has one.
    pub(super) fn add(&mut self, sample: &Sample, share: &Share, known: &mut Option<usize>) {
        let get = |of| share.weights.get(of);
        let (at_ns, wall_ns, weight) = (share.at_ns, get(SampleType::Wall), get(self.of));
        let measured = |of| self.profile.sample_types.contains(&of);
        // If CPU time was not measured, a running thread is assumed to have used the CPU all the time.
        let cpu_ns = match (measured(SampleType::Cpu), sample.state) {
            (true, _) => get(SampleType::Cpu),
            (false, State::Running | State::Gc) => wall_ns,
            (false, _) => 0,
        };
        *known = known.or_else(|| self.tables.stack(sample.stack, meta::of_state(sample.state)));
        let stack = *known;
        if weight > 0 || cpu_ns > 0 {
            let from_ns = at_ns.saturating_sub(wall_ns);
            let last_ns = self.entries.last().map_or(0, |it| it.at_ns);
            let long = wall_ns > self.profile.meta.interval_ns.saturating_mul(LONG);
            if long && self.profile.timeline.is_some() && from_ns > last_ns {
                self.entries.push(Entry { at_ns: from_ns, stack, weight: 0, cpu_ns: 0 });
            }
            self.entries.push(Entry { at_ns, stack, weight, cpu_ns });
        }
        self.mark_state(sample, share, wall_ns);
        let (allocated, alive) = (get(SampleType::AllocSpace), get(SampleType::InuseSpace));
        if allocated > 0 || alive > 0 {
            let class = self.tables.string(sample.label("class").unwrap_or("(unknown)"));
            let allocation = |bytes| Allocation { at_ns, stack, bytes, class };
            self.allocated.extend((allocated > 0).then(|| allocation(allocated)));
            self.alive.extend((alive > 0).then(|| allocation(alive)));
        }
    }

    /// Marks waits for the GVL and garbage collections, if their time is known. Consecutive ones are merged.
    fn mark_state(&mut self, sample: &Sample, share: &Share, wall_ns: u64) {
        let length_ns = if wall_ns > 0 { wall_ns } else { share.weights.get(SampleType::Cpu) };
        if self.profile.timeline.is_none() || length_ns == 0 {
            return;
        }
        let label = |name: &str| sample.label(name).unwrap_or_default().to_owned();
        let row = share.row;
        let kind = match sample.state {
            State::Gc => Kind::Gc { row, kind: label("gc"), reason: label("gc_reason") },
            State::Gvl => Kind::Gvl { row },
            State::Running | State::Waiting | State::Runnable | State::Blocked => return,
        };
        let from_ns = share.at_ns.saturating_sub(length_ns);
        match self.marks.last_mut() {
            Some(last) if last.kind.row() == kind.row() && from_ns <= last.to_ns => last.to_ns = share.at_ns,
            _ => self.marks.push(Mark { from_ns, to_ns: share.at_ns, kind }),
        }
    }

    pub(super) fn mark(&mut self, marker: &Marker) {
        let from_ns = marker.started_at_ns.saturating_sub(self.profile.meta.started_at_ns);
        let name = self.tables.string(&marker.name);
        let to_ns = from_ns.saturating_add(marker.duration_ns);
        self.marks.push(Mark { from_ns, to_ns, kind: Kind::User { name } });
    }

    /// Writes the thread as the one at `place`. The order of the fields has no meaning.
    pub(super) fn write(&self, place: usize, out: &mut impl Write) -> Result<(), Error> {
        let (meta, end_ns) = (&self.profile.meta, self.profile.meta.duration_ns);
        let native_id = self.profile.threads.get(place).map_or(0, |it| it.native_id);
        write!(out, r#"{{"processType":"default","processName":"#)?;
        json(out, if meta.program.is_empty() { "ruby" } else { &meta.program })?;
        write!(
            out,
            r#","processStartupTime":0,"processShutdownTime":null,"registerTime":0,"unregisterTime":"#
        )?;
        ms(out, end_ns)?;
        // The front end treats threads with the same id as one, and a profile of several processes can have
        // such threads.
        write!(
            out,
            r#","pausedRanges":[],"isMainThread":{},"pid":"{}","tid":"{native_id}.{place}","#,
            place == 0,
            meta.pid
        )?;
        write!(out, r#""showMarkersInTimeline":true,"name":"#)?;
        json(out, self.name)?;
        write!(out, r#","samples":{{"#)?;
        numbers(out, "stack", self.entries.iter().map(|it| it.stack))?;
        array(out, "time", &self.entries, |out, it| ms(out, it.at_ns))?;
        write!(out, ",")?;
        array(out, "weight", &self.entries, |out, it| weight(out, self.of, it.weight))?;
        write!(out, r#","weightType":"{}","#, weight_type(self.of))?;
        numbers(out, "threadCPUDelta", self.entries.iter().map(|it| Some(it.cpu_ns as usize)))?;
        write!(out, r#""length":{}}},"#, self.entries.len())?;
        self.write_markers(out)?;
        self.write_allocations(out)?;
        self.tables.write(out)?;
        Ok(write!(out, "}}")?)
    }

    fn write_markers(&self, out: &mut impl Write) -> Result<(), Error> {
        write!(out, r#""markers":{{"#)?;
        numbers(
            out,
            "name",
            self.marks.iter().map(|it| match it.kind {
                Kind::Gc { .. } => Some(table::GC),
                Kind::Gvl { .. } => Some(table::GVL),
                Kind::User { name } => Some(name),
            }),
        )?;
        array(out, "startTime", &self.marks, |out, it| ms(out, it.from_ns))?;
        write!(out, ",")?;
        array(out, "endTime", &self.marks, |out, it| {
            if it.to_ns == it.from_ns {
                Ok(write!(out, "null")?)
            } else {
                ms(out, it.to_ns)
            }
        })?;
        write!(out, ",")?;
        numbers(out, "phase", self.marks.iter().map(|it| Some(usize::from(it.to_ns > it.from_ns))))?;
        numbers(
            out,
            "category",
            self.marks.iter().map(|it| match it.kind {
                Kind::Gc { .. } => Some(meta::GC),
                Kind::Gvl { .. } => Some(meta::STALLED),
                Kind::User { .. } => Some(0),
            }),
        )?;
        array(out, "data", &self.marks, |out, it| match &it.kind {
            Kind::Gc { kind, reason, .. } => {
                write!(out, r#"{{"type":"GC","kind":"#)?;
                json(out, kind)?;
                write!(out, r#","reason":"#)?;
                json(out, reason)?;
                Ok(write!(out, "}}")?)
            }
            Kind::Gvl { .. } => Ok(write!(out, r#"{{"type":"GVL"}}"#)?),
            Kind::User { .. } => Ok(write!(out, r#"{{"type":"Marker"}}"#)?),
        })?;
        Ok(write!(out, r#","length":{}}},"#, self.marks.len())?)
    }

    /// Writes the allocations, which differ in class and stack, and the live objects, which differ in stack
    /// only.
    fn write_allocations<W: Write>(&self, out: &mut W) -> Result<(), Error> {
        let columns = |out: &mut W, all: &[Allocation]| -> Result<(), Error> {
            array(out, "time", all, |out, it| ms(out, it.at_ns))?;
            write!(out, ",")?;
            array(out, "weight", all, |out, it| Ok(write!(out, "{}", it.bytes)?))?;
            write!(out, r#","weightType":"bytes","#)?;
            numbers(out, "stack", all.iter().map(|it| it.stack))
        };
        if !self.allocated.is_empty() {
            let all = &self.allocated;
            write!(out, r#""jsAllocations":{{"#)?;
            columns(out, all)?;
            array(out, "className", all, |out, it| json(out, self.tables.text(it.class)))?;
            write!(out, ",")?;
            array(out, "typeName", all, |out, _| json(out, "JSObject"))?;
            write!(out, ",")?;
            array(out, "coarseType", all, |out, _| json(out, "Object"))?;
            write!(out, ",")?;
            array(out, "inNursery", all, |out, _| Ok(write!(out, "false")?))?;
            write!(out, r#","length":{}}},"#, all.len())?;
        }
        if !self.alive.is_empty() {
            write!(out, r#""nativeAllocations":{{"#)?;
            columns(out, &self.alive)?;
            write!(out, r#""length":{}}},"#, self.alive.len())?;
        }
        Ok(())
    }
}
