//! The registry of formats: their names, and the extensions of their files.

use std::path::Path;

use crate::error::Error;

/// A format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The native file, which every pprof tool opens: [`super::pprof`].
    Pprof,
    /// A line for each stack: [`super::folded`].
    Folded,
    /// A page for a browser: [`super::html`].
    Html,
    /// A picture: [`super::svg`].
    Svg,
    /// For speedscope.app: [`super::speedscope`].
    Speedscope,
    /// For the Firefox Profiler: [`super::firefox`].
    Firefox,
    /// For VS Code and DevTools: [`super::cpuprofile`].
    Cpuprofile,
    /// For KCachegrind: [`super::callgrind`].
    Callgrind,
    /// The input of stackprof's tools: [`super::stackprof`].
    Stackprof,
    /// A summary for pull requests: [`super::markdown`].
    Markdown,
    /// A summary for programs: [`super::json`].
    Json,
    /// A report to read: [`super::text`].
    Text,
}

/// The formats with their names and the endings of their file names.
const FORMATS: [(Format, &str, &str); 12] = [
    (Format::Pprof, "pprof", ".pb.gz"),
    (Format::Folded, "folded", ".folded"),
    (Format::Html, "html", ".html"),
    (Format::Svg, "svg", ".svg"),
    (Format::Speedscope, "speedscope", ".speedscope.json"),
    (Format::Firefox, "firefox", ".firefox.json"),
    (Format::Cpuprofile, "cpuprofile", ".cpuprofile"),
    (Format::Callgrind, "callgrind", ".callgrind"),
    (Format::Stackprof, "stackprof", ".stackprof.json"),
    (Format::Markdown, "markdown", ".md"),
    (Format::Json, "json", ".json"),
    (Format::Text, "text", ".txt"),
];

/// The prefix that KCachegrind expects of file names.
const CALLGRIND: &str = "callgrind.out.";

impl Format {
    /// Iterates over all formats, in the order in which they are listed to users.
    pub fn all() -> impl Iterator<Item = Self> {
        FORMATS.into_iter().map(|(format, ..)| format)
    }

    /// Returns the name that `format:` takes.
    #[must_use]
    pub fn name(self) -> &'static str {
        FORMATS.into_iter().find(|it| it.0 == self).map_or("", |(_, name, _)| name)
    }

    /// Returns the extension of the format's files.
    #[must_use]
    pub fn extension(self) -> &'static str {
        FORMATS.into_iter().find(|it| it.0 == self).map_or("", |(.., extension)| extension)
    }

    /// Iterates over all names, for texts that list them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::all().map(Self::name)
    }

    /// Iterates over all extensions, for texts that list them.
    pub fn extensions() -> impl Iterator<Item = &'static str> {
        Self::all().map(Self::extension)
    }

    /// Returns the format of this name.
    ///
    /// # Errors
    /// Returns [`Error::UnknownFormat`], which lists the known formats.
    pub fn from_name(name: &str) -> Result<Self, Error> {
        let unknown = || Error::UnknownFormat { requested: name.into(), known: Self::names().collect() };
        Self::all().find(|it| it.name() == name).ok_or_else(unknown)
    }

    /// Returns the format for the ending of the path. Upper case counts as lower case, and for a packed file
    /// (`.json.gz`) the ending before `.gz` counts.
    ///
    /// # Errors
    /// Returns [`Error::UnknownExtension`], which lists the known extensions.
    pub fn from_path(path: &Path) -> Result<Self, Error> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
        let unknown = || Error::UnknownExtension {
            path: path.to_string_lossy().into_owned(),
            known: Self::extensions().collect(),
        };
        let bare = name.strip_suffix(".gz").unwrap_or(&name);
        let ends = |it: &Self| name.ends_with(it.extension()) || bare.ends_with(it.extension());
        // `.speedscope.json` also ends in `.json`.
        let longest = Self::all().filter(ends).max_by_key(|it| it.extension().len());
        longest.or_else(|| name.starts_with(CALLGRIND).then_some(Self::Callgrind)).ok_or_else(unknown)
    }

    /// Returns whether a file of that path should be gzipped, in addition to what the format does.
    #[must_use]
    pub fn packs(self, path: &Path) -> bool {
        self != Self::Pprof && path.extension().is_some_and(|it| it.eq_ignore_ascii_case("gz"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infers_the_format_from_a_path() {
        let of = |path: &str| Format::from_path(Path::new(path));
        for (path, format) in [
            ("tmp/cpu.pb.gz", Format::Pprof),
            ("CPU.SVG", Format::Svg),
            ("cpu.pb.folded", Format::Folded),
            ("a.txt", Format::Text),
            ("a.speedscope.json", Format::Speedscope),
            ("a.Firefox.json.gz", Format::Firefox),
            ("a.json", Format::Json),
            ("callgrind.out.4711", Format::Callgrind),
        ] {
            assert_eq!(of(path).unwrap(), format);
        }
        assert_eq!(
            of("a.png").unwrap_err().to_string(),
            "cannot infer a format from \"a.png\" (known extensions: .pb.gz, .folded, .html, .svg, .speedscope.json, .firefox.json, \
             .cpuprofile, .callgrind, .stackprof.json, .md, .json, .txt)"
        );
        assert!(of("folder.svg/..").is_err());
        let packs = |path: &str| of(path).unwrap().packs(Path::new(path));
        assert!(packs("a.firefox.json.gz") && !packs("a.pb.gz") && !packs("a.json"));
    }

    #[test]
    fn parses_format_names() {
        Format::all().for_each(|it| assert_eq!(Format::from_name(it.name()).unwrap(), it));
        assert_eq!(
            Format::from_name("png").unwrap_err().to_string(),
            "unknown format \"png\" (allowed: pprof, folded, html, svg, speedscope, firefox, cpuprofile, callgrind, stackprof, \
             markdown, json, text)"
        );
    }
}
