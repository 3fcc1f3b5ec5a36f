//! Profiles for profiling engines, as bytes. All of this runs without the GVL.

use std::sync::Arc;

use magnus::{r_hash::ForEach, Error, RArray, RHash, RString, Ruby, Value};
use profiler_core::error::Error as CoreError;
use profiler_core::profile::Profile as CoreProfile;
use profiler_core::upload::{self, Family, ProfileId, Shape};

use crate::api::profile::{options, Profile};
use crate::errors::{argument_error, core_error, wrong_value};
use crate::vm::strings::named;
use crate::vm::without_gvl::without_gvl;

impl Profile {
    /// Implements `profile._upload(kind, options)`: returns the bytes for an engine, or nil if the profile
    /// has no data of the requested families.
    ///
    /// For the `kind` `pprof` they are a file of one `family:`, for scrapers. For `pyroscope` they are the
    /// body of a push, for `otlp` that of an export; both have all families, or only `family:`, and need an
    /// `id:` of 16 random bytes, the same for each attempt. `labels:` and `resource:` (of otlp) are Hashes of
    /// texts, `dimensions:` is an Array of the names of labels that stay. `values: depth: samples: bytes:`
    /// are bounds. `gzip: true` compresses the whole.
    pub(super) fn upload(
        ruby: &Ruby,
        rb_self: &Self,
        kind: String,
        options: RHash,
    ) -> Result<Option<RString>, Error> {
        let upload = Upload::new(ruby, &kind, options)?;
        let profile = Arc::clone(&rb_self.core);
        let bytes = without_gvl(ruby, move |_| upload.bytes(&profile))?;
        let bytes = bytes.map_err(|reason| core_error(ruby, &reason))?;
        Ok(bytes.map(|it| ruby.str_from_slice(&it)))
    }
}

/// The recipient of an upload.
enum Engine {
    Scraper(Family),
    Pyroscope(ProfileId),
    Otlp(ProfileId, Vec<(String, String)>),
}

/// The encoding of a profile for an engine.
struct Upload {
    engine: Engine,
    families: Vec<Family>,
    shape: Shape,
    gzip: bool,
}

impl Upload {
    fn new(ruby: &Ruby, kind: &str, options: RHash) -> Result<Self, Error> {
        let family = family(ruby, options)?;
        let engine = match kind {
            "pprof" => Engine::Scraper(
                family.ok_or_else(|| argument_error(ruby, "pprof has one family: pass family:"))?,
            ),
            "pyroscope" => Engine::Pyroscope(id(ruby, options)?),
            "otlp" => Engine::Otlp(id(ruby, options)?, pairs(ruby, options, "resource")?.unwrap_or_default()),
            _ => {
                let message = format!("unknown kind {kind:?} (allowed: pprof, pyroscope, otlp)");
                return Err(argument_error(ruby, message));
            }
        };
        let families = family.map_or(Family::ALL.to_vec(), |it| vec![it]);
        Ok(Self {
            engine,
            families,
            shape: shape(ruby, options)?,
            gzip: options::flag(ruby, options, "gzip")?,
        })
    }

    fn bytes(&self, profile: &CoreProfile) -> Result<Option<Vec<u8>>, CoreError> {
        let Self { families, shape, .. } = self;
        let bytes = match &self.engine {
            Engine::Scraper(family) => upload::pprof::encode(profile, *family, shape)?,
            Engine::Pyroscope(id) => upload::pyroscope::encode(profile, families, shape, *id)?,
            Engine::Otlp(id, resource) => upload::otlp::encode(profile, families, shape, resource, *id),
        };
        match bytes {
            Some(bytes) if self.gzip => upload::gzip(&bytes).map(Some),
            bytes => Ok(bytes),
        }
    }
}

fn shape(ruby: &Ruby, options: RHash) -> Result<Shape, Error> {
    let usual = Shape::default();
    let number = |name, usual| Ok::<_, Error>(options::option(ruby, options, name)?.unwrap_or(usual));
    Ok(Shape {
        labels: pairs(ruby, options, "labels")?.unwrap_or(usual.labels),
        dimensions: texts(ruby, options, "dimensions")?.unwrap_or(usual.dimensions),
        values: number("values", usual.values)?,
        depth: number("depth", usual.depth)?,
        samples: number("samples", usual.samples)?,
        bytes: number("bytes", usual.bytes)?,
    })
}

fn family(ruby: &Ruby, options: RHash) -> Result<Option<Family>, Error> {
    let Some(value) = options::option::<Value>(ruby, options, "family")? else { return Ok(None) };
    let family = named(ruby, value).and_then(|it| Family::from_name(&it));
    family.map(Some).ok_or_else(|| {
        let allowed = Family::ALL.map(Family::name).join(", ");
        wrong_value(ruby, value, |it| format!("family: {it} is not a family (allowed: {allowed})"))
    })
}

fn id(ruby: &Ruby, options: RHash) -> Result<ProfileId, Error> {
    let bytes: Option<RString> = options::option(ruby, options, "id")?;
    // SAFETY: the bytes are copied immediately, before any Ruby code runs.
    let id = bytes.and_then(|it| unsafe { it.as_slice() }.try_into().ok());
    id.map(ProfileId).ok_or_else(|| argument_error(ruby, "id: is not a String of 16 bytes"))
}

/// Returns the texts of an Array.
fn texts(ruby: &Ruby, options: RHash, name: &str) -> Result<Option<Vec<String>>, Error> {
    let Some(array) = options::option::<RArray>(ruby, options, name)? else { return Ok(None) };
    array.into_iter().map(|it| text(ruby, name, it)).collect::<Result<_, _>>().map(Some)
}

/// Returns the texts of a Hash.
fn pairs(ruby: &Ruby, options: RHash, name: &str) -> Result<Option<Vec<(String, String)>>, Error> {
    let Some(hash) = options::option::<RHash>(ruby, options, name)? else { return Ok(None) };
    let mut pairs = Vec::new();
    hash.foreach(|key: Value, value: Value| {
        pairs.push((text(ruby, name, key)?, text(ruby, name, value)?));
        Ok(ForEach::Continue)
    })?;
    Ok(Some(pairs))
}

fn text(ruby: &Ruby, option: &str, value: Value) -> Result<String, Error> {
    let wrong = || wrong_value(ruby, value, |it| format!("{option}: {it} is not a String or a Symbol"));
    named(ruby, value).ok_or_else(wrong)
}
