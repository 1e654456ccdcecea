//! The form in which each part of a sender is described beside its code.

/// The description of one value of a key of the `tcp` table.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// The key, such as "congestion".
    pub key: &'static str,
    /// The value.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// Its action, in a sentence.
    pub summary: &'static str,
    /// Its specification.
    pub source: &'static str,
    /// The keys that matter with it, of those that do not matter to every sender.
    pub reads: &'static [&'static str],
    /// Keys, and the values of which they must have one.
    pub needs: &'static [(&'static str, &'static [&'static str])],
    /// Keys, and values that they must not have.
    pub refuses: &'static [(&'static str, &'static [&'static str])],
    /// Its needs of the network; empty for nothing.
    pub network: &'static str,
    /// Choices, where the source leaves something open or this program does otherwise.
    pub choices: &'static [&'static str],
}

impl Entry {
    /// An entry that reads, needs and refuses nothing.
    pub(crate) const PLAIN: Entry = Entry {
        key: "",
        name: "",
        title: "",
        summary: "",
        source: "",
        reads: &[],
        needs: &[],
        refuses: &[],
        network: "",
        choices: &[],
    };
}
