//! Arrow columns for any library that accepts them (the Arrow PyCapsule interface).

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, RecordBatch, RecordBatchIterator, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyKeyError, PyModuleNotFoundError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use quell_lab::Column;

/// A table of columns with units in their names.
///
/// Any library that supports Arrow reads it without a copy: ``pyarrow.table(columns)``,
/// ``polars.DataFrame(columns)``, ``pandas.DataFrame.from_arrow(columns)``. ``columns["name"]`` gives one
/// column as a list, None where there is no value.
///
/// Examples
/// --------
/// >>> import quell
/// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
/// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
/// >>> columns = results.metrics
/// >>> columns.shape == (len(columns), len(columns.column_names))
/// True
#[pyclass(module = "quell", frozen)]
pub struct Columns(pub RecordBatch);

#[pymethods]
impl Columns {
    /// list of str: The names of the columns, in order.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|f| f.name().clone()).collect()
    }

    /// (int, int): The number of rows and of columns.
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.0.num_rows(), self.0.num_columns())
    }

    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    fn __contains__(&self, name: &str) -> bool {
        self.0.schema_ref().index_of(name).is_ok()
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let Some(column) = self.0.column_by_name(name) else {
            let names = self.column_names().join(", ");
            return Err(PyKeyError::new_err(format!("no column is called \"{name}\" (there are {names})")));
        };
        values(py, column)
    }

    fn __repr__(&self) -> String {
        show(&self.0)
    }

    /// Convert to a pandas DataFrame.
    ///
    /// Returns
    /// -------
    /// pandas.DataFrame
    ///     The same columns.
    ///
    /// Raises
    /// ------
    /// ModuleNotFoundError
    ///     If pandas or pyarrow is not installed; ``pip install "quell[pandas]"`` installs both.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> results.delays.to_pandas().columns[0]
    /// 'point'
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let pandas = |package| optional(slf.py(), package, "to_pandas", "pandas and pyarrow", "pandas");
        pandas("pandas")?;
        pandas("pyarrow")?.call_method1("table", (slf,))?.call_method0("to_pandas")
    }

    /// Convert to a polars DataFrame.
    ///
    /// Returns
    /// -------
    /// polars.DataFrame
    ///     The same columns.
    ///
    /// Raises
    /// ------
    /// ModuleNotFoundError
    ///     If polars is not installed; ``pip install "quell[polars]"`` installs it.
    ///
    /// Examples
    /// --------
    /// >>> import quell
    /// >>> net = quell.theory.dumbbell(rate="10 Mbit/s", rtt="50 ms", flows=5, algorithms=["codel", "pie"])
    /// >>> results = quell.run(net, seeds=2, overrides={"duration": "10 s", "warmup": "2 s"})
    /// >>> results.delays.to_polars().columns[0]
    /// 'point'
    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        optional(slf.py(), "polars", "to_polars", "polars", "polars")?.call_method1("DataFrame", (slf,))
    }

    /// Give the columns as an Arrow stream of one batch.
    ///
    /// Parameters
    /// ----------
    /// requested_schema : object, optional
    ///     Accepted as the interface requires, but not used: the columns keep their types.
    ///
    /// Returns
    /// -------
    /// types.CapsuleType
    ///     An ``arrow_array_stream`` (Arrow PyCapsule interface).
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema; // "may be ignored": the specification.
        let batches = RecordBatchIterator::new([Ok::<_, ArrowError>(self.0.clone())], self.0.schema());
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(batches)), c"arrow_array_stream")
    }

    /// Give the names and types of the columns.
    ///
    /// Returns
    /// -------
    /// types.CapsuleType
    ///     An ``arrow_schema`` (Arrow PyCapsule interface).
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.0.schema_ref().as_ref());
        let schema = schema.map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
}

/// Imports a package that `quell` does without; where it is not installed, the error says which extra has it.
pub fn optional<'py>(
    py: Python<'py>,
    package: &str,
    what: &str,
    needs: &str,
    extra: &str,
) -> PyResult<Bound<'py, PyModule>> {
    py.import(package).map_err(|e| {
        if !e.is_instance_of::<PyModuleNotFoundError>(py) {
            return e;
        }
        let hint = format!("{what} needs {needs}: pip install \"quell[{extra}]\"");
        let error = PyModuleNotFoundError::new_err(hint);
        error.set_cause(py, Some(e));
        error
    })
}

/// A table of results.
pub fn of_table(table: &quell_lab::Columns) -> PyResult<Columns> {
    let column = |(name, column): (&str, &Column)| {
        let cells: ArrayRef = match column {
            Column::U32(v) => array(v.iter().copied().collect::<UInt32Array>()),
            Column::U64(v) => array(UInt64Array::from_iter_values(v.iter().copied())),
            Column::F64(v) => {
                array(v.iter().map(|x| Some(*x).filter(|x| !x.is_nan())).collect::<Float64Array>())
            }
            Column::Text(v) => array(StringArray::from_iter_values(v.iter())),
        };
        (Field::new(name, cells.data_type().clone(), column.is_nullable()), cells)
    };
    let (fields, cells): (Vec<Field>, Vec<ArrayRef>) = table.iter().map(column).unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), cells)
        .map(Columns)
        .map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// Columns from arrays that are equally long.
pub fn columns<'n>(columns: impl IntoIterator<Item = (&'n str, ArrayRef)>) -> PyResult<Columns> {
    let nullable = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(nullable)
        .map(Columns)
        .map_err(|e| PyRuntimeError::new_err(e.to_string()))
}

/// An array of whatever can be collected into one.
pub fn array<A: Array + 'static>(array: A) -> ArrayRef {
    Arc::new(array)
}

fn values<'py>(py: Python<'py>, column: &ArrayRef) -> PyResult<Bound<'py, PyList>> {
    match column.data_type() {
        DataType::UInt32 => PyList::new(py, column.as_primitive::<UInt32Type>().iter().collect::<Vec<_>>()),
        DataType::UInt64 => PyList::new(py, column.as_primitive::<UInt64Type>().iter().collect::<Vec<_>>()),
        DataType::Float64 => PyList::new(py, column.as_primitive::<Float64Type>().iter().collect::<Vec<_>>()),
        DataType::Boolean => PyList::new(py, column.as_boolean().iter().collect::<Vec<_>>()),
        DataType::Utf8 => PyList::new(py, column.as_string::<i32>().iter().collect::<Vec<_>>()),
        other => Err(PyRuntimeError::new_err(format!("a column of type {other}"))),
    }
}

/// Rows that a terminal shows without scrolling.
const SHOWN_ROWS: usize = 20;
/// Columns that a terminal shows side by side.
const SHOWN_COLUMNS: usize = 9;

fn show(batch: &RecordBatch) -> String {
    let (rows, columns) = (batch.num_rows().min(SHOWN_ROWS), batch.num_columns().min(SHOWN_COLUMNS));
    let mut lines = vec![String::new(); rows + 1];
    for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()).take(columns) {
        let cells: Vec<String> =
            std::iter::once(field.name().clone()).chain((0..rows).map(|row| cell(column, row))).collect();
        let width = cells.iter().map(|c| c.chars().count()).max().unwrap_or(0);
        let left = *column.data_type() == DataType::Utf8;
        for (line, cell) in lines.iter_mut().zip(cells) {
            line.push_str(&if left { format!("{cell:<width$}  ") } else { format!("{cell:>width$}  ") });
        }
    }
    let mut text: Vec<String> = lines.iter().map(|l| l.trim_end().to_string()).collect();
    if (rows, columns) != (batch.num_rows(), batch.num_columns()) {
        text.push(format!("({} rows, {} columns)", batch.num_rows(), batch.num_columns()));
    }
    text.join("\n")
}

fn cell(column: &ArrayRef, row: usize) -> String {
    if column.is_null(row) {
        return "-".to_string();
    }
    match column.data_type() {
        DataType::UInt32 => column.as_primitive::<UInt32Type>().value(row).to_string(),
        DataType::UInt64 => column.as_primitive::<UInt64Type>().value(row).to_string(),
        DataType::Boolean => column.as_boolean().value(row).to_string(),
        DataType::Utf8 => column.as_string::<i32>().value(row).to_string(),
        DataType::Float64 => number(column.as_primitive::<Float64Type>().value(row)),
        other => other.to_string(),
    }
}

/// Four digits are enough on a screen.
fn number(x: f64) -> String {
    let size = x.abs();
    if x == 0.0 {
        "0".to_string()
    } else if (1e-3..1e6).contains(&size) {
        let decimals = (3.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{x:.decimals$}")
    } else {
        format!("{x:.3e}")
    }
}
