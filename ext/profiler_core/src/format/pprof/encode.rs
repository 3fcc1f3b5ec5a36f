//! Encoding of a profile into the native file's message.

use super::comments::comments;
use super::label_names::{escape, STATE, THREAD_ID, THREAD_NAME};
use super::messages::{self, Label};
use super::tables::{signed, MessageHead, MessageTables};
use super::timeline;
use crate::error::Error;
use crate::ids::{FrameId, Id, StackId};
use crate::profile::{Profile, RequestsRow, Sample, SampleType};

pub(super) fn encode(profile: &Profile) -> Result<messages::Profile, Error> {
    let mut encoder = Encoder { profile, tables: MessageTables::new(profile, true) };
    encoder.head();
    encoder.private_head()?;
    encoder.threads();
    let rows: Vec<Option<u64>> = profile.samples.iter().map(|sample| encoder.sample(sample)).collect();
    let mut message = encoder.tables.into_message();
    message.timeline = timeline::encode(profile, |row| rows.get(row.index()).copied().flatten());
    Ok(message)
}

struct Encoder<'profile> {
    profile: &'profile Profile,
    tables: MessageTables<'profile>,
}

impl<'profile> Encoder<'profile> {
    fn head(&mut self) {
        let meta = &self.profile.meta;
        let timed = [SampleType::Wall, SampleType::Cpu];
        let period = if let Some(of) = timed.into_iter().find(|of| self.profile.sample_types.contains(of)) {
            Some((of, meta.interval_ns))
        } else if meta.every > 0 {
            Some((SampleType::AllocObjects, meta.every))
        } else if meta.every_bytes > 0 {
            Some((SampleType::AllocSpace, meta.every_bytes))
        } else {
            None
        };
        self.tables.head(&MessageHead {
            types: &self.profile.sample_types,
            default: self.profile.default_sample_type(),
            period: period.map(|(of, number)| (of.name_and_unit().0, of.name_and_unit().1, number)),
            started_at_ns: meta.started_at_ns,
            duration_ns: meta.duration_ns,
            comments: &comments(self.profile),
            binary: if meta.program.is_empty() { &meta.ruby } else { &meta.program },
        });
    }

    fn private_head(&mut self) -> Result<(), Error> {
        let profile = self.profile;
        let message = self.tables.message();
        message.format_version = super::VERSION;
        message.meta = serde_json::to_string(&profile.meta).map_err(std::io::Error::from)?;
        if !profile.markers.is_empty() {
            message.markers = serde_json::to_string(&profile.markers).map_err(std::io::Error::from)?;
        }
        if !profile.requests.is_empty() {
            let rows = Vec::<RequestsRow>::from(&profile.requests);
            message.requests = serde_json::to_string(&rows).map_err(std::io::Error::from)?;
        }
        if !profile.memory.rows().is_empty() {
            message.memory = serde_json::to_string(profile.memory.rows()).map_err(std::io::Error::from)?;
        }
        message.ledger = profile.memory.ledgers().to_vec();
        message.stats = serde_json::to_string(&profile.stats).map_err(std::io::Error::from)?;
        Ok(())
    }

    fn threads(&mut self) {
        for thread in &self.profile.threads {
            let name = self.tables.text(&thread.name);
            self.tables.message().thread.push(messages::Thread { native_id: thread.native_id, name });
        }
    }

    /// Adds a sample. Returns its index, or `None` if it has no weight and is left out.
    fn sample(&mut self, sample: &Sample) -> Option<u64> {
        let value = |of: &SampleType| signed(sample.weights.get(*of));
        let value: Vec<i64> = self.profile.sample_types.iter().map(value).collect();
        if value.iter().all(|it| *it == 0) {
            return None;
        }
        let mut frames: Vec<FrameId> = self.frame_ids(sample.stack).collect();
        frames.reverse();
        let mut location_id: Vec<u64> = frames.into_iter().map(|frame| self.tables.location(frame)).collect();
        location_id.reverse();
        let label = self.labels(sample);
        let message = self.tables.message();
        message.sample.push(messages::Sample { location_id, value, label });
        message.sample_thread.push(sample.thread as u64);
        Some(message.sample.len() as u64 - 1)
    }

    /// Iterates over the frames of a stack, leaf first.
    fn frame_ids(&self, stack: StackId) -> impl Iterator<Item = FrameId> + 'profile {
        let profile = self.profile;
        let node = move |id: StackId| profile.stacks.get(id.index()).copied();
        std::iter::successors(node(stack), move |it| it.parent.and_then(node)).map(|it| it.frame)
    }

    fn labels(&mut self, sample: &Sample) -> Vec<Label> {
        let mut labels = Vec::new();
        if let Some(thread) = self.profile.threads.get(sample.thread) {
            if thread.native_id > 0 {
                let key = self.tables.text(THREAD_ID);
                labels.push(Label { key, str: 0, num: signed(thread.native_id) });
            }
            if !thread.name.is_empty() {
                labels.push(self.tables.label(THREAD_NAME, &thread.name));
            }
        }
        labels.push(self.tables.label(STATE, sample.state.name()));
        for (name, text) in &sample.labels {
            labels.push(self.tables.label(&escape(name), text));
        }
        labels
    }
}
