//! From a handle to a name: the VM's answer, spelled by the rules of the project.
//!
//! No name that we generate contains an address, and no method of the app is called. All of it happens with
//! the GVL held but never under a lock.
//!
//! A handle is a method entry or bare code. The owner of an entry is the first class or module that it refers
//! to, according to the VM (`vm/objects.rs`). The kind of owner (`vm/modules.rs`) and its spelling
//! (`naming/owners.rs`) need no method call, so a class of the app is never asked about itself.

use magnus::{rb_sys::AsRawValue, Error, Ruby, Value};
use profiler_core::profile::Function;
use profiler_core::record::frame::Synthetic;
use profiler_core::tables::name_cache::synthetic;
use profiler_core::text::names::{without_addresses, without_ids};
use profiler_core::trace::FunctionKey;

use crate::naming::turns::{Pace, Turns};
use crate::vm::frames::{describe, Description};
use crate::vm::methods::{self, symbol_text};
use crate::vm::modules::real_class;
use crate::vm::objects::{kind, ObjectKind};

mod blocks;
mod owners;
pub(crate) mod pending;
pub(crate) mod turns;

use owners::MethodOwner;

/// Returns the functions of `handles`, which process `pid` recorded, in their order. Must not be called under
/// the drain lock.
///
/// # Errors
/// Exceptions that other threads deliver during the call: the caller can then start again from the beginning.
/// `Profiler::Error` in another process.
///
/// # Safety
/// The handles stay marked until this returns.
pub(crate) unsafe fn functions(
    ruby: &Ruby,
    handles: &[u64],
    pace: Pace,
    process: u32,
) -> Result<Vec<Function>, Error> {
    let mut turns = Turns::new(pace, process);
    turns.ensure_same_process(ruby)?;
    // SAFETY: a `Ruby` proves that the GVL is held; the caller keeps the handles marked.
    let describe = |handle: &u64| unsafe { describe(*handle) }.unwrap_or_default();
    // SAFETY: a `Ruby` proves that the GVL is held; the caller keeps the handles marked.
    let class = |handle: &u64| unsafe { class(*handle) };
    let mut functions: Vec<Function> = Vec::with_capacity(handles.len());
    let mut blocks = Vec::new();
    for (place, handle) in handles.iter().enumerate() {
        turns.give(ruby)?;
        if let Some(class) = class(handle) {
            functions.push(class);
            continue;
        }
        let description = describe(handle);
        if description.owner.is_none() && blocks::is_block(description.label.as_deref().unwrap_or_default()) {
            blocks.push(place);
        }
        functions.push(function(description));
    }
    if !blocks.is_empty() {
        // SAFETY: a `Ruby` proves that the GVL is held; the caller keeps the handles marked.
        unsafe { blocks::name(ruby, handles, &mut functions, &blocks, &mut turns)? };
    }
    Ok(functions)
}

/// Returns the functions of methods by owner and name, in their order, as [`functions`] does by handles. Each has a
/// handle of its code too, which is 0 for a C function. Code outside of methods has no owner.
///
/// # Errors
/// Same as for [`functions`].
///
/// # Safety
/// Owners, names and handles stay marked until this returns.
pub(crate) unsafe fn methods_of(
    ruby: &Ruby,
    methods: &[(FunctionKey, u64)],
    process: u32,
) -> Result<Vec<Function>, Error> {
    let mut turns = Turns::new(Pace::AtOnce, process);
    let outside: Vec<u64> =
        methods.iter().filter(|(key, _)| key.owner == 0).map(|(_, handle)| *handle).collect();
    // SAFETY: the caller keeps the handles marked.
    let mut outside = unsafe { functions(ruby, &outside, Pace::AtOnce, process)? }.into_iter();
    let mut found = Vec::with_capacity(methods.len());
    for (FunctionKey { owner, name }, handle) in methods.iter().copied() {
        turns.give(ruby)?;
        let function = if owner == 0 {
            outside.next().unwrap_or_else(|| function(Description::default()))
        } else {
            // SAFETY: a `Ruby` proves that the GVL is held; the caller keeps all of these marked.
            let (code, method_name) = unsafe {
                let code = if handle == 0 { None } else { describe(handle) };
                (code.unwrap_or_default(), symbol_text(name))
            };
            function(Description { owner: Some(owner), method_name: Some(method_name), label: None, ..code })
        };
        found.push(function);
    }
    Ok(found)
}

/// Returns the name of a class.
///
/// # Safety
/// The caller holds the GVL; the class is alive, and stays in place.
pub(crate) unsafe fn name_of_class(class: u64) -> String {
    // SAFETY: the caller holds the GVL, and the class is alive and stays in place.
    unsafe { MethodOwner::of(real_class(class)).class_name }
}

/// Returns the name of a handle of a class; `None` for others.
///
/// # Safety
/// The caller holds the GVL; the handle is marked.
unsafe fn class(handle: u64) -> Option<Function> {
    // SAFETY: the caller holds the GVL and passes a marked handle.
    let name = unsafe {
        (kind(handle) == ObjectKind::Class).then(|| MethodOwner::of(real_class(handle)).class_name)?
    };
    Some(Function { name, ..synthetic(Synthetic::Unsampled) })
}

/// Implements `Native.class_name(klass)`: returns the name that profiles use for a class; `None` for any
/// other object.
pub(crate) fn class_name(_ruby: &Ruby, object: Value) -> Option<String> {
    // SAFETY: a `Ruby` proves that the GVL is held; the object, an argument, is on the stack.
    unsafe { class(object.as_raw()) }.map(|it| it.name)
}

fn function(description: Description) -> Function {
    let path = description.path.unwrap_or_else(|| Function::CFUNC.into());
    let method_name = description.method_name.as_deref().map(without_ids).unwrap_or_default().to_owned();
    let (name, class_name) = match description.owner {
        Some(owner) if !method_name.is_empty() => {
            // SAFETY: the GVL is held; a live method holds its owner, which is on the stack here.
            let owner = unsafe { MethodOwner::of(owner) };
            (owner.qualify(&method_name), owner.class_name)
        }
        // Class bodies, the top level, and blocks outside of methods have Ruby's own label.
        _ => (description.label.unwrap_or_else(|| "(unknown)".into()), String::new()),
    };
    Function {
        name: without_addresses(&name),
        class_name,
        method_name,
        path,
        first_line: description.first_line,
    }
}

/// Implements `Profiler.name_of(method)`: returns the name that profiles use for a Method or UnboundMethod;
/// `None` for any other object.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn name_of(ruby: &Ruby, object: Value) -> Result<Option<String>, Error> {
    let mut buffer = Vec::new();
    // SAFETY: the GVL is held; `object`, an argument, is on the stack and holds its entry.
    let (entry, method) = unsafe {
        let Some(mut entry) = methods::entry(object, &mut buffer) else { return Ok(None) };
        let mut method = methods::method(entry, &mut buffer);
        // An alias represents another entry.
        for _ in 0..8 {
            let Some(original) = method.original.filter(|_| !method.code && method.block.is_none()) else {
                break;
            };
            entry = original;
            method = methods::method(entry, &mut buffer);
        }
        (entry, method)
    };
    if let Some(block) = method.block {
        // SAFETY: the GVL is held; `object` holds its entry, and the entry holds its block.
        let mut functions = unsafe { functions(ruby, &[block], Pace::AtOnce, std::process::id())? };
        std::hint::black_box(object.as_raw());
        return Ok(functions.pop().map(|it| it.name));
    }
    // SAFETY: the GVL is held; `object` holds its entry.
    let described = unsafe { describe(entry) }.unwrap_or_default();
    if method.code && described.method_name.is_some() {
        return Ok(Some(function(described).name));
    }
    let (Some(name), Some(owner)) = (methods::original_name(ruby, object)?, method.owner) else {
        return Ok(None);
    };
    // SAFETY: the GVL is held; `object` holds its entry, and a live method holds its owner.
    let owner = unsafe { MethodOwner::of(owner) };
    let name = owner.qualify(without_ids(&name));
    // The `object` keeps all of this alive up to here.
    std::hint::black_box(object.as_raw());
    Ok(Some(name))
}
