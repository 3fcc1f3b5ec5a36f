//! The functions that ran inside of a traced method, with names.

use std::cmp::Reverse;
use std::fmt::Write as _;

use hashbrown::HashMap;

use super::{CallGraph, Shortcomings};
use crate::profile::Function;
use crate::text::units::{count, counted, duration};

/// The name that stands for the functions that could not be told apart.
const OTHER: &str = "(other functions)";

/// A function that ran inside of a traced method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerFunction {
    /// The function.
    pub function: Function,
    /// The number of calls that began.
    pub calls: u64,
    /// The number of runs of its blocks.
    pub blocks: u64,
    /// The time until they ended, ns. Of a recursion, only that of the outermost call.
    pub total_ns: u64,
    /// The part of it that no other function took, ns.
    pub self_ns: u64,
    /// The functions that called it, the one with the most time first.
    pub callers: Vec<InnerCaller>,
}

/// The calls of a function by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InnerCaller {
    /// The index of the caller in [`Inside::functions`].
    pub place: usize,
    /// The number of calls.
    pub calls: u64,
    /// The number of runs of the callee's blocks.
    pub blocks: u64,
    /// The time of the calls, ns. In a recursion, only the outermost call counts.
    pub total_ns: u64,
}

/// All that ran inside of the calls of a traced method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// The functions, the one with the most time of its own first.
    pub functions: Vec<InnerFunction>,
    /// The number of calls and runs of blocks whose caller is not listed, as there are too many pairs.
    pub other_callers: u64,
    /// What the sums do not have in full.
    pub shortcomings: Shortcomings,
}

impl Inside {
    /// Names sums. `names` has a function for each of the graph but the first one, which stands for others. Those of
    /// the same name and place become one, as do the methods of classes without a name.
    #[must_use]
    pub fn of(graph: &CallGraph, names: Vec<Function>, shortcomings: Shortcomings) -> Self {
        let other = Function {
            name: OTHER.into(),
            class_name: String::new(),
            method_name: String::new(),
            path: String::new(),
            first_line: 0,
        };
        let mut functions: Vec<InnerFunction> = Vec::new();
        let mut known: HashMap<(String, String, u32), usize> = HashMap::new();
        let mut places = Vec::with_capacity(graph.functions().len());
        for (sum, function) in graph.functions().iter().zip(std::iter::once(other).chain(names)) {
            let key = (function.name.clone(), function.path.clone(), function.first_line);
            let place = *known.entry(key).or_insert(functions.len());
            if place == functions.len() {
                functions.push(InnerFunction {
                    function,
                    calls: 0,
                    blocks: 0,
                    total_ns: 0,
                    self_ns: 0,
                    callers: Vec::new(),
                });
            }
            if let Some(known) = functions.get_mut(place) {
                known.calls += sum.calls;
                known.blocks += sum.blocks;
                known.total_ns += sum.total_ns;
                known.self_ns += sum.self_ns;
            }
            places.push(place);
        }
        let order = order(&functions);
        let mut rank = vec![0; functions.len()];
        for (place, from) in order.iter().enumerate() {
            if let Some(rank) = rank.get_mut(*from) {
                *rank = place;
            }
        }
        let place_of = |place: u16| {
            places.get(usize::from(place)).and_then(|place| rank.get(*place)).copied().unwrap_or(0)
        };
        let mut sorted: Vec<InnerFunction> =
            order.iter().filter_map(|place| functions.get(*place)).cloned().collect();
        for sum in graph.edges().iter().skip(1) {
            let caller = place_of(sum.caller);
            let Some(callee) = sorted.get_mut(place_of(sum.callee)) else { continue };
            match callee.callers.iter_mut().find(|known| known.place == caller) {
                Some(known) => {
                    known.calls += sum.calls;
                    known.blocks += sum.blocks;
                    known.total_ns += sum.total_ns;
                }
                None => callee.callers.push(InnerCaller {
                    place: caller,
                    calls: sum.calls,
                    blocks: sum.blocks,
                    total_ns: sum.total_ns,
                }),
            }
        }
        for function in &mut sorted {
            function.callers.sort_by_key(|caller| (Reverse((caller.total_ns, caller.calls)), caller.place));
        }
        // Only the first, which stands for others, may have no calls and no blocks; it is the last then.
        sorted.retain(|function| function.calls + function.blocks > 0);
        let other_callers = graph.edges().first().map_or(0, |sum| sum.calls + sum.blocks);
        Self { functions: sorted, other_callers, shortcomings }
    }

    /// Writes the functions with the most time of their own as a table of up to so many rows; 0 stands for all.
    pub(super) fn table(&self, text: &mut String, rows: usize) {
        if self.functions.is_empty() {
            return;
        }
        let rows = if rows == 0 { self.functions.len() } else { rows };
        text.push_str("\n     calls      total       self  ran inside\n");
        for it in self.functions.iter().take(rows) {
            let calls = if it.calls > 0 { count(it.calls) } else { "-".into() };
            let (total, own) = (duration(it.total_ns), duration(it.self_ns));
            let _ = writeln!(text, "{calls:>10} {total:>10} {own:>10}  {}", it.function.name);
        }
        let rest = self.functions.get(rows..).unwrap_or_default();
        if !rest.is_empty() {
            let calls = count(rest.iter().map(|it| it.calls).sum());
            let own = duration(rest.iter().map(|it| it.self_ns).sum());
            let functions = counted(rest.len() as u64, "further function");
            let _ = writeln!(text, "{calls:>10} {:>10} {own:>10}  {functions}", "");
        }
    }

    /// Writes a line for each thing that the sums do not have in full.
    pub(super) fn notes(&self, text: &mut String) {
        let Shortcomings { unfollowed, beyond, unpaired } = self.shortcomings;
        for (number, what) in [
            (unfollowed, "in too many fibers at once: what ran inside of them is not counted"),
            (beyond, "too deep: their time counts for their callers"),
            (unpaired, "ended without a report from Ruby, for example after SystemStackError"),
        ] {
            if number > 0 {
                let _ = writeln!(text, "[profiler] {}, {what}", counted(number, "call"));
            }
        }
    }
}

/// Returns the indexes of functions, the one with the most time of its own first.
fn order(functions: &[InnerFunction]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..functions.len()).collect();
    order.sort_by_key(|place| {
        functions
            .get(*place)
            .map(|it| (Reverse((it.calls + it.blocks > 0, it.self_ns, it.calls)), &it.function.name))
    });
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Activation, FunctionKey, ShadowStacks};

    fn function(name: &str) -> Function {
        Function {
            name: name.into(),
            class_name: String::new(),
            method_name: String::new(),
            path: "app.rb".into(),
            first_line: 3,
        }
    }

    #[test]
    fn functions_of_the_same_name_are_one_and_the_slowest_is_first() {
        let mut stacks = ShadowStacks::default();
        let key = |owner| FunctionKey { owner, name: 1 };
        stacks.enter_traced(7, key(1), || 0);
        let mut now_ns = 0;
        for (owner, ns) in [(2, 10), (3, 20), (4, 5)] {
            let Some(stack) = stacks.of(7) else { unreachable!() };
            stacks.enter(stack, key(owner), Activation::Call, || 0);
            now_ns += ns;
            stacks.advance(stack, now_ns);
            stacks.leave(stack, key(owner), Activation::Call);
        }
        stacks.leave_traced(7);
        let names =
            ["Order#save", "#<anonymous module>#run", "#<anonymous module>#run", "Array#each"].map(function);
        let inside = Inside::of(stacks.graph(), names.into(), stacks.shortcomings());
        let seen: Vec<_> = inside
            .functions
            .iter()
            .map(|it| (&*it.function.name, it.calls, it.total_ns, it.self_ns))
            .collect();
        assert_eq!(
            seen,
            [("#<anonymous module>#run", 2, 30, 30), ("Array#each", 1, 5, 5), ("Order#save", 1, 35, 0)]
        );
        let caller = InnerCaller { place: 2, calls: 2, blocks: 0, total_ns: 30 };
        assert_eq!(inside.functions.first().map(|it| it.callers.clone()), Some(vec![caller]));
        let mut text = String::new();
        inside.table(&mut text, 1);
        let expected = "
     calls      total       self  ran inside
         2      30 ns      30 ns  #<anonymous module>#run
         2                  5 ns  2 further functions
";
        assert_eq!(text, expected);
    }

    #[test]
    fn nothing_is_said_of_an_empty_graph() {
        let inside = Inside::of(&CallGraph::default(), Vec::new(), Shortcomings::default());
        let mut text = String::new();
        inside.table(&mut text, 1);
        inside.notes(&mut text);
        assert_eq!((inside.functions.len(), text), (0, String::new()));
    }
}
