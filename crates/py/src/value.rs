//! Python values to TOML and back.

use std::path::PathBuf;

use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString};
use quell_scenario::Setting;
use quell_units::text::cut;
use toml::{Table, Value};

use crate::errors;

/// A scenario, or a part of one, from dicts, lists, strings, paths, numbers and booleans. Keys whose value
/// is None count as absent; `path` names the place in errors.
pub fn to_toml(value: &Bound<'_, PyAny>, path: &str) -> PyResult<Value> {
    value_within(value, path, DEPTH)
}

/// A table from a mapping.
pub fn to_table(mapping: &Bound<'_, PyMapping>, path: &str) -> PyResult<Table> {
    table_within(mapping, path, DEPTH)
}

/// No scenario is nested deeper; a list that holds itself is.
const DEPTH: usize = 32;

fn value_within(value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Value> {
    if let Ok(s) = value.cast::<PyString>() {
        return Ok(Value::String(s.to_str()?.to_owned()));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(value.extract()?));
    }
    if value.is_instance_of::<PyInt>() || value.hasattr("__index__")? {
        let too_large = || PyValueError::new_err(format!("{path}: {value} is beyond 64 bits"));
        return value.extract().map(Value::Integer).map_err(|_| too_large());
    }
    if value.is_instance_of::<PyFloat>() || value.hasattr("__float__")? {
        return Ok(Value::Float(value.extract()?));
    }
    let too_deep = || errors::argument(format!("{}: is nested more than {DEPTH} deep", cut(path)));
    if let Ok(mapping) = value.cast::<PyMapping>() {
        let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
        return table_within(mapping, path, depth).map(Value::Table);
    }
    // Lists and tuples, arrays too: what is a sequence of plain values when iterated over.
    if let Ok(items) = value.try_iter() {
        let depth = depth.checked_sub(1).ok_or_else(too_deep)?;
        let items = items.enumerate().map(|(i, item)| value_within(&item?, &format!("{path}[{i}]"), depth));
        return Ok(Value::Array(items.collect::<PyResult<_>>()?));
    }
    if value.hasattr("__fspath__")?
        && let Ok(path) = value.extract::<PathBuf>()
    {
        let path = path.into_os_string().into_string();
        let no_text = |path| PyValueError::new_err(format!("{path:?} is not text"));
        return path.map(Value::String).map_err(no_text);
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("{path}: a scenario cannot hold a value of type '{kind}'")))
}

fn table_within(mapping: &Bound<'_, PyMapping>, path: &str, depth: usize) -> PyResult<Table> {
    let mut table = Table::new();
    for item in mapping.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let Ok(key) = key.cast::<PyString>() else {
            let kind = key.get_type().name()?;
            let place = if path.is_empty() { "scenario" } else { path };
            return Err(PyTypeError::new_err(format!("{place}: keys must be strings, not '{kind}'")));
        };
        let key = key.to_str()?;
        let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
        if !value.is_none() {
            table.insert(key.to_owned(), value_within(&value, &path, depth)?);
        }
    }
    Ok(table)
}

/// TOML as dicts, lists and plain values.
pub fn from_toml<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::String(s) => PyString::new(py, s).into_any(),
        Value::Integer(i) => i.into_pyobject(py)?.into_any(),
        Value::Float(x) => x.into_pyobject(py)?.into_any(),
        Value::Boolean(b) => PyBool::new(py, *b).to_owned().into_any(),
        Value::Datetime(t) => PyString::new(py, &t.to_string()).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            items.iter().try_for_each(|item| list.append(from_toml(py, item)?))?;
            list.into_any()
        }
        Value::Table(table) => from_table(py, table)?.into_any(),
    })
}

/// A table as a dict.
pub fn from_table<'py>(py: Python<'py>, table: &Table) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    table.iter().try_for_each(|(key, value)| dict.set_item(key, from_toml(py, value)?))?;
    Ok(dict)
}

/// JSON as dicts, lists and plain values.
pub fn from_json<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    // The interpreter's own reader: one call, and every number comes out as Python has it.
    py.import("json")?.call_method1("loads", (value.to_string(),))
}

/// Names and their values in order: a dict in Python.
#[derive(Clone, Debug)]
pub struct Dict<T>(pub Vec<(String, T)>);

impl From<Vec<Setting>> for Dict<String> {
    fn from(settings: Vec<Setting>) -> Self {
        Dict(settings.into_iter().map(|s| (s.field, s.value)).collect())
    }
}

impl<'py, T: IntoPyObject<'py>> IntoPyObject<'py> for Dict<T> {
    type Target = PyDict;
    type Output = Bound<'py, PyDict>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        self.0.into_iter().try_for_each(|(name, x)| dict.set_item(name, x))?;
        Ok(dict)
    }
}

/// A resolved scenario as a dict.
pub fn resolved<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let table: Table = text.parse().map_err(|e: toml::de::Error| PyRuntimeError::new_err(e.to_string()))?;
    from_table(py, &table)
}
