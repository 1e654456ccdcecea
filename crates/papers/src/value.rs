//! The values that printed numbers are compared with: a metric and a factor of units.

use std::str::FromStr;

use quell_lab::Quantity;

/// A quantity times a number: `100 * loss_rate[data]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// The number.
    pub factor: f64,
    /// The quantity.
    pub quantity: Quantity,
}

/// `NUMBER * QUANTITY` apart; without a number it is 1.
pub(crate) fn factored(text: &str) -> Result<(f64, &str), String> {
    let Some((factor, quantity)) = text.split_once('*') else { return Ok((1.0, text.trim())) };
    let number = factor.trim().parse().ok().filter(|x: &f64| x.is_finite());
    let error = || format!("\"{}\": must be a number, as in \"100 * loss_rate\"", factor.trim());
    Ok((number.ok_or_else(error)?, quantity.trim()))
}

impl FromStr for Value {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (factor, quantity) = factored(text)?;
        Ok(Value { factor, quantity: quantity.parse()? })
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.factor {
            1.0 => write!(f, "{}", self.quantity),
            factor => write!(f, "{factor} * {}", self.quantity),
        }
    }
}
