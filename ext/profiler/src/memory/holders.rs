//! The objects on the paths that a copy of the process found, as far as they are still there.
//!
//! Since the copy was made, other threads ran: objects may have died or moved. So each address is compared
//! with what the copy saw there, and pinned, before any code can run that would collect garbage.

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{prelude::*, Error, RArray, RClass, Ruby, Value};
use profiler_core::memory::census::RubyPage;
use profiler_core::memory::holders::{shown, steps};
use profiler_core::memory::index::Table;
use profiler_core::memory::slots::HeapSlot;
use profiler_core::memory::why::Question;
use profiler_core::memory::why_report::{Step, WhyReport};

use super::facts::HeapFacts;
use crate::naming;
use crate::naming::turns::Pace;
use crate::vm::heap::Sizes;
use crate::vm::objects::{kind, ObjectKind, Pinned};

/// The bits of an object's first word that never change.
const TYPE: u64 = 0x1f;

/// The objects that a question is about. Stays on the machine's stack, for the sake of what it pins.
pub(crate) struct HeldObjects {
    /// The name of their class, or `*`.
    pub(super) name: String,
    classes: Vec<u64>,
    object: u64,
    stacks: [u64; 2],
    /// Keeps the classes in place.
    _pinned: Pinned,
}

impl HeldObjects {
    /// Creates a question about the objects of these classes; of all if there are none.
    ///
    /// # Errors
    /// Exceptions that other threads deliver during the call.
    pub(crate) fn new(ruby: &Ruby, name: String, classes: RArray) -> Result<Self, Error> {
        let object = ruby.class_object();
        let known = |name: &str| object.const_get::<_, RClass>(name);
        let (threads, fibers) = (known("Thread")?, known("Fiber")?);
        // SAFETY: a `Ruby` proves that the GVL is held, and the caller keeps the result on the stack.
        let mut pinned = unsafe { Pinned::with_capacity_for(classes.len() + 3) };
        let mut pin = |address: u64| {
            pinned.push(address);
            address
        };
        Ok(Self {
            name,
            classes: classes.into_iter().map(|class| pin(class.as_raw())).collect(),
            object: pin(object.as_raw()),
            stacks: [threads, fibers].map(|class| pin(class.as_raw())),
            _pinned: pinned,
        })
    }

    pub(super) fn question(&self) -> Question<'_> {
        Question { classes: &self.classes, object: self.object, stacks: self.stacks }
    }
}

/// Returns the objects on the paths, each path from the root on. A step is `[object]` for what Ruby code can
/// see, `[nil, name]` for the VM's own code, `[nil]` for other objects of the VM, and `[]` for what is no
/// longer there.
///
/// # Errors
/// Exceptions that other threads deliver during the call.
pub(super) fn objects(ruby: &Ruby, sizes: &Sizes, why: &WhyReport) -> Result<RArray, Error> {
    let paths: Vec<Vec<Step>> = shown(why).into_iter().map(steps).collect();
    let all = paths.iter().map(Vec::len).sum();
    let mut facts = HeapFacts::new();
    // SAFETY: a `Ruby` proves that the GVL is held, and no method is called in a GC. Nothing below allocates
    // an object before all that are still there are pinned, and listing the pages has swept everything.
    let (mut pinned, is_there) = unsafe {
        let mut pinned = Pinned::with_capacity_for(all);
        facts.list_pages(sizes);
        let mut keep = |step: &Step| is_there(facts.pages.rows(), step) && pinned.push(step.address);
        let is_there: Vec<Vec<bool>> =
            paths.iter().map(|path| path.iter().map(&mut keep).collect()).collect();
        (pinned, is_there)
    };
    let found = ruby.ary_new();
    for (path, is_there) in paths.iter().zip(is_there) {
        let row = ruby.ary_new();
        for (step, is_there) in path.iter().zip(is_there) {
            row.push(if is_there { visible(ruby, step)? } else { ruby.ary_new() })?;
        }
        found.push(row)?;
    }
    pinned.clear();
    Ok(found)
}

/// Returns whether an object is where the copy saw it.
fn is_there(pages: &[RubyPage], step: &Step) -> bool {
    let page = pages.get(pages.partition_point(|page| page.end <= step.address));
    let is_slot = page.is_some_and(|page| {
        let place = step.address.checked_sub(page.first);
        place.is_some_and(|place| place % page.slot.max(1) == 0 && step.address + page.slot <= page.end)
    });
    // SAFETY: this is a slot of a page of Ruby's heap, which was listed with the GVL held, and nothing ran
    // since.
    is_slot
        && unsafe {
            let [flags, class] = *(step.address as *const [u64; 2]);
            flags & TYPE == step.flags & TYPE && class == step.class
        }
}

/// Returns what Ruby code gets of an object that is pinned.
fn visible(ruby: &Ruby, step: &Step) -> Result<RArray, Error> {
    let shown = ruby.ary_new();
    if HeapSlot::new(step.flags, step.class).is_some_and(|slot| slot.is_visible()) {
        // SAFETY: the object is pinned, and the VM shows it to Ruby code.
        shown.push(unsafe { Value::from_raw(step.address as _) })?;
        return Ok(shown);
    }
    shown.push(())?;
    // SAFETY: a `Ruby` proves that the GVL is held, and the object is pinned.
    if matches!(unsafe { kind(step.address) }, ObjectKind::Method | ObjectKind::Iseq) {
        // SAFETY: a `Ruby` proves that the GVL is held, and the object is pinned.
        let names = unsafe { naming::functions(ruby, &[step.address], Pace::AtOnce, std::process::id())? };
        if let Some(function) = names.into_iter().next().filter(|it| it.name != "(unknown)") {
            shown.push(function.name)?;
        }
    }
    Ok(shown)
}
