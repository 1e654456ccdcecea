//! Numbers as people read them.

/// A number with three or four figures.
pub(crate) fn figure(x: f64) -> String {
    if x == 0.0 {
        return "0".to_string();
    }
    let text = rounded(x, 3 - x.abs().log10().floor() as i32);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A number to so many digits behind the point, at most six, or in front of it if there are fewer than none.
pub(crate) fn rounded(x: f64, digits: i32) -> String {
    if digits < 0 {
        let unit = 10f64.powi(-digits);
        return format!("{:.0}", (x / unit).round() * unit);
    }
    format!("{x:.*}", digits.min(6) as usize)
}
