//! The verdict on a loop, with its margins and its slowest mode, and in words.

use serde::Serialize;

use super::margins::Margins;
use super::roots::Mode;
use super::transfer::Loop;
use crate::error::TheoryError;
use crate::text::figure;

/// Stability of a loop.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stability {
    /// Roots to the right of the imaginary axis, counted with their conjugates; 0 is stable.
    pub unstable_roots: usize,
    /// Its distance from the limit.
    pub margins: Margins,
    /// The slowest mode, or the fastest to grow.
    pub mode: Mode,
}

impl Stability {
    /// Tells whether every mode dies out.
    pub fn stable(&self) -> bool {
        self.unstable_roots == 0
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.settling {
            Some(t) => write!(f, "the slowest mode falls to 2% in {} s", figure(t))?,
            None => write!(f, "a mode grows by a factor of e every {} s", figure(1.0 / self.root.re))?,
        }
        match self.period {
            Some(t) => write!(
                f,
                " and oscillates with a period of {} s (damping {})",
                figure(t),
                figure(self.damping)
            ),
            None => write!(f, " without oscillation"),
        }
    }
}

/// The verdict in words.
impl std::fmt::Display for Stability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let m = &self.margins;
        if self.stable() {
            write!(f, "stable: {}", self.mode)?;
        } else {
            write!(
                f,
                "unstable, with {} roots to the right of the imaginary axis: {}",
                self.unstable_roots, self.mode
            )?;
        }
        match m.gain {
            Some(k) if self.stable() => write!(f, "; the gain may rise {} times", figure(k))?,
            Some(k) => write!(f, "; it would be stable with less than {} times the gain", figure(k))?,
            None => write!(f, "; no change of the gain alone stabilizes it")?,
        }
        if let (Some(phase), Some(w)) = (m.phase, m.crossovers.last()) {
            write!(
                f,
                ", the phase margin is {} degrees (crossover at {} rad/s)",
                figure(phase.to_degrees()),
                figure(*w)
            )?;
        } else {
            write!(f, ", the gain is below 1 at every frequency")?;
        }
        if let Some(delay) = m.delay {
            write!(f, ", and the signal may be delayed by another {} s", figure(delay))?;
        }
        Ok(())
    }
}

impl Loop {
    /// Finds out whether it is stable, how far from the limit, and its slowest mode.
    ///
    /// # Errors
    /// Those of [`Self::margins`] and [`Self::mode`].
    pub fn stability(&self) -> Result<Stability, TheoryError> {
        Ok(Stability { unstable_roots: self.unstable_roots()?, margins: self.margins()?, mode: self.mode()? })
    }
}
