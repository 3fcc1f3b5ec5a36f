//! The steps of a session without end: handing over its sums, and forgetting or renaming what they refer to.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::account::Account;
use super::Aggregate;
use crate::ids::{LabelSetId, SpanIndex, ThreadId};
use crate::session::key::{Key, RowSums};
use crate::session::spans::Spans;

impl Aggregate {
    /// Takes the sums so far, once all threads have been finished. Later sums begin at the same clocks, at
    /// `now_ns` on the monotonic clock.
    #[must_use]
    pub fn rotate(&mut self, now_ns: u64) -> Self {
        let Self { measures, began_ns, started_ns, starts_inside, .. } = *self;
        Self {
            measures,
            began_ns,
            started_ns,
            starts_inside,
            weights: std::mem::take(&mut self.weights),
            accounts: HashMap::default(),
            recorder: self.recorder.as_mut().map(|it| Box::new(it.rotate(now_ns))),
            now_ns,
            objects: self.objects.rotate(),
            spans: self.take_spans(),
        }
    }

    /// Forgets the account of a thread that has ended and was finished, so that memory follows the threads
    /// that are alive.
    pub fn forget(&mut self, thread: ThreadId) {
        self.accounts.remove(&thread);
    }

    /// Sums the rows of ended threads under the ids of their groups. There must be no timeline.
    pub fn fold(&mut self, ids: &HashMap<ThreadId, ThreadId, FxBuildHasher>) {
        let moved: Vec<_> = self.weights.extract_if(|key, _| key.folded(ids) != *key).collect();
        for (key, weight) in moved {
            self.weights.entry(key.folded(ids)).or_default().add(&weight);
        }
        self.rekey(|key| key.folded(ids));
    }

    /// Takes the sums so far but keeps the clocks, in the middle of a session.
    #[must_use]
    pub fn take_sums(&mut self) -> Self {
        let Self { measures, started_ns, starts_inside, .. } = *self;
        let (weights, spans) = (std::mem::take(&mut self.weights), self.take_spans());
        Self { weights, spans, ..Self::new(measures, started_ns, starts_inside, []) }
    }

    /// Takes the spans of the sums. The last rows of the threads continue in a new table.
    fn take_spans(&mut self) -> Option<Spans> {
        let taken = std::mem::take(self.spans.as_mut()?);
        let mut new = Spans::default();
        for key in self.accounts.values_mut().flat_map(Account::keys_mut) {
            key.span = taken.get(key.span).map_or(SpanIndex::NONE, |it| new.intern(it));
        }
        self.spans = Some(new);
        Some(taken)
    }

    /// Returns whether there are no sums.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// Replaces the ids of the threads' label sets by those that `new` returns for them.
    pub fn relabel(&mut self, mut new: impl FnMut(LabelSetId) -> LabelSetId) {
        for labels in self.accounts.values_mut().flat_map(Account::labels_mut) {
            *labels = new(*labels);
        }
    }

    /// Replaces the keys that later sums may refer to by those of `new`: the last rows of the threads, and
    /// live objects.
    pub fn rekey(&mut self, mut new: impl FnMut(&Key) -> Key) {
        for key in self.accounts.values_mut().flat_map(Account::keys_mut) {
            *key = new(key);
        }
        self.objects.rekey(new);
    }

    /// Iterates over the keys of the objects that were live at the last count.
    pub(crate) fn live_keys(&self) -> impl Iterator<Item = &Key> {
        self.objects.keys()
    }

    /// Returns the sums in any order.
    #[must_use]
    pub fn into_weights(self) -> Vec<(Key, RowSums)> {
        self.weights.into_iter().chain(self.objects.into_live()).collect()
    }
}
