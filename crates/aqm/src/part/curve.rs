//! A probability that rises between two thresholds.

use quell_units::QueueSize;

use crate::Link;
use crate::params::ParamError;

/// The probability as a function of the average, with its slopes worked out in advance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Curve {
    min_th: f64,
    max_th: f64,
    max_p: f64,
    /// Queue at which the probability reaches 1.
    end: f64,
    slope: f64,
    gentle_slope: f64,
}

impl Curve {
    /// The curve for thresholds in packets with `min_th <= max_th`; equal ones make a step, to 1 or (gentle) to `max_p`.
    pub fn new(min_th: f64, max_th: f64, max_p: f64, gentle: bool) -> Self {
        let end = if gentle { 2.0 * max_th } else { max_th };
        let mut curve = Curve { min_th, max_th, max_p, end, slope: 0.0, gentle_slope: 0.0 };
        curve.set_max_p(max_p);
        curve
    }

    /// Changes `max_p`, and with it both slopes.
    pub fn set_max_p(&mut self, max_p: f64) {
        self.max_p = max_p;
        let gap = self.max_th - self.min_th;
        // A step has no slope: no average lies between equal thresholds.
        self.slope = if gap > 0.0 { max_p / gap } else { 0.0 };
        self.gentle_slope = if self.max_th > 0.0 { (1.0 - max_p) / self.max_th } else { 0.0 };
    }

    /// Changes the thresholds in packets, `min_th < max_th`, and with them both slopes.
    pub fn set_thresholds(&mut self, min_th: f64, max_th: f64) {
        // Gentle or not: the end stays at as many times max_th as before.
        let end = self.end / self.max_th * max_th;
        *self = Curve { min_th, max_th, end, ..*self };
        self.set_max_p(self.max_p);
    }

    /// The probability at `max_th`.
    pub fn max_p(&self) -> f64 {
        self.max_p
    }

    /// The thresholds in packets.
    pub fn thresholds(&self) -> (f64, f64) {
        (self.min_th, self.max_th)
    }

    /// Chen 2010, eq. 2.4 (gentle), Floyd and Jacobson 1993 section 4 (not gentle).
    #[inline]
    pub fn probability(&self, avg: f64) -> f64 {
        if avg < self.min_th {
            0.0
        } else if avg < self.max_th {
            (avg - self.min_th) * self.slope
        } else if avg < self.end {
            (self.max_p + (avg - self.max_th) * self.gentle_slope).min(1.0)
        } else {
            1.0
        }
    }
}

/// The order in which two thresholds must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thresholds {
    /// `min_th < max_th`: a curve with a slope.
    Rise,
    /// `min_th <= max_th`: equal ones make a step.
    Step,
}

/// Packets by which thresholds that are not equal differ at least: less is lost in rounding, and would make a
/// slope of almost infinity.
const GAP: f64 = 1e-9;

/// True if thresholds are equal but for rounding, which makes the curve a step.
pub fn is_step(min_th: QueueSize, max_th: QueueSize, link: &Link) -> bool {
    let packets = |size: QueueSize| size.in_packets(link.mean_packet);
    (packets(max_th) - packets(min_th)).abs() <= GAP
}

/// The two thresholds in packets, checked; those of a step are the same number.
///
/// # Errors
/// Names the threshold that is negative, in another unit or not above the other.
pub fn thresholds(
    min_th: QueueSize,
    max_th: QueueSize,
    order: Thresholds,
    link: &Link,
) -> Result<(f64, f64), ParamError> {
    require!(min_th.value() >= 0.0 && min_th.value().is_finite(), min_th, "must not be negative")?;
    require!(
        min_th.same_unit(max_th),
        max_th,
        "must have the unit of min_th ({min_th}): give both in packets or both in bytes"
    )?;
    let (low, high) = (min_th.in_packets(link.mean_packet), max_th.in_packets(link.mean_packet));
    if order == Thresholds::Step && is_step(min_th, max_th, link) && high.is_finite() {
        require!(high > 0.0, max_th, "must be positive where min_th is not below it")?;
        return Ok((high, high));
    }
    let rule = match order {
        Thresholds::Rise => "must exceed min_th",
        Thresholds::Step => "must not be below min_th",
    };
    require!(
        high - low > GAP && high.is_finite(),
        max_th,
        "{rule} ({min_th}) [Floyd and Jacobson 1993, section 4]"
    )?;
    Ok((low, high))
}

equations! {
    Curve::probability(min_th, max_th, max_p, gentle: bool, avg) -> p =
        Curve::new(min_th, max_th, max_p, gentle).probability(avg);
}
