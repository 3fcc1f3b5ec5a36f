//! What this process is: the Ruby it runs, its JIT, its program.

use magnus::{prelude::*, Ruby, Value};

/// Whether walking from a signal handler is unsafe here, and why.
pub(crate) fn unsafe_to_walk(ruby: &Ruby) -> Option<String> {
    let version = constant::<String>(ruby, &["RUBY_VERSION"])?;
    if version == "3.2.0" {
        return Some("Ruby 3.2.0 crashes when a stack is walked at the wrong moment".into());
    }
    if jit(ruby, "ZJIT") {
        return Some("ZJIT's frames cannot be walked at every moment".into());
    }
    if !cfg!(ruby_gte_3_3) && jit(ruby, "YJIT") {
        return Some(format!("YJIT of Ruby {version} moves its frames before it fills them (mended in 3.3)"));
    }
    None
}

/// What of this process is not profiled, or not as promised: one sentence each.
pub(crate) fn blind_spots(ruby: &Ruby) -> Vec<String> {
    let mut spots = Vec::new();
    if cfg!(ruby_gte_3_3) && std::env::var("RUBY_MN_THREADS").is_ok_and(|it| it == "1") {
        spots.push(
            "RUBY_MN_THREADS: Ruby threads share native ones, and part of their time is missing".into(),
        );
    }
    let ractors = constant::<Value>(ruby, &["Ractor"]);
    if ractors.and_then(|it| it.funcall::<_, _, usize>("count", ()).ok()).is_some_and(|count| count > 1) {
        spots.push("threads of other Ractors are not in this profile".into());
    }
    spots
}

/// `RUBY_DESCRIPTION`.
pub(crate) fn description(ruby: &Ruby) -> String {
    constant(ruby, &["RUBY_DESCRIPTION"]).unwrap_or_default()
}

/// `$PROGRAM_NAME`.
pub(crate) fn program(ruby: &Ruby) -> String {
    let name: Option<String> =
        ruby.eval::<Value>("$PROGRAM_NAME").ok().and_then(|name| name.to_r_string().ok()?.to_string().ok());
    name.unwrap_or_default()
}

/// Lets the extension's methods run in any Ractor: the machine is guarded by locks of its own. For
/// the function that Ruby calls when it loads the extension.
pub(crate) fn allow_ractors(_gvl: &Ruby) {
    // SAFETY: a `Ruby` proves that the GVL is held; the call only sets a flag of the loading thread.
    unsafe { rb_sys::rb_ext_ractor_safe(true) };
}

fn jit(ruby: &Ruby, name: &str) -> bool {
    constant::<Value>(ruby, &["RubyVM", name])
        .and_then(|jit| jit.funcall::<_, _, bool>("enabled?", ()).ok())
        .unwrap_or(false)
}

fn constant<T: magnus::TryConvert>(ruby: &Ruby, path: &[&str]) -> Option<T> {
    let (last, parents) = path.split_last()?;
    let mut module: Value = ruby.class_object().as_value();
    for name in parents {
        module = module.funcall("const_get", (*name,)).ok()?;
    }
    module.funcall("const_get", (*last,)).ok()
}
