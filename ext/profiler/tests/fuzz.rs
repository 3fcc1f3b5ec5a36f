//! The damaged files and bombs of `profiler_core`, for optimised runs (`rake test:bombs`).
//!
//! This package has no dependency only for tests, so its tests share the crates that `rake compile` has
//! built. Those of `profiler_core` do not: proptest brings features with it that other crates would be built
//! again with.
#![allow(missing_docs)]

#[path = "../../profiler_core/tests/fuzz/main.rs"]
mod fuzz;
