//! The page: one file for a browser, without a network, in which a person selects by time, thread, state and
//! label.
//!
//! Its source is `viewer/`, which builds to `viewer/page.html`. The data are in two blocks that no browser
//! executes: the bytes of the native file, and the profiler's findings on it, so that the page and the report
//! say the same.

mod comparison;
mod periods;

pub use comparison::{write_comparison, PageRun};
pub use periods::{write_periods, Period};

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use serde::Serialize;
use serde_json::{json, Value};

use self::comparison::Comparison;
use super::display::{display_name, Spelling};
use super::read::page::FILE;
use super::text::facts;
use super::{pprof, read, Options};
use crate::analysis::code_origin::Origin;
use crate::analysis::findings::{findings, loading_rows, Finding};
use crate::analysis::idle::{idle, without_idle};
use crate::analysis::package::package;
use crate::analysis::sites::Sites;
use crate::analysis::trim_paths;
use crate::error::Error;
use crate::ids::Id;
use crate::profile::{Function, Profile, SampleType};

const PAGE: &str = include_str!("../../../../viewer/page.html");
/// The version of the profiler that writes the page.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The placeholder in the page for its data.
const PLACE: &str = "<!-- PROFILE -->";

/// Writes the page.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, and [`Error::NotMeasured`] if the profile lacks the requested sample
/// type.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let title = options.name_of(profile, of);
    let (file, shown) = as_in_file(profile)?;
    write_filled(&PageFacts::of(&shown, of, title), &[file], out)
}

/// Returns the bytes of the native file, and the profile as it is in the file, which omits rows without
/// weight, so indices differ.
fn as_in_file(profile: &Profile) -> Result<(Vec<u8>, Profile), Error> {
    let mut file = Vec::new();
    pprof::write(profile, &mut file)?;
    let shown = read(&file)?;
    Ok((file, shown))
}

/// Writes the page with its data. The first file is the one that other commands read.
fn write_filled(facts: &impl Serialize, files: &[Vec<u8>], out: &mut dyn Write) -> Result<(), Error> {
    let facts = serde_json::to_string(facts).map_err(std::io::Error::from)?;
    let (before, after) = PAGE.split_once(PLACE).unwrap_or((PAGE, ""));
    // Escape `<` so that no name can end the block.
    let facts = facts.replace('<', "\\u003c");
    write!(out, r#"{before}<script type="application/json" id="facts">{facts}</script>"#)?;
    for (place, file) in files.iter().enumerate() {
        match place {
            0 => write!(out, "\n{}", FILE[0])?,
            _ => write!(out, "\n<script type=\"text/plain\" id=\"profile-{place}\">")?,
        }
        let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
        encoder.write_all(file)?;
        encoder.finish()?;
        drop(encoder);
        write!(out, "{}", FILE[1])?;
    }
    Ok(write!(out, "{after}")?)
}

/// The facts beside the pictures, described in `viewer/src/model/facts.ts`.
#[derive(Default, Serialize)]
struct PageFacts<'profile> {
    version: &'static str,
    title: String,
    #[serde(rename = "type")]
    of: &'static str,
    findings: Vec<Value>,
    header: Vec<String>,
    idle: IdleRows,
    /// The samples that load code, by index.
    loading: Vec<usize>,
    origins: Vec<&'static str>,
    /// A letter for each function: see [`CodeUse::letter`](crate::analysis::sites::CodeUse::letter).
    classes: String,
    /// The package that counts as the app of an installed tool.
    tool: Option<String>,
    packages: Packages,
    shown: BTreeMap<usize, String>,
    paths: BTreeMap<&'profile str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Comparison>,
}

/// The packages of functions.
#[derive(Default, Serialize)]
struct Packages {
    names: Vec<String>,
    /// For each function, the index of its package's name; -1 for none.
    of: Vec<i32>,
}

impl Packages {
    fn of<'profile>(functions: impl Iterator<Item = &'profile Function>) -> Self {
        let mut places: BTreeMap<String, i32> = BTreeMap::new();
        let mut packages = Self::default();
        for function in functions {
            let place = package(&function.path).map_or(-1, |name| {
                let next = i32::try_from(packages.names.len()).unwrap_or(-1);
                *places.entry(name).or_insert_with_key(|name| {
                    packages.names.push(name.clone());
                    next
                })
            });
            packages.of.push(place);
        }
        packages
    }
}

/// The waits of idle threads. A page of two sides has none.
#[derive(Default, Serialize)]
struct IdleRows {
    threads: u64,
    wall_ns: u64,
    rows: Vec<usize>,
}

impl<'profile> PageFacts<'profile> {
    fn of(profile: &'profile Profile, of: SampleType, title: String) -> Self {
        let idle = idle(profile);
        let reported = reported(profile, of);
        let sites = Sites::of(profile);
        let functions = &profile.functions;
        let short = |path: &'profile str| {
            Some((path, trim_paths::path(path, &[]))).filter(|(path, short)| path != short)
        };
        Self {
            version: VERSION,
            title,
            of: of.name_and_unit().0,
            findings: findings(&reported).iter().map(|it| found(profile, it)).collect(),
            header: header(&reported),
            idle: IdleRows {
                threads: idle.threads,
                wall_ns: idle.wall_ns,
                rows: (0..profile.samples.len()).filter(|row| idle.has(*row)).collect(),
            },
            loading: loading_rows(profile),
            origins: functions.iter().map(|it| Origin::of(it).name()).collect(),
            classes: sites.classes().iter().map(|it| it.letter()).collect(),
            tool: sites.tool().map(str::to_owned),
            packages: Packages::of(functions.iter()),
            shown: shown_names(functions.iter(), display_name),
            paths: functions.iter().filter_map(|it| short(&it.path)).collect(),
            comparison: None,
        }
    }
}

/// Returns the profile that the report describes: wall clock time is without idle waits. Functions keep their
/// indexes.
fn reported(profile: &Profile, of: SampleType) -> Cow<'_, Profile> {
    match of {
        SampleType::Wall => Cow::Owned(without_idle(profile)),
        _ => Cow::Borrowed(profile),
    }
}

/// Returns the sentences on how a profile was recorded.
fn header(profile: &Profile) -> Vec<String> {
    facts(profile).into_iter().map(|(label, fact)| format!("{label}: {fact}")).collect()
}

/// The names in this spelling of the functions whose own names are others, by index.
fn shown_names<'profile>(
    functions: impl Iterator<Item = &'profile Function>,
    spelling: Spelling,
) -> BTreeMap<usize, String> {
    let shown = functions.enumerate().map(|(place, it)| (place, spelling(it), &it.name));
    shown
        .filter(|(_, shown, name)| shown != *name)
        .map(|(place, shown, _)| (place, shown.into_owned()))
        .collect()
}

fn found(profile: &Profile, finding: &Finding) -> Value {
    let function = finding.place.and_then(|it| profile.function(it.function));
    json!({
        "kind": finding.kind.name(),
        "text": finding.text,
        "type": finding.of.name_and_unit().0,
        "weight": finding.weight,
        "share": finding.share,
        "name": function.map(display_name),
        // The index of the function.
        "function": function.and(finding.place).map(|it| it.function.index()),
        "path": function.map(|it| it.path.as_str()),
        "line": finding.place.map(|it| it.line).filter(|it| *it > 0),
        "command": finding.command,
    })
}

#[cfg(all(test, not(loom)))]
mod tests {
    use base64::Engine;

    use super::*;
    use crate::format::read::page::file_in;

    fn page(stack: &str) -> String {
        let profile = read(format!("{stack} 1000\n").as_bytes()).unwrap();
        let mut out = Vec::new();
        write(&profile, &Options::default(), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    pub(super) fn block<'page>(page: &'page str, id: &str) -> &'page str {
        let (_, rest) = page.split_once(&format!("id=\"{id}\">")).unwrap();
        rest.split_once("</script>").unwrap().0
    }

    #[test]
    fn a_page_holds_the_file_and_what_is_said_of_it() {
        let page = page("main;A#b;Array#each");
        assert!(!page.contains(PLACE));
        let file = STANDARD.decode(block(&page, "profile")).unwrap();
        let profile = read(&file).unwrap();
        let facts: serde_json::Value = serde_json::from_str(block(&page, "facts")).unwrap();
        let text = facts["findings"][0]["text"].as_str().unwrap();
        assert!(text.contains("Array#each"), "{text}");
        assert_eq!(facts["origins"].as_array().unwrap().len(), profile.functions.len());
        assert_eq!(facts["packages"]["of"].as_array().unwrap().len(), profile.functions.len());
        assert_eq!(facts["classes"].as_str().unwrap().len(), profile.functions.len());
        let named = usize::try_from(facts["findings"][0]["function"].as_u64().unwrap()).unwrap();
        assert_eq!(facts["findings"][0]["name"], profile.functions[named].name);
    }

    #[test]
    fn a_page_is_read_back() {
        let page = page("main;A#b;Array#each");
        let profile = read(page.as_bytes()).unwrap();
        let mut again = Vec::new();
        pprof::write(&profile, &mut again).unwrap();
        assert_eq!(file_in(&page).unwrap().unwrap(), again);
        let start = page.find(FILE[0]).unwrap() + FILE[0].len();
        assert!(matches!(read(&page.as_bytes()[..start + 40]), Err(Error::Truncated)));
        let damaged = page.replacen(FILE[0], &format!("{}!", FILE[0]), 1);
        assert!(matches!(read(damaged.as_bytes()), Err(Error::Malformed { .. })));
        assert!(matches!(read(PAGE.as_bytes()), Err(Error::NotAProfile)));
        // A page in a page is not a profile either, however deep.
        let nested = format!("<!doctype html>{}{}{}", FILE[0], STANDARD.encode(&page), FILE[1]);
        assert!(read(nested.as_bytes()).is_err());
    }

    #[test]
    fn no_name_is_markup() {
        let hostile = "main;</script><script>alert(1)</script><!--";
        let blocks = |page: &str| page.matches("<script").count();
        let page = page(hostile);
        assert_eq!(blocks(&page), blocks(&self::page("main")));
        assert!(!page.contains("alert(1)</script>"));
    }
}
