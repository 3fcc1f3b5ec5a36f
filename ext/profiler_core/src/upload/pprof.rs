//! Plain pprof of one family, for scrapers and for Pyroscope.
//!
//! The file contains neither threads nor states nor our private fields, so the same program has the same
//! tables in every process.

use prost::Message;

use super::family::Family;
use super::gzip::gzip;
use super::label_name::label_name;
use super::shape::Shape;
use super::shaped::Shaped;
use super::span::SpanChoice;
use crate::error::Error;
use crate::format::pprof::comments::comments;
use crate::format::pprof::messages;
use crate::format::pprof::tables::{signed, MessageHead, MessageTables};
use crate::profile::{Profile, SPAN};
use crate::text::hex;

/// Encodes a family, compressed with gzip. The shape's own labels are on each sample. Returns `None` if the
/// profile has no data of the family.
///
/// # Errors
/// Same as for [`gzip`].
pub fn encode(profile: &Profile, family: Family, shape: &Shape) -> Result<Option<Vec<u8>>, Error> {
    let Some(mut shaped) = Shaped::new(profile, family, shape, SpanChoice::Omitted) else { return Ok(None) };
    packed(&mut shaped, &shape.labels, shape.bytes).map(Some)
}

/// Encodes the family in at most `bytes` before compression, with `labels` on each sample.
pub(super) fn packed(
    shaped: &mut Shaped<'_>,
    labels: &[(String, String)],
    bytes: usize,
) -> Result<Vec<u8>, Error> {
    loop {
        let message = message(shaped, labels);
        if !shaped.shorten(message.encoded_len(), bytes) {
            return gzip(&message.encode_to_vec());
        }
    }
}

fn message(shaped: &Shaped<'_>, all: &[(String, String)]) -> messages::Profile {
    let Shaped { profile, family, types, .. } = shaped;
    let mut tables = MessageTables::new(profile, false);
    let (started_at_ns, duration_ns) = family.time_ns(profile);
    tables.head(&MessageHead {
        types,
        default: family.main_type(),
        period: Some(family.period(profile)),
        started_at_ns,
        duration_ns,
        comments: &comments(profile),
        binary: &profile.meta.ruby, // the name of a program can contain its pid
    });
    for (stack, labels, span, weights) in shaped.samples() {
        let mut location_id: Vec<u64> = stack.frames.iter().map(|it| tables.location(*it)).collect();
        location_id.extend(stack.root.map(|it| tables.synthetic(it)));
        let value = types.iter().map(|of| signed(weights.get(*of))).collect();
        let all = all.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let label =
            labels.iter().copied().chain(all).map(|(name, value)| tables.label(&label_name(name), value));
        let mut label: Vec<_> = label.collect();
        if let Some(span) = span {
            label.push(tables.label(SPAN, &hex(&span.span_id)));
        }
        tables.message().sample.push(messages::Sample { location_id, value, label });
    }
    tables.into_message()
}
