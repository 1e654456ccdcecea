//! The result of a measurement.

/// A result, or one line that says what is wrong and what helps.
pub type Outcome<T> = Result<T, String>;
