//! Finished profiles for profiling engines: the body of a request, or of the answer to a scraper.
//!
//! A file keeps all of a profile; an upload contains what an engine can store for years. Each [`Family`] of
//! sample types is a profile of its own. A [`Shape`] says which labels become dimensions, and limits their
//! values, depth, samples and bytes. Data beyond a limit is merged and never dropped, so the total of each
//! sample type equals that of the profile.
//!
//! | module | what it does |
//! |---|---|
//! | [`pprof`] | plain pprof of one family, for scrapers |
//! | [`pyroscope`] | the body of a push to Pyroscope |
//! | [`otlp`] | the body of an export to an OpenTelemetry Collector |
//! | `shaped` | the samples of one family in a shape |
//! | `dimensions` | the labels of these samples |
//! | `span` | the span of a trace in which a sample was taken |
//!
//! There is no clock and no randomness here: equal arguments result in equal bytes, so a request can be sent
//! again.
//!
//! Engines have limits and differ in what they do beyond them. Pyroscope refuses profiles that are too large
//! and cuts leaves off deep stacks. So the data is reduced before it is sent, in `shaped`:
//!
//! * The heaviest values of a label keep their names; the others become `(other)`.
//! * A deep stack keeps its leaf end, and its root becomes `(truncated)`.
//! * The lightest samples are merged into one with the stack `(other)` for each label set. If there are more
//!   sets than samples allowed, they are merged into one sample with every label `(other)`.
//! * A message that is too long is encoded again with fewer samples.
//!
//! The numbers of samples are not sent, and neither are threads, states, classes and GC causes. Each value of
//! a label is a series in an engine, so only listed labels are sent. The one mapping is named after the Ruby,
//! since the name of a program can contain its pid.
//!
//! The three encodings share the tables of `format/pprof/tables.rs`. OTLP numbers its functions, locations
//! and texts as pprof does, from 1, and has an empty entry in front. Identities are random bytes from the
//! caller, so a request that is sent again is the same.

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
