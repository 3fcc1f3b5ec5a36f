//! Method entries, and the blocks from which `define_method` made them.

use magnus::{prelude::*, rb_sys::AsRawValue, rb_sys::FromRawValue, Error, RArray, Ruby, Symbol, Value};
use rb_sys::VALUE;

use crate::vm::cached::CachedObject;
use crate::vm::door::{bind_call, call, quietly, unless_undefined, Name};
use crate::vm::objects::{is_proc, kind, references, ObjectKind};

/// The parts of a method entry.
#[derive(Debug, Default)]
pub(crate) struct MethodEntry {
    /// The class or module that has the method.
    pub(crate) owner: Option<u64>,
    /// The code of the block from which the method was made.
    pub(crate) block: Option<u64>,
    /// Whether the method has code of its own.
    pub(crate) code: bool,
    /// The entry that this one represents: the original of an alias, or the method that a refinement hides.
    pub(crate) original: Option<u64>,
}

/// Reads the parts of a method entry. Allocates no Ruby object.
///
/// # Safety
/// The caller holds the GVL and is not in a GC; the entry is live.
pub(crate) unsafe fn method(entry: u64, buffer: &mut Vec<u64>) -> MethodEntry {
    let mut found = MethodEntry::default();
    let mut proc_object = None;
    // SAFETY: the caller holds the GVL outside of a GC and passes a live entry; objects that a live object
    // refers to are alive.
    unsafe {
        references(entry, buffer);
        for object in buffer.iter().copied() {
            match kind(object) {
                // The owner is marked first.
                ObjectKind::Class | ObjectKind::Module if found.owner.is_none() => found.owner = Some(object),
                ObjectKind::Method if object != entry => found.original = Some(object),
                ObjectKind::Iseq => found.code = true,
                ObjectKind::Data if is_proc(object) => proc_object = Some(object),
                _ => {}
            }
        }
        if let Some(proc_object) = proc_object {
            references(proc_object, buffer);
            found.block = buffer.iter().copied().find(|object| kind(*object) == ObjectKind::Iseq);
        }
    }
    found
}

/// The largest number of inclusions of one class that are followed, far more than any class has.
const MAX_INCLUSIONS: usize = 10_000;

/// Calls `found` with each entry of the methods that `module` itself has. Allocates no Ruby object.
///
/// # Safety
/// Same as for [`method`].
pub(crate) unsafe fn each_own(
    module: u64,
    (around, buffer): &mut (Vec<u64>, Vec<u64>),
    mut found: impl FnMut(MethodEntry),
) {
    let mut place = Some(module);
    // If a module is prepended, the methods of a class move behind it, to one of its inclusions.
    for _ in 0..MAX_INCLUSIONS {
        let Some(here) = place else { break };
        // SAFETY: the caller holds the GVL outside of a GC and passes a live module; objects that a live
        // object refers to are alive.
        unsafe {
            references(here, around);
            for entry in around.iter().copied().filter(|it| kind(*it) == ObjectKind::Method) {
                let entry_method = method(entry, buffer);
                if entry_method.owner != Some(module) {
                    continue; // from a cache
                }
                if let Some(original) = entry_method.original {
                    let original = method(original, buffer);
                    if original.owner == Some(module) {
                        found(original);
                    }
                }
                found(entry_method);
            }
            place = around.iter().copied().find(|it| kind(*it) == ObjectKind::Inclusion && *it != here);
        }
    }
}

/// Ruby's own methods, even if an app has replaced them since.
static INSTANCE_METHOD: CachedObject = CachedObject::new(|ruby| unbound(ruby, "Module", "instance_method"));
static SUPER_METHOD: CachedObject = CachedObject::new(|ruby| unbound(ruby, "UnboundMethod", "super_method"));
static ORIGINAL_NAME: CachedObject =
    CachedObject::new(|ruby| unbound(ruby, "UnboundMethod", "original_name"));
static NAME_OF_BOUND: CachedObject = CachedObject::new(|ruby| unbound(ruby, "Method", "original_name"));

fn unbound(ruby: &Ruby, class: &str, name: &str) -> Result<Value, Error> {
    instance_method(ruby, ruby.class_object().const_get(class)?, name)
}

/// Calls `class.instance_method(name)`.
///
/// # Errors
/// The exception that Ruby raises.
pub(super) fn instance_method(ruby: &Ruby, class: Value, name: &str) -> Result<Value, Error> {
    static INSTANCE_METHOD_NAME: Name = Name::new(c"instance_method");
    call(class, &INSTANCE_METHOD_NAME, [ruby.to_symbol(name).as_value()])
}

/// Loads what this module keeps: see [`crate::boot::preload`].
pub(crate) fn preload(ruby: &Ruby) -> Result<(), Error> {
    [&INSTANCE_METHOD, &SUPER_METHOD, &ORIGINAL_NAME, &NAME_OF_BOUND]
        .into_iter()
        .try_for_each(|it| it.value(ruby).map(drop))
}

/// Creates an UnboundMethod for each method of `module`.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
///
/// # Safety
/// The caller holds the GVL; the module is live and on the machine's stack.
pub(crate) unsafe fn list(ruby: &Ruby, module: Value) -> Result<RArray, Error> {
    let methods = ruby.ary_new();
    let lists: [unsafe extern "C" fn(core::ffi::c_int, *const VALUE, VALUE) -> VALUE; 2] =
        [rb_sys::rb_class_instance_methods, rb_sys::rb_class_private_instance_methods];
    for names in lists {
        let own_only = [rb_sys::Qfalse as VALUE];
        // SAFETY: the caller holds the GVL and passes a live module; an Array that was just created is on the
        // stack.
        let names = unsafe {
            quietly(|| names(1, own_only.as_ptr(), module.as_raw()))
                .and_then(|list| RArray::from_value(Value::from_raw(list)))
        };
        for name in names.into_iter().flat_map(RArray::into_iter) {
            // The method may have been removed since it was listed.
            let fetch = || bind_call(INSTANCE_METHOD.value(ruby)?, [module, name]);
            let Some(method) = unless_undefined(ruby, fetch)? else { continue };
            methods.push(method)?;
            // The method that a prepended module overrides.
            let hidden = bind_call(SUPER_METHOD.value(ruby)?, [method])?;
            if !hidden.is_nil() {
                methods.push(hidden)?;
            }
        }
    }
    Ok(methods)
}

/// Returns the entry of a Method or UnboundMethod; `None` for any other object. Allocates no Ruby object.
///
/// # Safety
/// The caller holds the GVL and is not in a GC; the object is live.
pub(crate) unsafe fn entry(object: Value, buffer: &mut Vec<u64>) -> Option<u64> {
    // SAFETY: the caller holds the GVL outside of a GC and passes a live object.
    unsafe {
        if !is_method(object) {
            return None;
        }
        references(object.as_raw(), buffer);
        buffer.iter().copied().find(|it| kind(*it) == ObjectKind::Method)
    }
}

/// Returns whether `object` is a Method or an UnboundMethod, which are one type internally.
fn is_method(object: Value) -> bool {
    // SAFETY: a Value is live; the call reads its type.
    unsafe { rb_sys::rb_obj_is_method(object.as_raw()) == rb_sys::Qtrue as VALUE }
}

/// Returns the name under which a Method or UnboundMethod was defined.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn original_name(ruby: &Ruby, object: Value) -> Result<Option<String>, Error> {
    // SAFETY: both objects are alive; no method is called.
    let bound = unsafe { rb_sys::rb_obj_is_kind_of(object.as_raw(), rb_sys::rb_cMethod) };
    let original_name_of = if bound == rb_sys::Qtrue as VALUE { &NAME_OF_BOUND } else { &ORIGINAL_NAME };
    let name = Symbol::from_value(bind_call(original_name_of.value(ruby)?, [object])?);
    // SAFETY: the GVL is held; a Symbol's String is alive as long as the Symbol.
    Ok(name.map(|name| unsafe { super::text(rb_sys::rb_sym2str(name.as_raw())) }))
}

/// Returns the text of a Symbol, as for the name of a method. Allocates no Ruby object.
///
/// # Safety
/// The caller holds the GVL; `symbol` is a live Symbol.
pub(crate) unsafe fn symbol_text(symbol: u64) -> String {
    // SAFETY: the caller holds the GVL and passes a live Symbol, which holds its String.
    unsafe { super::text(rb_sys::rb_sym2str(symbol as VALUE)) }
}
