//! How classes and modules are spelled, above all those without a name.

use profiler_core::text::names::without_addresses;

use crate::vm::modules::{class_of, module_kind, ModuleKind};
use crate::vm::objects::{kind, Kind};

/// The depth to which an owner without a name is named by the owner that it hangs on.
const DEEPEST: usize = 16;

/// The owner of a method, as it is spelled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Owner {
    /// `Foo`, `#<singleton of Foo>`, `#<anonymous subclass of Foo>`.
    pub(crate) class_name: String,
    /// The class or module that the methods belong to: `Foo` for those of its singleton class too.
    of: String,
    /// They are called on `of` itself.
    singleton: bool,
}

impl Owner {
    /// The spelling of a class or module.
    ///
    /// # Safety
    /// The caller holds the GVL; it is alive, and on the machine's stack.
    pub(crate) unsafe fn of(module: u64) -> Self {
        // SAFETY: as promised. What it hangs on, it holds.
        unsafe {
            let class_name = spell(module, 0);
            let (of, singleton) = match module_kind(module) {
                ModuleKind::SingletonOf(object) => (spell_object(object, 1), true),
                _ => (class_name.clone(), false),
            };
            Self { class_name, of, singleton }
        }
    }

    /// The qualified name of a method.
    pub(crate) fn qualify(&self, method: &str) -> String {
        format!("{}{}{method}", self.of, self.separator())
    }

    /// Between [`of`](Self::of) and a method.
    pub(crate) fn separator(&self) -> char {
        if self.singleton {
            '.'
        } else {
            '#'
        }
    }

    /// Before the separator.
    pub(crate) fn receiver(&self) -> &str {
        &self.of
    }
}

unsafe fn spell(module: u64, depth: usize) -> String {
    if depth > DEEPEST {
        return "...".into();
    }
    // SAFETY: as in `Owner::of`.
    unsafe {
        let other = |it: Option<u64>| it.map_or("?".into(), |it| spell(it, depth + 1));
        match module_kind(module) {
            ModuleKind::Named(name) => without_addresses(&name),
            ModuleKind::SingletonOf(object) => format!("#<singleton of {}>", spell_object(object, depth + 1)),
            ModuleKind::Refinement { of, by } => format!("#<refinement {} of {}>", other(by), other(of)),
            ModuleKind::Class { superclass: None } => "#<anonymous class>".into(),
            ModuleKind::Class { superclass } => {
                format!("#<anonymous subclass of {}>", other(superclass))
            }
            ModuleKind::Module => "#<anonymous module>".into(),
        }
    }
}

unsafe fn spell_object(object: u64, depth: usize) -> String {
    // SAFETY: as in `Owner::of`.
    unsafe {
        match kind(object) {
            Kind::Class | Kind::Module => spell(object, depth),
            _ => format!("#<instance of {}>", spell(class_of(object), depth)),
        }
    }
}
