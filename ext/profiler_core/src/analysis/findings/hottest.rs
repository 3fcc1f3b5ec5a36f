//! The code that ran for the longest time.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::clock::TimeUse;
use super::{clause, details_of, heaviest, At, Clock, Finding, FindingKind, MIN_RUNNING_SHARE};
use crate::analysis::sites::{is_executable, Sites};
use crate::analysis::template::name_or_template;
use crate::ids::{FunctionId, StackId};
use crate::profile::{Frame, Profile};
use crate::text::units::percent;

/// The part of the running time that a function must take by itself to be a hot spot. Otherwise, the function
/// that holds the time is further out.
const HOT: f64 = 0.25;
/// The part of the running time that a function further out must hold.
const MIN_OUTER_SHARE: f64 = 0.5;
/// The minimum part of that function's time for a branch to be named.
const BRANCH: f64 = 0.1;
/// The number of branches that are named.
const BRANCHES: usize = 2;
/// Methods that only call a block for each of their elements, so that the code around the block is what ran.
const ITERATORS: [&str; 24] = [
    "Array#collect",
    "Array#each",
    "Array#each_index",
    "Array#map",
    "Array#reverse_each",
    "Enumerable#each_entry",
    "Enumerable#each_with_index",
    "Enumerable#each_with_object",
    "Enumerable#flat_map",
    "Enumerable#inject",
    "Enumerable#map",
    "Enumerator#each",
    "Enumerator#with_index",
    "Hash#each",
    "Hash#each_key",
    "Hash#each_pair",
    "Hash#each_value",
    "Integer#downto",
    "Integer#times",
    "Integer#upto",
    "Kernel#loop",
    "Numeric#step",
    "Range#each",
    "Range#step",
];

/// Finds the Ruby function that ran longest by itself and in the C functions that it called, which are named
/// unless they only iterate. If that is not a
/// hot spot, the innermost function that holds half of the time comes first, with the branches that it splits
/// into.
pub(super) fn find(profile: &Profile, sites: &Sites<'_>, clock: &Clock<'_>) -> Vec<Finding> {
    let rows: Vec<(StackId, u64)> = clock
        .rows()
        .filter(|(sample, part, _)| **part == TimeUse::Running && !sites.is_own_work(sample.stack))
        .map(|(it, _, weight)| (it.stack, weight))
        .collect();
    let ran = rows.iter().fold(0_u64, |sum, (_, weight)| sum.saturating_add(*weight));
    let Some(hottest) = hottest(profile, sites, clock, &rows) else { return Vec::new() };
    if hottest.weight as f64 >= ran as f64 * HOT {
        return vec![hottest];
    }
    let trunk = trunk(profile, sites, clock, &rows, ran);
    // A hot spot that does not exceed chance adds nothing to the place that holds the time.
    let is_worth = trunk.is_none() || clock.share(hottest.weight) >= MIN_RUNNING_SHARE;
    trunk.into_iter().chain(is_worth.then_some(hottest)).collect()
}

/// What counts as one piece of code: a function, or one loop at this line of it.
type Unit = (FunctionId, Option<u32>);

/// Returns the unit that `site`, a frame of the stack, belongs to. The blocks of a method have its name, but those
/// in the text of a file are functions of their own. There, a loop is an iterator with its block: which of both a
/// sample hits is chance.
fn unit(profile: &Profile, sites: &Sites<'_>, stack: StackId, site: Frame) -> Unit {
    if !is_text(sites.name(site)) {
        return (site.function, None);
    }
    let iterates = |it: &Frame| ITERATORS.contains(&sites.name(*it));
    if sites.callee(stack, site).is_some_and(|it| iterates(&it)) {
        return (site.function, Some(site.line));
    }
    let mut outside = profile.frames_of(stack).skip_while(|it| *it != site).skip(1).peekable();
    let is_in_loop = outside.peek().is_some_and(iterates);
    let runs_loop = outside.find(|it| !iterates(it)).filter(|it| is_in_loop && is_text(sites.name(*it)));
    runs_loop.map_or((site.function, None), |it| (it.function, Some(it.line)))
}

/// Returns whether the function is the text of a file or of a class, or a block there.
fn is_text(name: &str) -> bool {
    let block_of = name.strip_prefix("block ").and_then(|it| it.split_once("in "));
    block_of.map_or(name, |it| it.1).starts_with('<')
}

/// Weights by the calling frame of the app.
type Callers = BTreeMap<Frame, u64>;

fn hottest(
    profile: &Profile,
    sites: &Sites<'_>,
    clock: &Clock<'_>,
    rows: &[(StackId, u64)],
) -> Option<Finding> {
    let mut sums: BTreeMap<Unit, (At, Callers)> = BTreeMap::new();
    for (stack, weight) in rows {
        let site = sites.ruby(*stack).or_else(|| profile.frames_of(*stack).next());
        let Some(site) = site.filter(|it| sites.is_code(*it)) else { continue };
        let (at, callers) = sums.entry(unit(profile, sites, *stack, site)).or_default();
        let callee = sites.callee(*stack, site).filter(|it| !ITERATORS.contains(&sites.name(*it)));
        at.add(site, callee, *weight);
        if let Some(caller) = sites.app(*stack).filter(|it| it.function != site.function) {
            super::add(callers.entry(caller).or_default(), *weight);
        }
    }
    let (at, callers) = sums.into_values().rev().max_by_key(|(at, _)| at.weight)?;
    let place = at.place()?;
    let title = sites.title(place);
    // A method of Ruby or of a gem says little without the line of the app that calls it.
    let caller = heaviest(&callers).filter(|it| !sites.is_app(place) && it.1 >= at.weight.div_ceil(2));
    let text = match caller {
        Some((caller, weight)) => {
            let called = format!("called from {}", sites.title(caller));
            format!("running {title}{}", clause(weight, at.weight, clock, &called))
        }
        None => format!("running {}", at.words(&title, at.callee(profile), clock)),
    };
    Some(clock.finding(
        FindingKind::Running,
        text,
        at.weight,
        Some(caller.map_or(place, |it| it.0)),
        details_of(sites.name(place)),
    ))
}

/// Returns the innermost function that holds half of the running time: the one with the least weight among
/// those that do. If only the text of an executable does, half of its largest part counts.
fn trunk(
    profile: &Profile,
    sites: &Sites<'_>,
    clock: &Clock<'_>,
    rows: &[(StackId, u64)],
    ran: u64,
) -> Option<Finding> {
    let mut sums: BTreeMap<FunctionId, (At, Callers)> = BTreeMap::new();
    for (stack, weight) in rows {
        let mut seen = BTreeSet::new();
        for frame in profile.frames_of(*stack).filter(|it| sites.is_ruby(*it)) {
            if !seen.insert(frame.function) || runs_block_of_caller(profile, sites, *stack, frame) {
                continue;
            }
            let (at, callers) = sums.entry(frame.function).or_default();
            at.add(frame, below(profile, sites, *stack, frame.function), *weight);
            let outside = profile.frames_of(*stack).skip_while(|it| *it != frame).skip(1);
            let caller = outside.filter(|it| it.function != frame.function).find(|it| sites.is_app(*it));
            caller.into_iter().for_each(|it| super::add(callers.entry(it).or_default(), *weight));
        }
    }
    let is_executables = |it: FunctionId| profile.function(it).is_some_and(is_executable);
    let mut innermost = holder(&sums, ran)?;
    if is_executables(innermost) {
        sums.retain(|it, _| !is_executables(*it));
        innermost = holder(&sums, sums.values().map(|(at, _)| at.weight).max()?)?;
    }
    let (at, callers) = sums.remove(&innermost)?;
    let place = at.place()?;
    let caller = heaviest(&callers).filter(|it| !sites.is_app(place) && it.1 >= at.weight.div_ceil(2));
    let called = caller.map(|(caller, weight)| {
        clause(weight, at.weight, clock, &format!("called from {}", sites.title(caller)))
    });
    let called = called.unwrap_or_default();
    let branches = branches(profile, clock, &at);
    let branches = if branches.is_empty() { String::new() } else { format!(": {}", branches.join(", ")) };
    Some(clock.finding(
        FindingKind::Running,
        format!("inside {}{called}{branches}", sites.title(place)),
        at.weight,
        Some(caller.map_or(place, |it| it.0)),
        details_of(sites.name(place)),
    ))
}

/// Returns the function with the least weight among those that hold half of `ran`.
fn holder(sums: &BTreeMap<FunctionId, (At, Callers)>, ran: u64) -> Option<FunctionId> {
    let holds = sums.iter().filter(|(_, (at, _))| at.weight as f64 >= ran as f64 * MIN_OUTER_SHARE);
    holds.min_by_key(|(_, (at, _))| (at.weight, Reverse(at.place()))).map(|(function, _)| *function)
}

/// Returns whether the frame's function called a block of a function further out, as a method `each` does:
/// the time in the block is that function's. Its outermost call counts: one further in can be a recursion.
fn runs_block_of_caller(profile: &Profile, sites: &Sites<'_>, stack: StackId, frame: Frame) -> bool {
    let frames: Vec<Frame> = profile.frames_of(stack).collect();
    let Some(outermost) = frames.iter().rposition(|it| it.function == frame.function) else { return false };
    let (inner, outside) = frames.split_at(outermost);
    let called = inner.iter().rev().find(|it| sites.is_ruby(**it)).or(inner.last());
    called.is_some_and(|called| outside.iter().skip(1).any(|it| it.function == called.function))
}

/// Returns the function in Ruby, or else in C, that the innermost frame of a function called.
fn below(profile: &Profile, sites: &Sites<'_>, stack: StackId, function: FunctionId) -> Option<Frame> {
    let inner: Vec<Frame> = profile.frames_of(stack).take_while(|it| it.function != function).collect();
    inner.iter().rev().find(|it| sites.is_ruby(**it)).or(inner.last()).copied()
}

/// Returns the heaviest functions called from there, with their shares of everything.
fn branches(profile: &Profile, clock: &Clock<'_>, at: &At) -> Vec<String> {
    let mut callees: Vec<_> = at.callees.iter().map(|(function, weight)| (*weight, *function)).collect();
    callees.sort_by_key(|(weight, function)| (Reverse(*weight), *function));
    let is_branch = |it: &&(u64, FunctionId)| it.0 as f64 >= at.weight as f64 * BRANCH;
    callees
        .iter()
        .take(BRANCHES)
        .filter(is_branch)
        .filter_map(|(weight, function)| {
            let title = name_or_template(profile.function(*function)?);
            Some(format!("{} {title}", percent(*weight, clock.total)))
        })
        .collect()
}
