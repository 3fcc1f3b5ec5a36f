//! The tables of the terminal that show more than a report: the tree, methods and sources, against the files in `tests/golden`.

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use profiler_core::analysis::diff::{diff, Compare};
use profiler_core::analysis::method::lines;
use profiler_core::format::read;
use profiler_core::format::text::{methods, sources, tree, Changes, Fit, Selected, Shown, SourceWeights};
use profiler_core::ids::{FunctionId, Id};
use profiler_core::profile::SampleType;

use crate::example::example;
use crate::golden::assert_golden;

const NARROW: Fit = Fit { columns: 80, full_paths: false, color: false };
const OF: SampleType = SampleType::Cpu;

#[test]
fn trees_open_the_hot_path() {
    let shown = Shown { least: 0.01, all: false };
    assert_golden("tree.txt", &tree(&example(), OF, shown, NARROW));
    let (shown, fit) = (Shown { all: true, ..shown }, Fit { full_paths: true, color: true, ..NARROW });
    assert_golden("tree_all.txt", &tree(&example(), OF, shown, fit));
}

#[test]
fn deep_trees_leave_space_for_names() {
    let stack: Vec<String> = (0..300).map(|depth| format!("m{depth}")).collect();
    // Each caller has a second callee, as an only one is not indented.
    let folded: String = (1..300).map(|depth| format!("{};x 1\n", stack[..depth].join(";"))).collect();
    let profile = read(folded.as_bytes()).unwrap();
    let text = tree(&profile, SampleType::Samples, Shown { least: 0.0, all: true }, NARROW);
    assert_eq!(text.lines().count(), 3 + 299 * 2);
    assert!(text.lines().all(|it| it.chars().count() <= 80), "{text}");
    assert!(text.contains("> m298"), "{text}");
}

#[test]
fn methods_have_callers_callees_and_lines() {
    let profile = example();
    let all: Vec<FunctionId> = (0..profile.functions.len()).map(FunctionId::from_index).collect();
    let whole = profile.total().get(OF);
    let by = SourceWeights { of: OF, whole, roots: &[], ended: None, fit: NARROW };
    assert_golden("methods.txt", &methods(&profile, &all, 3, by));
    assert_eq!(methods(&profile, &[], 0, by), "");
}

#[test]
fn sources_have_weights_and_context() {
    let folder = std::env::temp_dir().join(format!("profiler-sources-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let code: String = (1..=40)
        .map(|line| format!("\tline {line} \u{1b}[31m of a file that is wide and wider\r\n"))
        .collect();
    std::fs::write(folder.join("wide.rb"), code).unwrap();
    let files: Vec<(String, _)> = ["wide.rb", "gone.rb", "native.so", ""]
        .map(|path| {
            let profile = example();
            let both = lines(&profile, OF).into_values().next().unwrap();
            let weights = [0, 2, 3, 9, 38, 40, 41].into_iter().map(|line| (line, both));
            (path.to_owned(), if path.is_empty() { [(0, both)].into() } else { weights.collect() })
        })
        .into();
    let roots: Vec<PathBuf> = vec!["/nowhere".into(), folder.clone()];
    let by =
        SourceWeights { of: OF, whole: example().total().get(OF), roots: &roots, ended: None, fit: NARROW };
    let text = sources(&files, by);
    let changed = |seconds| {
        let ended = SystemTime::now() + Duration::from_secs(3_600) - Duration::from_secs(seconds);
        sources(&files, SourceWeights { ended: Some(ended), ..by }).matches(" (changed since").count()
    };
    assert_eq!([changed(0), changed(7_200)], [0, 1]);
    std::fs::remove_dir_all(folder).unwrap();
    assert_golden("sources.txt", &text);
}

#[test]
fn changes_say_which_are_significant() {
    let (before, mut after) = (example(), example());
    for sample in &mut after.samples {
        let times = if sample.stack == before.samples[0].stack { 3 } else { 1 };
        for of in SampleType::ALL {
            sample.weights.set(of, sample.weights.get(of) * times);
        }
    }
    let runs = |profile| [profile; 3];
    let found = |absolute| {
        let compare = Compare { of: OF, total: false, absolute };
        diff(&runs(&before), &runs(&after), compare)
    };
    let changes = |selected| Changes { selected, limit: 2, is_terminal: true, fit: NARROW };
    let selected = [Selected::Significant, Selected::All, Selected::Slower(0.5), Selected::Slower(99.0)];
    let mut text = String::new();
    for it in selected {
        for absolute in [false, true] {
            text.push_str(&format!("# {it:?}, absolute {absolute}\n"));
            text.push_str(&changes(it).text(&found(absolute)));
            text.push_str(&changes(it).markdown(&found(absolute)));
        }
    }
    text.push_str("# The same\n");
    let same = diff(&runs(&before), &runs(&before), Compare { of: OF, total: true, absolute: false });
    text.push_str(&changes(Selected::Significant).text(&same));
    text.push_str(&changes(Selected::Significant).markdown(&same));
    assert_golden("changes.txt", &text);
}
