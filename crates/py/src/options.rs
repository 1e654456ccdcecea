//! Arguments that several functions take: a metric, the cache, and the time series to keep.

use std::path::PathBuf;

use pyo3::prelude::*;
use quell_lab::{Cache, Quantity, Series, TraceOptions, TraceTable};

use crate::errors;

/// A metric by its name.
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

/// The traces that arguments of a run ask for, of the first seed.
pub fn trace(
    kinds: &Bound<'_, PyAny>,
    step: Option<&str>,
    flows: Option<Vec<Bound<'_, PyAny>>>,
    links: Option<Vec<String>>,
) -> PyResult<TraceOptions> {
    let kinds = kinds.extract::<String>().map(|one| vec![one]).or_else(|_| kinds.extract::<Vec<String>>())?;
    if let Some(other) = kinds.iter().find(|kind| TraceTable::find(kind).is_none()) {
        return Err(errors::unknown("trace", other, TraceTable::ALL.iter().map(|t| t.name())));
    }
    let step = step
        .map(|text| text.parse().map_err(|why| errors::argument(format!("trace_step = \"{text}\": {why}"))));
    let name = |flow: Bound<'_, PyAny>| Ok(flow.str()?.to_string());
    Ok(TraceOptions {
        flows: kinds.iter().any(|kind| kind == TraceTable::Flows.name()),
        packets: kinds.iter().any(|kind| kind == TraceTable::Packets.name()),
        step: step.transpose()?,
        of_flows: flows.unwrap_or_default().into_iter().map(name).collect::<PyResult<_>>()?,
        links: links.unwrap_or_default(),
        seeds: 1,
        ..TraceOptions::default()
    })
}
