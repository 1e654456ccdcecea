//! What is wrong with the data of a shaper or a tree.

use alloc::string::{String, ToString};
use core::fmt;

/// A value of a shaper or a tree that cannot be, the rule that it breaks, and how to mend it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The class that has it; empty for a shaper.
    pub class: String,
    /// The field.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// The rule: what must hold.
    pub rule: String,
    /// How to mend it.
    pub fix: String,
}

impl Refused {
    pub(crate) fn new(
        class: &str,
        field: &'static str,
        value: impl ToString,
        rule: impl ToString,
        fix: impl ToString,
    ) -> Self {
        Refused {
            class: class.to_string(),
            field,
            value: value.to_string(),
            rule: rule.to_string(),
            fix: fix.to_string(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Refused { class, field, value, rule, fix } = self;
        match class.as_str() {
            "" => write!(f, "{field} = {value}: {rule}; {fix}"),
            class => write!(f, "class `{class}`: {field} = {value}: {rule}; {fix}"),
        }
    }
}

impl core::error::Error for Refused {}
