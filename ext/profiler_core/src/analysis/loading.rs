//! The time in which code was loaded: files found, read and compiled, and the bodies of classes run.

use super::code_origin::Origin;
use super::package::package;
use super::sites::{is_executable, Sites};
use crate::ids::{Id, StackId};
use crate::profile::{Frame, Function, Language, Profile};

/// Methods that load a file.
const LOADERS: [&str; 9] = [
    "Kernel#require",
    "Kernel.require",
    "Kernel#require_relative",
    "Kernel#load",
    "Kernel.load",
    "Kernel#autoload",
    "Module#autoload",
    "RubyVM::InstructionSequence.load_iseq",
    "RubyVM::InstructionSequence.compile_file",
];
/// Methods that run a whole program, and are called by a file that is loaded: `bin/rails` requires one.
const PROGRAMS: [&str; 1] = ["Rails::Command.invoke"];
/// Packages between a call of `require` and the file that it loads.
const BETWEEN: [&str; 4] = ["rubygems", "bundler", "bootsnap", "zeitwerk"];

/// A stack that loads code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Load {
    /// The line that requires: the innermost one of the app, or else of other code. `None` if that is Ruby
    /// itself.
    pub(super) by: Option<Frame>,
    /// The package whose file is loaded, or whose text requires one that is not found yet. `None` for the
    /// app's own files, and for files that are not found yet otherwise.
    pub(super) package: Option<String>,
}

/// The loads of a profile.
pub(super) struct Loads<'profile> {
    profile: &'profile Profile,
    sites: &'profile Sites<'profile>,
    /// Whether each function is a loader.
    is_loader: Vec<bool>,
}

impl<'profile> Loads<'profile> {
    pub(super) fn of(profile: &'profile Profile, sites: &'profile Sites<'profile>) -> Self {
        let is_loader = |it: &Function| LOADERS.contains(&it.name.as_str());
        Self { profile, sites, is_loader: profile.functions.iter().map(is_loader).collect() }
    }

    /// Returns the load that is in progress at the leaf of a stack, if there is one.
    ///
    /// The innermost call of `require` or the like counts, and only the file's own text may run in it. That
    /// includes the bodies of classes, and methods that the text of a package calls as it is loaded. An
    /// executable runs its whole program from there, and a file of an app may do so too.
    pub(super) fn at(&self, stack: StackId) -> Option<Load> {
        let innermost = self.profile.frames_of(stack).position(|it| self.is_loader(it))?;
        let frames: Vec<Frame> = self.profile.frames_of(stack).collect();
        load(self.profile, self.sites, &frames, innermost)
    }

    /// Returns whether the frame is a method that loads a file.
    pub(super) fn is_loader(&self, frame: Frame) -> bool {
        self.is_loader.get(frame.function.index()).copied().unwrap_or(false)
    }
}

fn load(profile: &Profile, sites: &Sites<'_>, frames: &[Frame], innermost: usize) -> Option<Load> {
    let function = |it: &Frame| profile.function(it.function);
    let inside = frames.get(..innermost).unwrap_or_default();
    let is_between = |it: &Function| package(&it.path).is_some_and(|it| BETWEEN.contains(&it.as_str()));
    let in_file: Vec<&Function> = inside
        .iter()
        .filter_map(function)
        .filter(|it| it.kind() == Language::Ruby && !it.path.starts_with("<internal:") && !is_between(it))
        .collect();
    let file = in_file.last();
    let is_apps = |it: &Function| Origin::of(it) == Origin::App;
    let is_program = |file: &&Function| {
        let runs = in_file.iter().any(|it| PROGRAMS.contains(&it.name.as_str()));
        let calls = in_file.iter().any(|it| !is_text(it) && (is_apps(file) || is_apps(it)));
        is_executable(file) || !is_text(file) || calls || runs
    };
    if file.is_some_and(is_program) {
        return None;
    }
    let site = by(profile, sites, frames, innermost);
    let loaded = site.map_or(innermost, |it| it.1);
    let texts: Vec<&Function> = frames
        .get(..loaded)
        .unwrap_or_default()
        .iter()
        .filter_map(function)
        .filter(|it| is_text(it))
        .collect();
    let of_file = |function: &&Function| {
        let package = package(&function.path).filter(|it| !BETWEEN.contains(&it.as_str()));
        package.or_else(|| is_apps(function).then(String::new))
    };
    // Until a file is found, the text that requires it stands for it, unless RubyGems loads parts of itself.
    let requiring = site.and_then(|it| function(&it.0)).filter(|it| is_text(it));
    let package = texts.iter().find_map(of_file);
    let package = package.or_else(|| texts.iter().find_map(|it| self::package(&it.path)));
    let package = package.or_else(|| requiring.as_ref().and_then(of_file));
    Some(Load { by: site.map(|it| it.0), package: package.filter(|it| !it.is_empty()) })
}

/// Returns the frame that requires, and the index in `frames` of the loader that it calls: the innermost
/// frame of the app, or else the outermost.
fn by(profile: &Profile, sites: &Sites<'_>, frames: &[Frame], innermost: usize) -> Option<(Frame, usize)> {
    let is_site = |frame: &Frame| {
        let function = profile.function(frame.function);
        sites.is_ruby(*frame)
            && function.is_some_and(|it| !package(&it.path).is_some_and(|it| BETWEEN.contains(&it.as_str())))
    };
    let outside = frames.iter().enumerate().skip(innermost + 1);
    let mut sites_of_loads = Vec::new();
    let mut loader = Some(innermost);
    for (place, frame) in outside {
        if LOADERS.contains(&sites.name(*frame)) {
            loader = Some(place);
        } else if is_site(frame) {
            sites_of_loads.extend(loader.take().map(|loader| (*frame, loader)));
        }
    }
    let is_executables = |it: Frame| profile.function(it.function).is_some_and(is_executable);
    let apps = sites_of_loads.iter().find(|it| sites.is_app(it.0) && !is_executables(it.0));
    apps.or_else(|| sites_of_loads.iter().rev().find(|it| !is_executables(it.0)))
        .or_else(|| sites_of_loads.last())
        .copied()
}

/// Returns whether the function is the text of a file, or the body of a class or module in it.
pub(super) fn is_text(function: &Function) -> bool {
    let name = function.name.strip_prefix("block in ").unwrap_or(&function.name);
    let is_library = function.method_name.is_empty() && (name.ends_with(".so") || name.ends_with(".bundle"));
    is_library
        || ["<top (required)>", "<main>", "<class:", "<module:", "singleton class"]
            .iter()
            .any(|it| name.starts_with(it))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::record::State;

    /// Returns the load of a stack, as `name:line of package`.
    fn loads(stack: &str) -> Option<String> {
        let mut example = Example::lasting_ms(1_000);
        example.wall(MAIN, State::Running, 100, stack);
        let profile = example.profile();
        let sites = Sites::of(&profile);
        let load = Loads::of(&profile, &sites).at(profile.samples.first().unwrap().stack)?;
        let by = load.by.map_or_else(String::new, |it| format!("{}:{}", sites.name(it), it.line));
        Some(format!("{by} of {}", load.package.unwrap_or_default()))
    }

    const ROUGE: &str =
        "<main> /k.rb:1; Kernel#require; Kernel#require <internal:/usr/lib/ruby/vendor_ruby/rubygems/core_ext/kernel_require.rb>:85; \
         <top (required)> /g/gems/rouge-3.3/lib/rouge.rb:7";

    #[test]
    fn a_load_has_the_line_that_requires_and_the_gem() {
        assert_eq!(loads("<main> /k.rb:1; Kernel#require").unwrap(), "<main>:1 of ");
        assert_eq!(loads(&format!("{ROUGE}; Kernel#require_relative")).unwrap(), "<main>:1 of rouge");
        let nested = "Kernel#require; <top (required)> /usr/lib/ruby/3.1.0/set.rb:5; <class:Set> /usr/lib/ruby/3.1.0/set.rb:9";
        assert_eq!(loads(&format!("{ROUGE}; {nested}")).unwrap(), "<main>:1 of set");
        let library = "Kernel#require; /usr/lib/ruby/3.1.0/strscan.so /usr/lib/ruby/3.1.0/strscan.so:0";
        assert_eq!(loads(&format!("{ROUGE}; {library}")).unwrap(), "<main>:1 of strscan");
        let finds = "Kernel#require; Gem.finish_resolve /usr/lib/ruby/vendor_ruby/rubygems.rb:226; Kernel#require; <top (required)> /usr/lib/ruby/vendor_ruby/rubygems/resolver.rb:1";
        assert_eq!(
            loads(&format!("<main> /usr/bin/redcarpet:25; {finds}")).unwrap(),
            "<main>:25 of rubygems"
        );
        assert_eq!(loads(&format!("{ROUGE}; {finds}")).unwrap(), "<main>:1 of rouge");
        let macros = "<class:Lexer> /g/gems/rouge-3.3/lib/rouge/l.rb:7; Rouge.state /g/gems/rouge-3.3/lib/rouge.rb:8; Regexp#initialize";
        assert_eq!(loads(&format!("{ROUGE}; {macros}")).unwrap(), "<main>:1 of rouge");
    }

    #[test]
    fn the_innermost_line_of_the_app_requires() {
        let app = "<main> /app.rb:1; Kernel#require_relative; <top (required)> /models.rb:3; Kernel#require";
        assert_eq!(loads(app).unwrap(), "<top (required)>:3 of ");
        let own = "<main> /app.rb:1; Kernel#require_relative; <top (required)> /models.rb:3; <class:Order> /models.rb:4";
        assert_eq!(loads(own).unwrap(), "<main>:1 of ");
    }

    #[test]
    fn a_program_that_runs_in_a_required_file_is_not_loaded() {
        let exe =
            "<main> /usr/bin/rubocop:23; Kernel#load; <top (required)> /g/gems/rubocop-1.3/exe/rubocop:5";
        assert_eq!(loads(&format!("{exe}; RuboCop::CLI#run /g/gems/rubocop-1.3/lib/cli.rb:1")), None);
        let app = "<main> /app.rb:1; Kernel#require_relative; <top (required)> /run.rb:3; App#run /run.rb:1";
        assert_eq!(loads(app), None);
        assert_eq!(loads(&format!("{ROUGE}; App#hook /app.rb:9")), None);
        assert_eq!(loads("<main> /app.rb:1; App#run /app.rb:2"), None);
        let rails = "<main> /shop/bin/rails:4; Kernel#require; <top (required)> /g/gems/railties-7.2/lib/rails/commands.rb:18; \
                     Rails::Command.invoke /g/gems/railties-7.2/lib/rails/command.rb:71";
        assert_eq!(
            loads(&format!("{rails}; IRB.start /g/gems/irb-1.13/lib/irb.rb:904; IO#wait_readable")),
            None
        );
        let handler = "Kernel#require; <top (required)> /g/gems/a-1.0/a.rb:1";
        let tool = format!("{exe}; RuboCop::CLI#run /g/gems/rubocop-1.3/lib/cli.rb:1; {handler}");
        assert_eq!(loads(&tool).unwrap(), "RuboCop::CLI#run:1 of a");
        let itself = "<main> /usr/bin/tool:5; Kernel#require; <top (required)> /g/gems/tool-1.0/tool.rb:7; Kernel#require";
        assert_eq!(loads(itself).unwrap(), "<top (required)>:7 of tool");
    }
}
