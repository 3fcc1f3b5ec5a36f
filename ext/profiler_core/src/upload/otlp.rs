//! The body of an export of OTLP profiles in protobuf (`v1development`): one profile for each sample type,
//! and a shared dictionary.
//!
//! The protocol is not stable. The field numbers are those of `opentelemetry-proto` 1.45.

mod dictionary;
pub(super) mod messages;

use std::collections::BTreeMap;

use prost::Message;

use self::dictionary::Dictionary;
use self::messages::{AnyValue, ExportRequest, KeyValue, Resource, ResourceProfiles, Scope, ScopeProfiles};
use super::family::Family;
use super::profile_id::ProfileId;
use super::shape::Shape;
use super::shaped::Shaped;
use super::span::SpanChoice;
use crate::profile::Profile;

/// The name of the scope, after which some engines name their profiles.
const SCOPE: &str = "profiler";

/// Encodes those of `families` that the profile has; `None` if it has none. The attributes of the resource
/// are `resource`, plus those of the shape's own labels that are not among them.
#[must_use]
pub fn encode(
    profile: &Profile,
    families: &[Family],
    shape: &Shape,
    resource: &[(String, String)],
    id: ProfileId,
) -> Option<Vec<u8>> {
    let mut shaped: Vec<Shaped<'_>> =
        families.iter().filter_map(|it| Shaped::new(profile, *it, shape, SpanChoice::Own)).collect();
    if shaped.is_empty() {
        return None;
    }
    let allowed = shape.bytes.saturating_mul(shaped.len());
    let attributes: BTreeMap<&str, &str> =
        shape.labels.iter().chain(resource).map(|(name, value)| (name.as_str(), value.as_str())).collect();
    loop {
        let request = request(profile, &shaped, &attributes, id);
        let length = request.encoded_len();
        let shorten = |any, it: &mut Shaped<'_>| it.shorten(length, allowed) || any;
        if !shaped.iter_mut().fold(false, shorten) {
            return Some(request.encode_to_vec());
        }
    }
}

fn request(
    profile: &Profile,
    families: &[Shaped<'_>],
    attributes: &BTreeMap<&str, &str>,
    id: ProfileId,
) -> ExportRequest {
    let mut dictionary = Dictionary::new(profile);
    let mut profiles = Vec::new();
    for shaped in families {
        add(&mut profiles, &mut dictionary, shaped, id);
    }
    let attributes =
        attributes.iter().map(|(key, value)| KeyValue { key: (*key).into(), value: AnyValue::text(value) });
    // Parca stops for good if the resource or the scope is missing.
    let resource = Some(Resource { attributes: attributes.collect() });
    let scope = Some(Scope { name: SCOPE.into(), version: profile.meta.profiler_version.to_string() });
    let scope_profiles = vec![ScopeProfiles { scope, profiles }];
    ExportRequest {
        resource_profiles: vec![ResourceProfiles { resource, scope_profiles }],
        dictionary: Some(dictionary.into_message()),
    }
}

/// Adds the profile of each type of a family that has any weight.
fn add<'a>(
    profiles: &mut Vec<messages::Profile>,
    dictionary: &mut Dictionary<'a>,
    shaped: &Shaped<'a>,
    id: ProfileId,
) {
    let (time_unix_nano, duration_nano) = shaped.family.time_ns(shaped.profile);
    let (name, unit, period) = shaped.family.period(shaped.profile);
    let rows: Vec<_> = shaped
        .samples()
        .map(|(stack, labels, span, weights)| {
            let (stack, attributes) = (dictionary.stack(stack), dictionary.attributes(labels));
            (stack, attributes, dictionary.link(span), weights)
        })
        .collect();
    for of in &shaped.types {
        let weight = |it: u64| i64::try_from(it).unwrap_or(i64::MAX);
        let samples: Vec<messages::Sample> = rows
            .iter()
            .filter(|(_, _, _, weights)| weights.get(*of) > 0)
            .map(|(stack, attributes, link, weights)| messages::Sample {
                stack_index: *stack,
                attribute_indices: attributes.clone(),
                link_index: *link,
                values: vec![weight(weights.get(*of))],
            })
            .collect();
        if samples.is_empty() {
            continue;
        }
        profiles.push(messages::Profile {
            sample_type: Some(dictionary.value_type(of.name_and_unit())),
            samples,
            time_unix_nano,
            duration_nano,
            period_type: Some(dictionary.value_type((name, unit))),
            period: weight(period),
            profile_id: id.at(profiles.len()).0.to_vec(),
        });
    }
}
