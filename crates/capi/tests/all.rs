//! The tests of the crate, in one binary, which links once.

mod abi;
mod c;
mod fuzzed;
mod header;
mod parity;
