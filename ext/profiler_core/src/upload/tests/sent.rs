//! The contents of a message, whatever its format.

use std::collections::BTreeMap;

use flate2::read::GzDecoder;
use prost::Message;

use crate::format::pprof::messages;
use crate::text::hex;
use crate::upload::label_name::label_name;
use crate::upload::otlp::messages::ExportRequest;
use crate::upload::pyroscope::messages::PushRequest;

/// A sample: its stack leaf first, labels with their names as in pprof, and weights by the name of the type.
type Sample = (Vec<String>, BTreeMap<String, String>, BTreeMap<String, i64>);

/// The samples of a message.
#[derive(Debug, Default)]
pub(super) struct Sent {
    pub(super) samples: Vec<Sample>,
    /// The length before compression.
    pub(super) length: usize,
}

impl Sent {
    pub(super) fn totals(&self) -> BTreeMap<String, i64> {
        self.sums(|_, _| Some(())).into_iter().map(|((of, ()), sum)| (of, sum)).collect()
    }

    /// Returns the sums by type and value; samples without the label are left out.
    pub(super) fn by(&self, label: &str) -> BTreeMap<(String, String), i64> {
        self.sums(|_, labels| labels.get(label).cloned())
    }

    /// Returns the sums by type and stack.
    pub(super) fn stacks(&self) -> BTreeMap<(String, Vec<String>), i64> {
        self.sums(|stack, _| Some(stack.to_vec()))
    }

    fn sums<K: Ord + Clone>(
        &self,
        key: impl Fn(&[String], &BTreeMap<String, String>) -> Option<K>,
    ) -> BTreeMap<(String, K), i64> {
        let mut sums = BTreeMap::new();
        for (stack, labels, weights) in &self.samples {
            let Some(key) = key(stack, labels) else { continue };
            for (of, weight) in weights.iter().filter(|it| *it.1 > 0) {
                *sums.entry((of.clone(), key.clone())).or_insert(0) += weight;
            }
        }
        sums
    }

    pub(super) fn of_pprof(packed: &[u8]) -> Self {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut GzDecoder::new(packed), &mut bytes).unwrap();
        let it = messages::Profile::decode(&*bytes).unwrap();
        let text = |place: i64| it.string_table[usize::try_from(place).unwrap()].clone();
        assert_eq!(text(0), "");
        assert!(it.location.iter().zip(1..).all(|(it, id)| it.id == id));
        assert!(it.function.iter().zip(1..).all(|(it, id)| it.id == id));
        assert_eq!((it.format_version, it.meta.as_str(), it.sample_thread.len()), (0, "", 0));
        let types: Vec<String> = it.sample_type.iter().map(|it| text(it.r#type)).collect();
        let name = |id: &u64| {
            let line = it.location[*id as usize - 1].line[0];
            text(it.function[line.function_id as usize - 1].name)
        };
        let sample = |sample: &messages::Sample| {
            assert_eq!(sample.value.len(), types.len());
            let labels: BTreeMap<_, _> = sample.label.iter().map(|it| (text(it.key), text(it.str))).collect();
            assert_eq!(labels.len(), sample.label.len(), "a name of a label is there twice");
            assert!(labels.iter().all(|(name, value)| label_name(name) == *name && !value.is_empty()));
            let weights = types.iter().cloned().zip(sample.value.iter().copied()).collect();
            (sample.location_id.iter().map(name).collect(), labels, weights)
        };
        Self { samples: it.sample.iter().map(sample).collect(), length: bytes.len() }
    }

    /// Decodes a push: the labels of its series by name, and the profile of each.
    pub(super) fn of_push(bytes: &[u8]) -> Vec<(BTreeMap<String, String>, String, Self)> {
        let series = PushRequest::decode(bytes).unwrap().series.into_iter();
        series
            .map(|it| {
                let sample = &it.samples[0];
                let names = it.labels.len();
                let labels: BTreeMap<_, _> = it.labels.into_iter().map(|it| (it.name, it.value)).collect();
                assert_eq!(names, labels.len());
                (labels, sample.id.clone(), Self::of_pprof(&sample.raw_profile))
            })
            .collect()
    }

    /// Decodes all profiles of a request into one. A sample has the weight of one type.
    pub(super) fn of_export(bytes: &[u8]) -> Self {
        let request = ExportRequest::decode(bytes).unwrap();
        let it = request.dictionary.unwrap();
        assert_eq!(it.mapping_table, [Default::default()]);
        assert_eq!(it.link_table[0], Default::default());
        let ids: std::collections::HashSet<_> =
            it.link_table.iter().map(|it| (&it.trace_id, &it.span_id)).collect();
        assert_eq!(ids.len(), it.link_table.len(), "a link is there twice");
        assert_eq!(it.string_table[0], "");
        assert_eq!(it.location_table[0], Default::default());
        assert_eq!(it.function_table[0], Default::default());
        assert_eq!(it.attribute_table[0], Default::default());
        assert_eq!(it.stack_table[0], Default::default());
        let text = |place: i32| it.string_table[place as usize].clone();
        let name = |place: &i32| {
            let line = it.location_table[*place as usize].lines[0];
            text(it.function_table[line.function_index as usize].name_strindex)
        };
        let label = |place: &i32| {
            let it = &it.attribute_table[*place as usize];
            let value = it.value.clone().unwrap().string_value.unwrap();
            (label_name(&text(it.key_strindex)), value)
        };
        let mut sent = Self { samples: Vec::new(), length: bytes.len() };
        let [resource] = &request.resource_profiles[..] else { panic!("not one resource") };
        assert!(resource.resource.is_some());
        let [scope] = &resource.scope_profiles[..] else { panic!("not one scope") };
        assert_eq!(scope.scope.as_ref().unwrap().name, "profiler");
        for profile in &scope.profiles {
            assert_eq!(profile.profile_id.len(), 16);
            assert!(profile.period_type.is_some_and(|it| !text(it.type_strindex).is_empty()));
            let of = text(profile.sample_type.unwrap().type_strindex);
            for sample in &profile.samples {
                let [value] = sample.values[..] else { panic!("not one value") };
                let stack = &it.stack_table[sample.stack_index as usize].location_indices;
                let mut labels: BTreeMap<_, _> = sample.attribute_indices.iter().map(label).collect();
                let link = &it.link_table[sample.link_index as usize];
                if sample.link_index > 0 {
                    labels.insert("link".into(), format!("{} {}", hex(&link.trace_id), hex(&link.span_id)));
                }
                let weights = BTreeMap::from([(of.clone(), value)]);
                sent.samples.push((stack.iter().map(name).collect(), labels, weights));
            }
        }
        sent
    }
}
