//! Columns of figures.

pub use quell_view::figures::{Figure, Scale, round, round_within, scale_of};

/// Cells of one column with the decimal points and the signs "±" below each other.
pub fn align(figures: &[Option<Figure>]) -> Vec<String> {
    let split = |s: &str| s.find('.').map_or((s.len(), 0), |at| (at, s.len() - at));
    let present = || figures.iter().flatten();
    let means = || present().map(|f| split(&f.mean));
    let whole = means().map(|m| m.0).max().unwrap_or(0);
    let fraction = means().map(|m| m.1).max().unwrap_or(0);
    let half = present().map(|f| f.interval().chars().count()).max().filter(|most| *most > 0);
    let cell = |figure: &Figure| {
        let (w, f) = split(&figure.mean);
        let mut text = format!("{:1$}{2}{3:4$}", "", whole - w, figure.mean, "", fraction - f);
        if let Some(width) = half {
            text.push_str(&format!(" {:<width$}", figure.interval()));
        }
        text
    };
    figures.iter().map(|f| f.as_ref().map_or_else(|| "–".to_string(), cell)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_at_the_point() {
        let figure = |mean: &str, half: Option<&str>| {
            Some(Figure { mean: mean.into(), half_width: half.map(str::to_string), ends: None })
        };
        let cells = align(&[
            figure("98.35", Some("0.04")),
            figure("8.346", Some("0.013")),
            figure("100", Some("0")),
            None,
            figure("1.5", None),
        ]);
        assert_eq!(cells[0], " 98.35  ± 0.04 ");
        assert_eq!(cells[1], "  8.346 ± 0.013");
        assert_eq!(cells[2], "100     ± 0    ");
        assert_eq!(cells[3], "–");
        assert_eq!(cells[4], "  1.5          ");
    }
}
