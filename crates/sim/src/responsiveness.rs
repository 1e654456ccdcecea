//! The arithmetic of responsiveness (draft-ietf-ippm-responsiveness-08): what a client computes while its test runs,
//! and what is computed from its probes afterward.

use crate::outcome::{ForeignProbe, LoadedProbe};

/// The share of the samples, the shortest ones, over which a trimmed mean is taken (the draft's TMP).
pub const TRIMMED: f64 = 0.95;

/// The one-sided trimmed mean of `samples`, which it sorts: the mean of the shortest 95% of them, in whole samples, at
/// least one. `None` if there are none.
pub fn trimmed_mean(samples: &mut [f64]) -> Option<f64> {
    samples.sort_unstable_by(f64::total_cmp);
    let kept = ((samples.len() as f64 * TRIMMED) as usize).max(1);
    Some(samples.get(..kept)?.iter().sum::<f64>() / kept as f64)
}

/// Round trips per minute.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rpm {
    /// On connections of their own: 60 s over the mean of the trimmed means of the three parts.
    pub foreign: Option<f64>,
    /// On the connections of the load.
    pub loaded: Option<f64>,
}

impl Rpm {
    /// That of the probes given.
    pub fn of<'a>(
        foreign: impl Iterator<Item = &'a ForeignProbe> + Clone,
        loaded: impl Iterator<Item = &'a LoadedProbe>,
    ) -> Self {
        let mean = |part: fn(&ForeignProbe) -> f64| {
            trimmed_mean(&mut foreign.clone().map(part).collect::<Vec<f64>>())
        };
        let parts =
            [mean(|p| p.tcp.as_secs_f64()), mean(|p| p.tls.as_secs_f64()), mean(|p| p.http.as_secs_f64())];
        let sum = parts.into_iter().sum::<Option<f64>>();
        let mut times: Vec<f64> = loaded.map(|p| (p.end - p.start).as_secs_f64()).collect();
        Rpm {
            foreign: sum.map(|sum| 60.0 / (sum / 3.0)),
            loaded: trimmed_mean(&mut times).map(|mean| 60.0 / mean),
        }
    }

    /// Both together, with equal weight: the mean of the two; `None` if one is missing.
    pub fn both(self) -> Option<f64> {
        Some((self.foreign? + self.loaded?) / 2.0)
    }
}

/// True if the standard deviation of the last `count` of `averages` is below `tolerance` of the last one; false if there
/// are fewer.
pub fn is_stable(averages: &[f64], count: usize, tolerance: f64) -> bool {
    let Some(last) = averages.len().checked_sub(count).map(|from| &averages[from..]) else { return false };
    let Some(current) = last.last() else { return false };
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    let variance = last.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / last.len() as f64;
    variance.sqrt() < tolerance * current
}

#[cfg(test)]
mod tests {
    use quell_units::{Duration, Time};

    use super::*;

    fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    #[test]
    fn the_longest_twentieth_is_trimmed() {
        let mut samples: Vec<f64> = (1..=40).rev().map(f64::from).collect();
        assert_eq!(trimmed_mean(&mut samples), Some(19.5)); // 1 to 38
        assert_eq!(trimmed_mean(&mut [3.0, 1.0]), Some(1.0));
        assert_eq!((trimmed_mean(&mut [7.0]), trimmed_mean(&mut [])), (Some(7.0), None));
    }

    /// 60000 / ((20 + 40 + 30) / 3) = 2000, 60000 / 60 = 1000, and their mean.
    #[test]
    fn foreign_and_loaded_round_trips_weigh_the_same() {
        let (start, end) = (Time::ZERO, Time::ZERO + ms(90));
        let foreign = [ForeignProbe { start, end, tcp: ms(20), tls: ms(40), http: ms(30) }];
        let loaded = [LoadedProbe { start, end: start + ms(60) }];
        let rpm = Rpm::of(foreign.iter(), loaded.iter());
        let close = |x: Option<f64>, to: f64| assert!((x.unwrap() - to).abs() < 1e-9 * to, "{x:?} {to}");
        close(rpm.foreign, 2000.0);
        close(rpm.loaded, 1000.0);
        close(rpm.both(), 1500.0);
        let idle = Rpm::of(foreign.iter(), [].iter());
        assert_eq!((idle.loaded, idle.both()), (None, None));
    }

    #[test]
    fn averages_are_stable_when_they_deviate_little() {
        let rising = [1.0, 50.0, 98.0, 100.0, 101.0, 100.0];
        assert!(is_stable(&rising, 4, 0.05));
        assert!(!is_stable(&rising[..4], 4, 0.05), "50 is one of them");
        assert!(!is_stable(&rising[..3], 4, 0.05), "there are three");
        assert!(!is_stable(&[0.0; 4], 4, 0.05), "nothing is not stable");
    }
}
