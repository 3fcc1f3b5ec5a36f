use super::*;

/// A fiber, with functions by number and a clock.
struct Program {
    stacks: ShadowStacks,
    now_ns: u64,
}

const TRACED: u64 = 1;

fn key(number: u64) -> FunctionKey {
    FunctionKey { owner: 100 + number, name: 8 }
}

impl Program {
    fn new() -> Self {
        Self { stacks: ShadowStacks::default(), now_ns: 1_000 }
    }

    /// Lets time pass, and then runs a hook, which takes 50 ns.
    fn after(&mut self, fiber: u64, ns: u64, hook: impl FnOnce(&mut ShadowStacks)) {
        self.now_ns += ns;
        if let Some(stack) = self.stacks.of(fiber) {
            self.stacks.advance(stack, self.now_ns);
        }
        hook(&mut self.stacks);
        self.now_ns += 50;
        if let Some(stack) = self.stacks.of(fiber) {
            self.stacks.resume(stack, self.now_ns);
        }
    }

    fn enter_traced(&mut self, fiber: u64, ns: u64) {
        self.after(fiber, ns, |stacks| stacks.enter_traced(fiber, key(TRACED), || 0));
    }

    fn leave_traced(&mut self, fiber: u64, ns: u64) -> Option<u64> {
        let mut took = None;
        self.after(fiber, ns, |stacks| took = stacks.leave_traced(fiber));
        took
    }

    fn enter(&mut self, fiber: u64, ns: u64, function: u64, activation: Activation) {
        self.after(fiber, ns, |stacks| {
            if let Some(stack) = stacks.of(fiber) {
                stacks.enter(stack, key(function), activation, || 0);
            }
        });
    }

    fn leave(&mut self, fiber: u64, ns: u64, function: u64, activation: Activation) {
        self.after(fiber, ns, |stacks| {
            if let Some(stack) = stacks.of(fiber) {
                stacks.leave(stack, key(function), activation);
            }
        });
    }

    /// Calls, blocks, total and self time.
    fn sums(&self, function: u64) -> [u64; 4] {
        let sum = self.stacks.graph().functions().iter().find(|sum| sum.key == key(function));
        sum.map_or([0; 4], |sum| [sum.calls, sum.blocks, sum.total_ns, sum.self_ns])
    }

    fn edge(&self, caller: u64, callee: u64) -> [u64; 3] {
        let functions = self.stacks.graph().functions();
        let is = |place: u16, function| functions[usize::from(place)].key == key(function);
        let mut edges = self.stacks.graph().edges().iter();
        let sum = edges.find(|sum| is(sum.caller, caller) && is(sum.callee, callee));
        sum.map_or([0; 3], |sum| [sum.calls, sum.blocks, sum.total_ns])
    }
}

use Activation::{Block, Call};

#[test]
fn times_are_without_the_hooks_and_self_times_add_up() {
    let mut program = Program::new();
    program.enter(7, 0, 2, Call); // not inside
    program.enter_traced(7, 10);
    program.enter(7, 100, 2, Call);
    program.enter(7, 10, TRACED, Block);
    program.leave(7, 5, TRACED, Block);
    program.leave(7, 20, 2, Call);
    assert_eq!(program.leave_traced(7, 3), Some(138));
    program.leave(7, 1, 2, Call);
    assert_eq!(program.sums(TRACED), [1, 1, 138, 108]);
    assert_eq!(program.sums(2), [1, 0, 35, 30]);
    assert_eq!((program.edge(TRACED, 2), program.edge(2, TRACED)), ([1, 0, 35], [0, 1, 5]));
    assert!(program.stacks.is_idle());
    assert_eq!(program.stacks.shortcomings(), Shortcomings::default());
}

#[test]
fn a_recursion_counts_each_call_and_the_time_of_the_outermost() {
    let mut program = Program::new();
    program.enter_traced(7, 0);
    (0..3).for_each(|_| program.enter(7, 10, 2, Call));
    (0..3).for_each(|_| program.leave(7, 10, 2, Call));
    assert_eq!(program.leave_traced(7, 10), Some(70));
    assert_eq!(program.sums(2), [3, 0, 50, 50]);
    assert_eq!((program.edge(TRACED, 2), program.edge(2, 2)), ([1, 0, 50], [2, 0, 30]));
}

#[test]
fn both_hooks_together_count_a_traced_call_once() {
    let mut program = Program::new();
    program.enter(7, 1, TRACED, Call); // not inside
    program.enter_traced(7, 0);
    for depth in 0..3 {
        if depth > 1 {
            program.enter(7, 1, 2, Call);
        }
        program.enter(7, 1, TRACED, Call);
        program.enter(7, 1, TRACED, Block); // as it has the code of a block
        program.enter_traced(7, 1);
    }
    program.enter(7, 1, TRACED, Call); // another method of that name, which has replaced it
    program.leave(7, 1, TRACED, Call);
    for depth in (0..3).rev() {
        program.leave(7, 1, TRACED, Block);
        program.leave(7, 1, TRACED, Call);
        assert!(program.leave_traced(7, 1).is_some());
        if depth > 1 {
            program.leave(7, 1, 2, Call);
        }
    }
    let total = program.leave_traced(7, 1);
    assert_eq!(program.sums(TRACED)[..2], [5, 3]);
    assert_eq!(Some(program.sums(TRACED)[2]), total);
    assert_eq!(total, Some(program.sums(TRACED)[3] + program.sums(2)[3]));
    assert!(program.stacks.is_idle());
    assert_eq!(program.stacks.shortcomings(), Shortcomings::default());
}

#[test]
fn fibers_have_their_own_stacks() {
    let mut program = Program::new();
    program.enter_traced(7, 0);
    program.enter(7, 1, 2, Call);
    program.enter_traced(8, 1);
    program.enter(8, 1, 2, Call);
    program.enter(9, 1, 2, Call); // not inside
    program.leave(8, 10, 2, Call);
    program.leave(7, 10, 2, Call);
    assert!(program.leave_traced(7, 1).is_some() && program.leave_traced(8, 1).is_some());
    // The hooks of other fibers take time, too, as other code does.
    assert_eq!(program.sums(2)[..3], [2, 0, 1 + 50 + 1 + 50 + 1 + 50 + 10 + 50 + 10 + (1 + 50 + 10)]);
    assert_eq!((program.leave_traced(7, 1), program.stacks.is_idle()), (None, true));
}

#[test]
fn ends_that_were_not_reported_are_made_up_for() {
    let mut program = Program::new();
    program.enter_traced(7, 0);
    program.enter(7, 10, 2, Call);
    (0..MANY).for_each(|_| program.enter(7, 10, 3, Call)); // up to a SystemStackError
    program.leave(7, 10, 9, Call); // which is not there
    program.leave(7, 10, 2, Call);
    program.enter(7, 10, 4, Call);
    assert_eq!(program.leave_traced(7, 10), Some(MANY * 10 + 50));
    assert_eq!(
        (program.sums(2)[2], program.sums(3)[3], program.sums(4)[3]),
        (MANY * 10 + 20, MANY * 10 + 10, 10)
    );
    assert_eq!(program.stacks.shortcomings().unpaired, MANY + 1);
    assert!(program.stacks.is_idle());
}

#[test]
fn an_end_that_is_reported_again_or_without_its_beginning_ends_nothing_else() {
    let mut program = Program::new();
    program.enter_traced(7, 0);
    for (function, activation) in [(2, Call), (TRACED, Block), (3, Call), (TRACED, Block)] {
        program.enter(7, 1, function, activation);
    }
    (0..3).for_each(|_| program.leave(7, 1, TRACED, Block));
    program.leave(7, 1, 3, Call);
    program.enter(7, 1, 4, Call);
    program.leave(7, 1, 4, Call);
    program.leave(7, 1, TRACED, Block);
    program.leave(7, 1, 2, Call);
    assert!(program.leave_traced(7, 1).is_some());
    assert_eq!(program.edge(TRACED, 4)[0], 1);
    assert_eq!(program.stacks.shortcomings(), Shortcomings::default());
}

#[test]
fn what_has_no_room_is_counted_and_its_time_is_its_callers() {
    let mut program = Program::new();
    program.enter_traced(7, 0);
    let depth = MAX_OPEN as u64 + 10;
    (0..depth).for_each(|_| program.enter(7, 1, 2, Call));
    program.enter_traced(8, 0);
    assert_eq!(program.leave_traced(8, 1), None);
    (0..depth).for_each(|_| program.leave(7, 1, 2, Call));
    assert!(program.leave_traced(7, 0).is_some());
    assert_eq!(program.sums(2)[0], depth);
    assert_eq!(program.stacks.shortcomings().beyond, 12);
    assert!(program.stacks.is_idle());
    (0..=MAX_STACKS as u64).for_each(|fiber| program.enter_traced(fiber, 0));
    assert_eq!(program.stacks.shortcomings().unfollowed, 1);
    program.stacks.close(program.now_ns);
    assert!(program.stacks.is_idle());
    assert_eq!(program.stacks.stacks.capacity(), MAX_STACKS);
}

#[test]
fn what_is_open_ends_with_the_trace() {
    let mut program = Program::new();
    program.enter_traced(7, 0);
    program.enter(7, 5, 2, Call);
    let now_ns = program.now_ns + 20;
    let mut closed = program.stacks.clone();
    closed.close(now_ns);
    assert_eq!(program.sums(2), [1, 0, 0, 0]);
    let sums: Vec<u64> = closed.graph().functions().iter().map(|sum| sum.self_ns).collect();
    assert_eq!(sums, [0, 5, 20]);
    assert_eq!(program.leave_traced(7, 3), Some(8));
}

/// Random programs are balanced, and lose no time and no call.
#[test]
fn any_program_adds_up() {
    let mut random = 1_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    let mut program = Program::new();
    let (mut calls, mut total_ns) = (0, 0);
    for _ in 0..200 {
        let mut stacks: [Vec<(u64, Activation)>; 3] = std::array::from_fn(|_| Vec::new());
        for _ in 0..next(400) {
            let fiber = next(3);
            let stack = &mut stacks[fiber as usize];
            if stack.is_empty() || next(2) == 0 {
                let (function, activation) = (next(4) + 1, if next(4) == 0 { Block } else { Call });
                let is_traced = function == TRACED && activation == Call;
                if stack.contains(&(TRACED, Call)) || is_traced {
                    calls += u64::from(activation == Call);
                }
                program.enter(fiber, next(9), function, activation);
                if is_traced {
                    program.enter_traced(fiber, next(9));
                }
                stack.push((function, activation));
            } else if let Some((function, activation)) = stack.pop() {
                program.leave(fiber, next(9), function, activation);
                if (function, activation) == (TRACED, Call) {
                    let took = program.leave_traced(fiber, next(9));
                    if !stack.contains(&(TRACED, Call)) {
                        total_ns += took.unwrap_or(0);
                    }
                }
            }
        }
        for (fiber, mut stack) in stacks.into_iter().enumerate() {
            while let Some((function, activation)) = stack.pop() {
                program.leave(fiber as u64, 2, function, activation);
                if (function, activation) == (TRACED, Call) {
                    let took = program.leave_traced(fiber as u64, 2);
                    if !stack.contains(&(TRACED, Call)) {
                        total_ns += took.unwrap_or(0);
                    }
                }
            }
        }
        let sums = program.stacks.graph().functions();
        assert_eq!(sums.iter().map(|sum| sum.calls).sum::<u64>(), calls);
        assert_eq!(sums.iter().map(|sum| sum.self_ns).sum::<u64>(), total_ns);
        assert_eq!(program.sums(TRACED)[2], total_ns);
        assert!(sums.iter().all(|sum| sum.total_ns <= total_ns && sum.self_ns <= sum.total_ns));
        assert_eq!((program.stacks.is_idle(), program.stacks.shortcomings().unpaired), (true, 0));
    }
}
