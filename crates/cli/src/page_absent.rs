//! What stands for PDF and PNG in a build without them.

use crate::failure::Failure;

/// No fonts.
pub struct Fonts;

impl Fonts {
    /// Refuses: this build draws SVG only.
    pub fn find(_: Option<&str>) -> Result<Fonts, Failure> {
        Err(bad_input!(
            "--pdf and --png are not in this build; use --svg, or build them with cargo build --release -p quell-cli \
             (feature all)"
        ))
    }

    /// No font.
    pub fn family(&self) -> &str {
        ""
    }

    /// Nothing.
    pub fn pdf(&self, _: &str) -> Result<Vec<u8>, Failure> {
        Ok(Vec::new())
    }

    /// Nothing.
    pub fn png(&self, _: &str, _: u16) -> Result<Vec<u8>, Failure> {
        Ok(Vec::new())
    }
}
