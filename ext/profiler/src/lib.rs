//! The VM side of the profiler, and the only crate that uses VALUE. All code that needs no VM is in
//! `profiler_core`.
//!
//! This file is the table of contents of what Ruby sees; ARCHITECTURE.md is the map of the folders.

// Only the function that `magnus::init` creates is public here, and it cannot carry a comment.
#![allow(missing_docs)]

use magnus::{prelude::*, Error, Ruby};

mod api;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod attach;
mod before_3_3;
mod boot;
mod control;
mod errors;
mod labels;
#[cfg(target_os = "linux")]
mod memory;
mod naming;
mod options;
mod sampler;
mod threads;
mod trace;
mod vm;

// The modules that run in signal handlers and hooks. Without the prelude of std, `Vec`, `Box` and `format!`
// are available in them only by an import that a reader sees.
#[no_implicit_prelude]
mod capture;
#[no_implicit_prelude]
mod engine;
#[no_implicit_prelude]
mod shared;
#[no_implicit_prelude]
mod sys;

#[magnus::init]
fn init(ruby: &Ruby) -> Result<(), Error> {
    vm::process::allow_ractors(ruby);
    let profiler = ruby.define_module("Profiler")?;
    if profiler.funcall("const_defined?", ("Session", false))? {
        // Our methods would replace its methods, while its handler and its timers live on.
        let message =
            "another copy of the profiler's extension is loaded already: a process can have only one";
        return Err(Error::new(ruby.exception_load_error(), message));
    }
    boot::preload(ruby)?;
    api::init(ruby, profiler)?;
    labels::init(ruby, profiler)?;
    Ok(())
}
