//! A figure of another implementation beside the same figure of Quell, and whether they agree.

use quell_lab::Metric;
use serde::Serialize;

use crate::excuse::Excuse;

/// A figure that is compared. `column` is that of the reference's table, `metric` the metric of Quell's results.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name, as tables and excuses write it.
    pub name: &'static str,
    pub unit: &'static str,
    pub column: &'static str,
    pub metric: Metric,
    pub decimals: usize,
    pub band: Band,
}

impl Figure {
    /// A figure in a column of the reference's table.
    pub const fn new(
        name: &'static str,
        unit: &'static str,
        (column, metric): (&'static str, Metric),
        decimals: usize,
        band: Band,
    ) -> Self {
        Figure { name, unit, column, metric, decimals, band }
    }
}

/// The largest distance of the two means: the larger of the two parts, in the unit of the table.
#[derive(Clone, Copy, Debug)]
pub struct Band {
    pub relative: f64,
    pub absolute: f64,
    /// The absolute part holds only where the reference's value is below this.
    pub below: f64,
}

impl Band {
    pub fn at(self, reference: f64) -> f64 {
        let absolute = if reference < self.below { self.absolute } else { 0.0 };
        absolute.max(self.relative * reference)
    }
}

impl Figure {
    /// The figure of a case; `reference` and Quell's `samples` are as they are stored, and `unit` is what Quell's
    /// are divided by. None if either has none.
    pub fn row(&self, case: &str, reference: &[f64], samples: &[f64], unit: f64) -> Option<ComparedFigure> {
        // Shares become percent.
        let scale = if self.unit == "%" { 100.0 } else { 1.0 };
        let mean =
            |samples: &[f64], scale: f64| Mean::of(&samples.iter().map(|x| x * scale).collect::<Vec<_>>());
        let (reference, quell) = (mean(reference, scale)?, mean(samples, scale / unit)?);
        let band = self.band.at(reference.value);
        Some(ComparedFigure::new(case, (self.name, self.unit, self.decimals), reference, quell, band))
    }

    /// [`Figure::row`], whose band reaches on Quell's side as far as the values of the reference do: what lies between
    /// them agrees.
    pub fn row_within(
        &self,
        case: &str,
        reference: &[f64],
        samples: &[f64],
        unit: f64,
    ) -> Option<ComparedFigure> {
        let row = self.row(case, reference, samples, unit)?;
        let scale = if self.unit == "%" { 100.0 } else { 1.0 };
        let aside = |x: &f64| (x * scale - row.reference.value) * row.difference().signum();
        let band = reference.iter().map(aside).fold(row.band, f64::max);
        Some(ComparedFigure::new(case, (self.name, self.unit, self.decimals), row.reference, row.quell, band))
    }
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    pub value: f64,
    /// Its standard error; none from one seed.
    pub error: Option<f64>,
    pub seeds: usize,
}

impl Mean {
    /// None without samples.
    pub fn of(samples: &[f64]) -> Option<Mean> {
        let n = samples.len() as f64;
        let value = samples.iter().sum::<f64>() / n;
        let squares: f64 = samples.iter().map(|x| (x - value).powi(2)).sum();
        let error = (samples.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt());
        (!samples.is_empty()).then_some(Mean { value, error, seeds: samples.len() })
    }
}

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    Inside,
    Outside,
    /// Outside, and why is known.
    Excused,
}

/// One figure of one case.
#[derive(Clone, Debug, Serialize)]
pub struct ComparedFigure {
    pub figure: &'static str,
    pub unit: &'static str,
    #[serde(skip)]
    pub decimals: usize,
    pub reference: Mean,
    pub quell: Mean,
    pub band: f64,
    pub verdict: Standing,
    /// The excuse that covers it, needed or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excuse: Option<&'static Excuse>,
}

impl ComparedFigure {
    /// The figure with this name, unit and number of decimals.
    pub fn new(
        case: &str,
        (figure, unit, decimals): (&'static str, &'static str, usize),
        reference: Mean,
        quell: Mean,
        band: f64,
    ) -> ComparedFigure {
        let excuse = crate::excuse::find(case, figure);
        let verdict = match ((quell.value - reference.value).abs() <= band, excuse) {
            (true, _) => Standing::Inside,
            (false, Some(_)) => Standing::Excused,
            (false, None) => Standing::Outside,
        };
        ComparedFigure { figure, unit, decimals, reference, quell, band, verdict, excuse }
    }

    pub fn difference(&self) -> f64 {
        self.quell.value - self.reference.value
    }
}

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub case: String,
    pub queue: String,
    pub senders: String,
    pub rows: Vec<ComparedFigure>,
    /// The reason for which it is not compared; `None`: it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Little's law: the mean queue over what it should be, of the run that is farthest off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub little: Option<crate::little::Little>,
}

/// The values of a metric in Quell's replications.
pub type Samples<'a> = dyn Fn(Metric) -> Vec<f64> + 'a;

impl Comparison {
    /// Says whether nothing speaks against it.
    pub fn agrees(&self) -> bool {
        self.rows.iter().all(|r| r.verdict != Standing::Outside) && self.little.is_none_or(|l| l.holds())
    }
}

/// Counts the rows with a verdict.
pub fn count(comparisons: &[Comparison], verdict: Standing) -> usize {
    comparisons.iter().flat_map(|c| &c.rows).filter(|r| r.verdict == verdict).count()
}

/// Says whether any figure that it covers lies outside its band.
pub fn needed(excuse: &Excuse, comparisons: &[Comparison]) -> bool {
    let rows = comparisons.iter().flat_map(|c| &c.rows);
    rows.filter(|r| r.verdict == Standing::Excused).any(|r| r.excuse == Some(excuse))
}
