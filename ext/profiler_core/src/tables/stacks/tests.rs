//! Tests of the tree of stacks.

use super::*;
use crate::ids::{Id, ThreadId};
use crate::record::ring::Ring;
use crate::record::{push, Header, Kind, Walk};

fn record(frames: &[(u64, i32)]) -> Vec<u64> {
    let ring = Ring::with_capacity(1024);
    let header = Header { cpu_ns: 1, ..Header::new(ThreadId(1), 1) };
    let (handles, lines): (Vec<u64>, Vec<i32>) = frames.iter().copied().unzip();
    push(&ring, Kind::Tick, &header, Walk { handles: &handles, lines: &lines, rootless: false }, 2048)
        .unwrap();
    let mut scratch = Vec::new();
    assert!(ring.pop(&mut scratch));
    scratch
}

fn intern(stacks: &mut Stacks, frames: &[(u64, i32)]) -> Option<StackId> {
    let words = record(frames);
    stacks.intern(&RawRecord::decode(&words).unwrap())
}

#[test]
fn equal_stacks_share_one_id_and_callers_precede_callees() {
    let mut stacks = Stacks::default();
    let deep = intern(&mut stacks, &[(240, 3), (160, 2), (80, 1)]).unwrap();
    let other = intern(&mut stacks, &[(240, 4), (160, 2), (80, 1)]).unwrap();
    assert_ne!(deep, other, "another line is another frame");
    assert_eq!(intern(&mut stacks, &[(240, 3), (160, 2), (80, 1)]), Some(deep));

    assert_eq!(stacks.handles(), [80, 160, 240], "one handle each, whatever the lines");
    let (_, frames, nodes) = stacks.into_tables();
    assert_eq!(frames.len(), 4, "three functions, one of them on two lines");
    let parent = nodes[deep.index()].parent.unwrap();
    assert!(parent < deep);
    assert_eq!(nodes[other.index()].parent, Some(parent));
}

#[test]
fn ids_do_not_depend_on_the_previous_stack() {
    let mut word = 1_u64;
    let mut stacks = Stacks::default();
    let mut ids: std::collections::HashMap<Vec<(u64, i32)>, StackId> = std::collections::HashMap::new();
    let mut frames: Vec<(u64, i32)> = Vec::new(); // root first
    for _ in 0..2_000 {
        word = crate::rng::after(word);
        frames.truncate((word >> 8) as usize % (frames.len() + 1));
        let more = if word % 50 == 0 { 300 } else { (word >> 40) as usize % 25 };
        frames.extend((0..more).map(|at| (8 * (1 + (word >> 20) % 3), (at % 7) as i32)));
        let leaf_first: Vec<_> = frames.iter().rev().copied().collect();
        let id = intern(&mut stacks, &leaf_first);
        assert_eq!(id.is_some(), !frames.is_empty());
        let Some(id) = id else { continue };
        let seen: Vec<_> = stacks.frames_of(id).map(|it| (it.handle(), it.line() as i32)).collect();
        assert_eq!(seen, leaf_first);
        assert_eq!(*ids.entry(leaf_first).or_insert(id), id);
    }
    assert!(ids.len() > 500);
}

#[test]
fn a_prefix_has_its_own_id_and_an_empty_stack_none() {
    let mut stacks = Stacks::default();
    let long = intern(&mut stacks, &[(160, 2), (80, 1)]);
    assert_ne!(intern(&mut stacks, &[(80, 1)]), long);
    assert_eq!(intern(&mut stacks, &[]), None);
}

#[test]
fn a_full_tree_keeps_what_it_knows_of_new_stacks() {
    let mut stacks = Stacks::default();
    let word = |handle: u64, line: i32| RawFrame::new(handle << 16, line).word();
    let mut recent = RecentStack::default();
    let root = [word(1, 1)];
    let mut leaf = |stacks: &mut Stacks, number: u64, more: u64| {
        let mut words: Vec<u64> = (0..more).map(|frame| word(number, frame as i32 + 2)).collect();
        words.extend([word(number, 1), root[0]]);
        stacks.intern_after(&mut recent, &words).unwrap()
    };
    let known: Vec<StackId> = (2..MAX_NODES as u64 + 1).map(|number| leaf(&mut stacks, number, 0)).collect();
    assert_eq!((stacks.nodes.rows().len(), stacks.refused()), (MAX_NODES, 0));
    let names =
        |stacks: &Stacks, stack| stacks.frames_of(stack).map(|it| it.handle() >> 16).collect::<Vec<_>>();
    let other = Synthetic::Other as u64 >> 16;
    assert_eq!(leaf(&mut stacks, 7, 0), known[5], "what is known stays");
    for (number, more) in [(MAX_NODES as u64 + 9, 0), (MAX_NODES as u64 + 10, 40)] {
        let stack = leaf(&mut stacks, number, more);
        assert_eq!(names(&stacks, stack), [other, 1]);
    }
    let deeper = leaf(&mut stacks, 8, 40);
    assert_eq!(names(&stacks, deeper), [other, 8, 1]);
    assert_eq!(leaf(&mut stacks, 8, 40), deeper);
    assert_eq!((stacks.refused(), stacks.by_hash.len()), (4, 0));
    assert_eq!(leaf(&mut stacks, 9, 0), known[7]);
    for number in 2..MAX_NODES as u64 {
        leaf(&mut stacks, number, 1);
    }
    assert_eq!(stacks.nodes.rows().len(), MAX_WITH_OTHERS + 1, "and one without callers");
}
