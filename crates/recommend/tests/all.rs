//! The tests.
mod plans;
