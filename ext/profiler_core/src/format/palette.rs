//! The colours of a picture. The hue shows whose code a function is, and the shade is derived from its name,
//! so that two pictures of a program can be compared and one's own code is found at a glance. The colours are
//! light, for black text to be legible on them, and they differ in brightness too.

use std::collections::BTreeSet;

use inferno::flamegraph::color::{Color, PaletteMap};

use super::display::display_name;
use crate::analysis::code_origin::Origin;
use crate::analysis::state_leaves::is_state;
use crate::profile::{Function, Profile, SampleType};
use crate::text::clean;

type Rgb = (u8, u8, u8);

/// The hues in their order, each with its name in the legend.
const HUES: [(Hue, Rgb, &str); 7] = [
    (Hue::Of(Origin::App), (255, 170, 64), "app orange"),
    (Hue::Of(Origin::Rails), (244, 150, 150), "Rails red"),
    (Hue::Of(Origin::Gem), (140, 198, 250), "gems blue"),
    (Hue::Of(Origin::Ruby), (160, 220, 150), "Ruby green"),
    (Hue::Of(Origin::Cfunc), (250, 234, 140), "C yellow"),
    (Hue::Of(Origin::Synthetic), (214, 168, 236), "GC and the like violet"),
    (Hue::NotRunning, (190, 202, 218), "not running grey"),
];

/// The fact about a function that a colour shows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hue {
    /// The owner of the code.
    Of(Origin),
    /// A thread waited, or had no CPU.
    NotRunning,
}

impl Hue {
    fn of(function: &Function) -> Self {
        if is_state(function) {
            Self::NotRunning
        } else {
            Self::Of(Origin::of(function))
        }
    }
}

/// The background of all pictures.
pub(super) const PAPER: Color = Color { r: 250, g: 250, b: 250 };

/// The colour of threads.
const GREY: Rgb = (205, 205, 205);

/// Returns the colours of all names in `profile`, as `spelt` in the picture, and a legend of the colours that
/// occur in what is shown.
pub(super) fn palette(
    profile: &Profile,
    of: SampleType,
    spelt: impl Fn(&str) -> String,
) -> (PaletteMap, String) {
    let mut colors = PaletteMap::default();
    // The picture's maker uses an empty name for the box above all others.
    colors.insert("", shaded(GREY, ""));
    for thread in &profile.threads {
        colors.insert(spelt(&clean(&thread.name)), shaded(GREY, ""));
    }
    let mut used = BTreeSet::new();
    let shown = profile.samples.iter().filter(|it| it.weights.get(of) > 0);
    let functions: BTreeSet<_> =
        shown.flat_map(|it| profile.frames_of(it.stack)).map(|it| it.function).collect();
    for function in functions.into_iter().filter_map(|it| profile.function(it)) {
        let hue = Hue::of(function);
        let Some(place) = HUES.iter().position(|it| it.0 == hue) else { continue };
        used.insert(place);
        let name = display_name(function);
        let color = HUES.get(place).map_or(GREY, |it| it.1);
        colors.insert(spelt(&name), shaded(color, &name));
    }
    let legend: Vec<&str> = used.iter().filter_map(|it| HUES.get(*it)).map(|it| it.2).collect();
    (colors, legend.join(", "))
}

/// Darkens the colour slightly, depending on the name, so that neighbours can be distinguished.
fn shaded((r, g, b): Rgb, name: &str) -> Color {
    let sum = name.bytes().fold(0_u32, |sum, it| sum.wrapping_mul(31).wrapping_add(it.into()));
    let of_hundred = 100 - sum % 5 * 4;
    let one = |it: u8| (u32::from(it) * of_hundred / 100) as u8;
    Color { r: one(r), g: one(g), b: one(b) }
}
