//! The page of metrics, and the rules by which samples are enough.

mod docs;
mod sequential;
