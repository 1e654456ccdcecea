//! Quell for Python: conversion code only. The Python side is `python/quell`; what users read about
//! these functions and classes is their documentation here, written for Python.
#![deny(missing_docs)]
// Functions of Python have as many parameters as their users can name.
#![allow(clippy::too_many_arguments)]

mod aqm;
mod attend;
mod catalog;
mod columns;
mod errors;
mod options;
mod presets;
mod results;
mod run;
mod scenario;
mod search;
mod tasks;
mod theory;
mod tune;
mod value;

use pyo3::prelude::*;

/// The commit of the source, as the command has it.
#[cfg(quell_git)]
const COMMIT: Option<[u8; 40]> = quell_lab::last_commit(include_bytes!(env!("QUELL_GIT_LOG")));
#[cfg(not(quell_git))]
const COMMIT: Option<[u8; 40]> = None;

/// The compiled part of the package `quell`; use it through `quell`.
#[pymodule]
mod _quell {
    #[pymodule_export]
    use crate::aqm::{Context, Link, Packet, Verdict, drop, signal};
    #[pymodule_export]
    use crate::catalog::{aqm_describe, aqm_list, metric_list, tcp_describe, tcp_list};
    #[pymodule_export]
    use crate::columns::Columns;
    #[pymodule_export]
    use crate::errors::{Interrupted, RunError, ScenarioError, TheoryError};
    #[pymodule_export]
    use crate::presets::new;
    #[pymodule_export]
    use crate::results::{Results, read};
    #[pymodule_export]
    use crate::run::{Progress, run};
    #[pymodule_export]
    use crate::scenario::check;
    #[pymodule_export]
    use crate::search::{Crossing, search};
    #[pymodule_export]
    use crate::tasks::{Task, cache_dir, index, make, tasks};
    #[pymodule_export]
    use crate::theory::analysis::{
        Analysis, Bottleneck, Design, Equilibrium, Reach, analyze, design, dumbbell,
    };
    #[pymodule_export]
    use crate::theory::criteria::{
        Criterion, PiDesign, auto_tuning_setup, avq_largest_phi, avq_longest_rtt, critical_rtt, hred_local,
        pi_design, red_by_hollot, red_filter, red_proposition, vrc_k_p_range, vrc_largest_k_i, vrc_theorem,
    };
    #[pymodule_export]
    use crate::theory::estimate::{
        Oscillation, QueueMap, ewma_autocorrelation, ewma_expectation, ewma_variance, measure, oscillation,
        red_tail_delay_bound,
    };
    #[pymodule_export]
    use crate::theory::fluid::{Summary, Trajectory, fluid, fluid_map};
    #[pymodule_export]
    use crate::theory::linear::{Loop, Margins, Mode};
    #[pymodule_export]
    use crate::theory::maps::{Map, map, red_map, vrc_map};
    #[pymodule_export]
    use crate::tune::{adversary, direction, ranges, tune};

    use super::{PyModule, PyModuleMethods, PyResult};
    use pyo3::Bound;

    /// Run the command line.
    ///
    /// Parameters
    /// ----------
    /// args : sequence of str
    ///     The program's name and its arguments, as in ``sys.argv``.
    ///
    /// Returns
    /// -------
    /// int
    ///     The exit code: 0 if all went well, 1 after a failure, 2 for a wrong scenario or argument,
    ///     130 if it was interrupted.
    #[pyo3::pyfunction]
    fn cli(py: pyo3::Python<'_>, args: Vec<std::ffi::OsString>) -> i32 {
        use std::io::Write;
        py.detach(|| {
            let code = quell_cli::main_with(args);
            // No Rust runtime flushes what is left when Python ends; a closed pipe is not an error.
            let _ = std::io::stdout().flush();
            code
        })
    }

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        quell_lab::built_from(super::COMMIT);
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("DESIGNED", crate::theory::analysis::designed(m.py())?)?;
        m.add("PASS", crate::aqm::Verdict::PASS)
    }
}
