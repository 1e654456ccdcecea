//! Pictures as PDF and PNG, with a font of the system.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use svg2pdf::usvg::fontdb::Database;
use svg2pdf::usvg::{Options, Tree};
use svg2pdf::{ConversionOptions, PageOptions};

use crate::failure::{Failure, unknown_name};

/// The fonts of pictures by default: the first that is there.
const USUAL: [&str; 8] = [
    "Helvetica Neue",
    "Helvetica",
    "Arial",
    "Liberation Sans",
    "Nimbus Sans",
    "Noto Sans",
    "Segoe UI",
    "DejaVu Sans",
];

/// The fonts of the system, and the one to draw with.
pub struct Fonts {
    all: Arc<Database>,
    family: String,
}

impl Fonts {
    /// The fonts of the system, with the one that was asked for, or the first of the usual ones.
    pub fn find(wanted: Option<&str>) -> Result<Fonts, Failure> {
        let mut all = Database::new();
        all.load_system_fonts();
        let mut families: Vec<String> =
            all.faces().flat_map(|face| &face.families).map(|(name, _)| name.clone()).collect();
        families.sort_unstable();
        families.dedup();
        let named = |name: &str| families.iter().find(|family| family.eq_ignore_ascii_case(name)).cloned();
        let family = match wanted {
            _ if families.is_empty() => {
                return Err(bad_input!(
                    "--pdf and --png need a font, and this system has none: install one (on Debian and Ubuntu: apt \
                     install fonts-liberation), or use --svg, which only names its font"
                ));
            }
            Some(name) => {
                named(name).ok_or_else(|| unknown_name("font", name, families.iter().map(String::as_str)))?
            }
            None => USUAL.iter().find_map(|name| named(name)).unwrap_or_else(|| families[0].clone()),
        };
        // What the picture names after it, and letters that it does not have, come from this one too.
        all.set_sans_serif_family(family.as_str());
        Ok(Fonts { all: Arc::new(all), family })
    }

    /// The name of the font to draw with.
    pub fn family(&self) -> &str {
        &self.family
    }

    fn tree(&self, svg: &str) -> Result<Tree, Failure> {
        let options =
            Options { fontdb: self.all.clone(), font_family: self.family.clone(), ..Options::default() };
        Tree::from_str(svg, &options).map_err(|e| Failure::cannot("read the picture", e))
    }

    /// A picture as PDF, in its size: text remains text, in a font that is in the file.
    pub fn pdf(&self, svg: &str) -> Result<Vec<u8>, Failure> {
        let page = PageOptions { dpi: 96.0 };
        svg2pdf::to_pdf(&self.tree(svg)?, ConversionOptions::default(), page)
            .map_err(|e| Failure::cannot("write the picture as PDF", e))
    }

    /// A picture as PNG with so many dots per inch.
    pub fn png(&self, svg: &str, dpi: u16) -> Result<Vec<u8>, Failure> {
        let tree = self.tree(svg)?;
        let factor = f32::from(dpi) / 96.0;
        let dots = |length: f32| (length * factor).round().max(1.0) as u32;
        let (width, height) = (dots(tree.size().width()), dots(tree.size().height()));
        let mut image = Pixmap::new(width, height)
            .filter(|_| u64::from(width) * u64::from(height) <= MOST_DOTS)
            .ok_or_else(|| {
                bad_input!(
                    "--dpi {dpi}: gives {width} x {height} dots, which is too many; choose a lower \
                resolution"
                )
            })?;
        resvg::render(&tree, Transform::from_scale(factor, factor), &mut image.as_mut());
        image.encode_png().map_err(|e| Failure::cannot("write the picture as PNG", e))
    }
}

/// The most dots of a picture.
const MOST_DOTS: u64 = 200_000_000;
