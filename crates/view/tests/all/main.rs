//! Results for people.

mod charts;
mod report;
