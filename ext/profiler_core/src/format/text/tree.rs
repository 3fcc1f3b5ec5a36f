//! The call tree, with the hot path expanded.

use super::cells::{Fit, WEIGHT_COLUMNS};
use super::table::push_line;
use crate::analysis::call_tree::{call_tree, CallTree, TreeNode};
use crate::profile::{Profile, SampleType};
use crate::text::units::percent;

/// The share of the whole from which a function is expanded, on the hot path or not.
const OPEN: f64 = 0.1;
/// The number of columns before a name.
const NUMBERS: usize = WEIGHT_COLUMNS + 2 + 9 + 2;

/// The part of the tree that is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown {
    /// The share of the whole below which functions are only counted.
    pub least: f64,
    /// Whether the whole tree is expanded.
    pub all: bool,
}

/// An upcoming line.
enum Entry {
    /// A call, its depth, and whether it is on the hot path.
    Call(usize, usize, bool),
    /// Light calls combined in one line, and their depth.
    Light(String, usize),
}

/// Returns the tree of a profile. An only callee is not indented.
#[must_use]
pub fn tree(profile: &Profile, of: SampleType, shown: Shown, fit: Fit) -> String {
    let tree = call_tree(profile, of);
    let printer = Printer { profile, tree: &tree, shown, fit };
    let paint = fit.paint();
    let mut text = String::new();
    push_line(&mut text, &paint.bold(&format!("{}: {} in all", of.name_and_unit().0, of.amount(tree.total))));
    text.push('\n');
    push_line(&mut text, &paint.bold(&format!("{:>WEIGHT_COLUMNS$}  {:>9}  FUNCTION", "TOTAL", "SELF")));
    // Without recursion, as stacks can be deep. The next entry is the last in the list.
    let mut todo = printer.entries(&tree.roots, 0, true);
    while let Some(entry) = todo.pop() {
        match entry {
            Entry::Light(light, depth) => {
                let indent = printer.indentation(depth);
                push_line(&mut text, &format!("{:NUMBERS$}{indent}{}", "", paint.dim(&light)));
            }
            Entry::Call(place, depth, hot) => {
                let Some(node) = tree.nodes.get(place) else { continue };
                let is_open = shown.all || hot || node.total_weight as f64 >= OPEN * tree.total as f64;
                push_line(&mut text, &printer.line(node, depth, is_open));
                if is_open {
                    let inner = depth + usize::from(node.children.len() > 1);
                    todo.extend(printer.entries(&node.children, inner, hot));
                }
            }
        }
    }
    text
}

struct Printer<'a> {
    profile: &'a Profile,
    tree: &'a CallTree,
    shown: Shown,
    fit: Fit,
}

impl Printer<'_> {
    /// Returns the lines of calls, the last one first. The heaviest continues the hot path; light ones are
    /// combined in one line.
    fn entries(&self, places: &[usize], depth: usize, hot: bool) -> Vec<Entry> {
        let least = if self.shown.all { 0.0 } else { self.shown.least * self.tree.total as f64 };
        let weight = |place: &usize| self.tree.nodes.get(*place).map_or(0, |it| it.total_weight);
        let (heavy, light): (Vec<usize>, Vec<usize>) =
            places.iter().partition(|it| weight(it) as f64 >= least);
        let mut entries = Vec::with_capacity(heavy.len() + 1);
        if !light.is_empty() {
            let sum = light.iter().map(weight).fold(0, u64::saturating_add);
            let (of, share) = (self.tree.of, percent(sum, self.tree.total));
            entries.push(Entry::Light(format!("{} more: {} {share}", light.len(), of.amount(sum)), depth));
        }
        let call = |(nth, place): (usize, &usize)| Entry::Call(*place, depth, hot && nth == 0);
        entries.extend(heavy.iter().enumerate().map(call).rev());
        entries
    }

    fn line(&self, node: &TreeNode, depth: usize, is_open: bool) -> String {
        let Self { profile, tree, fit, .. } = self;
        let is_closed = !is_open && !node.children.is_empty();
        let closed = if is_closed { format!(" [+{}]", node.children.len()) } else { String::new() };
        let indent = self.indentation(depth);
        let columns = fit.columns.saturating_sub(NUMBERS + indent.len() + closed.len());
        let function = profile.function(node.function);
        let function = function.map_or_else(String::new, |it| fit.function(it, columns, &closed));
        let (of, own) = (tree.of, tree.of.amount(node.self_weight));
        format!("{}  {own:>9}  {indent}{function}", fit.weight(of, node.total_weight, tree.total))
    }

    /// Indents deep calls no further than leaves room for their names.
    fn indentation(&self, depth: usize) -> String {
        let most = if self.fit.full_paths { depth } else { self.fit.columns.saturating_sub(NUMBERS) / 4 };
        if depth > most {
            format!("{}> ", "  ".repeat(most.saturating_sub(1)))
        } else {
            "  ".repeat(depth)
        }
    }
}
