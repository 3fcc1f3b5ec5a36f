//! Findings: facts in words on what took the time or the memory, where, and which command shows more.
//!
//! A finding appears only beyond a threshold, which is defined next to the code that finds it. Shares of time
//! omit [idle](super::idle) waits: threads that only wait are not slow.

mod blocked;
mod clock;
mod garbage;
mod gvl;
mod hottest;
mod loading;
mod no_cpu;
mod objects;
mod queries;
mod trust;
mod unmeasured;
mod waits;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::idle::idle_at;
use super::sites::Sites;
use super::template::name_or_template;
use crate::ids::FunctionId;
use crate::profile::{Frame, Profile, SampleType};
use crate::text::units::{counted, duration, percent};
use clock::Clock;

/// The maximum number of findings of a profile.
const MAX_FINDINGS: usize = 6;
/// The minimum share of the time that is worth a finding.
const MIN_SHARE: f64 = 0.10;
/// The minimum share for code that ran: in a program without a hot spot, the hottest function is still the
/// place to start.
const MIN_RUNNING_SHARE: f64 = 0.05;
/// The part of a finding for which a statement must hold to be made without a percentage of its own.
const NEARLY_ALL: f64 = 0.9;

/// The subject of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingKind {
    /// Code that ran.
    Running,
    /// Code that was loaded.
    Loading,
    /// A wait: for a time, IO, a lock, a queue, a thread, a process.
    Waiting,
    /// C code that waited while it held the GVL.
    Blocked,
    /// Waiting for the GVL, and who held it.
    Gvl,
    /// Garbage collection, and what caused it.
    Gc,
    /// Time in which a thread could run but had no CPU.
    NoCpu,
    /// A statement that was sent to a database many times.
    Queries,
    /// Objects that were allocated.
    Allocations,
    /// Objects that were live at the end.
    Live,
    /// Threads that only waited.
    Idle,
    /// A reason to trust the numbers less, or a limit of what they show.
    Trust,
}

impl FindingKind {
    /// Returns the word for the kind in data.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Loading => "loading",
            Self::Waiting => "waiting",
            Self::Blocked => "blocked",
            Self::Gvl => "gvl",
            Self::Gc => "gc",
            Self::NoCpu => "no_cpu",
            Self::Queries => "queries",
            Self::Allocations => "allocations",
            Self::Live => "live",
            Self::Idle => "idle",
            Self::Trust => "trust",
        }
    }
}

/// A fact about a profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The subject of the finding.
    pub kind: FindingKind,
    /// The fact, without its share and its place.
    pub text: String,
    /// The weight, in the unit of `of`.
    pub weight: u64,
    /// The sample type of the weight.
    pub of: SampleType,
    /// The share of everything that was measured and not idle, 0 to 1; `None` if the fact is not part of
    /// that.
    pub share: Option<f64>,
    /// The function that the finding names, at the line with the most weight.
    pub place: Option<Frame>,
    /// The command that shows more, with `FILE` in place of the profile.
    pub command: String,
}

impl Finding {
    /// Returns whether this says what the program did, or that most of it was not measured.
    #[must_use]
    pub fn stands_out(&self) -> bool {
        match self.kind {
            FindingKind::Idle => false,
            FindingKind::Trust => self.of == SampleType::Cpu,
            _ => true,
        }
    }
}

/// Returns the findings of `profile`, the most important first. Waits, including those for the GVL, come
/// before code that ran up to twice as long, because no work was done in them; garbage collection without its
/// cause comes after code that ran a quarter as long. Notes come last: time that is left out of the percentages, and how far the
/// numbers can be trusted. Only that most of the time was not measured comes first, unless it is a server.
#[must_use]
pub fn findings(profile: &Profile) -> Vec<Finding> {
    let sites = Sites::of(profile);
    let idle = idle_at(profile, &sites);
    let clock = Clock::of(profile, &sites, &idle);
    let mut all: Vec<Finding> = Vec::new();
    if clock.total > 0 {
        all.extend(hottest::find(profile, &sites, &clock));
        all.extend(waits::find(profile, &sites, &clock));
        all.extend(blocked::find(profile, &sites, &clock));
        all.extend(gvl::find(profile, &sites, &clock));
        all.extend(garbage::find(profile, &sites, &clock));
        all.extend(loading::find(&sites, &clock));
    }
    if clock.is_timed {
        all.extend(loading::find_start(&clock));
        all.extend(no_cpu::find(profile, &clock));
    }
    let (mut all, mut notes): (Vec<Finding>, Vec<Finding>) =
        all.into_iter().partition(|it| it.share.is_some());
    all.sort_by_key(|it| Reverse(rank(it)));
    keep_code_that_ran(&mut all);
    if let Some(queries) = queries::find(profile, &sites) {
        all.insert(0, queries);
    }
    all.extend(objects::find(profile, &sites));
    if idle.threads > 0 {
        let (noun, spent) = (counted(idle.threads, "thread"), duration(idle.wall_ns));
        notes.push(Finding {
            kind: FindingKind::Idle,
            text: format!("{noun} waited for work: idle, {spent} in all"),
            weight: idle.wall_ns,
            of: SampleType::Wall,
            share: None,
            place: None,
            command: "profiler report FILE --idle --by thread".into(),
        });
    }
    let unmeasured = unmeasured::find(profile);
    let (first, last) = if clock.serves { (None, unmeasured) } else { (unmeasured, None) };
    first.into_iter().for_each(|it| all.insert(0, it));
    notes.extend(last);
    notes.extend(trust::find(profile));
    all.truncate(MAX_FINDINGS.saturating_sub(notes.len()));
    all.extend(notes);
    all
}

/// Returns the samples, by index, that the finding on loading code counts.
pub(crate) fn loading_rows(profile: &Profile) -> Vec<usize> {
    let sites = Sites::of(profile);
    Clock::of(profile, &sites, &idle_at(profile, &sites)).loading_rows()
}

fn rank(finding: &Finding) -> u64 {
    match finding.kind {
        FindingKind::Gc if finding.place.is_none() => finding.weight / 8,
        FindingKind::Running | FindingKind::Loading | FindingKind::Gc | FindingKind::NoCpu => {
            finding.weight / 2
        }
        _ => finding.weight,
    }
}

/// Removes code that ran for a small part of the time, unless nothing else describes what the program does:
/// garbage collection alone does not.
fn keep_code_that_ran(all: &mut Vec<Finding>) {
    let says_what = |it: &Finding| {
        matches!(
            it.kind,
            FindingKind::Waiting | FindingKind::Blocked | FindingKind::Gvl | FindingKind::Loading
        )
    };
    let is_said = all.iter().any(says_what);
    let is_enough = |it: &Finding| it.share.is_some_and(|it| it >= MIN_RUNNING_SHARE);
    all.retain(|it| it.kind != FindingKind::Running || !is_said || is_enough(it));
}

/// The weights at one function: by line, and by callee.
#[derive(Default)]
struct At {
    weight: u64,
    lines: BTreeMap<Frame, u64>,
    callees: BTreeMap<FunctionId, u64>,
}

impl At {
    fn add(&mut self, site: Frame, callee: Option<Frame>, weight: u64) {
        add(&mut self.weight, weight);
        add(self.lines.entry(site).or_default(), weight);
        callee.into_iter().for_each(|it| add(self.callees.entry(it.function).or_default(), weight));
    }

    /// Returns the line with the most weight.
    fn place(&self) -> Option<Frame> {
        heaviest(&self.lines).map(|(place, _)| place)
    }

    /// Returns the function that was called there for at least half of the time.
    fn callee<'profile>(&self, profile: &'profile Profile) -> Option<Callee<'profile>> {
        let (callee, weight) = heaviest(&self.callees).filter(|it| it.1 >= self.weight.div_ceil(2))?;
        Some(Callee { title: name_or_template(profile.function(callee)?), weight })
    }

    /// Says what happened here: `in the callee, called from here` if nearly all of it happened in that
    /// function, else `in here, 40.0% in the callee`.
    fn words(&self, title: &str, callee: Option<Callee<'_>>, clock: &Clock<'_>) -> String {
        match callee {
            Some(callee) if callee.title == title => title.into(),
            Some(callee) if is_nearly_all(callee.weight, self.weight) => {
                format!("{}, called from {title}", callee.title)
            }
            Some(callee) => format!("{title}, {} in {}", percent(callee.weight, clock.total), callee.title),
            None => title.into(),
        }
    }
}

/// A function that was called somewhere, and the weight of those calls.
struct Callee<'profile> {
    title: Cow<'profile, str>,
    weight: u64,
}

/// Returns whether a part is so large that a sentence may say of the whole what is true of the part.
fn is_nearly_all(part: u64, whole: u64) -> bool {
    part as f64 >= whole as f64 * NEARLY_ALL
}

/// Returns `, words` if they are true of nearly all of a finding, else `, 12.3% words`.
fn clause(part: u64, whole: u64, clock: &Clock<'_>, words: &str) -> String {
    if is_nearly_all(part, whole) {
        format!(", {words}")
    } else {
        format!(", {} {words}", percent(part, clock.total))
    }
}

fn add(sum: &mut u64, weight: u64) {
    *sum = sum.saturating_add(weight);
}

/// Returns the key with the most weight; the first of equal ones.
fn heaviest<K: Copy + Ord>(sums: &BTreeMap<K, u64>) -> Option<(K, u64)> {
    sums.iter().max_by_key(|(key, weight)| (**weight, Reverse(**key))).map(|(key, weight)| (*key, *weight))
}

/// Returns the command that shows the callers, callees and lines of a function.
fn details_of(name: &str) -> String {
    let mut pattern = String::from("^");
    for letter in name.chars() {
        if !(letter.is_alphanumeric()
            || matches!(
                letter,
                '_' | ':' | '#' | ' ' | '<' | '>' | '=' | '!' | '%' | '&' | '~' | '`' | '/' | '@' | ','
            ))
        {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern.push('$');
    format!("profiler report FILE --method '{}'", pattern.replace('\'', "'\\''"))
}

#[cfg(all(test, not(loom)))]
mod tests;
