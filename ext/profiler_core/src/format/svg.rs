//! A flame graph, root at the top, in one file that any browser opens without a network.
//!
//! The colours depend only on whose code it is and on names, see [`super::palette`].

use std::collections::BTreeMap;
use std::io::Write;
use std::rc::Rc;

use inferno::flamegraph::color::{BackgroundColor, PaletteMap};
use inferno::flamegraph::{self, Direction};

use super::display::{display_name, name_in_versions};
use super::{disclosure, flame_chart, folded, length, palette, Options, Style, ThreadFrames};
use crate::analysis::state_leaves::with_state_leaves;
use crate::error::Error;
use crate::profile::{Profile, SampleType};
use crate::text::shorten;
use crate::text::units::{count, counted};

/// The maximum lengths of title and subtitle, in characters, that fit the width of a picture.
const TITLE_CHARS: usize = 100;
const SUBTITLE_CHARS: usize = 150;
/// The bytes of a box besides its name.
const BOX_BYTES: u64 = 250;
/// The number of bytes at the start of a picture that contain its style.
const STYLE_BYTES: usize = 4_096;

/// Writes the picture. A picture of a profile without weight says so.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails, [`Error::NotMeasured`] if the profile lacks the requested sample
/// type, and [`Error::TooLong`]. Returns [`Error::NoTimeline`] for a flame chart of a profile without a
/// timeline.
pub fn write(profile: &Profile, options: &Options, out: &mut dyn Write) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let with_states = (of == SampleType::Wall).then(|| with_state_leaves(profile));
    let profile = with_states.as_ref().unwrap_or(profile);
    let (mut colors, legend) = palette::palette(profile, of, |name| unambiguous(&name.replace(';', ":")));
    let facts = shorten(&subtitle_of(profile), SUBTITLE_CHARS.saturating_sub(legend.len() + 2));
    let parts: Vec<String> = [facts, legend].into_iter().filter(|it| !it.is_empty()).collect();
    let (title, subtitle) = (options.title_or(profile, of), parts.join("; "));
    // To keep our order, the picture's maker expects the last stack first. By default it would sort by line,
    // and draw `save` twice if `save!` comes between.
    let lines: Vec<String> = match options.style {
        Style::Flamechart => flame_chart::in_time(profile, of, options.thread_frames)?
            .iter()
            .rev()
            .map(|(stack, weight)| line(stack, &weight.to_string()))
            .collect(),
        style => {
            let mut stacks =
                folded::fold(profile, of, options.thread_frames, display_name, length::IN_MEMORY)?;
            if style == Style::Reverse {
                stacks = reversed(stacks);
            }
            stacks.iter().rev().map(|(stack, weight)| line(stack, &weight.to_string())).collect()
        }
    };
    draw(&title, &subtitle, of, options.style, lines, Some(&mut colors), out)
}

/// Writes the picture of the changes from `base` to `profile`. It is laid out like `profile`, red where there
/// is more than before, and blue where there is less. `scale` converts a weight of `base` to the unit of
/// `profile`: 1, or the factor that makes their sums equal.
///
/// # Errors
/// Same as for [`write()`].
pub fn write_difference(
    base: &Profile,
    profile: &Profile,
    scale: f64,
    options: &Options,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let of = options.sample_type_of(profile)?;
    let mut pairs: BTreeMap<folded::FoldedStack, (u64, u64)> = BTreeMap::new();
    for (stack, weight) in folded::fold(base, of, ThreadFrames::Never, name_in_versions, length::IN_MEMORY)? {
        pairs.entry(stack).or_default().0 = (weight as f64 * scale).round() as u64;
    }
    for (stack, weight) in
        folded::fold(profile, of, ThreadFrames::Never, name_in_versions, length::IN_MEMORY)?
    {
        pairs.entry(stack).or_default().1 = weight;
    }
    let lines = pairs
        .iter()
        .rev()
        .map(|(stack, (before, after))| line(stack, &format!("{before} {after}")))
        .collect();
    let title = options.title_or(profile, of);
    draw(&title, "red: more than before; blue: less", of, options.style, lines, None, out)
}

fn line(stack: &[Rc<str>], numbers: &str) -> String {
    let frames: Vec<String> = stack.iter().map(|it| unambiguous(it)).collect();
    format!("{} {numbers}", frames.join(";"))
}

/// Returns each stack with its frames reversed, from the leaf on.
fn reversed(stacks: BTreeMap<folded::FoldedStack, u64>) -> BTreeMap<folded::FoldedStack, u64> {
    let mut turned: BTreeMap<folded::FoldedStack, u64> = BTreeMap::new();
    for (mut stack, weight) in stacks {
        stack.reverse();
        let sum = turned.entry(stack).or_default();
        *sum = sum.saturating_add(weight);
    }
    turned
}

fn draw(
    title: &str,
    subtitle: &str,
    of: SampleType,
    style: Style,
    lines: Vec<String>,
    colors: Option<&mut PaletteMap>,
    out: &mut dyn Write,
) -> Result<(), Error> {
    let title = shorten(title, TITLE_CHARS);
    let subtitle = shorten(subtitle, SUBTITLE_CHARS);
    if lines.is_empty() {
        return Ok(write_empty(&title, &subtitle, of, out)?);
    }
    let mut picture = flamegraph::Options::default();
    picture.title = title;
    picture.subtitle = Some(subtitle);
    picture.direction = if style == Style::Flame { Direction::Straight } else { Direction::Inverted };
    picture.deterministic = true;
    picture.palette_map = colors;
    picture.bgcolors = Some(BackgroundColor::Flat(palette::PAPER));
    picture.flame_chart = true;
    (picture.count_name, picture.factor) = match of.name_and_unit() {
        (_, "nanoseconds") => ("us".into(), 0.001),
        (_, "bytes") => ("bytes".into(), 1.0),
        (name, _) => (name.into(), 1.0),
    };
    length::check(boxes(&lines), length::IN_A_PICTURE)?;
    let mut drawn = Vec::new();
    flamegraph::from_lines(&mut picture, lines.iter().map(String::as_str), &mut drawn)?;
    write_legible(&drawn, out)
}

/// Returns the bytes of the boxes that each line adds to those of the line before. The name of a box is in
/// its title and in its text.
fn boxes(lines: &[String]) -> impl Iterator<Item = u64> + '_ {
    let mut before = "";
    lines.iter().map(move |line| {
        let same = line.split(';').zip(std::mem::replace(&mut before, line).split(';'));
        let shared = same.take_while(|(here, there)| here == there).count();
        line.split(';').skip(shared).map(|name| BOX_BYTES + 2 * name.len() as u64).sum()
    })
}

/// Writes the picture with legible words for the search: by default they have an opacity of a tenth.
fn write_legible(drawn: &[u8], out: &mut dyn Write) -> Result<(), Error> {
    const FAINT: &[u8] = b"#search { text-anchor:end; opacity:0.1;";
    const LEGIBLE: &[u8] = b"#search { text-anchor:end; opacity:0.7;";
    let at = drawn.windows(FAINT.len()).take(STYLE_BYTES).position(|it| it == FAINT);
    let (head, tail) = at.and_then(|at| drawn.split_at_checked(at)).unwrap_or((drawn, &[]));
    out.write_all(head)?;
    if let Some(tail) = tail.get(FAINT.len()..) {
        out.write_all(LEGIBLE)?;
        out.write_all(tail)?;
    }
    Ok(out.flush()?)
}

/// Returns a frame that cannot be mistaken for something else in a folded line. `foo 12` at the end of a line
/// would be two numbers, and `# foo` at its beginning a comment. A character without shape or width prevents
/// that.
fn unambiguous(frame: &str) -> String {
    const JOINER: char = '\u{2060}';
    let (before, last) = frame.rsplit_once(' ').unwrap_or(("", frame));
    let number = !before.is_empty() && last.chars().all(|it| it.is_ascii_digit() || it == '.');
    let frame = if number { format!("{before} {JOINER}{last}") } else { frame.to_owned() };
    let remark = frame == "#" || frame.starts_with("# ");
    if remark {
        format!("{JOINER}{frame}")
    } else {
        frame
    }
}

fn subtitle_of(profile: &Profile) -> String {
    let mut parts = Vec::new();
    if profile.sample_types.contains(&SampleType::Samples) {
        let samples = counted(profile.total().get(SampleType::Samples), "sample");
        parts.push(format!("{samples}, {} dropped", count(disclosure::dropped(profile))));
    }
    parts.extend(disclosure::interval(profile));
    parts.extend(disclosure::objects(profile));
    parts.join("; ")
}

fn write_empty(title: &str, subtitle: &str, of: SampleType, out: &mut dyn Write) -> std::io::Result<()> {
    let what = match of {
        SampleType::Samples => "no samples were taken".to_owned(),
        _ => format!("the profile holds no {}", of.name_and_unit().0),
    };
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    writeln!(
        out,
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="120" viewBox="0 0 1200 120">"#
    )?;
    writeln!(out, r#"<rect width="100%" height="100%" fill="rgb(238,238,238)"/>"#)?;
    writeln!(out, r#"<g font-family="monospace" font-size="12" text-anchor="middle">"#)?;
    writeln!(out, r#"<text x="600" y="28" font-size="17">{}</text>"#, escape(title))?;
    writeln!(out, r#"<text x="600" y="56">{}</text>"#, escape(subtitle))?;
    writeln!(out, r#"<text x="600" y="92">{what}</text>"#)?;
    writeln!(out, "</g>\n</svg>")
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::analysis::example::{Example, MAIN};
    use crate::record::State;

    #[test]
    fn escapes_frames_that_read_as_counts_or_comments() {
        assert_eq!(unambiguous("block 12"), "block \u{2060}12");
        assert_eq!(unambiguous("1.5"), "1.5");
        assert_eq!(unambiguous("# x 2."), "\u{2060}# x \u{2060}2.");
        assert_eq!(unambiguous("#"), "\u{2060}#");
        assert_eq!(unambiguous("block (2 levels) in x"), "block (2 levels) in x");
    }

    #[test]
    fn blocks_of_one_label_are_boxes_of_their_own_as_in_the_report() {
        let mut example = Example::lasting_ms(100);
        for line in ["4", "7"] {
            example.wall(
                MAIN,
                State::Running,
                50,
                &format!("<main> /app.rb:1; block in <class:App> /{line}.rb:{line}"),
            );
        }
        let (profile, mut picture, mut report) = (example.profile(), Vec::new(), Vec::new());
        write(&profile, &Options::default(), &mut picture).unwrap();
        super::super::text::write(&profile, &Options::default(), &mut report).unwrap();
        let [picture, report] = [picture, report].map(|it| String::from_utf8(it).unwrap());
        for file in ["4.rb:1", "7.rb:1"] {
            assert!(
                picture.contains(&format!("<title>block in &lt;class:App&gt; {file} (50,000 us")),
                "{picture}"
            );
            assert!(report.contains(&format!("block in <class:App> {file} ")), "{report}");
        }
    }

    #[test]
    fn is_refused_where_no_browser_could_open_it() {
        let names: Vec<String> = (0..600).map(|it| format!("{it}{}", "x".repeat(200))).collect();
        let stacks: Vec<String> = (0..600).map(|it| format!("{it};{} 1\n", names.join(";"))).collect();
        let profile = crate::format::read(stacks.concat().as_bytes()).unwrap();
        let refused = write(&profile, &Options::default(), &mut Vec::new());
        assert!(matches!(refused, Err(Error::TooLong { .. })), "{refused:?}");
    }

    #[test]
    fn the_search_can_be_seen() {
        let mut out = Vec::new();
        let profile = crate::format::read(b"main;a 10\n").unwrap();
        write(&profile, &Options::default(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("#search { text-anchor:end; opacity:0.7; cursor:pointer; }"),
            "{}",
            &text[..2_000]
        );
        assert!(text.ends_with("</svg>\n") || text.ends_with("</svg>"));
    }
}
