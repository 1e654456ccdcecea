//! The axes of a document's figures: the titles, units and ends that it gives them.

use quell_view::chart::{Chart, Diagram};
use quell_view::picture::Ends;

use crate::experiment::{Figure, FigureAxis, Per};
use crate::units;

impl Per {
    /// The unit of metrics that it is of, and its value in that.
    fn value(self) -> (&'static str, f64) {
        match self {
            Per::Bytes(bytes) => ("bytes", bytes.get() as f64),
            Per::Rate(rate) => ("bit/s", rate.bps() as f64),
            Per::Time(time) => ("s", time.as_secs_f64()),
        }
    }
}

/// The units of what is counted in something else.
const COUNTS: [(&str, f64); 3] = [("packets", 1.0), ("1", 1.0), ("percent", 100.0)];

impl FigureAxis {
    /// Refuses what no axis can be.
    fn check(&self, is_x: bool) -> Result<(), String> {
        if let Some([from, to]) = self.range
            && !(from.is_finite() && to.is_finite() && from < to)
        {
            return Err(format!("range = [{from}, {to}]: must rise from one finite number to another"));
        }
        if self.title.trim().is_empty() || self.from.trim().is_empty() {
            return Err("title and from: must not be empty".to_string());
        }
        match is_x {
            true if self.unit.is_some() || self.per.is_some() => {
                Err("unit and per: are of the vertical axis; a horizontal one has \"factor\"".to_string())
            }
            false if self.factor.is_some() => {
                Err("factor: is of the horizontal axis; a vertical one has \"unit\"".to_string())
            }
            _ => match self.factor {
                Some(factor) if !(factor.is_finite() && factor > 0.0) => {
                    Err(format!("factor = {factor}: must be a finite number above 0"))
                }
                _ => {
                    self.unit.iter().try_for_each(|unit| crate::check::one_of("unit", unit, &units::names()))
                }
            },
        }
    }
}

impl Figure {
    /// Refuses axes and classes that the figure cannot have; says of which key.
    pub(crate) fn check_axes(&self) -> Result<(), (&'static str, String)> {
        if self.scopes.is_some() && (self.kind != Diagram::Throughput.name() || self.scope.is_some()) {
            return Err((
                "scopes",
                "must be of a figure with kind = \"throughput\" and without scope".into(),
            ));
        }
        for (key, axis, is_x) in [("x_axis", &self.x_axis, true), ("y_axis", &self.y_axis, false)] {
            let Some(axis) = axis else { continue };
            axis.check(is_x).map_err(|why| (key, why))?;
            let is_metric = self.kind == Diagram::Metric.name();
            if is_x && axis.factor.is_some() && !is_metric {
                return Err((key, "factor: is of a figure with kind = \"metric\"".to_string()));
            }
            let counts = |unit: &String| COUNTS.iter().any(|(name, _)| name == unit);
            if axis.per.is_some() && !axis.unit.as_ref().is_some_and(counts) {
                return Err((key, "per: needs a unit of \"packets\", \"1\" or \"percent\"".to_string()));
            }
        }
        Ok(())
    }

    /// Says whether the figure counts the bytes that wait, not the packets.
    pub(crate) fn is_in_bytes(&self) -> bool {
        let Some(axis) = &self.y_axis else { return false };
        let of_bytes = |unit: &String| units::shown(unit).is_some_and(|(base, _)| base == "bytes");
        let per_bytes = matches!(axis.per, Some(Per::Bytes(_)));
        per_bytes || (axis.per.is_none() && axis.unit.as_ref().is_some_and(of_bytes))
    }

    /// Gives a chart the titles and units of the document's axes.
    ///
    /// # Errors
    /// A sentence, if the chart's unit does not lead to the axis's.
    pub(crate) fn give_axes(&self, chart: &mut Chart) -> Result<(), String> {
        if let Some(axis) = &self.x_axis {
            let factor = axis.factor.unwrap_or(1.0);
            let curves = chart.panels.iter_mut().flat_map(|p| &mut p.curves);
            curves.flat_map(|c| &mut c.x).for_each(|x| *x = round(*x * factor));
            chart.x.label.clone_from(&axis.title);
        }
        let Some(axis) = &self.y_axis else { return Ok(()) };
        let now = chart.y.rsplit_once(" (").and_then(|(_, unit)| unit.strip_suffix(')')).unwrap_or("1");
        let wrong = || format!("y_axis.unit: does not lead there from {now}, the figure's own");
        let (base, from) = units::shown(now).ok_or_else(wrong)?;
        let factor = match (&axis.unit, axis.per) {
            (None, _) => 1.0,
            (Some(unit), Some(per)) => {
                let (of, one) = per.value();
                let many = COUNTS.iter().find(|(name, _)| name == unit).filter(|_| of == base);
                many.ok_or_else(wrong)?.1 / (one * from)
            }
            (Some(unit), None) => {
                let to = units::shown(unit).filter(|(of, _)| *of == base);
                to.ok_or_else(wrong)?.1 / from
            }
        };
        for curve in chart.panels.iter_mut().flat_map(|p| &mut p.curves) {
            curve.scale(factor);
        }
        chart.y_factor *= factor;
        chart.y.clone_from(&axis.title);
        Ok(())
    }

    /// The ends that the document gives to the axes.
    pub(crate) fn ends(&self) -> Ends {
        let of = |axis: &Option<FigureAxis>| axis.as_ref().and_then(|a| a.range).map(|[from, to]| (from, to));
        Ends { x: of(&self.x_axis), y: of(&self.y_axis) }
    }
}

/// Without what multiplying in binary adds: 0.1 times 3 is 0.3 in a label.
fn round(x: f64) -> f64 {
    format!("{x:.12e}").parse().unwrap_or(x)
}
