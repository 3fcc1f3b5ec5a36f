//! The place in a stack that a reader looks for: the innermost frame of the app, or of any Ruby code.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::code_origin::{is_profiler_code, Origin};
use super::package::package;
use super::template::name_or_template;
use crate::ids::{Id, StackId};
use crate::profile::{Frame, Function, Language, Profile};

/// The part of the time below which an app's code on the stack is not what the program is about, as in an
/// installed tool with a plugin.
const MIN_APP_SHARE: f64 = 0.05;
/// Packages that load others. RubyGems requires under a Monitor, whose frames lie in between.
const LOADERS: [&str; 5] = ["rubygems", "bundler", "bootsnap", "zeitwerk", "monitor"];

/// The places of a profile's stacks.
pub(crate) struct Sites<'profile> {
    profile: &'profile Profile,
    /// The class of each function.
    classes: Vec<CodeUse>,
    /// The package of the executable, if it counts as the app.
    tool: Option<String>,
}

/// The use of a function as a place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeUse {
    /// Code of the app.
    App,
    /// Other code in Ruby.
    Ruby,
    /// C code, the Ruby code of Ruby's core, and synthetic functions.
    Inner,
    /// Code of the profiler itself.
    Own,
}

impl CodeUse {
    /// Returns the letter for the class in data.
    pub(crate) fn letter(self) -> char {
        match self {
            Self::App => 'a',
            Self::Ruby => 'r',
            Self::Inner => 'i',
            Self::Own => 'p',
        }
    }

    fn of(function: &Function) -> Self {
        match Origin::of(function) {
            _ if is_profiler_code(function) => Self::Own,
            Origin::Cfunc | Origin::Synthetic => Self::Inner,
            _ if function.path.starts_with("<internal:") => Self::Inner,
            // Before Ruby 3.3, the path of evaluated code does not tell whose it is; its caller does.
            _ if function.path == "(eval)" => Self::Ruby,
            // Which lock it is, its caller tells.
            _ if function.name.starts_with("MonitorMixin#") => Self::Inner,
            Origin::App if !is_executable(function) => Self::App,
            Origin::App | Origin::Rails | Origin::Gem | Origin::Ruby => Self::Ruby,
        }
    }
}

/// Returns whether the function is the text of an executable such as `/usr/bin/puma`, which only loads what
/// it runs.
pub(super) fn is_executable(function: &Function) -> bool {
    let (directory, file) = function.path.rsplit_once('/').unwrap_or(("", &function.path));
    let is_ruby_file = file.rsplit_once('.').is_some_and(|(_, extension)| extension == "rb");
    let is_text = matches!(function.name.as_str(), "<main>" | "<top (required)>");
    let directory = directory.rsplit('/').next();
    is_text && matches!(directory, Some("bin" | "exe" | "libexec" | "sbin")) && !is_ruby_file
}

impl<'profile> Sites<'profile> {
    /// Finds the places of `profile`. In an installed tool, the package that its executable runs counts as
    /// the app.
    pub(crate) fn of(profile: &'profile Profile) -> Self {
        let classes = profile.functions.iter().map(CodeUse::of).collect();
        let mut sites = Self { profile, classes, tool: None };
        if let Some(tool) = sites.find_tool() {
            for (class, function) in sites.classes.iter_mut().zip(&profile.functions) {
                let can_be_tool = *class == CodeUse::Ruby && !is_executable(function);
                if can_be_tool && package(&function.path).is_some_and(|it| is_in_family(&it, &tool)) {
                    *class = CodeUse::App;
                }
            }
            sites.tool = Some(tool);
        }
        sites
    }

    /// Returns the package that an executable runs in most of the time, if almost no time has code of an app.
    fn find_tool(&self) -> Option<String> {
        let profile = self.profile;
        let of = profile.default_sample_type();
        let (mut all, mut in_app): (u64, u64) = (0, 0);
        let mut packages: BTreeMap<String, u64> = BTreeMap::new();
        for sample in &profile.samples {
            let weight = sample.weights.get(of);
            let has_app = self.app(sample.stack).is_some();
            let frames: Vec<Frame> = profile.frames_of(sample.stack).collect();
            let function = |it: &Frame| profile.function(it.function);
            let mut from_root = frames.iter().rev().filter_map(function);
            let executable = from_root.next().filter(|it| is_executable(it));
            let Some(executable) = executable else {
                if has_app && weight > 0 {
                    return None; // a server runs its app in other threads
                }
                continue;
            };
            all = all.saturating_add(weight);
            if has_app {
                in_app = in_app.saturating_add(weight);
                continue;
            }
            let called: Vec<String> = from_root
                .filter(|it| it.kind() == Language::Ruby && !is_executable(it))
                .filter_map(|it| package(&it.path))
                .collect();
            // A framework for command lines may be in between.
            let own = called.iter().find(|it| is_named_like(executable, it));
            if let Some(run) = own.or_else(|| called.iter().find(|it| !LOADERS.contains(&it.as_str()))) {
                let sum = packages.entry(run.clone()).or_default();
                *sum = sum.saturating_add(weight);
            }
        }
        let is_tool = (in_app as f64) < all as f64 * MIN_APP_SHARE;
        packages.into_iter().max_by_key(|it| it.1).map(|it| it.0).filter(|_| is_tool)
    }

    /// Returns the class of each function.
    pub(crate) fn classes(&self) -> &[CodeUse] {
        &self.classes
    }

    /// Returns the package that counts as the app of an installed tool.
    pub(crate) fn tool(&self) -> Option<&str> {
        self.tool.as_deref()
    }

    /// Returns whether the program is an installed tool, so that a gem takes the place of the app.
    pub(super) fn is_tool(&self) -> bool {
        self.tool.is_some()
    }

    /// Returns the innermost frame of the app.
    pub(super) fn app(&self, stack: StackId) -> Option<Frame> {
        self.profile.frames_of(stack).find(|it| self.class(*it) == CodeUse::App)
    }

    /// Returns whether the stack has Ruby code, but none of the app.
    pub(super) fn is_in_library(&self, stack: StackId) -> bool {
        self.app(stack).is_none() && self.ruby(stack).is_some()
    }

    /// Returns the innermost frame that is written in Ruby and is not part of Ruby's core: C functions work
    /// for their caller.
    pub(super) fn ruby(&self, stack: StackId) -> Option<Frame> {
        self.profile.frames_of(stack).find(|it| matches!(self.class(*it), CodeUse::App | CodeUse::Ruby))
    }

    /// Returns the innermost frame of the app, or else of other Ruby code, or else the leaf.
    pub(super) fn nearest(&self, stack: StackId) -> Option<Frame> {
        self.app(stack).or_else(|| self.ruby(stack)).or_else(|| self.profile.frames_of(stack).next())
    }

    /// Returns the frame that `site`, a frame of the stack, called. Skips frames that the profiler has put in
    /// between: its methods in place of `IO.popen` and others, and the call with which these continue.
    pub(super) fn callee(&self, stack: StackId, site: Frame) -> Option<Frame> {
        let inner: Vec<Frame> = self.profile.frames_of(stack).take_while(|it| *it != site).collect();
        let mut is_after_own = false;
        inner.into_iter().rev().find(|frame| {
            let is_own = self.class(*frame) == CodeUse::Own;
            let continues = is_after_own && self.name(*frame) == "UnboundMethod#bind_call";
            is_after_own = is_own;
            !is_own && !continues
        })
    }

    /// Returns whether the profiler itself worked there, and not a method that it has replaced.
    pub(super) fn is_own_work(&self, stack: StackId) -> bool {
        let mut frames = self.profile.frames_of(stack);
        let is_continued = |it: Frame| self.name(it) == "UnboundMethod#bind_call";
        frames
            .by_ref()
            .find(|it| self.class(*it) != CodeUse::Inner || is_continued(*it))
            .is_some_and(|it| self.class(it) == CodeUse::Own)
    }

    pub(super) fn is_app(&self, frame: Frame) -> bool {
        self.class(frame) == CodeUse::App
    }

    /// Returns whether the frame is written in Ruby and is not part of Ruby's core.
    pub(super) fn is_ruby(&self, frame: Frame) -> bool {
        matches!(self.class(frame), CodeUse::App | CodeUse::Ruby)
    }

    fn class(&self, frame: Frame) -> CodeUse {
        self.classes.get(frame.function.index()).copied().unwrap_or(CodeUse::Inner)
    }

    /// Returns the name of a frame's function.
    pub(super) fn name(&self, frame: Frame) -> &'profile str {
        self.profile.function(frame.function).map_or("", |it| it.name.as_str())
    }

    /// Returns the name of a frame's function for a sentence: a template's is its file.
    pub(super) fn title(&self, frame: Frame) -> Cow<'profile, str> {
        self.profile.function(frame.function).map_or(Cow::Borrowed(""), name_or_template)
    }

    /// Returns whether the frame is Ruby or C code, and neither synthetic nor the profiler's own.
    pub(super) fn is_code(&self, frame: Frame) -> bool {
        let is_made_up =
            self.profile.function(frame.function).is_none_or(|it| it.kind() == Language::Synthetic);
        !is_made_up && self.class(frame) != CodeUse::Own
    }
}

/// Returns whether an executable such as `/usr/bin/rdoc3.1` has the name of a package.
fn is_named_like(executable: &Function, package: &str) -> bool {
    let file = executable.path.rsplit('/').next().unwrap_or_default();
    file.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.') == package
}

/// Returns whether a package is the tool, or one of the gems that the tool is split into, such as
/// `rspec-core` and `rspec-mocks`.
fn is_in_family(package: &str, tool: &str) -> bool {
    let family = tool.strip_suffix("-core").unwrap_or(tool);
    package.strip_prefix(family).is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::record::State;

    fn app_frames(profile: &Profile) -> Vec<String> {
        let sites = Sites::of(profile);
        let app = |it: &crate::profile::Sample| sites.app(it.stack).map(|it| sites.name(it).to_owned());
        profile.samples.iter().filter_map(app).collect()
    }

    #[test]
    fn the_gem_of_an_executable_is_the_app_of_an_installed_tool() {
        let mut example = Example::lasting_ms(1_000);
        let exe = "<main> /usr/bin/jekyll:23; Kernel#load; <top (required)> /g/gems/jekyll-4.3/exe/jekyll:3";
        let build = "Jekyll::Site#process /g/gems/jekyll-4.3/lib/jekyll/site.rb:7";
        example.wall(
            MAIN,
            State::Running,
            900,
            &format!("{exe}; {build}; Liquid#x /g/gems/liquid-5.1/l.rb:1"),
        );
        example.wall(MAIN, State::Running, 100, &format!("{exe}; {build}"));
        assert_eq!(app_frames(&example.profile()), ["Jekyll::Site#process", "Jekyll::Site#process"]);
    }

    #[test]
    fn a_framework_between_an_executable_and_its_gem_is_not_the_tool() {
        let mut example = Example::lasting_ms(1_000);
        let exe = "<main> /usr/bin/jekyll:23; Mercenary.program /g/gems/mercenary-0.4/m.rb:3";
        let build = "Jekyll::Site#process /g/gems/jekyll-4.3/lib/jekyll/site.rb:7";
        example.wall(
            MAIN,
            State::Running,
            900,
            &format!("{exe}; {build}; Liquid#x /g/gems/liquid-5.1/l.rb:1"),
        );
        assert_eq!(app_frames(&example.profile()), ["Jekyll::Site#process"]);
    }

    #[test]
    fn evaluated_code_without_a_file_is_not_the_app_of_an_installed_tool() {
        let mut it = Example::lasting_ms(1_000);
        let run = "<main> /usr/bin/rubocop:5; RuboCop#run /g/gems/rubocop-1.5/r.rb:7";
        it.wall(
            MAIN,
            State::Running,
            900,
            &format!("{run}; Racc::Parser#do_parse (eval):2; A#x /g/gems/a-1.0/a.rb:1"),
        );
        assert_eq!(app_frames(&it.profile()), ["RuboCop#run"]);
    }

    #[test]
    fn a_tool_of_the_distribution_is_a_library_in_rubys_directories() {
        let mut example = Example::lasting_ms(1_000);
        let stack = "<main> /usr/bin/puppet:5; Puppet#run /usr/lib/ruby/vendor_ruby/puppet/a.rb:7; A#x /usr/lib/ruby/3.1.0/set.rb:1";
        example.wall(MAIN, State::Running, 900, stack);
        assert_eq!(app_frames(&example.profile()), ["Puppet#run"]);
    }

    #[test]
    fn a_server_with_an_app_is_no_tool() {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Waiting, 900, "<main> /usr/bin/puma:10; Puma#run /g/gems/puma-6.0/a.rb:5");
        example.wall("idle", State::Waiting, 90_000, "Puma#p /g/gems/puma-6.0/p.rb:5; Thread::Queue#pop");
        example.wall(
            "worker",
            State::Running,
            500,
            "Puma#p /g/gems/puma-6.0/p.rb:5; Shop#show /app/shop.rb:4",
        );
        assert_eq!(app_frames(&example.profile()), ["Shop#show"]);
    }

    #[test]
    fn the_profiler_is_no_place() {
        let mut example = Example::lasting_ms(1_000);
        let own = "Profiler::Middleware#call /src/lib/profiler/middleware.rb:9";
        example.wall(MAIN, State::Running, 500, &format!("Shop#call /app/shop.rb:4; {own}; Kernel#sleep"));
        example.wall(MAIN, State::Running, 500, own);
        example.wall(MAIN, State::Running, 500, "Profiler::Session#_stop");
        let profile = example.profile();
        let sites = Sites::of(&profile);
        assert_eq!(app_frames(&profile), ["Shop#call"]);
        let place = |row: usize| sites.nearest(profile.samples[row].stack).unwrap();
        assert_eq!((sites.name(place(0)), sites.is_code(place(1))), ("Shop#call", false));
        assert!(!sites.is_code(place(2)));
    }
}
