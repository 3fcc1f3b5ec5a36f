//! Tests of the bytes that every format writes, and of reading them back. No file makes a reader panic.
//!
//! `UPDATE_GOLDEN=1 cargo test` accepts what is written now as golden.
#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod build;
mod example;
mod golden;
mod hostile;
mod objects;
mod others;
mod pprof;
mod readers;
mod rperf;
mod tables;
mod timeline;
mod vernier;
mod wire;

/// No notes of failures among the sources: a failure prints the profile that it takes. A case here
/// writes whole files, so there are fewer of them than elsewhere.
fn config() -> proptest::test_runner::Config {
    let usual = proptest::test_runner::Config::default();
    proptest::test_runner::Config { failure_persistence: None, cases: usual.cases.div_ceil(4), ..usual }
}
