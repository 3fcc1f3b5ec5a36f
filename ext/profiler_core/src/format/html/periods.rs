//! The page of many periods: a file for each, and an index of what was busy when. The browser reads a period
//! only once it is opened.

use std::io::Write;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::{Compression, GzBuilder};

use super::{as_in_file, PageFacts, PAGE, PLACE};
use crate::error::Error;
use crate::format::Options;
use crate::profile::Profile;

const END: &str = "</script>";

/// A period in the form in which the page holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Period {
    /// The bytes of the native file.
    pub file: Vec<u8>,
    /// The facts of a page of this file, compressed.
    pub facts: Vec<u8>,
}

impl Period {
    /// Creates the period of a profile.
    ///
    /// # Errors
    /// Returns [`Error::NotMeasured`] if the profile lacks the requested sample type.
    pub fn of(profile: &Profile, options: &Options) -> Result<Self, Error> {
        let of = options.sample_type_of(profile)?;
        let (file, shown) = as_in_file(profile)?;
        let facts = PageFacts::of(&shown, of, options.name_of(profile, of));
        let mut packed = GzBuilder::new().write(Vec::new(), Compression::default());
        serde_json::to_writer(&mut packed, &facts).map_err(std::io::Error::from)?;
        Ok(Self { file, facts: packed.finish()? })
    }
}

/// Writes the page. `index` is JSON, described in `viewer/src/model/facts.ts`.
///
/// # Errors
/// Returns [`Error::Io`] if `out` fails.
pub fn write_periods(index: &str, periods: &[Period], out: &mut dyn Write) -> Result<(), Error> {
    let (before, after) = PAGE.split_once(PLACE).unwrap_or((PAGE, ""));
    // Escape `<` so that no name can end the block.
    let index = index.replace('<', "\\u003c");
    write!(out, r#"{before}<script type="application/json" id="facts">{index}{END}"#)?;
    for (place, period) in periods.iter().enumerate() {
        for (kind, bytes) in [("period", &period.file), ("facts", &period.facts)] {
            write!(out, "\n<script type=\"text/plain\" id=\"{kind}-{place}\">")?;
            let mut encoder = EncoderWriter::new(&mut *out, &STANDARD);
            encoder.write_all(bytes)?;
            encoder.finish()?;
            drop(encoder);
            write!(out, "{END}")?;
        }
    }
    Ok(write!(out, "{after}")?)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::io::Read;

    use base64::Engine;

    use super::*;
    use crate::format::html::tests::block;
    use crate::format::read;

    #[test]
    fn a_page_of_periods_holds_each_with_its_facts() {
        let profile = read(b"main;A#b 1000\n").unwrap();
        let period = Period::of(&profile, &Options::default()).unwrap();
        let mut out = Vec::new();
        write_periods(r#"{"title":"</script>"}"#, &[period.clone(), period], &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        assert_eq!(block(&page, "facts"), "{\"title\":\"\\u003c/script>\"}");
        let file = STANDARD.decode(block(&page, "period-1")).unwrap();
        assert_eq!(read(&file).unwrap().functions.len(), 2);
        let packed = STANDARD.decode(block(&page, "facts-1")).unwrap();
        let mut facts = String::new();
        flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut facts).unwrap();
        let facts: serde_json::Value = serde_json::from_str(&facts).unwrap();
        assert_eq!(facts["origins"].as_array().map(Vec::len), Some(2));
    }
}
