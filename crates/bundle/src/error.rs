//! The reasons why a bundle could not be made, opened or computed again.

/// The reason why a bundle could not be made, opened or computed again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// A file that is not a bundle, an input that is not there: what was given is wrong.
    #[error("{0}")]
    BadInput(String),
    /// A bundle differs from the one that was made, or something else went wrong.
    #[error("{0}")]
    Failed(String),
    /// It was stopped from outside.
    #[error("stopped")]
    Stopped,
}
