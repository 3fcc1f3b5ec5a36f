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
//!
//! Engines have limits and differ in what they do beyond them. Pyroscope refuses profiles that are too large and cuts
//! leaves off deep stacks. So what is sent is cut before, in `shaped`:
//!
//! * The heaviest values of a label keep their names; the others become `(other)`.
//! * A deep stack keeps its leaf end, and its root is `(truncated)`.
//! * The lightest samples become one of the stack `(other)` for each set of labels. If there are more sets than samples
//!   may be, they become one with every label `(other)`.
//! * A message that is too long is encoded again with fewer samples.
//!
//! Numbers of samples are not sent, and neither are threads, states, classes and GC causes. Each value of a label is a
//! series in an engine, so only listed labels are sent. The one mapping is named by the Ruby, since the name of a
//! program can have its pid in it.
//!
//! The three encodings share the tables of `format/pprof/tables.rs`. OTLP numbers its functions, locations and texts as
//! pprof does, from 1, and has an empty entry in front. Identities are random bytes of the caller's, so a request that
//! is sent again is the same.

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
