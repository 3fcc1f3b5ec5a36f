//! States as frames, for pictures in which a wait has to look different from running code.

use std::collections::BTreeMap;

use crate::ids::{FrameId, FunctionId, Id, StackId};
use crate::profile::{Frame, Function, Node, Profile};
use crate::record::State;

/// The frame of each state in which a thread does not run.
const LEAVES: [(State, &str); 4] = [
    (State::Waiting, "(waiting)"),
    (State::Gvl, "(waiting for the GVL)"),
    (State::Runnable, "(no CPU)"),
    (State::Blocked, "(blocked with the GVL)"),
];

/// Returns whether the function is the frame of a state.
#[must_use]
pub fn is_state(function: &Function) -> bool {
    function.path.is_empty() && LEAVES.iter().any(|(_, name)| *name == function.name)
}

/// Returns `profile` with the state of each row that does not run as the leaf of its stack.
#[must_use]
pub fn with_state_leaves(profile: &Profile) -> Profile {
    let mut shown = profile.clone();
    let mut frames: BTreeMap<State, FrameId> = BTreeMap::new();
    let mut leaves: BTreeMap<(StackId, State), StackId> = BTreeMap::new();
    for (sample, before) in shown.samples.iter_mut().zip(&profile.samples) {
        let Some((state, name)) = LEAVES.iter().find(|(state, _)| *state == before.state) else { continue };
        let frame = *frames.entry(*state).or_insert_with(|| {
            shown.functions.push(Function::named(*name));
            shown.frames.push(Frame { function: FunctionId::from_index(shown.functions.len() - 1), line: 0 });
            FrameId::from_index(shown.frames.len() - 1)
        });
        sample.stack = *leaves.entry((before.stack, *state)).or_insert_with(|| {
            shown.stacks.push(Node { parent: Some(before.stack), frame });
            StackId::from_index(shown.stacks.len() - 1)
        });
    }
    shown
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};

    #[test]
    fn waits_get_a_leaf_and_running_code_none() {
        let mut example = Example::lasting_ms(10);
        example.wall(MAIN, State::Running, 1, "a /app.rb:1");
        example.wall(MAIN, State::Waiting, 2, "a /app.rb:1; IO#gets");
        example.wall(MAIN, State::Waiting, 3, "a /app.rb:1; Kernel#sleep");
        let profile = example.profile();
        let shown = with_state_leaves(&profile);
        let leaf = |row: usize| {
            let frame = shown.frames_of(shown.samples[row].stack).next().unwrap();
            let function = shown.function(frame.function).unwrap();
            (function.name.clone(), is_state(function))
        };
        let waiting = ("(waiting)".to_owned(), true);
        assert_eq!([leaf(0), leaf(1), leaf(2)], [("a".to_owned(), false), waiting.clone(), waiting]);
        assert_eq!(shown.total(), profile.total());
        assert_eq!(shown.functions.len(), profile.functions.len() + 1);
    }
}
