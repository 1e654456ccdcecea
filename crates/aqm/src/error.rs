//! The error of a parameter that breaks a rule.

use alloc::format;
use alloc::string::{String, ToString};

/// A parameter that cannot be built: which, what it was, and the rule it breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// The field's name, as in a scenario file.
    pub field: &'static str,
    /// Its value, with its unit.
    pub value: String,
    /// The rule, with its source where it has one, and what would satisfy it.
    pub rule: String,
}

impl ParamError {
    /// An error about `field`, whose value is `value`.
    pub fn new(field: &'static str, value: impl ToString, rule: impl Into<String>) -> Self {
        let mut value = value.to_string();
        // Written out, 1e300 has 301 digits.
        if let (true, Ok(x)) = (value.len() > 20, value.parse::<f64>()) {
            value = format!("{x:e}");
        }
        ParamError { field, value, rule: rule.into() }
    }
}

impl core::fmt::Display for ParamError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} = {}: {}", self.field, self.value, self.rule)
    }
}

impl core::error::Error for ParamError {}

/// Refuses `field` unless `ok`; the rule is a sentence such as "must exceed min_th (20 packets)".
pub fn require(
    ok: bool,
    field: &'static str,
    value: impl ToString,
    rule: impl Into<String>,
) -> Result<(), ParamError> {
    if ok { Ok(()) } else { Err(ParamError::new(field, value, rule)) }
}

/// Refuses a parameter, which is named as its field is, unless a condition holds; the rule is a format string:
/// `require!(self.limit > self.target, self.limit, "must be longer than target ({})", self.target)`.
macro_rules! require {
    (@ $ok:expr, $field:ident, $value:expr, $($rule:tt)+) => {
        match $ok {
            true => Ok(()),
            false => Err($crate::params::ParamError::new(stringify!($field), $value, alloc::format!($($rule)+))),
        }
    };
    ($ok:expr, $of:ident.$field:ident, $($rule:tt)+) => {
        require!(@ $ok, $field, $of.$field, $($rule)+)
    };
    ($ok:expr, $field:ident, $($rule:tt)+) => {
        require!(@ $ok, $field, $field, $($rule)+)
    };
}
