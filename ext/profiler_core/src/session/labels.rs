//! The label sets of records, and their ids.

use crate::ids::{Id, Interner, LabelSetId};
use crate::profile::LabelSet;

/// The number of distinct sets that are kept apart at a time. Later sets are `(other)`.
pub const MAX_SETS: usize = 4_096;

/// The number of sets that are kept apart only by their names once [`MAX_SETS`] is reached.
pub(crate) const MAX_OTHERS: usize = 64;

/// The number of sets from which a table should be replaced.
const MANY_SETS: usize = MAX_SETS / 2;

/// The label with the number of the fiber, in sessions that request it.
pub const FIBER: &str = "fiber";

static EMPTY: LabelSet = LabelSet::EMPTY;

/// The label sets: bounded, whatever an app puts into its labels. The same labels on two numbered fibers are
/// two sets.
///
/// Sets that are no longer in use are forgotten when an empty table replaces the current one. The two tables
/// before it stay: records on their way may name sets of the previous table, and accounts may name sets of
/// such records. An id is not reused for a million tables.
#[derive(Debug, Default)]
pub struct LabelSets {
    current: Table,
    /// The two tables before, the most recent one first.
    previous: [Table; 2],
    /// The number of sets of the current table that came from earlier ones.
    renewed: usize,
    refused: u64,
}

/// The sets of one table. The ids of those that are kept apart begin at `first`, and the ids of the others
/// follow after [`MAX_SETS`].
#[derive(Debug)]
struct Table {
    first: u32,
    sets: Interner<(LabelSet, u32), LabelSetId>,
    /// The id of the set without a fiber number, for each set.
    plain: Vec<LabelSetId>,
    others: Interner<LabelSet, LabelSetId>,
}

/// The number of ids of a table.
const SPAN: u32 = (MAX_SETS + MAX_OTHERS) as u32;

impl Default for Table {
    fn default() -> Self {
        Self::starting_at(LabelSetId::NONE.0 + 1)
    }
}

impl Table {
    fn starting_at(first: u32) -> Self {
        Self { first, sets: Interner::default(), plain: Vec::new(), others: Interner::default() }
    }

    fn next(&self) -> Self {
        match self.first.checked_add(2 * SPAN) {
            Some(_) => Self::starting_at(self.first + SPAN),
            None => Self::default(),
        }
    }

    fn id(&self, place: usize) -> LabelSetId {
        LabelSetId::from_index(self.first as usize + place)
    }

    fn find(&self, set: &(LabelSet, u32)) -> Option<LabelSetId> {
        self.sets.find(set).map(|it| self.id(it.index()))
    }

    fn place(&self, id: LabelSetId) -> Option<usize> {
        id.index().checked_sub(self.first as usize)
    }

    /// Returns the set of an id, and the number of its fiber.
    fn get(&self, id: LabelSetId) -> Option<(&LabelSet, u32)> {
        let place = self.place(id)?;
        let other = || self.others.get(LabelSetId::from_index(place.checked_sub(MAX_SETS)?));
        let own = self.sets.get(LabelSetId::from_index(place)).map(|(set, fiber)| (set, *fiber));
        own.or_else(|| other().map(|set| (set, 0)))
    }
}

impl LabelSets {
    /// Forgets all sets, as none is in use.
    pub fn clear(&mut self) {
        if self.tables().any(|it| !it.sets.rows().is_empty()) {
            *self = Self::default();
        }
    }

    /// Returns whether the table has so many sets that it should be replaced.
    #[must_use]
    pub fn are_many(&self) -> bool {
        let sets = self.current.sets.rows().len();
        sets >= MANY_SETS && sets - self.renewed >= MANY_SETS / 2
    }

    /// Replaces the table by an empty one, to which `renew` adds the sets that sessions still refer to.
    pub fn replace(&mut self, renew: impl FnOnce(&mut Self)) {
        let next = self.current.next();
        let [last, _] = std::mem::take(&mut self.previous);
        self.previous = [std::mem::replace(&mut self.current, next), last];
        renew(self);
        self.renewed = self.current.sets.rows().len();
    }

    /// Returns the id, in the current table, of a set that has an id in an earlier table.
    pub fn renew(&mut self, id: LabelSetId) -> LabelSetId {
        match self.previous.iter().find_map(|it| it.get(id)).map(|(set, fiber)| (set.clone(), fiber)) {
            Some((set, fiber)) => self.intern(&set, fiber),
            None => id,
        }
    }

    /// Returns the id of a set on the fiber with the number `fiber`, which is 0 if no session needs it. Once
    /// there are too many sets, the number is dropped first, then the values become [`OTHER`]. If there are
    /// too many different names as well, the set becomes empty. All of these cases are counted.
    pub fn intern(&mut self, set: &LabelSet, fiber: u32) -> LabelSetId {
        if fiber == 0 && set.pairs().is_empty() {
            return LabelSetId::NONE;
        }
        let numbered_set = (set.clone(), fiber);
        if let Some(id) = self.current.find(&numbered_set) {
            return id;
        }
        let refused = self.refused;
        let plain = (fiber > 0).then(|| self.intern(set, 0));
        let table = &mut self.current;
        if table.sets.rows().len() < MAX_SETS {
            let place: LabelSetId = table.sets.intern(numbered_set);
            let id = table.id(place.index());
            table.plain.push(plain.unwrap_or(id));
            return id;
        }
        if let Some(plain) = plain {
            self.refused = refused + 1; // once, even if the labels were refused as well
            return plain;
        }
        self.refused += 1;
        let others = set.others();
        let known = table.others.find(&others);
        let place = match known {
            None if table.others.rows().len() >= MAX_OTHERS => return LabelSetId::NONE,
            known => known.unwrap_or_else(|| table.others.intern(others)),
        };
        table.id(MAX_SETS + place.index())
    }

    /// Returns the set of an id.
    #[must_use]
    pub fn get(&self, id: LabelSetId) -> &LabelSet {
        self.find(id).map_or(&EMPTY, |(set, _fiber)| set)
    }

    /// Returns the id of the same set without a fiber.
    #[must_use]
    pub fn plain(&self, id: LabelSetId) -> LabelSetId {
        self.tables().find_map(|it| it.plain.get(it.place(id)?).copied()).unwrap_or(id)
    }

    /// Returns the set of an id, with the label [`FIBER`] unless the app has one of its own.
    #[must_use]
    pub fn with_fiber(&self, id: LabelSetId) -> LabelSet {
        let Some((set, number)) = self.find(id) else { return EMPTY.clone() };
        let adds_fiber = number > 0 && set.pairs().iter().all(|(name, _)| name != FIBER);
        set.with(adds_fiber.then(|| (FIBER.to_owned(), Some(number.to_string()))))
    }

    /// Returns the number of sets that became `(other)`.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    fn find(&self, id: LabelSetId) -> Option<(&LabelSet, u32)> {
        self.tables().find_map(|it| it.get(id))
    }

    fn tables(&self) -> impl Iterator<Item = &Table> {
        std::iter::once(&self.current).chain(&self.previous)
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
        for value in 0..100_000 {
            let id = sets.intern(&number(value), 0);
            assert!(id.index() <= MAX_SETS + MAX_OTHERS);
        }
        assert_eq!(sets.get(sets.current.find(&(number(7), 0)).unwrap()), &number(7));
        let late = sets.intern(&number(99_999), 0);
        assert_eq!(sets.get(late), &set(&[("request", OTHER)]));
        assert_eq!(sets.refused(), 100_000 - MAX_SETS as u64 + 1);
        for value in 0..1_000 {
            sets.intern(&set(&[(&format!("name {value}"), "x")]), 0);
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
        // The labels by themselves, and each number that found a place.
        assert_eq!(sets.refused(), 2 * MAX_SETS as u64 - (MAX_SETS as u64 - 1));
    }

    #[test]
    fn sets_are_known_until_two_more_tables_have_begun() {
        let mut sets = LabelSets::default();
        let number = |it: usize| set(&[("request", &it.to_string())]);
        let numbered = number(7).with([(FIBER.to_owned(), Some("3".to_owned()))]);
        let mut kept = sets.intern(&number(7), 3);
        let mut ids = std::collections::BTreeSet::new();
        for table in 8..2_000_usize {
            let late = sets.intern(&number(table), 0);
            assert!(ids.insert(late), "an id is not given again");
            for _ in 0..2 {
                sets.replace(|_| ());
                assert_eq!(sets.get(late), &number(table));
                assert_eq!(
                    (sets.get(sets.plain(kept)), sets.with_fiber(kept)),
                    (&number(7), numbered.clone())
                );
            }
            kept = sets.renew(kept);
            sets.replace(|sets| kept = sets.renew(kept));
            assert_eq!(sets.get(late), &LabelSet::EMPTY, "nobody has it any more");
            assert_eq!(sets.renew(LabelSetId::NONE), LabelSetId::NONE);
        }
        assert_eq!(sets.refused(), 0);
    }

    #[test]
    fn ids_begin_anew_before_they_run_out() {
        let mut sets = LabelSets { current: Table::starting_at(u32::MAX - 2 * SPAN), ..LabelSets::default() };
        let kept = sets.intern(&set(&[("a", "1")]), 0);
        for _ in 0..4 {
            sets.replace(|_| ());
        }
        assert_eq!(sets.current.first, 1 + 2 * SPAN);
        assert_eq!(sets.get(kept), &LabelSet::EMPTY);
    }
}
