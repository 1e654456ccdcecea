//! The laboratory as a page, for a browser on this machine.
//!
//! [`Page`] is its files: those that were in `lab/dist` when this was compiled, or those of a folder. [`Server`] hands them
//! to a browser, with whatever its caller adds, and answers nobody but this machine.
#![deny(missing_docs)]

mod answer;
mod page;
mod request;
mod server;

pub use answer::{Answer, POLICY};
pub use page::Page;
pub use server::{Further, Server, Site};
