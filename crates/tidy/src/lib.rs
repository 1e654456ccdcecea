//! Tests of the source itself, which neither the compiler nor clippy makes. They see production code only: what
//! `#[cfg(test)]` marks is cut out.
//!
//! - `circles`: no circle of files in any crate, and no command that imports another.
//! - `reads`: no file of a user's read around `quell_files`.
//! - `prose`: comments that open with their subject.
//! - `licenses`: dependencies under licenses that `deny.toml` allows.
//! - `shared`: what the Python extension and the tests share of what is compiled.
//!
//! `cargo test -p quell-tidy -- --nocapture` prints what each crate has.

#[cfg(test)]
mod circles;
#[cfg(test)]
mod licenses;
#[cfg(test)]
mod names;
#[cfg(test)]
mod prose;
#[cfg(test)]
mod reads;
#[cfg(test)]
mod shared;
#[cfg(test)]
mod tree;
