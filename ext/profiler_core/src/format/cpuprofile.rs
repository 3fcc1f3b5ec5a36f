//! The `.cpuprofile` format of V8, which VS Code, DevTools, speedscope and the Firefox Profiler open.
//!
//! The format has one thread. The threads of a profile follow one another, each under its own name. Times are
//! whole microseconds; the rounding error goes to the next sample, so that the sum is right.

use std::io::{BufWriter, Write};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::display::clean_name;
use super::json_out::{comma, json, numbers};
use super::sample_series::SampleSeries;
use super::{length, threads, Options};
use crate::error::Error;
use crate::ids::{FunctionId, Id, StackId};
use crate::profile::Profile;

/// Writes the file.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, [`Error::NotMeasured`] if the profile has no time or not the
/// requested one, and [`Error::TooLong`].
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.time_of(profile)?;
    let mut shares: Vec<Vec<(StackId, u64)>> = vec![Vec::new(); profile.threads.len()];
    SampleSeries::of(profile).each(|share| {
        let weight = share.weights.get(of);
        let Some(sample) = profile.samples.get(share.row.index()).filter(|_| weight > 0) else { return };
        shares.get_mut(sample.thread).into_iter().for_each(|it| it.push((sample.stack, weight)));
    });

    // Each call spells out its names in full.
    let texts = |it: &crate::profile::Function| (it.name.len() + it.path.len()) as u64;
    let function = |it: &crate::profile::Node| profile.function(profile.frame(it.frame)?.function);
    let lengths = profile.stacks.iter().filter_map(|it| function(it).map(texts));
    length::check(lengths, length::IN_A_FILE)?;
    let names = threads::names(profile);
    let mut tree = Tree::new(profile);
    let several = shares.iter().filter(|it| !it.is_empty()).count() > 1;
    let mut samples: Vec<(usize, u64)> = Vec::new();
    let (mut total_ns, mut emitted_us) = (0_u64, 0_u64);
    for (name, shares) in names.iter().zip(shares) {
        if shares.is_empty() {
            continue;
        }
        let root = if several { tree.thread(name) } else { ROOT };
        for (stack, weight) in shares {
            let node = tree.stack(root, stack);
            total_ns = total_ns.saturating_add(weight);
            let length_us = total_ns / 1_000 - emitted_us;
            emitted_us += length_us;
            tree.hit(node);
            samples.push((node, length_us));
        }
    }
    let start_us = profile.meta.started_at_ns / 1_000;
    let mut out = BufWriter::with_capacity(1 << 16, out);
    write!(out, r#"{{"nodes":["#)?;
    tree.write(&mut out)?;
    write!(out, r#"],"startTime":{start_us},"endTime":{},"samples":["#, start_us.saturating_add(emitted_us))?;
    // A sample lasts until the next one, so the last one is written twice.
    let ends = samples.last().copied();
    numbers(&mut out, samples.iter().chain(&ends).map(|(node, _)| *node as u64 + 1))?;
    write!(out, r#"],"timeDeltas":["#)?;
    numbers(&mut out, ends.map(|_| 0).into_iter().chain(samples.iter().map(|it| it.1)))?;
    writeln!(out, "]}}")?;
    Ok(out.flush()?)
}

/// The index of the root node.
const ROOT: usize = 0;

enum Call<'profile> {
    /// The name of the root or of a thread.
    Name(&'profile str),
    Function(FunctionId),
}

struct Node<'profile> {
    call: Call<'profile>,
    children: Vec<usize>,
    hits: u64,
}

/// The calls by caller: each function once under each caller, whatever its line.
struct Tree<'profile> {
    profile: &'profile Profile,
    nodes: Vec<Node<'profile>>,
    calls: HashMap<(usize, FunctionId), usize, FxBuildHasher>,
    stacks: HashMap<(usize, StackId), usize, FxBuildHasher>,
}

impl<'profile> Tree<'profile> {
    fn new(profile: &'profile Profile) -> Self {
        let root = Node { call: Call::Name("(root)"), children: Vec::new(), hits: 0 };
        Self { profile, nodes: vec![root], calls: HashMap::default(), stacks: HashMap::default() }
    }

    fn add(&mut self, parent: usize, call: Call<'profile>) -> usize {
        let place = self.nodes.len();
        self.nodes.get_mut(parent).into_iter().for_each(|it| it.children.push(place));
        self.nodes.push(Node { call, children: Vec::new(), hits: 0 });
        place
    }

    fn thread(&mut self, name: &'profile str) -> usize {
        self.add(ROOT, Call::Name(name))
    }

    fn stack(&mut self, root: usize, stack: StackId) -> usize {
        let mut missing = Vec::new();
        let mut at = Some(stack);
        let mut place = root;
        while let Some(stack) = at {
            if let Some(known) = self.stacks.get(&(root, stack)) {
                place = *known;
                break;
            }
            missing.push(stack);
            at = self.profile.stacks.get(stack.index()).and_then(|it| it.parent);
        }
        for stack in missing.into_iter().rev() {
            let frame = self.profile.stacks.get(stack.index()).and_then(|it| self.profile.frame(it.frame));
            let Some(frame) = frame else { continue };
            place = match self.calls.get(&(place, frame.function)) {
                Some(known) => *known,
                None => {
                    let new = self.add(place, Call::Function(frame.function));
                    self.calls.insert((place, frame.function), new);
                    new
                }
            };
            self.stacks.insert((root, stack), place);
        }
        place
    }

    fn hit(&mut self, node: usize) {
        self.nodes.get_mut(node).into_iter().for_each(|it| it.hits += 1);
    }

    fn write(&self, out: &mut impl Write) -> Result<(), Error> {
        for (place, node) in self.nodes.iter().enumerate() {
            write!(out, r#"{}{{"id":{},"callFrame":{{"functionName":"#, comma(place), place + 1)?;
            // Lines count from 0 in this format.
            let (path, line) = match &node.call {
                Call::Name(name) => {
                    json(out, name)?;
                    ("", -1)
                }
                Call::Function(id) => match self.profile.function(*id) {
                    Some(function) => {
                        json(out, &clean_name(function))?;
                        (function.path.as_str(), i64::from(function.first_line) - 1)
                    }
                    None => {
                        json(out, "")?;
                        ("", -1)
                    }
                },
            };
            write!(out, r#","scriptId":"0","url":"#)?;
            json(out, path)?;
            write!(out, r#","lineNumber":{line},"columnNumber":-1}},"hitCount":{},"children":["#, node.hits)?;
            numbers(out, node.children.iter().map(|it| *it as u64 + 1))?;
            write!(out, "]}}")?;
        }
        Ok(())
    }
}
