//! Replications that were run before, kept by what they depend on.
//!
//! A replication's key is a hash of everything that can change it: the scenario with every default, the
//! algorithm with its parameters, the seed, the schema of results, and a fingerprint of the engine and of the
//! algorithms that take part. The fingerprint is made of golden runs, not of a version: what cannot change a
//! result does not make it unknown.
//!
//! A cache is a folder; an entry is a file `ab/cdef….entry` that is put in its place in one step, so any number of
//! processes and machines may share one. `index/` has the metrics of all entries, for programs that read Parquet.

mod entry;
mod folder;
mod index;
mod key;
mod sync;

pub use entry::{About, Hit, read_entry};
pub use folder::{CACHE_VARIABLE, Cache, CacheEntry, Lookup};
pub(crate) use index::Indexed;
pub use key::Key;
pub(crate) use sync::Syncer;
