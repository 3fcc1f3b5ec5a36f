//! The methods that `define_method` made of blocks.
//!
//! Their frames are bare code, `block in <class:Foo>`, from which nothing leads to the method. So the search goes the
//! other way: through all methods of all classes to the blocks that they were made of. That takes tens of
//! milliseconds in a large app, so it is done only if there is such a frame. The answers are kept for so long that
//! searching takes at most a hundredth of the time, and longer for sessions of which nobody should notice a search.
//!
//! The names of methods are read only from modules with a hit. A block inside such a block leads outward by way of the
//! code that it refers to: of all that, the code which encloses the block has the lower level in its label. While
//! addresses are compared, no Ruby object is created; what must outlast that is in a buffer that the GC pins
//! ([`Pinned`]).
//!
//! In rotations that let other threads run, answers stay valid for an hour at least. The list of all modules is a walk
//! through the heap, which cannot be interrupted.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use magnus::rb_sys::{AsRawValue, FromRawValue};
use magnus::{Error, RArray, Ruby, Value};
use profiler_core::profile::Function;
use profiler_core::text::block_depth;
use profiler_core::text::names::{brace, without_ids};

use crate::naming::owners::Owner;
use crate::naming::turns::{Pace, Turns};
use crate::vm::objects::{kind, references, Kind, Pinned};
use crate::vm::{frames, methods, modules};

/// The most levels of blocks inside blocks inside a method made by `define_method`.
const DEEPEST: usize = 16;
/// The time for which answers are kept, as a multiple of the time that the search took.
const KEPT_FOR: u32 = 100;
/// The time for which answers are good where other threads must not wait: the list of all classes takes a walk through the heap.
const KEPT_IF_YIELDING: Duration = Duration::from_secs(3_600);
/// The most answers that are kept.
const MAX_KEPT: usize = 10_000;

/// The place of a block, and Ruby's label of it: path, first line, label.
type Place = (String, u32, String);
/// The function that a block is part of; `None` if it is only itself.
type Answer = Option<Function>;

/// An answer, when it was found, and how long it is valid, as methods come and go.
type Kept = (Answer, Instant, Duration);

static KEPT: Mutex<Option<HashMap<Place, Kept>>> = Mutex::new(None);

/// Whether code of this label is a block, or inside one.
pub(super) fn is_block(label: &str) -> bool {
    block_depth(label).0 > 0
}

/// Names those of `functions` that are at `blocks`, and were given Ruby's label, after the methods that they are.
///
/// # Errors
/// Exceptions that were delivered meanwhile. Nothing of what was found by then is kept.
///
/// # Safety
/// The caller holds the GVL, and keeps `handles` marked and in their places.
pub(super) unsafe fn name(
    ruby: &Ruby,
    handles: &[u64],
    functions: &mut [Function],
    blocks: &[usize],
    turns: &mut Turns,
) -> Result<(), Error> {
    let place_of = |it: &Function| (it.path.clone(), it.first_line, it.name.clone());
    let places: Vec<Place> = blocks.iter().filter_map(|at| functions.get(*at)).map(place_of).collect();
    let answers = match kept(&places, turns.pace) {
        Some(answers) => answers,
        None => {
            let handles: Vec<u64> = blocks.iter().filter_map(|at| handles.get(*at)).copied().collect();
            let begun = Instant::now();
            // SAFETY: as promised.
            let found = unsafe { find(ruby, &handles, turns)? };
            let found: Vec<_> = places.iter().cloned().zip(found).collect();
            keep(&found, begun.elapsed());
            found.into_iter().map(|(_place, function)| function).collect()
        }
    };
    for (at, answer) in blocks.iter().zip(answers) {
        if let (Some(function), Some(answer)) = (functions.get_mut(*at), answer) {
            *function = answer;
        }
    }
    Ok(())
}

/// The answers for all of `places`, if they are known and still good at that pace.
fn kept(places: &[Place], pace: Pace) -> Option<Vec<Answer>> {
    let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.as_ref()?;
    let fresh = |place| {
        let (answer, found, valid) = kept.get(place)?;
        let valid = if pace == Pace::Yielding { KEPT_IF_YIELDING.max(*valid) } else { *valid };
        (found.elapsed() < valid).then(|| answer.clone())
    };
    places.iter().map(fresh).collect()
}

/// Remembers the answers. Blocks that stand at one place and are different methods are searched for again.
fn keep(found: &[(Place, Answer)], took: Duration) {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let kept = kept.get_or_insert_default();
    if kept.len() + found.len() > MAX_KEPT {
        kept.clear();
    }
    let now = Instant::now();
    for (place, answer) in found {
        kept.insert(place.clone(), (answer.clone(), now, took * KEPT_FOR));
    }
    for (place, answer) in found {
        if kept.get(place).is_some_and(|(other, ..)| other != answer) {
            kept.remove(place);
        }
    }
}

/// The code of a block and of all that it is inside of, the innermost first, as far as these are blocks.
/// Allocates no Ruby object.
///
/// # Safety
/// The caller holds the GVL; `block` is a live iseq.
unsafe fn lineage(block: u64, buffer: &mut Vec<u64>) -> Vec<u64> {
    let mut lineage = vec![block];
    let mut here = block;
    // SAFETY: as promised; code holds the code that it is inside of.
    let label = |iseq: u64| unsafe { block_depth(&frames::label(iseq)) };
    while lineage.len() < DEEPEST {
        let own = label(here);
        // SAFETY: as above.
        unsafe { references(here, buffer) };
        // It refers to what it is inside of and to what is inside of it; the latter is deeper.
        // SAFETY: what live code refers to is alive.
        let around = buffer.iter().copied().filter(|it| unsafe { kind(*it) } == Kind::Iseq && *it != here);
        let outer = around.map(|it| (label(it), it)).filter(|(depth, _)| *depth < own).max();
        match outer {
            Some(((blocks, _), outer)) if blocks > 0 => {
                lineage.push(outer);
                here = outer;
            }
            _ => break,
        }
    }
    lineage
}

/// A method that a block became.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DefinedMethod {
    owner: Owner,
    method: String,
}

/// The function that each of `handles` is part of.
///
/// # Safety
/// As [`name`].
unsafe fn find(ruby: &Ruby, handles: &[u64], turns: &mut Turns) -> Result<Vec<Answer>, Error> {
    // SAFETY: the GVL is held. Objects stay where they are as their holders say: handles are marked, the
    // others are in `pinned` before Ruby can make an object.
    unsafe {
        let modules = modules::all(ruby)?;
        turns.demand_same_process(ruby)?;
        let mut pinned = Pinned::with_capacity_for(handles.len() * DEEPEST + modules.len() * 2);
        let mut buffer = Vec::new();
        let lineages: Vec<Vec<u64>> = handles.iter().map(|it| lineage(*it, &mut buffer)).collect();
        let targets: HashSet<u64> =
            lineages.iter().flatten().copied().filter(|it| pinned.push(*it)).collect();
        let hosts = hosts(ruby, modules, &targets, &mut pinned, turns)?;
        let mut definitions: HashMap<u64, BTreeSet<DefinedMethod>> = HashMap::new();
        for host in hosts {
            turns.give(ruby)?;
            add_methods(ruby, host, &targets, &mut definitions)?;
            turns.demand_same_process(ruby)?;
        }
        let answer =
            |lineage: &Vec<u64>| lineage.iter().find_map(|it| Some(function_of(*it, definitions.get(it)?)));
        Ok(lineages.iter().map(answer).collect())
    }
}

/// The modules among `modules`, and among their singleton classes, that have a method made of one of `targets`: those that
/// `pinned` has space for, where they are from then on.
///
/// # Errors
/// Exceptions that were delivered meanwhile.
///
/// # Safety
/// The caller holds the GVL, and the Array and `pinned` are on the machine's stack.
unsafe fn hosts(
    ruby: &Ruby,
    modules: RArray,
    targets: &HashSet<u64>,
    pinned: &mut Pinned,
    turns: &mut Turns,
) -> Result<Vec<u64>, Error> {
    let mut buffers = Default::default();
    let mut hosts = Vec::new();
    for place in 0..modules.len() {
        turns.give(ruby)?;
        // It is read anew each time, as a compaction may move what is in it.
        let module = modules.entry::<Value>(place as isize)?.as_raw();
        // SAFETY: nothing else has the Array, and what is in it is alive.
        unsafe {
            let meta = (kind(module) == Kind::Class).then(|| modules::metaclass(module)).flatten();
            for candidate in meta.into_iter().chain([module]) {
                let mut any = false;
                let wants = |block: u64| targets.contains(&block);
                methods::each_own(candidate, &mut buffers, |it| any |= it.block.is_some_and(wants));
                if any && pinned.push(candidate) {
                    hosts.push(candidate);
                }
            }
        }
    }
    hosts.sort_unstable();
    hosts.dedup();
    Ok(hosts)
}

/// Adds the methods of `host` that were made of one of `targets`.
///
/// # Safety
/// The caller holds the GVL, and keeps all of these in their places.
unsafe fn add_methods(
    ruby: &Ruby,
    host: u64,
    targets: &HashSet<u64>,
    definitions: &mut HashMap<u64, BTreeSet<DefinedMethod>>,
) -> Result<(), Error> {
    let mut buffer = Vec::new();
    // SAFETY: as promised; the list's elements are alive with it.
    unsafe {
        let owner = Owner::of(host);
        for object in methods::list(ruby, Value::from_raw(host as _))?.into_iter() {
            let Some(entry) = methods::entry(object, &mut buffer) else { continue };
            let mut method = methods::method(entry, &mut buffer);
            if let (None, Some(original)) = (method.block, method.original) {
                method = methods::method(original, &mut buffer);
            }
            let Some(block) = method.block.filter(|it| targets.contains(it)) else { continue };
            if method.owner == Some(host) {
                let Some(name) = methods::original_name(ruby, object)? else { continue };
                let method = without_ids(&name).to_owned();
                definitions.entry(block).or_default().insert(DefinedMethod { owner: owner.clone(), method });
            }
        }
    }
    Ok(())
}

/// The function that the block `iseq` is, given what methods were made of it. No Ruby object is allocated.
///
/// # Safety
/// The caller holds the GVL; the iseq is alive.
unsafe fn function_of(iseq: u64, definitions: &BTreeSet<DefinedMethod>) -> Function {
    // SAFETY: as promised.
    let it = unsafe { frames::describe(iseq) }.unwrap_or_default();
    let set = |of: fn(&DefinedMethod) -> &str| definitions.iter().map(of).collect::<BTreeSet<_>>();
    let (classes, methods) = (brace(set(|it| &it.owner.class_name)), brace(set(|it| &it.method)));
    let receivers = set(|it| it.owner.receiver());
    let separators: BTreeSet<char> = definitions.iter().map(|it| it.owner.separator()).collect();
    let name = match separators.first() {
        Some(separator)
            if separators.len() == 1 && (receivers.len() == 1 || set(|it| &it.method).len() == 1) =>
        {
            format!("{}{separator}{methods}", brace(receivers))
        }
        _ => {
            let names: BTreeSet<String> = definitions.iter().map(|it| it.owner.qualify(&it.method)).collect();
            brace(names.iter().map(String::as_str))
        }
    };
    let path = it.path.unwrap_or_default();
    Function { name, class_name: classes, method_name: methods, path, first_line: it.first_line }
}
