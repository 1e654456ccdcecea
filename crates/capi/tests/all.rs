//! The tests of the crate, in one binary, which links once.

mod c;
mod header;
mod parity;
