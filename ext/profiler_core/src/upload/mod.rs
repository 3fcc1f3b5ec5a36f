//! Finished profiles for profiling engines: the body of a request, or of the answer to a scraper.
//!
//! A file keeps all of a profile; an upload has what an engine can store for years. Each [`Family`] of sample types is a profile
//! of its own. A [`Shape`] says which labels become dimensions, and bounds their values, depth, samples and bytes. What
//! exceeds a bound is merged and never dropped, so the total of each sample type is that of the profile.
//!
//! | module | what it does |
//! |---|---|
//! | [`pprof`] | plain pprof of one family, for scrapers |
//! | [`pyroscope`] | the body of a push to Pyroscope |
//! | [`otlp`] | the body of an export to an OpenTelemetry Collector |
//! | `shaped` | the samples of one family in a shape |
//! | `dimensions` | the labels of these samples |
//! | `span` | the span of a trace that a sample was taken in |
//!
//! There is no clock and no randomness here: equal arguments have equal bytes, so a request can be sent again.

mod dimensions;
mod family;
mod gzip;
mod label_name;
pub mod otlp;
pub mod pprof;
mod profile_id;
pub mod pyroscope;
mod shape;
mod shaped;
mod span;
#[cfg(all(test, not(loom)))]
mod tests;

pub use family::Family;
pub use gzip::gzip;
pub use profile_id::ProfileId;
pub use shape::Shape;
