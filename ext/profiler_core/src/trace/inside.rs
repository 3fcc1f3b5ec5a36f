//! The functions that ran inside of a traced method, with names.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{CallGraph, Shortcomings};
use crate::profile::Function;
use crate::text::units::{count, counted, duration};

/// The name that stands for the functions that could not be told apart.
const OTHER: &str = "(other functions)";

/// A function that ran inside of a traced method.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
        let names: Vec<Function> = std::iter::once(Function::named(OTHER)).chain(names).collect();
        let mut merged: BTreeMap<Key<'_>, InnerFunction> = BTreeMap::new();
        for (sum, function) in graph.functions().iter().zip(&names) {
            let known = merged.entry(key(function)).or_default();
            known.function.clone_from(function);
            known.calls += sum.calls;
            known.blocks += sum.blocks;
            known.total_ns += sum.total_ns;
            known.self_ns += sum.self_ns;
        }
        let mut functions: Vec<InnerFunction> = merged.into_values().collect();
        functions.sort_by_key(|it| Reverse((it.calls + it.blocks > 0, it.self_ns, it.calls)));
        let known: BTreeMap<Key<'_>, usize> =
            functions.iter().enumerate().map(|(place, it)| (key(&it.function), place)).collect();
        let places: Vec<usize> =
            names.iter().map(|name| known.get(&key(name)).copied().unwrap_or(0)).collect();
        let place_of = |number: u16| places.get(usize::from(number)).copied().unwrap_or(0);
        let mut edges: BTreeMap<(usize, usize), InnerCaller> = BTreeMap::new();
        for sum in graph.edges().iter().skip(1) {
            let (caller, callee) = (place_of(sum.caller), place_of(sum.callee));
            let known = edges.entry((callee, caller)).or_default();
            known.place = caller;
            known.calls += sum.calls;
            known.blocks += sum.blocks;
            known.total_ns += sum.total_ns;
        }
        for ((callee, _), caller) in edges {
            functions.get_mut(callee).into_iter().for_each(|it| it.callers.push(caller));
        }
        for function in &mut functions {
            function.callers.sort_by_key(|caller| (Reverse((caller.total_ns, caller.calls)), caller.place));
        }
        // Only the first, which stands for others, may have no calls and no blocks; it is the last then.
        functions.retain(|function| function.calls + function.blocks > 0);
        let other_callers = graph.edges().first().map_or(0, |sum| sum.calls + sum.blocks);
        Self { functions, other_callers, shortcomings }
    }

    /// Writes the functions with the most time of their own as a table of up to so many rows; 0 stands for all.
    pub(super) fn table(&self, text: &mut String, rows: usize) {
        if self.functions.is_empty() {
            return;
        }
        let rows = if rows == 0 { self.functions.len() } else { rows };
        text.push_str("\n     calls      total       self  ran inside\n");
        for function in self.functions.iter().take(rows) {
            let calls = if function.calls > 0 { count(function.calls) } else { "-".into() };
            let (total, own) = (duration(function.total_ns), duration(function.self_ns));
            let _ = writeln!(text, "{calls:>10} {total:>10} {own:>10}  {}", function.function.name);
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

/// The name and the place by which functions are told apart.
type Key<'names> = (&'names str, &'names str, u32);

fn key(function: &Function) -> Key<'_> {
    (&function.name, &function.path, function.first_line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Activation, FunctionKey, ShadowStacks};

    fn function(name: &str) -> Function {
        Function { path: "app.rb".into(), first_line: 3, ..Function::named(name) }
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
