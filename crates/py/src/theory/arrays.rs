//! Converts numbers to numpy arrays and back, through the interpreter: the build needs no other package.

use num_complex::Complex64;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes};

/// Numbers and their shape: an array in Python.
#[derive(Clone, Debug)]
pub struct Numbers<T> {
    /// Row by row.
    pub values: Vec<T>,
    /// The length of each dimension.
    pub shape: Vec<usize>,
}

impl<T> From<Vec<T>> for Numbers<T> {
    fn from(values: Vec<T>) -> Self {
        Numbers { shape: vec![values.len()], values }
    }
}

impl<T> FromIterator<T> for Numbers<T> {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        values.into_iter().collect::<Vec<T>>().into()
    }
}

impl<'py, T: Item> IntoPyObject<'py> for &Numbers<T> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        shaped(py, &self.values, &self.shape)
    }
}

/// A type of numbers that arrays hold.
pub trait Item: Copy {
    /// The name of its type in numpy.
    const NAME: &'static str;
    /// Its size in bytes.
    const SIZE: usize;
    /// Puts it where there is room for one.
    fn write(self, to: &mut [u8]);
    /// Takes it from where one is.
    fn read(from: &[u8]) -> Self;
}

impl Item for f64 {
    const NAME: &'static str = "float64";
    const SIZE: usize = 8;
    #[inline]
    fn write(self, to: &mut [u8]) {
        to.copy_from_slice(&self.to_ne_bytes());
    }
    #[inline]
    fn read(from: &[u8]) -> Self {
        f64::from_ne_bytes(std::array::from_fn(|i| from[i]))
    }
}

impl Item for f32 {
    const NAME: &'static str = "float32";
    const SIZE: usize = 4;
    #[inline]
    fn write(self, to: &mut [u8]) {
        to.copy_from_slice(&self.to_ne_bytes());
    }
    #[inline]
    fn read(from: &[u8]) -> Self {
        f32::from_ne_bytes(std::array::from_fn(|i| from[i]))
    }
}

impl Item for Complex64 {
    const NAME: &'static str = "complex128";
    const SIZE: usize = 16;
    #[inline]
    fn write(self, to: &mut [u8]) {
        self.re.write(&mut to[..8]);
        self.im.write(&mut to[8..]);
    }
    #[inline]
    fn read(from: &[u8]) -> Self {
        Complex64::new(f64::read(&from[..8]), f64::read(&from[8..]))
    }
}

/// Numbers from a number, a sequence or an array.
pub fn numbers<T: Item>(x: &Bound<'_, PyAny>) -> PyResult<Numbers<T>> {
    let array = x.py().import("numpy")?.call_method1("asarray", (x, T::NAME))?;
    let bytes = array.call_method0("tobytes")?.cast_into::<PyBytes>()?;
    let values = bytes.as_bytes().chunks_exact(T::SIZE).map(T::read).collect();
    Ok(Numbers { values, shape: array.getattr("shape")?.extract()? })
}

/// Numbers that stand in one row.
pub fn row<T: Item>(x: &Bound<'_, PyAny>, name: &str) -> PyResult<Vec<T>> {
    let numbers = numbers::<T>(x)?;
    match numbers.shape.len() {
        0 | 1 => Ok(numbers.values),
        n => Err(crate::errors::argument(format!("{name} has {n} dimensions: must have one"))),
    }
}

impl<T: Item> Numbers<T> {
    /// An array of the same shape; a number for a number.
    pub fn map<'py, U: Item>(&self, py: Python<'py>, f: impl Fn(T) -> U) -> PyResult<Bound<'py, PyAny>> {
        let values: Vec<U> = self.values.iter().map(|x| f(*x)).collect();
        let array = shaped(py, &values, &self.shape)?;
        // Indexing with an empty tuple makes a number of what has no dimensions, and nothing of others.
        if self.shape.is_empty() { array.get_item(()) } else { Ok(array) }
    }
}

/// An array of one dimension.
pub fn array<'py, T: Item>(py: Python<'py>, values: &[T]) -> PyResult<Bound<'py, PyAny>> {
    shaped(py, values, &[values.len()])
}

/// An array that owns its numbers and may be written to.
pub fn shaped<'py, T: Item>(py: Python<'py>, values: &[T], shape: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    let bytes = PyByteArray::new_with(py, values.len() * T::SIZE, |to| {
        to.chunks_exact_mut(T::SIZE).zip(values).for_each(|(to, x)| x.write(to));
        Ok(())
    })?;
    let numpy = py.import("numpy")?;
    if values.is_empty() {
        // Which frombuffer refuses.
        return numpy.call_method1("empty", (shape.to_vec(), T::NAME));
    }
    numpy.call_method1("frombuffer", (bytes, T::NAME))?.call_method1("reshape", (shape.to_vec(),))
}
