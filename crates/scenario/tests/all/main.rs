//! Scenarios from their text to the network that is simulated, and what is said of wrong ones.

mod arrivals;
mod depth;
mod dialects;
mod errors;
mod fuzzed;
mod identity;
mod limits;
mod links;
mod scenarios;
mod traffic;
mod void;
