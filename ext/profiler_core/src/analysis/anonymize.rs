//! A profile without the names of the app and of its gems, so that it can be sent to strangers.
//!
//! Names become numbers in the order in which they are found, rather than hashes, so nobody can look for a
//! name that they suspect. The origin of code, the shape of stacks, lines, times and weights stay the same.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::code_origin::Origin;
use super::package::package;
use super::sites::is_executable;
use super::trim_paths;
use crate::profile::{Function, LabelSet, Language, Note, Profile, Thread, ROOT_SPAN, SPAN, TRACE};

/// Classes and modules that come with Ruby. Their methods in C and in Ruby's library keep their names.
const PUBLIC: [&str; 62] = [
    "Array",
    "BasicObject",
    "Binding",
    "Class",
    "Comparable",
    "Complex",
    "ConditionVariable",
    "Date",
    "DateTime",
    "Dir",
    "Encoding",
    "Enumerable",
    "Enumerator",
    "Exception",
    "FalseClass",
    "Fiber",
    "File",
    "FileTest",
    "Float",
    "GC",
    "Gem",
    "Hash",
    "IO",
    "Integer",
    "JSON",
    "Kernel",
    "Marshal",
    "MatchData",
    "Math",
    "Method",
    "Module",
    "Monitor",
    "NilClass",
    "Numeric",
    "Object",
    "ObjectSpace",
    "OpenSSL",
    "Proc",
    "Process",
    "Ractor",
    "Random",
    "Range",
    "Rational",
    "Regexp",
    "RubyVM",
    "Set",
    "Signal",
    "Socket",
    "String",
    "StringIO",
    "StringScanner",
    "Struct",
    "Symbol",
    "TCPSocket",
    "Thread",
    "Time",
    "TracePoint",
    "TrueClass",
    "UnboundMethod",
    "Warning",
    "Zlib",
    "Mutex",
];
/// Labels whose names and values are the profiler's own.
const OWN_LABELS: [&str; 3] = ["age", "gc", "gc_reason"];
/// Labels whose names are the profiler's own.
const OWN_NAMES: [&str; 10] =
    ["class", "library", "owner", "waiter", "endpoint", "job", "queue", TRACE, SPAN, ROOT_SPAN];

/// Returns `profile` with numbers in place of names.
#[must_use]
pub fn anonymize(profile: &Profile) -> Profile {
    let names = Names::default();
    let mut anonymous = profile.clone();
    for function in &mut anonymous.functions {
        *function = names.function(function);
    }
    for thread in &mut anonymous.threads {
        *thread = names.thread(thread);
    }
    for sample in &mut anonymous.samples {
        sample.labels = sample.labels.iter().map(|label| names.label(label)).collect();
        sample.labels.sort();
    }
    for marker in &mut anonymous.markers {
        marker.name = names.numbered("marker", &marker.name);
        marker.thread = names.thread(&marker.thread);
    }
    anonymous.requests = profile.requests.renamed(|labels| {
        let renamed = labels.pairs().iter().map(|label| names.label(label));
        LabelSet::default().with(renamed.map(|(name, value)| (name, Some(value))))
    });
    anonymous.memory = profile.memory.anonymous();
    let meta = &mut anonymous.meta;
    if !meta.program.is_empty() {
        meta.program = "program".into();
    }
    meta.pid = 0;
    meta.user.clear();
    meta.notes.retain(|note| !matches!(note, Note::Selected { .. } | Note::Column { .. } | Note::Text(_)));
    if let Some(merged) = &mut meta.merged {
        merged.processes.clear();
        merged.programs.clear();
        merged.metadata.clear();
    }
    anonymous
}

/// The numbers of names, by their kind.
#[derive(Default)]
struct Names(RefCell<BTreeMap<&'static str, BTreeMap<String, usize>>>);

impl Names {
    /// Returns the kind with a number, which is the same for the same name; empty for an empty name.
    fn numbered(&self, kind: &'static str, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        let mut kinds = self.0.borrow_mut();
        let numbers = kinds.entry(kind).or_default();
        let next = numbers.len() + 1;
        let number = *numbers.entry(name.to_owned()).or_insert(next);
        format!("{kind}{number}")
    }

    fn function(&self, function: &Function) -> Function {
        if function.kind() == Language::Synthetic && function.name.starts_with('(') {
            return function.clone();
        }
        let is_rubys = matches!(Origin::of(function), Origin::Ruby | Origin::Cfunc);
        let is_public =
            is_rubys && is_public(root_of(owner(function))) && !function.path.contains("/site_ruby/");
        let path = self.path(function);
        if is_public {
            return Function { path, ..function.clone() };
        }
        Function {
            name: self.name(function, &function.name),
            class_name: self.class(&function.class_name),
            method_name: self.numbered("m", &function.method_name),
            path,
            first_line: function.first_line,
        }
    }

    fn name(&self, function: &Function, name: &str) -> String {
        if let Some((before, inner)) = name.split_once(" in ") {
            return format!("{before} in {}", self.name(function, inner));
        }
        if matches!(name, "<main>" | "<top (required)>" | "<compiled>" | "eval") {
            return name.to_owned();
        }
        for kind in ["<class:", "<module:"] {
            if let Some(class) = name.strip_prefix(kind).and_then(|it| it.strip_suffix('>')) {
                return format!("{kind}{}>", self.class(class));
            }
        }
        let owner = owner(function);
        let rest = name.strip_prefix(owner).filter(|_| !owner.is_empty());
        match rest.and_then(|rest| Some((rest.chars().next()?, rest.get(1..)?))) {
            Some((separator @ ('#' | '.'), method)) => {
                format!("{}{separator}{}", self.class(owner), self.numbered("m", method))
            }
            _ => self.numbered("m", name),
        }
    }

    /// Returns the number of a class, or the class itself if it is one of [`PUBLIC`].
    fn class(&self, class: &str) -> String {
        if is_public(class) {
            return class.to_owned();
        }
        self.numbered("Class", class)
    }

    fn path(&self, function: &Function) -> String {
        let path = function.path.as_str();
        if function.kind() != Language::Ruby {
            return path.to_owned();
        }
        if let Some(site) = path.strip_prefix("(eval at ") {
            let (file, line) = site.trim_end_matches(')').rsplit_once(':').unwrap_or((site, "0"));
            let inner = Function { path: file.to_owned(), ..function.clone() };
            return format!("(eval at {}:{line})", self.path(&inner));
        }
        if path.starts_with("<internal:") {
            return if path.contains('/') { "<internal:rubygems>".into() } else { path.to_owned() };
        }
        let file = self.numbered("file", path);
        let package = package(path);
        match Origin::of(function) {
            Origin::Ruby if !path.contains("/site_ruby/") => trim_paths::path(path, &[]),
            Origin::Rails => format!("gem:{}/{file}.rb", package.unwrap_or_default()),
            Origin::Gem | Origin::Ruby => {
                format!("gem:{}/{file}.rb", self.numbered("gem", &package.unwrap_or_else(|| "gem".into())))
            }
            _ if is_executable(function) => self.numbered("bin/program", path),
            _ => format!("{file}.rb"),
        }
    }

    fn thread(&self, thread: &Thread) -> Thread {
        Thread { native_id: thread.native_id, name: self.thread_name(&thread.name) }
    }

    fn thread_name(&self, name: &str) -> String {
        if name == "main" || name.starts_with('(') {
            return name.to_owned();
        }
        self.numbered("thread", name)
    }

    fn label(&self, (name, value): &(String, String)) -> (String, String) {
        if OWN_LABELS.contains(&name.as_str()) {
            return (name.clone(), value.clone());
        }
        let value = match name.as_str() {
            "class" => self.class(value),
            "waiter" => self.thread_name(value),
            _ if value == "(other)" => value.clone(),
            _ => self.numbered("value", value),
        };
        let name =
            if OWN_NAMES.contains(&name.as_str()) { name.clone() } else { self.numbered("label", name) };
        (name, value)
    }
}

/// Returns the class of a method. Files of other tools, and folded stacks, have it only in the name.
fn owner(function: &Function) -> &str {
    if !function.class_name.is_empty() {
        return &function.class_name;
    }
    let name = function.name.rsplit(" in ").next().unwrap_or(&function.name);
    let class = name.rsplit_once(['#', '.']).map_or("", |it| it.0);
    if class.starts_with(char::is_uppercase) {
        class
    } else {
        ""
    }
}

/// Returns the outermost constant of a class's name. A singleton class is returned whole, so it never counts
/// as public.
fn root_of(class: &str) -> &str {
    class.split("::").next().unwrap_or(class)
}

fn is_public(class: &str) -> bool {
    PUBLIC.contains(&class)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::record::State;

    const STACK: &str = "<main> /srv/acme/run.rb:1; Acme::Billing#charge /srv/acme/billing.rb:7; \
        AcmeGem#call /g/gems/acme-gem-1.2/lib/acme.rb:3; ActiveRecord::Base#save /g/gems/activerecord-7.0/lib/base.rb:9; Array#each; Acme::Row#id";

    fn example() -> Profile {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Running, 300, STACK);
        example.wall(
            "acme worker",
            State::Waiting,
            200,
            "Acme::Billing#charge /srv/acme/billing.rb:7; IO#read",
        );
        let mut profile = example.profile();
        profile.meta.program = "/srv/acme/run.rb".into();
        profile.meta.user.insert("customer".into(), "Acme".into());
        profile.samples[0].labels = vec![("tenant".into(), "acme".into())];
        profile
    }

    #[test]
    fn no_name_of_the_app_or_of_a_gem_is_left() {
        let text = format!("{:?}", anonymize(&example())).to_lowercase();
        for name in ["acme", "charge", "billing", "tenant", "customer", "/srv", "save"] {
            assert!(!text.contains(name), "{name} is in the file");
        }
        assert!(text.contains("array#each") && text.contains("io#read"));
    }

    #[test]
    fn origin_shape_and_weights_stay() {
        let (profile, anonymous) = (example(), anonymize(&example()));
        let origins = |it: &Profile| it.functions.iter().map(Origin::of).collect::<Vec<_>>();
        assert_eq!(origins(&profile), origins(&anonymous));
        assert_eq!(profile.stacks, anonymous.stacks);
        assert_eq!(profile.frames, anonymous.frames);
        let weights = |it: &Profile| it.samples.iter().map(|it| it.weights).collect::<Vec<_>>();
        assert_eq!(weights(&profile), weights(&anonymous));
        let charge = |it: &&Function| it.name == "Class1#m1";
        assert_eq!(anonymous.functions.iter().filter(charge).count(), 1, "{:?}", anonymous.functions);
    }
}
