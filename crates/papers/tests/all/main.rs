//! The documents of this repository, and small ones from files to verdicts.

mod documents;
mod fuzzed;
mod presets;
mod reproduce;
