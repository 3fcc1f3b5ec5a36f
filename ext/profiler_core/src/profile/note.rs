//! The notes of a profile: facts that a reader must know to interpret the numbers correctly.
//!
//! A note is a value, so a merge can add up the notes of its parts. Only [`Note::sentence`] puts it into
//! words. Files contain the tag of a variant and its fields.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::text::units::{counted, duration, percent};

type Text = Cow<'static, str>;

/// A note. Variants without fields have braces, so that their tag in a file cannot be mistaken for a
/// [`Note::Text`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the sentence of each variant says more
pub enum Note {
    RecordingEnded {
        why: Text,
    },
    ObjectsEnded {
        why: Text,
    },
    LiveObjectsUntracked {
        objects: u64,
    },
    /// The numbers of libraries in which calls of malloc were seen, and in which they could not be seen.
    MallocSeen {
        libraries: u64,
        refused: u64,
    },
    OwnersUnknown {
        why: Text,
    },
    /// The session selected samples by labels, as `name=value`.
    OnlyUnderLabels {
        labels: Vec<String>,
    },
    /// The session was paused for this time, ns.
    Paused {
        ns: u64,
    },
    GcDisabled {},
    /// The longest interval that the governor chose, ns.
    IntervalWidened {
        ns: u64,
    },
    /// The time during which objects were sampled, and the total time.
    ObjectWindows {
        ns: u64,
        of_ns: u64,
    },
    LabelsRefused {
        times: u64,
    },
    SpansRefused {
        times: u64,
    },
    StacksRefused {
        times: u64,
    },
    MarkersRefused {
        markers: u64,
    },
    OtherEngine {
        engine: Text,
        requested: Text,
    },
    NoThreadTimers {
        engine: Text,
    },
    FewDescriptors {},
    KernelTimeUnseen {},
    WalkedAtSafepoints {
        why: Option<Text>,
    },
    WaitsSampled {},
    NativeThreadsShared {},
    OtherRactors {},
    NewerRuby {
        newest: Text,
    },
    CollectorFailed {},
    /// A part of a profile was selected: how much of which sample type is left.
    Selected {
        part: String,
        left: u64,
        all: u64,
        of: Text,
    },
    GcLeftOut {
        ns: u64,
    },
    /// The number of idle threads, and the time of their idle waits, ns.
    IdleLeftOut {
        threads: u64,
        ns: u64,
    },
    /// The profile was read from a format that says less than ours.
    ReadFrom {
        format: Text,
    },
    /// A column of a foreign file: its name, its unit, and the sample type that shows it.
    Column {
        name: String,
        unit: String,
        shown_as: Option<Text>,
    },
    /// A sentence of a file without typed notes.
    #[serde(untagged)]
    Text(String),
}

impl Note {
    /// Renders the note as a sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            Self::RecordingEnded { why } => format!("recording stopped before the end: {why}"),
            Self::ObjectsEnded { why } => format!("objects were not sampled to the end: {why}"),
            Self::LiveObjectsUntracked { objects } => {
                format!("too many live objects: {objects} sampled ones are counted as allocated only")
            }
            Self::MallocSeen { libraries, refused } => {
                let why = "; the system did not let us change the tables of the others";
                format!(
                    "calls of malloc were seen from {libraries} of {} libraries{}",
                    libraries + refused,
                    if *refused > 0 { why } else { "" }
                )
            }
            Self::GcDisabled {} => {
                "the program has disabled the garbage collector, so objects that are garbage count as live".into()
            }
            Self::OwnersUnknown { why } => format!("nothing is known about owners: {why}"),
            Self::OnlyUnderLabels { labels } => {
                format!("only what ran under these labels was recorded: {}", labels.join(", "))
            }
            Self::Paused { ns } => format!("nothing was recorded for {}, as it was paused", duration(*ns)),
            Self::IntervalWidened { ns } => {
                format!("its ticks were up to {} apart, to stay within max_overhead", duration(*ns))
            }
            Self::ObjectWindows { ns, of_ns } => {
                format!(
                    "objects were sampled for {} of {}, to stay within max_overhead",
                    duration(*ns),
                    duration(*of_ns)
                )
            }
            Self::LabelsRefused { times } => {
                format!("too many different sets of labels: recorded as (other) {times} times")
            }
            Self::SpansRefused { times } => {
                format!("too many different spans: left out {times} times")
            }
            Self::StacksRefused { times } => {
                format!("too many different stacks: cut at (other) {times} times")
            }
            Self::MarkersRefused { markers } => {
                format!("too many markers: the last {markers} were left out")
            }
            Self::OtherEngine { engine, requested } => {
                format!("engine {engine} was used, because the system refused {requested} or other sessions used {engine}")
            }
            Self::NoThreadTimers { engine } => {
                format!("the system refused a timer for each thread, so {engine} was used")
            }
            Self::FewDescriptors {} => {
                "there are few file descriptors (ulimit -n), so some threads had the kernel's \
                timers instead of perf, which tick less often"
                    .into()
            }
            Self::KernelTimeUnseen {} => {
                "perf sees no time in the kernel here: the time of a system call is shown \
                at the Ruby code that ran after it"
                    .into()
            }
            Self::WalkedAtSafepoints { why } => {
                let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
                format!("stacks were sampled only where Ruby checks its interrupts, so time is biased towards those points{why}")
            }
            Self::WaitsSampled {} => {
                "before Ruby 3.3 waits are sampled by signals, which can end a system call with \
                EINTR; waits for the GVL cannot be distinguished from other waits"
                    .into()
            }
            Self::NativeThreadsShared {} => {
                "RUBY_MN_THREADS is set: Ruby threads share native threads, and the threads here are the native ones"
                    .into()
            }
            Self::OtherRactors {} => {
                "this profile has neither the threads of other Ractors nor the objects that they allocated".into()
            }
            Self::NewerRuby { newest } => {
                format!("this Ruby is newer than the newest one that profiler was tested with ({newest}); its self-check passed")
            }
            Self::CollectorFailed {} => {
                "the collector thread failed, so the ring may have been full (please report this)".into()
            }
            Self::Selected { part, left, all, of } => format!("{part}: {} of {of}", percent(*left, *all)),
            Self::GcLeftOut { ns } => format!("garbage collection is left out: {}", duration(*ns)),
            Self::IdleLeftOut { threads, ns } => {
                let threads = counted(*threads, "thread");
                format!("idle waits are left out: {} of {threads} (--idle shows them)", duration(*ns))
            }
            Self::ReadFrom { format } => format!("read from {format}"),
            Self::Column { name, unit, shown_as: Some(of) } => {
                format!("its {name} ({unit}) is shown as {of}")
            }
            Self::Column { name, unit, shown_as: None } => {
                format!("its {name} ({unit}) has no equivalent here and is left out")
            }
            Self::Text(sentence) => sentence.clone(),
        }
    }

    /// Adds the notes of another part of a merge to `notes`. Notes that both parts have are kept once, with
    /// their numbers summed.
    pub fn merge(notes: &mut Vec<Self>, others: &[Self]) {
        for other in others {
            if !notes.iter_mut().any(|it| it.absorb(other)) {
                notes.push(other.clone());
            }
        }
    }

    /// Absorbs `other` if it states the same fact: adds its numbers to this note. Returns whether it does.
    fn absorb(&mut self, other: &Self) -> bool {
        match (&mut *self, other) {
            (Self::IntervalWidened { ns }, Self::IntervalWidened { ns: theirs }) => {
                *ns = (*ns).max(*theirs);
                true
            }
            (
                Self::MallocSeen { libraries, refused },
                Self::MallocSeen { libraries: their_libraries, refused: their_refused },
            ) => {
                (*libraries, *refused) = ((*libraries).max(*their_libraries), (*refused).max(*their_refused));
                true
            }
            (Self::LiveObjectsUntracked { objects: sum }, Self::LiveObjectsUntracked { objects: more })
            | (Self::LabelsRefused { times: sum }, Self::LabelsRefused { times: more })
            | (Self::SpansRefused { times: sum }, Self::SpansRefused { times: more })
            | (Self::StacksRefused { times: sum }, Self::StacksRefused { times: more })
            | (Self::MarkersRefused { markers: sum }, Self::MarkersRefused { markers: more })
            | (Self::GcLeftOut { ns: sum }, Self::GcLeftOut { ns: more })
            | (Self::Paused { ns: sum }, Self::Paused { ns: more }) => add(sum, *more),
            (
                Self::IdleLeftOut { threads, ns },
                Self::IdleLeftOut { threads: their_threads, ns: their_ns },
            ) => add(threads, *their_threads) && add(ns, *their_ns),
            (Self::ObjectWindows { ns, of_ns }, Self::ObjectWindows { ns: their_ns, of_ns: their_of_ns }) => {
                add(ns, *their_ns) && add(of_ns, *their_of_ns)
            }
            (
                Self::Selected { part, left, all, of },
                Self::Selected { part: their_part, left: their_left, all: their_all, of: their_of },
            ) if part == their_part && of == their_of => add(left, *their_left) && add(all, *their_all),
            _ => self == other,
        }
    }
}

/// Adds `more` to `sum` and returns true.
fn add(sum: &mut u64, more: u64) -> bool {
    *sum = sum.saturating_add(more);
    true
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_merge_sums_the_numbers_of_equal_notes() {
        let selected =
            |part: &str, left| Note::Selected { part: part.into(), left, all: 10, of: "cpu".into() };
        let mut notes =
            vec![Note::LabelsRefused { times: 2 }, selected("focus a", 3), Note::FewDescriptors {}];
        let more = [
            Note::FewDescriptors {},
            selected("focus b", 1),
            Note::LabelsRefused { times: 5 },
            selected("focus a", 4),
            Note::MarkersRefused { markers: 1 },
            Note::ObjectWindows { ns: 2_000_000_000, of_ns: 3_000_000_000 },
            Note::ObjectWindows { ns: 1_000_000_000, of_ns: 3_000_000_000 },
        ];
        Note::merge(&mut notes, &more);
        let expected = [
            "too many different sets of labels: recorded as (other) 7 times",
            "focus a: 35.0% of cpu",
            &Note::FewDescriptors {}.sentence(),
            "focus b: 10.0% of cpu",
            "too many markers: the last 1 were left out",
            "objects were sampled for 3.00 s of 6.00 s, to stay within max_overhead",
        ];
        assert_eq!(notes.iter().map(Note::sentence).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_file_has_tags_and_may_have_sentences() {
        let notes = vec![
            Note::FewDescriptors {},
            Note::WalkedAtSafepoints { why: None },
            Note::Text("few_descriptors".into()),
        ];
        let json = serde_json::to_string(&notes).unwrap();
        assert_eq!(
            json,
            r#"[{"few_descriptors":{}},{"walked_at_safepoints":{"why":null}},"few_descriptors"]"#
        );
        assert_eq!(serde_json::from_str::<Vec<Note>>(&json).unwrap(), notes);
        assert!(serde_json::from_str::<Note>(r#"{"no_such_note":{}}"#).is_err());
    }
}
