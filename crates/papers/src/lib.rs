//! Published results, run again and judged cell by cell.
//!
//! A folder of [`Papers`] holds each printed number once (`cells.csv`) and an [`Experiment`] for each
//! simulation of a document: its scenarios, what the document leaves open, which numbers it answers and what it claims. A
//! [`Plan`] makes one study of some experiments; [`judge()`] says of what was [`ExperimentResults`] whether printed numbers agree, and
//! which claims hold.
#![deny(missing_docs)]

mod arithmetic;
mod axes;
mod band;
mod cells;
mod check;
mod claims;
mod computed;
mod csv;
mod digits;
mod error;
mod evidence;
mod experiment;
mod figures;
mod judge;
mod live;
mod page;
mod plan;
mod preset;
mod read;
mod record;
mod results;
mod score;
mod toml_file;
mod units;
mod value;

pub use arithmetic::Arithmetic;
pub use band::{Band, Guess, NearlyFull};
pub use cells::{Cell, Ns2, Printed, matches, slug};
pub use claims::{FigureReading, Measured, Says, Term, Test};
pub use computed::{Border, Compute, Computed, Raised};
pub use error::PaperError;
pub use experiment::{
    About, Basis, CellPlace, CellsOf, Claim, Document, Experiment, Figure, FigureAxis, LiveSide, Open,
    Papers, PrintedCurve, PrintedOf, Reading, Refuted, ScenarioRun,
};
pub use figures::{Drawn, draw, file_names};
pub use judge::{Holds, JudgedCell, JudgedClaim, JudgedExperiment, JudgedTable, Verdict, judge, text};
pub use live::{LiveRecord, live_files};
pub use page::{Page, Strip, WRITTEN, front_pictures, html, markdown, scoreboard};
pub use plan::{Cost, Extent, Plan, Ran};
pub use preset::{MOST_PACKETS, Preset, PresetClaim, PresetNumber, presets};
pub use record::{EDGE, MIDDLE, Record, Recorded, WITHHELD};
pub use results::{ExperimentResults, Spot};
pub use score::{LEAST_NUMBERS, LEAST_SHARE, Reproduced, Score, by_algorithm, scores, scores_on_record};
pub use value::Value;
