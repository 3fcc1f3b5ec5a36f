//! From a profile to messages.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::label_names::{escape, STATE, THREAD_ID, THREAD_NAME};
use super::messages::{self, Label, Line, Location, Mapping, Text, ValueType};
use super::timeline;
use crate::error::Error;
use crate::format::disclosure;
use crate::ids::{FrameId, FunctionId, Id, StackId};
use crate::profile::{Profile, RequestsRow, Sample, SampleType};
use crate::text::clean;
use crate::text::units;

/// The one mapping's id.
const MAPPING: u64 = 1;

pub(super) fn encode(profile: &Profile) -> Result<messages::Profile, Error> {
    let mut encoder = Encoder::new(profile);
    encoder.head()?;
    encoder.threads();
    let rows: Vec<Option<u64>> = profile.samples.iter().map(|sample| encoder.sample(sample)).collect();
    let Encoder { mut message, strings, .. } = encoder;
    message.string_table = strings.table;
    message.timeline = timeline::encode(profile, |row| rows.get(row.index()).copied().flatten());
    Ok(message)
}

struct Encoder<'profile> {
    profile: &'profile Profile,
    message: messages::Profile,
    strings: Strings,
    /// Ids in the message of functions and frames, by place; 0 until they are used.
    function_ids: Vec<u64>,
    location_ids: Vec<u64>,
}

impl<'profile> Encoder<'profile> {
    fn new(profile: &'profile Profile) -> Self {
        Self {
            profile,
            message: messages::Profile::default(),
            strings: Strings::new(),
            function_ids: vec![0; profile.functions.len()],
            location_ids: vec![0; profile.frames.len()],
        }
    }

    fn head(&mut self) -> Result<(), Error> {
        let meta = &self.profile.meta;
        for of in &self.profile.sample_types {
            let value_type = self.value_type(*of);
            self.message.sample_type.push(value_type);
        }
        self.message.default_sample_type =
            self.strings.add(self.profile.default_sample_type().name_and_unit().0);
        let timed = [SampleType::Wall, SampleType::Cpu];
        if let Some(of) = timed.into_iter().find(|of| self.profile.sample_types.contains(of)) {
            self.message.period_type = Some(self.value_type(of));
            self.message.period = signed(meta.interval_ns);
        } else if meta.every > 0 {
            self.message.period_type = Some(self.value_type(SampleType::AllocObjects));
            self.message.period = signed(meta.every);
        } else if meta.every_bytes > 0 {
            self.message.period_type = Some(self.value_type(SampleType::AllocSpace));
            self.message.period = signed(meta.every_bytes);
        }
        self.message.time_nanos = signed(meta.started_at_ns);
        self.message.duration_nanos = signed(meta.duration_ns);
        for comment in comments(self.profile) {
            let comment = self.strings.add(&clean(&comment));
            self.message.comment.push(comment);
        }

        let program = if meta.program.is_empty() { &*meta.ruby } else { &meta.program };
        self.message.mapping.push(Mapping {
            id: MAPPING,
            filename: self.strings.add(program),
            has_functions: true,
            has_filenames: true,
            has_line_numbers: true,
        });

        self.message.format_version = super::VERSION;
        self.message.meta = serde_json::to_string(meta).map_err(std::io::Error::from)?;
        if !self.profile.markers.is_empty() {
            self.message.markers =
                serde_json::to_string(&self.profile.markers).map_err(std::io::Error::from)?;
        }
        if !self.profile.requests.is_empty() {
            let rows = Vec::<RequestsRow>::from(&self.profile.requests);
            self.message.requests = serde_json::to_string(&rows).map_err(std::io::Error::from)?;
        }
        self.message.stats = serde_json::to_string(&self.profile.stats).map_err(std::io::Error::from)?;
        Ok(())
    }

    fn threads(&mut self) {
        for thread in &self.profile.threads {
            let name = self.strings.add(&thread.name);
            self.message.thread.push(messages::Thread { native_id: thread.native_id, name });
        }
    }

    /// Adds a sample. Returns its place, or `None` if it weighs nothing and is left out.
    fn sample(&mut self, sample: &Sample) -> Option<u64> {
        let value = |of: &SampleType| signed(sample.weights.get(*of));
        let value: Vec<i64> = self.profile.sample_types.iter().map(value).collect();
        if value.iter().all(|it| *it == 0) {
            return None;
        }
        let mut frames: Vec<FrameId> = self.frame_ids(sample.stack).collect();
        frames.reverse();
        let mut location_id: Vec<u64> = frames.into_iter().map(|frame| self.location(frame)).collect();
        location_id.reverse();
        let label = self.labels(sample);
        self.message.sample.push(messages::Sample { location_id, value, label });
        self.message.sample_thread.push(sample.thread as u64);
        Some(self.message.sample.len() as u64 - 1)
    }

    /// The stack's frames, leaf first.
    fn frame_ids(&self, stack: StackId) -> impl Iterator<Item = FrameId> + 'profile {
        let profile = self.profile;
        let node = move |id: StackId| profile.stacks.get(id.index()).copied();
        std::iter::successors(node(stack), move |it| it.parent.and_then(node)).map(|it| it.frame)
    }

    fn location(&mut self, id: FrameId) -> u64 {
        let Some(frame) = self.profile.frame(id) else { return 0 };
        let known = self.location_ids.get(id.index()).copied().unwrap_or(0);
        if known > 0 {
            return known;
        }
        let line = Line { function_id: self.function(frame.function), line: frame.line.into() };
        let new = self.message.location.len() as u64 + 1;
        self.message.location.push(Location { id: new, mapping_id: MAPPING, address: 0, line: vec![line] });
        if let Some(slot) = self.location_ids.get_mut(id.index()) {
            *slot = new;
        }
        new
    }

    fn function(&mut self, id: FunctionId) -> u64 {
        let Some(function) = self.profile.function(id) else { return 0 };
        let known = self.function_ids.get(id.index()).copied().unwrap_or(0);
        if known > 0 {
            return known;
        }
        let new = self.message.function.len() as u64 + 1;
        self.message.function.push(messages::Function {
            id: new,
            name: self.strings.add(&function.name),
            filename: self.strings.add(&function.path),
            start_line: function.first_line.into(),
        });
        self.message.function_class_name.push(self.strings.add(&function.class_name));
        self.message.function_method_name.push(self.strings.add(&function.method_name));
        if let Some(slot) = self.function_ids.get_mut(id.index()) {
            *slot = new;
        }
        new
    }

    fn labels(&mut self, sample: &Sample) -> Vec<Label> {
        let mut labels = Vec::new();
        if let Some(thread) = self.profile.threads.get(sample.thread) {
            if thread.native_id > 0 {
                let key = self.strings.add(THREAD_ID);
                labels.push(Label { key, str: 0, num: signed(thread.native_id) });
            }
            if !thread.name.is_empty() {
                labels.push(self.label(THREAD_NAME, &thread.name));
            }
        }
        labels.push(self.label(STATE, sample.state.name()));
        for (name, text) in &sample.labels {
            labels.push(self.label(&escape(name), text));
        }
        labels
    }

    fn label(&mut self, name: &str, text: &str) -> Label {
        Label { key: self.strings.add(name), str: self.strings.add(text), num: 0 }
    }

    fn value_type(&mut self, of: SampleType) -> ValueType {
        let (name, unit) = of.name_and_unit();
        ValueType { r#type: self.strings.add(name), unit: self.strings.add(unit) }
    }
}

/// The comments for readers of other tools: how the profile was recorded.
fn comments(profile: &Profile) -> Vec<String> {
    let meta = &profile.meta;
    let mut comments = Vec::new();
    if !meta.ruby.is_empty() {
        comments.push(meta.ruby.to_string());
    }
    let engine = if meta.engine.is_empty() { String::new() } else { format!(", engine {}", meta.engine) };
    comments.push(format!("profiler {}, mode {}{engine}", meta.profiler_version, meta.modes.join(" and ")));
    comments.extend(disclosure::interval(profile));
    comments.extend(disclosure::objects(profile).map(|it| format!("objects: {it}")));
    if profile.sample_types.contains(&SampleType::Samples) {
        comments.push(units::counted(profile.total().get(SampleType::Samples), "sample"));
    }
    let dropped = |(number, reason)| format!("{} dropped: {reason}", units::counted(number, "tick"));
    comments.extend(disclosure::drops(profile).into_iter().map(dropped));
    comments.extend(disclosure::caveats(profile));
    comments.extend(disclosure::timeline(profile).map(|it| format!("timeline: {it}")));
    comments.extend(meta.sentences());
    comments
}

/// The string table: each text once, the empty one first.
struct Strings {
    table: Vec<String>,
    places: HashMap<String, Text, FxBuildHasher>,
}

impl Strings {
    fn new() -> Self {
        let mut strings = Self { table: Vec::new(), places: HashMap::default() };
        strings.add("");
        strings
    }

    fn add(&mut self, text: &str) -> Text {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = signed(self.table.len() as u64);
        self.table.push(text.into());
        self.places.insert(text.into(), place);
        place
    }
}

/// pprof has signed numbers. What does not fit becomes the greatest of them.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
