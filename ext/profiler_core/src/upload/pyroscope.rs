//! The body of a push to Pyroscope, `push.v1.PusherService/Push` in protobuf: one series for each family.

pub(super) mod messages;

use std::collections::BTreeMap;

use prost::Message;

use self::messages::{Label, PushRequest, RawSample, Series};
use super::family::Family;
use super::label_name::label_name;
use super::pprof;
use super::profile_id::ProfileId;
use super::shape::Shape;
use super::shaped::Shaped;
use super::span::SpanChoice;
use crate::error::Error;
use crate::profile::Profile;

/// The label that names a series. Pyroscope makes up a name if it is missing.
const SERVICE: &str = "service_name";

/// Encodes those of `families` that the profile has; `None` if it has none. The shape's own labels are on all
/// series.
///
/// # Errors
/// Same as for [`super::gzip`].
pub fn encode(
    profile: &Profile,
    families: &[Family],
    shape: &Shape,
    id: ProfileId,
) -> Result<Option<Vec<u8>>, Error> {
    let mut request = PushRequest::default();
    for family in families {
        let Some(mut shaped) = Shaped::new(profile, *family, shape, SpanChoice::Root) else { continue };
        let raw_profile = pprof::packed(&mut shaped, &[], shape.bytes)?;
        let id = id.at(request.series.len()).uuid();
        let samples = vec![RawSample { raw_profile, id }];
        request.series.push(Series { labels: labels(*family, shape), samples });
    }
    Ok((!request.series.is_empty()).then(|| request.encode_to_vec()))
}

/// Returns the labels of a series, sorted by name, each name once.
fn labels(family: Family, shape: &Shape) -> Vec<Label> {
    let mut labels = BTreeMap::from([(SERVICE.to_owned(), "unknown_service")]);
    labels.extend(shape.labels.iter().map(|(name, value)| (label_name(name), value.as_str())));
    labels.insert("__name__".into(), family.metric());
    // Otherwise, its older storage would take the objects of each window for a sum since the start.
    labels.insert("__delta__".into(), "false");
    labels.into_iter().map(|(name, value)| Label { name, value: value.into() }).collect()
}
