//! The distribution of the queue over time.

use quell_metrics::{LinkSeries, Replication};

/// Steps of bins and grids: of these the least that gives no more bins than wanted.
const STEPS: [usize; 3] = [1, 2, 5];
/// Bins of a density.
const BINS: usize = 60;
/// Places of a distribution function.
const PLACES: usize = 400;

/// Places along an axis, and the values of each curve there.
pub(crate) type Curves = (Vec<f64>, Vec<Vec<f64>>);

/// The share of the measured window in which a number of packets waited, for each number from 0 on: of the
/// equally spaced samples, the mean over replications. Empty if there is none.
pub(crate) fn shares(replications: &[&Replication], link: &str, (from, to): (f64, f64)) -> Vec<f64> {
    let mut shares: Vec<f64> = Vec::new();
    let mut runs = 0.0;
    for series in replications.iter().filter_map(|r| r.series.iter().find(|s| s.link == link)) {
        let within = samples(series, from, to);
        if within.is_empty() {
            continue;
        }
        runs += 1.0;
        for queue in &within {
            if *queue >= shares.len() {
                shares.resize(queue + 1, 0.0);
            }
            shares[*queue] += 1.0 / within.len() as f64;
        }
    }
    shares.iter_mut().for_each(|s| *s /= runs);
    shares
}

/// The samples within a window, in whole packets.
fn samples(series: &LinkSeries, from: f64, to: f64) -> Vec<usize> {
    // A sample stands at the end of its step; ends of windows have the noise of binary fractions.
    let slack = 1e-9 * to.abs();
    let inside = |t: f64| t > from + slack && t <= to + slack;
    let all = series.time_s.iter().zip(&series.queue_packets);
    all.filter(|(t, q)| inside(**t) && q.is_finite() && **q >= 0.0).map(|(_, q)| q.round() as usize).collect()
}

/// The least of 1, 2, 5, 10, ... that divides `packets` into at most `most` parts.
fn step(packets: usize, most: usize) -> usize {
    let mut power = 1;
    loop {
        if let Some(s) = STEPS.iter().map(|s| s * power).find(|s| packets.div_ceil(*s) <= most) {
            return s;
        }
        power *= 10;
    }
}

/// The distribution function: numbers of packets, and for each of several `shares` the share of time in which no
/// more waited.
pub(crate) fn cdf(shares: &[Vec<f64>]) -> Curves {
    let top = shares.iter().map(Vec::len).max().unwrap_or(0);
    let step = step(top, PLACES);
    // The last place is at or beyond the longest queue.
    let places: Vec<usize> = (0..=top.saturating_sub(1).div_ceil(step)).map(|k| k * step).collect();
    let of = |shares: &Vec<f64>| {
        let mut sum = 0.0;
        let mut next = 0;
        let below = |place: &usize| {
            let upto = (place + 1).min(shares.len());
            sum += shares[next.min(upto)..upto].iter().sum::<f64>();
            next = upto;
            sum
        };
        places.iter().map(below).collect()
    };
    (places.iter().map(|p| *p as f64).collect(), shares.iter().map(of).collect())
}

/// The density: the middles of bins, and for each of several `shares` the share of time per packet.
pub(crate) fn pdf(shares: &[Vec<f64>]) -> Curves {
    let top = shares.iter().map(Vec::len).max().unwrap_or(0);
    let width = step(top, BINS);
    let bins = top.div_ceil(width);
    let middle = |k: usize| k as f64 * width as f64 + (width as f64 - 1.0) / 2.0;
    let of = |shares: &Vec<f64>| {
        let bin = |k: usize| {
            let inside = shares.iter().skip(k * width).take(width);
            inside.sum::<f64>() / width as f64
        };
        (0..bins).map(bin).collect()
    };
    ((0..bins).map(middle).collect(), shares.iter().map(of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replication(queue: &[f64]) -> Replication {
        let series = LinkSeries {
            link: "l".into(),
            time_s: (1..=queue.len()).map(|i| i as f64).collect(),
            queue_packets: queue.to_vec(),
            ..LinkSeries::default()
        };
        Replication { series: vec![series], ..Replication::default() }
    }

    #[test]
    fn shares_of_time_are_those_of_the_window() {
        // The first sample is the warm-up's.
        let a = replication(&[9.0, 0.0, 0.0, 2.0, 3.0]);
        let b = replication(&[9.0, 2.0, 2.0, 2.0, 2.0]);
        let both = shares(&[&a, &b], "l", (1.0, 5.0));
        assert_eq!(both, [0.25, 0.0, 0.625, 0.125]);
        assert_eq!(
            cdf(std::slice::from_ref(&both)),
            (vec![0.0, 1.0, 2.0, 3.0], vec![vec![0.25, 0.25, 0.875, 1.0]])
        );
        assert_eq!(pdf(&[both]), (vec![0.0, 1.0, 2.0, 3.0], vec![vec![0.25, 0.0, 0.625, 0.125]]));
        assert!(shares(&[&a], "other", (1.0, 5.0)).is_empty());
    }

    #[test]
    fn long_queues_have_bins_and_keep_their_area() {
        let even = vec![0.001; 1000];
        let (middles, density) = pdf(&[even.clone(), vec![1.0]]);
        assert_eq!((middles.len(), middles[0], middles[49]), (50, 9.5, 989.5));
        assert!(density[0].iter().all(|d| (d - 0.001).abs() < 1e-12));
        assert_eq!(density[1][..2], [0.05, 0.0]);
        let (places, shares) = cdf(&[even]);
        assert_eq!((places[1], places[200]), (5.0, 1000.0));
        // At five packets: those of 0 to 5.
        assert!((shares[0][1] - 0.006).abs() < 1e-12 && (shares[0][200] - 1.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_gives_nothing() {
        assert_eq!(pdf(&[]).0.len(), 0);
        assert_eq!(cdf(&[Vec::new()]).1, [[0.0]]);
    }
}
