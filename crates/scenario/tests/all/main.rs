//! Scenarios from their text to the network that is simulated, and what is said of wrong ones.

mod arrivals;
mod cell;
mod depth;
mod dialects;
mod errors;
mod fuzzed;
mod handovers;
mod identity;
mod impairments;
mod limits;
mod links;
mod scenarios;
mod schedulers;
mod traffic;
mod void;
mod wifi;
