//! From a handle to a name: what the VM says, put together by the rules of the project.

use profiler_core::names::{without_addresses, Names};
use profiler_core::profile::Function;

use crate::vm::frames::{describe, Description};

/// The VM as the one who knows names. Only with the GVL held, and never under the drain lock.
#[derive(Debug)]
pub(crate) struct VmNames;

impl Names for VmNames {
    fn function(&mut self, handle: u64) -> Function {
        // SAFETY: sessions ask with the GVL held, for handles that their epoch still has marked.
        let description = unsafe { describe(handle) };
        function(description.unwrap_or_default())
    }
}

fn function(it: Description) -> Function {
    let class_path = it.class_path.as_deref().map(without_addresses);
    let path = it.path.unwrap_or_else(|| "<cfunc>".into());
    match (class_path, it.method_name) {
        (Some(owner), Some(method)) => {
            let separator = if it.singleton { '.' } else { '#' };
            let class_name = if it.singleton { format!("#<singleton of {owner}>") } else { owner.clone() };
            let name = format!("{owner}{separator}{method}");
            Function { name, class_name, method_name: method, path, first_line: it.first_line }
        }
        (_, method) => {
            // Class bodies, the top level, and blocks outside of methods: Ruby's own label.
            let name = it.label.or_else(|| method.clone()).unwrap_or_else(|| "(unknown)".into());
            Function {
                name: without_addresses(&name),
                class_name: String::new(),
                method_name: method.unwrap_or_default(),
                path,
                first_line: it.first_line,
            }
        }
    }
}
