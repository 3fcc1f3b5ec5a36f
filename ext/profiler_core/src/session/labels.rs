//! The sets of labels of an epoch, and the ids under which records carry them.

use crate::ids::{Id, Interner, LabelSetId};
use crate::profile::LabelSet;

/// Distinct sets that an epoch keeps apart. What comes after is `(other)`.
pub const MAX_SETS: usize = 4_096;

/// Sets that are kept apart by their names alone once [`MAX_SETS`] is reached.
const MAX_OTHERS: usize = 64;

/// The label that says which fiber it was, by its number, in sessions that want to know.
pub const FIBER: &str = "fiber";

static EMPTY: LabelSet = LabelSet::EMPTY;

/// The sets of an epoch: bounded, whatever an app puts into its labels. The same labels on two fibers with numbers are two.
#[derive(Debug)]
pub struct LabelSets {
    sets: Interner<(LabelSet, u32), LabelSetId>,
    /// The set without the number of a fiber, for each.
    plain: Vec<LabelSetId>,
    others: Interner<LabelSet, LabelSetId>,
    refused: u64,
}

impl Default for LabelSets {
    fn default() -> Self {
        let mut sets = Interner::default();
        let _: LabelSetId = sets.intern((LabelSet::EMPTY, 0)); // LabelSetId::NONE
        Self { sets, plain: vec![LabelSetId::NONE], others: Interner::default(), refused: 0 }
    }
}

impl LabelSets {
    /// Forgets all sets: an epoch is over.
    pub fn clear(&mut self) {
        if self.sets.rows().len() > 1 {
            *self = Self::default();
        }
    }

    /// The id of a set on the fiber of that number, 0 if no session wants the number. Once there are too many sets, the number
    /// is dropped first, then the values become [`OTHER`]. When there are too many different names as well, it is the empty
    /// set. All of these are counted.
    pub fn intern(&mut self, set: &LabelSet, fiber: u32) -> LabelSetId {
        let numbered_set = (set.clone(), fiber);
        if let Some(id) = self.sets.find(&numbered_set) {
            return id;
        }
        let refused = self.refused;
        let plain = (fiber > 0).then(|| self.intern(set, 0));
        if self.sets.rows().len() < MAX_SETS {
            let id = self.sets.intern(numbered_set);
            self.plain.push(plain.unwrap_or(id));
            return id;
        }
        if let Some(plain) = plain {
            self.refused = refused + 1; // once, if the labels were refused as well
            return plain;
        }
        self.refused += 1;
        let others = set.others();
        let known = self.others.find(&others);
        let id = match known {
            None if self.others.rows().len() >= MAX_OTHERS => return LabelSetId::NONE,
            known => known.unwrap_or_else(|| self.others.intern(others)),
        };
        LabelSetId::from_index(MAX_SETS + id.index())
    }

    /// The set behind an id.
    #[must_use]
    pub fn get(&self, id: LabelSetId) -> &LabelSet {
        let own = || self.others.get(LabelSetId::from_index(id.index().checked_sub(MAX_SETS)?));
        self.sets.get(id).map(|(set, _fiber)| set).or_else(own).unwrap_or(&EMPTY)
    }

    /// The same set, whatever the fiber.
    #[must_use]
    pub fn plain(&self, id: LabelSetId) -> LabelSetId {
        self.plain.get(id.index()).copied().unwrap_or(id)
    }

    /// The set behind an id and the label [`FIBER`], unless the app has one of its own.
    #[must_use]
    pub fn with_fiber(&self, id: LabelSetId) -> LabelSet {
        let set = self.get(id);
        let number = self.sets.get(id).map(|(_set, fiber)| *fiber).filter(|fiber| *fiber > 0);
        let is_ours = set.pairs().iter().all(|(name, _)| name != FIBER);
        set.with(number.filter(|_| is_ours).map(|number| (FIBER.to_owned(), Some(number.to_string()))))
    }

    /// The number of sets that became `(other)`.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::profile::OTHER;

    fn set(pairs: &[(&str, &str)]) -> LabelSet {
        LabelSet::EMPTY
            .with(pairs.iter().map(|(name, value)| ((*name).to_owned(), Some((*value).to_owned()))))
    }

    #[test]
    fn inner_labels_override_and_can_be_removed() {
        let outer = set(&[("b", "1"), ("a", "1")]);
        assert_eq!(outer.pairs(), [("a".into(), "1".into()), ("b".into(), "1".into())]);
        let inner = outer.with([("a".to_owned(), Some("2".to_owned())), ("b".to_owned(), None)]);
        assert_eq!(inner, set(&[("a", "2")]));
        assert!(outer.has_all(&set(&[("b", "1")])));
        assert!(!outer.has_all(&set(&[("b", "2")])));
        assert!(outer.has_all(&LabelSet::EMPTY));
    }

    #[test]
    fn excess_label_sets_keep_only_names() {
        let mut sets = LabelSets::default();
        let number = |it: usize| set(&[("request", &it.to_string())]);
        for it in 0..100_000 {
            let id = sets.intern(&number(it), 0);
            assert!(id.index() < MAX_SETS + MAX_OTHERS);
        }
        assert_eq!(sets.get(sets.sets.find(&(number(7), 0)).unwrap()), &number(7));
        let late = sets.intern(&number(99_999), 0);
        assert_eq!(sets.get(late), &set(&[("request", OTHER)]));
        assert_eq!(sets.refused(), 100_000 - (MAX_SETS as u64 - 1) + 1);
        for it in 0..1_000 {
            sets.intern(&set(&[(&format!("name {it}"), "x")]), 0);
        }
        assert_eq!(sets.intern(&set(&[("yet another", "x")]), 0), LabelSetId::NONE);
        assert_eq!(sets.get(LabelSetId::NONE), &LabelSet::EMPTY);
    }

    #[test]
    fn fibers_are_distinguished_on_request() {
        let mut sets = LabelSets::default();
        let labels = set(&[("a", "1")]);
        let [first, second] = [1, 2].map(|fiber| sets.intern(&labels, fiber));
        assert_ne!(first, second);
        assert_eq!([first, second].map(|id| sets.plain(id)), [sets.intern(&labels, 0); 2]);
        assert_eq!(sets.with_fiber(second), set(&[("a", "1"), (FIBER, "2")]));
        assert_eq!(sets.with_fiber(sets.plain(second)), labels);
        let (none, own) = (sets.intern(&LabelSet::EMPTY, 7), sets.intern(&set(&[(FIBER, "mine")]), 7));
        assert_eq!((sets.plain(none), sets.with_fiber(none)), (LabelSetId::NONE, set(&[(FIBER, "7")])));
        assert_eq!(sets.with_fiber(own), set(&[(FIBER, "mine")]));
    }

    #[test]
    fn a_full_table_drops_fiber_numbers_but_keeps_labels() {
        let mut sets = LabelSets::default();
        let labels = set(&[("a", "1")]);
        for fiber in 1..=2 * MAX_SETS as u32 {
            let id = sets.intern(&labels, fiber);
            assert_eq!(sets.get(id), &labels);
        }
        // Nothing, the labels alone, and each number that found a place.
        assert_eq!(sets.refused(), 2 * MAX_SETS as u64 - (MAX_SETS as u64 - 2));
    }
}
