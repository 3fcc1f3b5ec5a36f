//! The profile in numbers, for programs: how it was recorded, sums, threads, and every function with its
//! weights.

use std::io::{BufWriter, Write};

use serde::Serialize;
use serde_json::{json, Map, Value};

use super::Options;
use crate::analysis::top::{top, Order};
use crate::error::Error;
use crate::ids::FunctionId;
use crate::profile::{Meta, Note, Profile, RequestsRow, SampleType, Weights};

#[derive(Serialize)]
struct Function<'profile> {
    name: &'profile str,
    class_name: &'profile str,
    method_name: &'profile str,
    path: &'profile str,
    first_line: u32,
    kind: &'static str,
    #[serde(rename = "self")]
    own: Map<String, Value>,
    total: Map<String, Value>,
}

/// Writes the document. It contains all functions with a weight, ordered by their self weight of the type
/// that a report would show.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, and [`Error::NotMeasured`] if the profile lacks the requested sample
/// type.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let total = profile.total();
    let types: Vec<Value> = profile
        .sample_types
        .iter()
        .map(|it| json!({ "name": it.name_and_unit().0, "unit": it.name_and_unit().1, "total": total.get(*it) }))
        .collect();
    let meta = Meta {
        notes: profile.meta.sentences().into_iter().map(Note::Text).collect(),
        merged: None,
        ..profile.meta.clone()
    };
    let document = json!({
        "meta": meta,
        "stats": profile.stats,
        "sample_types": types,
        "default_sample_type": of.name_and_unit().0,
        "threads": threads(profile),
        "markers": profile.markers,
        "requests": Vec::<RequestsRow>::from(&profile.requests),
        "memory": profile.memory.rows(),
        "ledgers": profile.memory.ledgers().iter().filter_map(|it| serde_json::from_str(it).ok()).collect::<Vec<Value>>(),
        "functions": functions(profile, of),
    });
    let mut out = BufWriter::new(out);
    serde_json::to_writer_pretty(&mut out, &document).map_err(std::io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

fn threads(profile: &Profile) -> Vec<Value> {
    let mut sums = vec![Weights::default(); profile.threads.len()];
    for sample in &profile.samples {
        sums.get_mut(sample.thread).into_iter().for_each(|it| it.add(&sample.weights));
    }
    let rows = profile.threads.iter().zip(&sums);
    rows.map(|(it, sum)| json!({ "native_id": it.native_id, "name": it.name, "total": by_type(profile, |of| sum.get(of)) }))
        .collect()
}

/// Returns an object with a number for each sample type.
fn by_type(profile: &Profile, number: impl Fn(SampleType) -> u64) -> Map<String, Value> {
    profile.sample_types.iter().map(|it| (it.name_and_unit().0.to_owned(), number(*it).into())).collect()
}

fn functions(profile: &Profile, of: SampleType) -> Vec<Function<'_>> {
    let mut weights: Vec<(Weights, Weights)> = vec![Default::default(); profile.functions.len()];
    for of in &profile.sample_types {
        for row in top(profile, *of, Order::SelfWeight).rows {
            if let Some((own, total)) = weights.get_mut(row.function.0 as usize) {
                own.set(*of, row.self_weight);
                total.set(*of, row.total_weight);
            }
        }
    }
    let mut order: Vec<FunctionId> =
        top(profile, of, Order::SelfWeight).rows.iter().map(|it| it.function).collect();
    let mut listed = vec![false; weights.len()];
    order.iter().for_each(|it| listed.get_mut(it.0 as usize).into_iter().for_each(|it| *it = true));
    // Append the functions that only have weight of other types.
    for (place, (_, total)) in weights.iter().enumerate() {
        if *total != Weights::default() && !listed.get(place).copied().unwrap_or(true) {
            order.push(FunctionId(place as u32));
        }
    }
    let one = |id: FunctionId| {
        let (function, (own, total)) = (profile.function(id)?, weights.get(id.0 as usize)?);
        Some(Function {
            name: &function.name,
            class_name: &function.class_name,
            method_name: &function.method_name,
            path: &function.path,
            first_line: function.first_line,
            kind: function.kind().name(),
            own: by_type(profile, |of| own.get(of)),
            total: by_type(profile, |of| total.get(of)),
        })
    };
    order.into_iter().filter_map(one).collect()
}
