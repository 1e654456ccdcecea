//! The form in which each part of a sender is described beside its code.

/// What a user may read about one value of a key of the `tcp` table.
#[derive(Debug, PartialEq)]
pub struct Entry {
    /// The key, such as "congestion".
    pub key: &'static str,
    /// The value.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// What it does, in a sentence.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// The keys that matter with it, of those that do not matter to every sender.
    pub reads: &'static [&'static str],
    /// Keys, and the values of which they must have one.
    pub needs: &'static [(&'static str, &'static [&'static str])],
    /// Keys, and values that they must not have.
    pub refuses: &'static [(&'static str, &'static [&'static str])],
    /// What it needs of the network; empty for nothing.
    pub network: &'static str,
    /// What the source leaves open or this program does otherwise, and what was chosen.
    pub choices: &'static [&'static str],
}
