//! The functions that ran inside of a traced method, and which of them called which.
//!
//! Both tables have a fixed size, allocated before the first call. The first entry of each stands for all that do not
//! fit, so that no call and no time is lost.

/// The largest numbers of functions, and of pairs of caller and callee, that are told apart.
const MAX_FUNCTIONS: usize = 1 << 12;
const MAX_EDGES: usize = 1 << 14;

/// The indexes of the entries for all that do not fit.
const OTHER: u16 = 0;

/// What identifies a function: the owner and the name of a method, which are addresses of objects. Code outside of
/// methods has owner 0, and its own address as name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionKey {
    /// The class or module that has the method; 0 outside of methods.
    pub owner: u64,
    /// The name, or the code outside of methods.
    pub name: u64,
}

/// The sums of one function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FunctionSum {
    /// The function; 0 for all that do not fit.
    pub key: FunctionKey,
    /// A handle of its code; 0 for a C function.
    pub handle: u64,
    /// The number of calls that began.
    pub calls: u64,
    /// The number of runs of its blocks.
    pub blocks: u64,
    /// The time on the stack, ns. Of a recursion, only that of the outermost activation.
    pub total_ns: u64,
    /// The time on top of the stack, ns.
    pub self_ns: u64,
    open: u32,
}

/// The sums of the calls of one function by another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgeSum {
    /// The index of the caller in [`CallGraph::functions`].
    pub caller: u16,
    /// The index of the callee in [`CallGraph::functions`].
    pub callee: u16,
    /// The number of calls that began.
    pub calls: u64,
    /// The number of runs of the callee's blocks.
    pub blocks: u64,
    /// The time in the callee, ns. Of a recursion, only that of the outermost activation.
    pub total_ns: u64,
    open: u32,
}

/// The functions and the edges between them.
#[derive(Clone, Debug)]
pub struct CallGraph {
    functions: Vec<FunctionSum>,
    edges: Vec<EdgeSum>,
    /// Hash tables of indexes in these; 0 is free.
    function_table: Vec<u16>,
    edge_table: Vec<u16>,
}

impl Default for CallGraph {
    fn default() -> Self {
        let mut functions = Vec::with_capacity(MAX_FUNCTIONS);
        let mut edges = Vec::with_capacity(MAX_EDGES);
        functions.push(FunctionSum::default());
        edges.push(EdgeSum::default());
        Self {
            functions,
            edges,
            function_table: vec![0; 2 * MAX_FUNCTIONS],
            edge_table: vec![0; 2 * MAX_EDGES],
        }
    }
}

/// Whether an activation is one of a function or of one of its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// The function was called.
    Call,
    /// A block of the function runs.
    Block,
}

impl CallGraph {
    /// Returns the functions. The first one stands for all that do not fit.
    #[must_use]
    pub fn functions(&self) -> &[FunctionSum] {
        &self.functions
    }

    /// Returns the edges. The first one stands for all that do not fit, and names no functions.
    #[must_use]
    pub fn edges(&self) -> &[EdgeSum] {
        &self.edges
    }

    /// Returns whether the function at this index is the one of a key.
    pub(super) fn is(&self, place: u16, key: FunctionKey) -> bool {
        self.functions.get(usize::from(place)).is_some_and(|sum| sum.key == key) || self.find(key) == place
    }

    fn find(&self, key: FunctionKey) -> u16 {
        let functions = &self.functions;
        let is_same = |place: u16| functions.get(usize::from(place)).is_some_and(|sum| sum.key == key);
        probe(&self.function_table, key.owner ^ key.name.rotate_left(32), is_same).map_or(OTHER, |(_, it)| it)
    }

    /// Returns the index of a function. `handle` is called for a new one. Never allocates.
    pub(super) fn function(&mut self, key: FunctionKey, handle: impl FnOnce() -> u64) -> u16 {
        let functions = &self.functions;
        let is_same = |place: u16| functions.get(usize::from(place)).is_some_and(|sum| sum.key == key);
        let found = probe(&self.function_table, key.owner ^ key.name.rotate_left(32), is_same);
        match found {
            Some((_, place)) if place != 0 => place,
            Some((slot, _)) if self.functions.len() < MAX_FUNCTIONS => {
                let place = u16::try_from(self.functions.len()).unwrap_or(OTHER);
                self.functions.push(FunctionSum { key, handle: handle(), ..FunctionSum::default() });
                set(&mut self.function_table, slot, place);
                place
            }
            _ => OTHER,
        }
    }

    /// Returns the index of an edge. Never allocates.
    pub(super) fn edge(&mut self, caller: u16, callee: u16) -> u16 {
        let edges = &self.edges;
        let is_same = |place: u16| {
            edges.get(usize::from(place)).is_some_and(|sum| (sum.caller, sum.callee) == (caller, callee))
        };
        let found = probe(&self.edge_table, (u64::from(caller) << 16) | u64::from(callee), is_same);
        match found {
            Some((_, place)) if place != 0 => place,
            Some((slot, _)) if self.edges.len() < MAX_EDGES => {
                let place = u16::try_from(self.edges.len()).unwrap_or(OTHER);
                self.edges.push(EdgeSum { caller, callee, ..EdgeSum::default() });
                set(&mut self.edge_table, slot, place);
                place
            }
            _ => OTHER,
        }
    }

    /// Counts an activation of a function by its caller, if there is one.
    pub(super) fn count(&mut self, function: u16, edge: Option<u16>, activation: Activation) {
        let (call, block) = match activation {
            Activation::Call => (1, 0),
            Activation::Block => (0, 1),
        };
        if let Some(sum) = self.functions.get_mut(usize::from(function)) {
            sum.calls += call;
            sum.blocks += block;
        }
        if let Some(sum) = edge.and_then(|edge| self.edges.get_mut(usize::from(edge))) {
            sum.calls += call;
            sum.blocks += block;
        }
    }

    /// Returns how many activations of a function, and of an edge, are open on all fibers.
    pub(super) fn open(&self, function: u16, edge: Option<u16>) -> (u32, u32) {
        let function = self.functions.get(usize::from(function)).map_or(0, |sum| sum.open);
        let edge = edge.and_then(|edge| self.edges.get(usize::from(edge))).map_or(0, |sum| sum.open);
        (function, edge)
    }

    /// Notes that an activation was put on a stack.
    pub(super) fn begin(&mut self, function: u16, edge: Option<u16>) {
        if let Some(sum) = self.functions.get_mut(usize::from(function)) {
            sum.open += 1;
        }
        if let Some(sum) = edge.and_then(|edge| self.edges.get_mut(usize::from(edge))) {
            sum.open += 1;
        }
    }

    /// Notes that an activation was taken from a stack, with the time that counts for the function and the edge.
    pub(super) fn end(&mut self, (function, function_ns): (u16, u64), (edge, edge_ns): (Option<u16>, u64)) {
        if let Some(sum) = self.functions.get_mut(usize::from(function)) {
            sum.open = sum.open.saturating_sub(1);
            sum.total_ns += function_ns;
        }
        if let Some(sum) = edge.and_then(|edge| self.edges.get_mut(usize::from(edge))) {
            sum.open = sum.open.saturating_sub(1);
            sum.total_ns += edge_ns;
        }
    }

    /// Adds time that a function spent on top of a stack.
    pub(super) fn spend(&mut self, function: u16, ns: u64) {
        if let Some(sum) = self.functions.get_mut(usize::from(function)) {
            sum.self_ns += ns;
        }
    }
}

/// Finds the slot of an entry in a hash table whose size is a power of two. Returns the slot and the index that is in
/// it, which is 0 if there is no such entry; `None` if the table is full, which it never is.
fn probe(table: &[u16], hash: u64, is_same: impl Fn(u16) -> bool) -> Option<(usize, u16)> {
    let mask = table.len().wrapping_sub(1);
    let start = hash.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    let start = usize::try_from(start).unwrap_or(0);
    (0..table.len()).map(|step| start.wrapping_add(step) & mask).find_map(|slot| {
        let place = *table.get(slot)?;
        (place == 0 || is_same(place)).then_some((slot, place))
    })
}

fn set(table: &mut [u16], slot: usize, place: u16) {
    if let Some(entry) = table.get_mut(slot) {
        *entry = place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_and_edges_are_found_again() {
        let mut graph = CallGraph::default();
        let key = |number: u64| FunctionKey { owner: 0x7f00_0000_1000 + 40 * number, name: 0x1_0c };
        let places: Vec<u16> = (0..1_000).map(|number| graph.function(key(number), || number)).collect();
        for (number, place) in places.iter().enumerate() {
            assert_eq!(graph.function(key(number as u64), || unreachable!()), *place);
            assert!(graph.is(*place, key(number as u64)));
            assert!(!graph.is(*place, key(number as u64 + 1)));
        }
        assert_eq!((places.first(), graph.functions().len()), (Some(&1), 1_001));
        assert_eq!(graph.edge(1, 2), graph.edge(1, 2));
        assert_ne!(graph.edge(1, 2), graph.edge(2, 1));
    }

    #[test]
    fn what_does_not_fit_is_counted_as_other() {
        let mut graph = CallGraph::default();
        for number in 0..5_000 {
            let place = graph.function(FunctionKey { owner: number + 1, name: 7 }, || 0);
            graph.count(place, None, Activation::Call);
        }
        assert_eq!((graph.functions.len(), graph.functions.capacity()), (MAX_FUNCTIONS, MAX_FUNCTIONS));
        assert_eq!(graph.functions().iter().map(|sum| sum.calls).sum::<u64>(), 5_000);
        assert_eq!(graph.functions()[0].calls, 5_001 - MAX_FUNCTIONS as u64);
        for number in 0..20_000 {
            let edge = graph.edge(1 + (number % 200) as u16, 1 + (number / 200) as u16);
            graph.count(1, Some(edge), Activation::Block);
        }
        assert_eq!((graph.edges.len(), graph.edges.capacity()), (MAX_EDGES, MAX_EDGES));
        assert_eq!(graph.edges().iter().map(|sum| sum.blocks).sum::<u64>(), 20_000);
    }
}
