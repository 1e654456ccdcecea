//! Files that scenarios name, and their readers.

use std::fmt;
use std::sync::Arc;

/// A function that reads a file by its name as a scenario has it.
type ReadFile = dyn Fn(&str) -> Result<FoundFile, String> + Send + Sync;

/// A file that a scenario names.
#[derive(Clone, Debug)]
pub struct FoundFile {
    /// Its name from where the program runs, which a scenario that is written out has.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// The files that a scenario may name; by default there are none.
#[derive(Clone, Default)]
pub struct Files(Option<Arc<ReadFile>>);

impl Files {
    /// Files that `read` reads, by their names as the scenario has them; its error is a rule: "cannot be read:
    /// no such file".
    pub fn new(read: impl Fn(&str) -> Result<FoundFile, String> + Send + Sync + 'static) -> Files {
        Files(Some(Arc::new(read)))
    }

    /// Reads the file of a name.
    ///
    /// # Errors
    /// The rule that it breaks.
    pub fn read(&self, name: &str) -> Result<FoundFile, String> {
        match &self.0 {
            Some(read) => read(name),
            None => Err("cannot be read: this scenario does not come from a file".to_string()),
        }
    }
}

impl fmt::Debug for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Files" } else { "no Files" })
    }
}
