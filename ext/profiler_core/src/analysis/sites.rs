//! The place that a reader looks for in a stack: the innermost frame of the app, or of any code in Ruby.

use super::code_origin::Origin;
use crate::ids::{Id, StackId};
use crate::profile::{Frame, Function, Kind, Profile};

/// The places of a profile's stacks.
pub(super) struct Sites<'profile> {
    profile: &'profile Profile,
    /// By function.
    classes: Vec<Class>,
}

/// The use of a function as a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// The app's.
    App,
    /// Other code in Ruby.
    Ruby,
    /// C, what Ruby's core has in Ruby, and what the profiler made up.
    Inner,
}

impl Class {
    fn of(function: &Function) -> Self {
        match Origin::of(function) {
            Origin::Cfunc | Origin::Synthetic => Self::Inner,
            _ if function.path.starts_with("<internal:") => Self::Inner,
            Origin::App if !is_executable(function) => Self::App,
            Origin::App | Origin::Rails | Origin::Gem | Origin::Ruby => Self::Ruby,
        }
    }
}

/// Whether it is the text of an executable, as `/usr/bin/puma`: that only loads what it runs.
fn is_executable(function: &Function) -> bool {
    let (directory, file) = function.path.rsplit_once('/').unwrap_or(("", &function.path));
    let is_ruby_file = file.rsplit_once('.').is_some_and(|(_, extension)| extension == "rb");
    function.name == "<main>" && directory.rsplit('/').next() == Some("bin") && !is_ruby_file
}

impl<'profile> Sites<'profile> {
    pub(super) fn of(profile: &'profile Profile) -> Self {
        Self { profile, classes: profile.functions.iter().map(Class::of).collect() }
    }

    /// The innermost frame of the app.
    pub(super) fn app(&self, stack: StackId) -> Option<Frame> {
        self.profile.frames_of(stack).find(|it| self.class(*it) == Class::App)
    }

    /// The innermost frame that is written in Ruby, and not in Ruby's core: C functions work for their caller.
    pub(super) fn ruby(&self, stack: StackId) -> Option<Frame> {
        self.profile.frames_of(stack).find(|it| self.class(*it) != Class::Inner)
    }

    /// The innermost frame of the app, else of other Ruby code, else the leaf.
    pub(super) fn nearest(&self, stack: StackId) -> Option<Frame> {
        self.app(stack).or_else(|| self.ruby(stack)).or_else(|| self.profile.frames_of(stack).next())
    }

    /// The frame that `site`, a frame of the stack, called.
    pub(super) fn callee(&self, stack: StackId, site: Frame) -> Option<Frame> {
        self.profile.frames_of(stack).take_while(|it| *it != site).last()
    }

    pub(super) fn is_app(&self, frame: Frame) -> bool {
        self.class(frame) == Class::App
    }

    fn class(&self, frame: Frame) -> Class {
        self.classes.get(frame.function.index()).copied().unwrap_or(Class::Inner)
    }

    /// The name of a frame's function.
    pub(super) fn name(&self, frame: Frame) -> &'profile str {
        self.profile.function(frame.function).map_or("", |it| it.name.as_str())
    }

    /// Whether it is in Ruby or C, and not made up.
    pub(super) fn is_code(&self, frame: Frame) -> bool {
        self.profile.function(frame.function).is_some_and(|it| it.kind() != Kind::Synthetic)
    }
}
