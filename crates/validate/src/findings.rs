//! The findings of a chapter: comparisons, windows and laws.

use crate::chapter::Chapter;
use crate::compare::Comparison;
use crate::laws::Laws;
use crate::linux::Setting;
use crate::windows::Trace;

/// The window of a flow in both.
pub struct Windows {
    pub setting: Setting,
    pub linux: Trace,
    pub quell: Trace,
}

/// The findings of a chapter.
pub struct ChapterFindings {
    pub chapter: Chapter,
    pub comparisons: Vec<Comparison>,
    pub windows: Vec<Windows>,
    pub laws: Option<Laws>,
}

impl ChapterFindings {
    /// Says whether nothing in it speaks against Quell.
    pub fn agrees(&self) -> bool {
        self.comparisons.iter().all(Comparison::agrees) && self.laws.as_ref().is_none_or(Laws::hold)
    }
}
