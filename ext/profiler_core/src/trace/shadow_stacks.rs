//! A stack of what runs inside of the traced method, for each fiber that is in it.
//!
//! The VM reports each call and return. A stack has a clock of its own, which stands still in the hooks: the time
//! from the end of one event's hook to the beginning of the next is that of the function on top. So the self times
//! of all functions add up to the time of the traced calls, by construction.
//!
//! The calls of the traced method itself are reported by another hook too, after the general one. Only that hook begins
//! a stack and ends these calls. The end of the outermost one ends the stack, whatever else is still on it.

use super::call_graph::{Activation, CallGraph, FunctionKey};

/// The largest numbers of activations, and of fibers, that are followed at once.
const MAX_OPEN: usize = 1 << 14;
const MAX_STACKS: usize = 1 << 8;
/// The number of activations from which on a `SystemStackError` is the reason why they have no end.
const MANY: u64 = 100;
/// No activation.
const NONE: u16 = u16::MAX;

#[derive(Clone, Copy, Debug)]
struct Open {
    function: u16,
    /// The edge from the caller; `None` for the outermost.
    edge: Option<u16>,
    activation: Activation,
    /// True for a call of the traced method, which only that method's hook ends.
    is_traced: bool,
    /// Whether the function, and the edge, are not on the stack below.
    is_outermost: (bool, bool),
    /// The clock of the stack when it began, ns.
    began_ns: u64,
    /// The activation below, or the next free one.
    below: u16,
}

#[derive(Clone, Copy, Debug)]
struct Stack {
    /// The address of the fiber, which the caller keeps alive and in place.
    fiber: u64,
    top: u16,
    /// The function and the activation of the call that has just begun, until the next event.
    newest: Option<(u16, u16)>,
    /// The activations beyond those that have room.
    beyond: u64,
    /// The clock of the stack, ns.
    clock_ns: u64,
    /// The monotonic clock when the last hook ended, ns.
    resumed_ns: u64,
}

/// The stacks, with the sums of what was on them.
#[derive(Clone, Debug)]
pub struct ShadowStacks {
    graph: CallGraph,
    open: Vec<Open>,
    free: u16,
    stacks: Vec<Stack>,
    /// The index of the stack that was used last.
    last: usize,
    unfollowed: u64,
    beyond: u64,
    unpaired: u64,
}

/// What the sums do not have in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortcomings {
    /// The number of traced calls that were not followed, as too many fibers were in the method.
    pub unfollowed: u64,
    /// The number of activations whose time is that of their caller, as too many were open.
    pub beyond: u64,
    /// The number of activations whose end the VM did not report.
    pub unpaired: u64,
}

impl Default for ShadowStacks {
    fn default() -> Self {
        let unused = Open {
            function: 0,
            edge: None,
            activation: Activation::Call,
            is_traced: false,
            is_outermost: (false, false),
            began_ns: 0,
            below: NONE,
        };
        let below = |place: usize| u16::try_from(place + 1).ok().filter(|next| usize::from(*next) < MAX_OPEN);
        Self {
            graph: CallGraph::default(),
            open: (0..MAX_OPEN).map(|place| Open { below: below(place).unwrap_or(NONE), ..unused }).collect(),
            free: 0,
            stacks: Vec::with_capacity(MAX_STACKS),
            last: 0,
            unfollowed: 0,
            beyond: 0,
            unpaired: 0,
        }
    }
}

/// A stack, until another one ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackPlace(usize);

impl ShadowStacks {
    /// Returns whether no fiber is in the traced method.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Returns the stack of a fiber, if that is in the traced method.
    pub fn of(&mut self, fiber: u64) -> Option<StackPlace> {
        if self.stacks.get(self.last).is_none_or(|stack| stack.fiber != fiber) {
            self.last = self.stacks.iter().position(|stack| stack.fiber == fiber)?;
        }
        Some(StackPlace(self.last))
    }

    /// Adds the time since the last hook, at the beginning of one.
    pub fn advance(&mut self, StackPlace(place): StackPlace, now_ns: u64) {
        let Some(stack) = self.stacks.get_mut(place) else { return };
        let ns = now_ns.saturating_sub(stack.resumed_ns);
        stack.clock_ns += ns;
        stack.resumed_ns = now_ns;
        if let Some(top) = self.open.get(usize::from(stack.top)) {
            self.graph.spend(top.function, ns);
        }
    }

    /// Notes that the hook ends.
    pub fn resume(&mut self, StackPlace(place): StackPlace, now_ns: u64) {
        if let Some(stack) = self.stacks.get_mut(place) {
            stack.resumed_ns = now_ns;
        }
    }

    /// Begins a call of the traced method. The caller advances a stack that is there, and resumes it. `handle` is
    /// called for a function that is new. Never allocates.
    pub fn enter_traced(&mut self, fiber: u64, key: FunctionKey, handle: impl FnOnce() -> u64) {
        let Some(StackPlace(place)) = self.of(fiber) else {
            if self.stacks.len() >= MAX_STACKS {
                self.unfollowed += 1;
                return;
            }
            self.last = self.stacks.len();
            self.stacks.push(Stack { fiber, top: NONE, newest: None, beyond: 0, clock_ns: 0, resumed_ns: 0 });
            self.push(self.last, key, Activation::Call, true, handle);
            if let Some(stack) = self.stacks.get_mut(self.last) {
                stack.newest = None;
            }
            return;
        };
        let Some(stack) = self.stacks.get_mut(place) else { return };
        match stack.newest.take() {
            Some((function, newest)) if self.graph.is(function, key) => {
                let began_ns = stack.clock_ns;
                if let Some(call) = self.open.get_mut(usize::from(newest)) {
                    call.is_traced = true;
                    call.began_ns = began_ns;
                } else {
                    stack.beyond += 1; // each of the two hooks ends one
                }
            }
            _ => self.push(place, key, Activation::Call, true, handle),
        }
    }

    /// Begins a call or block of any function on a stack. Never allocates.
    pub fn enter(
        &mut self,
        StackPlace(place): StackPlace,
        key: FunctionKey,
        activation: Activation,
        handle: impl FnOnce() -> u64,
    ) {
        let Some(stack) = self.stacks.get_mut(place) else { return };
        let top = self.open.get(usize::from(stack.top));
        let is_on_top = top.is_some_and(|top| self.graph.is(top.function, key));
        if activation == Activation::Block && is_on_top {
            // The block that is the code of a method: what has just begun stays the newest call.
            let newest = stack.newest;
            self.push(place, key, activation, false, handle);
            if let Some(stack) = self.stacks.get_mut(place) {
                stack.newest = newest;
            }
            return;
        }
        self.push(place, key, activation, false, handle);
    }

    fn push(
        &mut self,
        place: usize,
        key: FunctionKey,
        activation: Activation,
        is_traced: bool,
        handle: impl FnOnce() -> u64,
    ) {
        let function = self.graph.function(key, handle);
        let Some(stack) = self.stacks.get(place).copied() else { return };
        let caller = self.open.get(usize::from(stack.top)).map(|top| top.function);
        let edge = caller.map(|caller| self.graph.edge(caller, function));
        self.graph.count(function, edge, activation);
        let free = if stack.beyond == 0 { self.free } else { NONE };
        let is_outermost = self.is_outermost(&stack, function, edge);
        if let Some(open) = self.open.get_mut(usize::from(free)) {
            self.free = open.below;
            let began_ns = stack.clock_ns;
            *open = Open { function, edge, activation, is_traced, is_outermost, began_ns, below: stack.top };
            self.graph.begin(function, edge);
        } else {
            self.beyond += 1;
        }
        if let Some(stack) = self.stacks.get_mut(place) {
            stack.newest = Some((function, free));
            if free == NONE {
                stack.beyond += 1;
            } else {
                stack.top = free;
            }
        }
    }

    fn is_outermost(&self, stack: &Stack, function: u16, edge: Option<u16>) -> (bool, bool) {
        let (functions, edges) = self.graph.open(function, edge);
        let mut found = (functions == 0, edges == 0);
        if found == (true, true) || self.stacks.len() == 1 {
            return found;
        }
        // They may be open on other stacks only.
        found = (true, true);
        let mut place = stack.top;
        while let Some(open) = self.open.get(usize::from(place)) {
            found = (found.0 && open.function != function, found.1 && open.edge != edge);
            place = open.below;
        }
        found
    }

    /// Ends a call or block of any function on a stack.
    ///
    /// If an exception from another thread arrives while a call begins or ends, the VM may report only the end, or
    /// report it twice. So an end that does not match the top of the stack is ignored. The exception is a match below
    /// at least [`MANY`] activations: a `SystemStackError` has removed these.
    pub fn leave(&mut self, StackPlace(place): StackPlace, key: FunctionKey, activation: Activation) {
        let Some(stack) = self.stacks.get_mut(place) else { return };
        stack.newest = None;
        if stack.beyond > 0 {
            stack.beyond -= 1;
            return;
        }
        let mut above = 0;
        let mut search = stack.top;
        while let Some(open) = self.open.get(usize::from(search)) {
            if open.is_traced {
                // Its own hook ends it, before or after this.
                return;
            }
            if open.activation == activation && self.graph.is(open.function, key) {
                if above == 0 || above >= MANY {
                    self.unpaired += above;
                    (0..=above).for_each(|_| _ = self.pop(place));
                }
                return;
            }
            above += 1;
            search = open.below;
        }
    }

    /// Ends the newest call of the traced method on a fiber. The caller advances the stack, and resumes it if it is
    /// still there. Returns the time of the call, ns.
    pub fn leave_traced(&mut self, fiber: u64) -> Option<u64> {
        let StackPlace(place) = self.of(fiber)?;
        let stack = self.stacks.get_mut(place)?;
        stack.newest = None;
        if stack.beyond > 0 {
            stack.beyond -= 1;
            if stack.beyond == 0 && stack.top == NONE {
                self.stacks.swap_remove(place);
            }
            return None;
        }
        while let Some(open) =
            self.stacks.get(place).and_then(|it| self.open.get(usize::from(it.top))).copied()
        {
            let ns = self.pop(place);
            if open.is_traced {
                if self.stacks.get(place).is_none_or(|stack| stack.top == NONE) {
                    self.stacks.swap_remove(place);
                }
                return Some(ns);
            }
            self.unpaired += 1;
        }
        self.stacks.swap_remove(place);
        None
    }

    /// Removes the uppermost activation. Returns its time, ns.
    fn pop(&mut self, place: usize) -> u64 {
        let Some(stack) = self.stacks.get_mut(place) else { return 0 };
        let Some(open) = self.open.get_mut(usize::from(stack.top)) else { return 0 };
        let ns = stack.clock_ns.saturating_sub(open.began_ns);
        let of = |is_outermost: bool| if is_outermost { ns } else { 0 };
        let Open { function, edge, is_outermost, below, .. } = *open;
        open.below = self.free;
        self.free = stack.top;
        stack.top = below;
        self.graph.end((function, of(is_outermost.0)), (edge, of(is_outermost.1)));
        ns
    }

    /// Ends all that is open, at this time.
    pub fn close(&mut self, now_ns: u64) {
        while let Some(place) = self.stacks.len().checked_sub(1) {
            self.advance(StackPlace(place), now_ns);
            while self.stacks.get(place).is_some_and(|stack| stack.top != NONE) {
                self.pop(place);
            }
            self.stacks.pop();
        }
    }

    /// Returns the sums of what has ended.
    #[must_use]
    pub fn graph(&self) -> &CallGraph {
        &self.graph
    }

    /// Returns what the sums do not have in full.
    #[must_use]
    pub fn shortcomings(&self) -> Shortcomings {
        Shortcomings { unfollowed: self.unfollowed, beyond: self.beyond, unpaired: self.unpaired }
    }

    /// Iterates over the addresses of all objects that the stacks refer to.
    pub fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        let functions =
            self.graph.functions().iter().flat_map(|sum| [sum.key.owner, sum.key.name, sum.handle]);
        functions.chain(self.stacks.iter().map(|stack| stack.fiber))
    }
}

#[cfg(test)]
mod tests;
