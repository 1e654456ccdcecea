//! The title and the size of a picture.

/// The title, description and width of a picture.
#[derive(Clone, Copy, Debug)]
pub struct Sheet<'a> {
    /// The title, written above the picture; long ones are broken into lines.
    pub title: &'a str,
    /// A description in words, for those who cannot see the picture.
    pub description: &'a str,
    /// The width in pixels; heights follow from the content.
    pub width: f64,
}

impl<'a> Sheet<'a> {
    /// A sheet 800 pixels wide.
    pub fn new(title: &'a str, description: &'a str) -> Sheet<'a> {
        Sheet { title, description, width: 800.0 }
    }

    /// The width that is drawn: at least what legends and labels need.
    pub(super) fn sized(self) -> Sheet<'a> {
        let width = if self.width.is_finite() { self.width.clamp(480.0, 4000.0) } else { 800.0 };
        Sheet { width, ..self }
    }
}
