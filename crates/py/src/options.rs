//! Arguments that several functions take: a metric, the cache, and the time series to keep.

use std::path::PathBuf;

use pyo3::prelude::*;
use quell_lab::{Cache, Quantity, Series};

use crate::errors;

/// A figure by its name.
pub fn metric(name: &str) -> PyResult<Quantity> {
    name.parse().map_err(|why| errors::argument(format!("metric \"{name}\": {why}")))
}

/// The cache that an argument means: a folder, True for the user's, False for none.
pub fn cache(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Cache>> {
    let user = || Ok(Cache::default_dir().map(Cache::at));
    let Some(argument) = argument else { return user() };
    match argument.extract::<bool>() {
        Ok(true) => user(),
        Ok(false) => Ok(None),
        Err(_) => Ok(Some(Cache::at(argument.extract::<PathBuf>()?))),
    }
}

/// A cache where one is needed.
pub fn needed(argument: Option<&Bound<'_, PyAny>>) -> PyResult<Cache> {
    cache(argument)?.ok_or_else(|| errors::argument("cache: must be a folder, or True for the user's"))
}

/// The replications of which time series are kept.
pub fn series(argument: &str) -> PyResult<Series> {
    match argument {
        "drawn" => Ok(Series::Drawn),
        "all" => Ok(Series::All),
        "none" => Ok(Series::None),
        other => {
            Err(errors::argument(format!("series = \"{other}\": must be \"drawn\", \"all\" or \"none\"")))
        }
    }
}
