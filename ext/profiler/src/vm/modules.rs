//! The name of a class or module, or the objects that describe it if it has none. No code of the app runs.

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{prelude::*, Error, RArray, Ruby, Value};
use rb_sys::{ruby_value_type, VALUE};

use crate::vm::cached::CachedObject;
use crate::vm::door::{call, protect, Name};
use crate::vm::objects::{kind, ObjectKind};

/// The kind of a class or module, with the data that its name needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ModuleKind {
    /// A module with a name: that of a constant, or one that the app gave it. The name of a constant in a
    /// module without a name contains an address, which the VM puts there.
    Named(String),
    /// The singleton class of an object, which may be a class or module itself.
    SingletonOf(u64),
    /// The result of `refine(of)` in module `by`.
    Refinement { of: Option<u64>, by: Option<u64> },
    /// A class without a name.
    Class { superclass: Option<u64> },
    /// A module without a name.
    Module,
}

/// Returns the kind of `module`.
///
/// # Safety
/// The caller holds the GVL; `module` is a live class or module, and on the machine's stack.
pub(crate) unsafe fn module_kind(module: u64) -> ModuleKind {
    let value = module as VALUE;
    // SAFETY: the caller holds the GVL and passes a live module that is on the stack. None of these calls
    // dispatches a method; those that raise are caught.
    unsafe {
        let is_class = kind(module) == ObjectKind::Class;
        if is_class && rb_sys::rb_class_real(value) != value {
            return attached(value).map_or(ModuleKind::Module, ModuleKind::SingletonOf);
        }
        if rb_sys::rb_obj_is_kind_of(value, rb_sys::rb_cRefinement) == rb_sys::Qtrue as VALUE {
            return ModuleKind::Refinement {
                of: hidden(value, c"__refined_class__"),
                by: hidden(value, c"__defined_at__"),
            };
        }
        let name = super::door::quietly(|| rb_sys::rb_mod_name(value));
        match name.filter(|name| rb_sys::RB_TYPE_P(*name, ruby_value_type::RUBY_T_STRING)) {
            Some(name) => ModuleKind::Named(super::text(name)),
            None if is_class => ModuleKind::Class { superclass: superclass(value) },
            None => ModuleKind::Module,
        }
    }
}

/// Returns the class of `object` as Ruby code sees it.
///
/// # Safety
/// The caller holds the GVL; the object is live.
pub(crate) unsafe fn class_of(object: u64) -> u64 {
    // SAFETY: the caller holds the GVL and passes a live object. The call only reads, and skips singleton
    // classes.
    unsafe { rb_sys::rb_obj_class(object as VALUE) as u64 }
}

/// Returns the class that an object's own class represents: the first that is not a singleton class.
///
/// # Safety
/// The caller holds the GVL; `class` is a live class.
pub(crate) unsafe fn real_class(class: u64) -> u64 {
    // SAFETY: the caller holds the GVL and passes a live class. The call follows superclasses.
    unsafe { rb_sys::rb_class_real(class as VALUE) as u64 }
}

/// Returns the singleton class of the class `class`, if it has one of its own. `ObjectSpace` hides most of
/// them.
///
/// # Safety
/// The caller holds the GVL; the class is live.
pub(crate) unsafe fn metaclass(class: u64) -> Option<u64> {
    // SAFETY: every object begins with an RBasic.
    let of = unsafe { (*(class as *const rb_sys::RBasic)).klass };
    // SAFETY: a class is an object, and so is the class of a class.
    unsafe {
        (of != 0 && rb_sys::rb_class_real(of) != of && attached(of) == Some(class as VALUE)).then_some(of)
    }
}

unsafe fn superclass(class: VALUE) -> Option<u64> {
    // SAFETY: the callers hold the GVL and pass a live class. The call raises for a class that was never
    // initialised.
    let superclass = unsafe { super::door::quietly(|| rb_sys::rb_class_superclass(class)) };
    superclass.filter(|it| *it != rb_sys::Qnil as VALUE)
}

/// Returns the object in an instance variable that Ruby code cannot name, if there is one.
unsafe fn hidden(of: VALUE, name: &core::ffi::CStr) -> Option<u64> {
    // SAFETY: the callers hold the GVL and pass a live object; the name is a C string.
    let value = unsafe { rb_sys::rb_attr_get(of, rb_sys::rb_intern(name.as_ptr())) };
    (!rb_sys::SPECIAL_CONST_P(value)).then_some(value as u64)
}

#[cfg(ruby_gte_3_3)]
unsafe fn attached(singleton: VALUE) -> Option<VALUE> {
    extern "C" {
        fn rb_class_attached_object(singleton: VALUE) -> VALUE;
    }
    // SAFETY: the callers hold the GVL; the call raises if `singleton` is not a singleton class, which is
    // caught.
    let object = unsafe { super::door::quietly(|| rb_class_attached_object(singleton)) };
    object.filter(|it| !rb_sys::SPECIAL_CONST_P(*it))
}

#[cfg(not(ruby_gte_3_3))]
unsafe fn attached(singleton: VALUE) -> Option<VALUE> {
    // SAFETY: the callers hold the GVL and pass a live class.
    unsafe { hidden(singleton, c"__attached__").map(|it| it as VALUE) }
}

/// The method `ObjectSpace.each_object`, even if an app has replaced it since.
static EACH_OBJECT: CachedObject = CachedObject::new(|ruby| {
    static METHOD: Name = Name::new(c"method");
    let space = ruby.class_object().const_get("ObjectSpace")?;
    call(space, &METHOD, [ruby.to_symbol("each_object").as_value()])
});

/// Loads what this module keeps: see [`crate::boot::preload`].
pub(crate) fn preload(ruby: &Ruby) -> Result<(), Error> {
    EACH_OBJECT.value(ruby).map(drop)
}

/// Returns all live classes and modules, except for singleton classes of classes: see [`metaclass`].
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(crate) fn all(ruby: &Ruby) -> Result<RArray, Error> {
    // SAFETY: a `Ruby` proves that the GVL is held.
    objects_of(ruby, unsafe { Value::from_raw(rb_sys::rb_cModule) })
}

/// Returns all objects of a class.
///
/// # Errors
/// Same as for [`all`].
pub(super) fn objects_of(ruby: &Ruby, class: Value) -> Result<RArray, Error> {
    unsafe extern "C" fn push_object(
        object: VALUE,
        list: VALUE,
        _argc: core::ffi::c_int,
        _argv: *const VALUE,
        _block: VALUE,
    ) -> VALUE {
        // SAFETY: the VM calls this with the GVL; `list` is the Array below, which is on the stack there.
        unsafe { rb_sys::rb_ary_push(list, object) }
    }
    static CALL: Name = Name::new(c"call");
    let method = EACH_OBJECT.value(ruby)?;
    let list = ruby.ary_new();
    let argument = [class.as_raw()];
    // SAFETY: the GVL is held; all values are on the stack.
    protect(|| unsafe {
        rb_sys::rb_block_call(
            method.as_raw(),
            CALL.id(),
            1,
            argument.as_ptr(),
            Some(push_object),
            list.as_raw(),
        )
    })?;
    Ok(list)
}
