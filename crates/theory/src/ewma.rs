//! What an exponentially weighted average knows (fuzzy 4.3).
