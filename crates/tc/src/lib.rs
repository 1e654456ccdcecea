//! Lines of Linux's tc, out and in: there is one grammar of them (`grammar.rs`), for both.
//!
//! [`write()`] makes the lines of an algorithm at a place of a device, and says what they cannot say. What a line
//! leaves out is a named set with the kernel's version ([`defaults`]). Nothing here opens files or talks to a kernel.
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod answer;
pub mod attributes;
pub mod defaults;
mod grammar;
mod kernel;
mod link;
mod qdisc;
mod read;
mod settings;
mod translation;
mod tree;
mod values;
mod write;

pub use answer::{Answer, answer, is_algorithm};
pub use kernel::Kernel;
pub use link::{Leaf, Shape, Shaped, links};
pub use qdisc::{Link, Meaning, NotInLinux, QDISCS, as_in, usual};
pub use read::{Added, Bucket, Class, Counters, Dump, Problem, Queue, header, is_cut, read};
pub use translation::{is_line, keys, translation};
pub use tree::{Branch, write_bucket, write_tree};
pub use values::rate;
pub use write::{Place, Shaper, Written, burst, write};
