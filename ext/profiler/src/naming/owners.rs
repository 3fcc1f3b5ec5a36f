//! The spelling of classes and modules, above all of those without a name.

use profiler_core::text::names::without_addresses;

use crate::vm::modules::{class_of, module_kind, ModuleKind};
use crate::vm::objects::{kind, ObjectKind};

/// The depth to which an owner without a name is named after the owner that it depends on.
const DEEPEST: usize = 16;

/// The owner of a method, as it is spelled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MethodOwner {
    /// The name of the class: `Foo`, `#<singleton of Foo>`, `#<anonymous subclass of Foo>`.
    pub(crate) class_name: String,
    /// The class or module that the methods belong to: `Foo` for those of its singleton class too.
    of: String,
    /// Whether the methods are called on `of` itself.
    singleton: bool,
}

impl MethodOwner {
    /// Returns the spelling of a class or module.
    ///
    /// # Safety
    /// The caller holds the GVL; `module` is alive, and on the machine's stack.
    pub(crate) unsafe fn of(module: u64) -> Self {
        // SAFETY: the caller holds the GVL and keeps the module on the stack. The module holds the objects
        // that its spelling depends on.
        unsafe {
            let class_name = spell(module, 0);
            let (of, singleton) = match module_kind(module) {
                ModuleKind::SingletonOf(object) => (spell_object(object, 1), true),
                _ => (class_name.clone(), false),
            };
            Self { class_name, of, singleton }
        }
    }

    /// Returns the qualified name of a method.
    pub(crate) fn qualify(&self, method: &str) -> String {
        format!("{}{}{method}", self.of, self.separator())
    }

    /// Returns the separator between [`of`](Self::of) and a method.
    pub(crate) fn separator(&self) -> char {
        if self.singleton {
            '.'
        } else {
            '#'
        }
    }

    /// Returns the part before the separator.
    pub(crate) fn receiver(&self) -> &str {
        &self.of
    }
}

unsafe fn spell(module: u64, depth: usize) -> String {
    if depth > DEEPEST {
        return "...".into();
    }
    // SAFETY: the caller holds the GVL, and the module is held by one on the machine's stack.
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
    // SAFETY: the caller holds the GVL, and the object is held by a module on the machine's stack.
    unsafe {
        match kind(object) {
            ObjectKind::Class | ObjectKind::Module => spell(object, depth),
            _ => format!("#<instance of {}>", spell(class_of(object), depth)),
        }
    }
}
