//! Studies from scenarios to results, and what a cache, a search and a run of its own length make of them.

mod auto;
mod cache;
mod parts;
mod runs;
mod search;
mod traces;
mod tune;
