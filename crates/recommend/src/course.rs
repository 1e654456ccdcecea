//! How a rate moves over time.

use quell_router::Technology;
use quell_units::{BitRate, Duration};

use crate::span::Span;

/// The part of its mean rate below which a link is out. Chosen.
const OUT: f64 = 0.01;

/// Rates from times on, which begin again after a period.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// Times from the start and the rates from then on, in order.
    pub steps: Vec<(Duration, BitRate)>,
    /// The time after which it begins again.
    pub period: Duration,
}

/// The course of `scenarios/links/lte.toml` as places between its least and its most rate, on a scale of logarithms: it
/// moves within seconds, with its median in the middle.
const SHAPE: [(u64, f64); 12] = [
    (0, 0.71),
    (2, 0.86),
    (3, 1.0),
    (5, 0.77),
    (6, 0.53),
    (8, 0.25),
    (9, 0.0),
    (10, 0.47),
    (12, 0.71),
    (14, 0.91),
    (16, 0.62),
    (18, 0.41),
];

/// The same of `scenarios/links/starlink.toml`: satellites change every 15 s (Mohan et al. 2024, abstract).
const OF_SATELLITES: [(u64, f64); 5] = [(0, 0.57), (12, 1.0), (27, 0.0), (42, 0.74), (57, 0.37)];

impl Course {
    /// A made-up course between two rates, as a technology's are.
    pub fn between(span: Span<BitRate>, technology: &Technology) -> Course {
        let (shape, period): (&[_], _) = match technology.name {
            "starlink" => (&OF_SATELLITES, Duration::from_secs(60)),
            _ => (&SHAPE, Duration::from_secs(20)),
        };
        let (low, high) = (span.least.bps() as f64, span.most.bps() as f64);
        let at = |place: f64| low * libm::exp(place * libm::log(high / low));
        let steps = shape.iter().map(|(s, place)| (Duration::from_secs(*s), rate(at(*place))));
        Course { steps: steps.collect(), period }
    }

    /// The longest time for which the link is out, and the part of all time; none if it never is.
    pub(crate) fn outage(&self) -> Option<(Duration, f64)> {
        let out = OUT * self.mean().bps() as f64;
        let (mut longest, mut now, mut all) = (0.0_f64, 0.0, 0.0);
        for (rate, lasts) in self.parts() {
            let is_out = (rate.bps() as f64) < out;
            now = if is_out { now + lasts } else { 0.0 };
            all += if is_out { lasts } else { 0.0 };
            longest = longest.max(now);
        }
        let share = all / self.period.as_secs_f64().max(f64::MIN_POSITIVE);
        (longest > 0.0).then(|| (Duration::from_secs_f64(longest), share))
    }

    /// Each rate and the seconds for which it lasts.
    fn parts(&self) -> impl Iterator<Item = (BitRate, f64)> {
        let ends = self.steps.iter().skip(1).map(|(at, _)| *at).chain([self.period]);
        let lasts = |at: Duration, end: Duration| (end.as_secs_f64() - at.as_secs_f64()).max(0.0);
        self.steps.iter().zip(ends).map(move |((at, rate), end)| (*rate, lasts(*at, end)))
    }

    /// The rates between which it moves, but for outages: the least is one that it falls short of in 4% of the time at most.
    pub fn span(&self) -> Span<BitRate> {
        let mut parts: Vec<(BitRate, f64)> = self.parts().collect();
        parts.sort_by_key(|(rate, _)| *rate);
        let short = 0.04 * self.period.as_secs_f64();
        let mut passed = 0.0;
        let least = parts.iter().find(|(_, lasts)| {
            passed += lasts;
            passed > short
        });
        let most = parts.last().map(|(rate, _)| *rate).unwrap_or_default();
        Span { least: least.map_or(most, |(rate, _)| *rate), most }
    }

    /// The mean rate of a period.
    pub fn mean(&self) -> BitRate {
        let bits = self.parts().map(|(rate, lasts)| rate.bps() as f64 * lasts);
        rate(bits.sum::<f64>() / self.period.as_secs_f64().max(f64::MIN_POSITIVE))
    }

    /// The rate at a time.
    pub(crate) fn at(&self, time: Duration) -> BitRate {
        let within = Duration::from_nanos(time.nanos() % self.period.nanos().max(1));
        let before = self.steps.partition_point(|(at, _)| *at <= within);
        // Before its first step, it is at its end.
        let step = before.checked_sub(1).map_or(self.steps.last(), |n| self.steps.get(n));
        step.map(|(_, rate)| *rate).unwrap_or_default()
    }

    /// The same with all rates times `factor`.
    #[must_use]
    pub fn times(&self, factor: f64) -> Course {
        let steps = self.steps.iter().map(|(at, r)| (*at, rate(r.bps() as f64 * factor)));
        Course { steps: steps.collect(), period: self.period }
    }
}

/// The nearest rate in whole kilobits per second, or bits below 10 kbit/s.
pub(crate) fn rate(bps: f64) -> BitRate {
    let grid = if bps >= 10_000.0 { 1000.0 } else { 1.0 };
    let rounded = libm::round(bps / grid) * grid;
    BitRate::from_bps(if rounded > 0.0 { rounded as u64 } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand, for a course that changes at 0, 3 and 9 s of 10.
    #[test]
    fn a_course_begins_again_after_its_period() {
        let (s, r) = (Duration::from_secs, BitRate::from_bps);
        let course = Course { steps: vec![(s(0), r(1)), (s(3), r(2)), (s(9), r(3))], period: s(10) };
        let at = [0, 2, 3, 8, 9, 10, 13, 29].map(|time| course.at(s(time)).bps());
        assert_eq!(at, [1, 1, 2, 2, 3, 1, 2, 3]);
    }

    /// By hand: 2 s of 50 without a packet are 4%.
    #[test]
    fn outages_are_found() {
        let (s, r) = (Duration::from_secs, BitRate::from_bps);
        let steps = vec![(s(0), r(12_000_000)), (s(20), r(0)), (s(21), r(1000)), (s(22), r(12_000_000))];
        let course = Course { steps, period: s(50) };
        assert_eq!(course.outage(), Some((s(2), 0.04)));
        assert!(!course.span().moves());
        assert_eq!(Course { steps: vec![(s(0), r(5))], period: s(9) }.outage(), None);
    }

    /// The links whose shapes they have, within what two digits can say.
    #[test]
    fn between_the_rates_of_a_link_it_is_that_of_the_link() {
        let mbit = |n: f64| BitRate::from_bps((n * 1e6) as u64);
        for (name, least, most) in [("lte", 3.0, 24.0), ("starlink", 110.0, 190.0)] {
            let technology = quell_router::technology::find(name).unwrap();
            let course = Course::between(Span { least: mbit(least), most: mbit(most) }, technology);
            let file: toml::Table = quell_presets::find_link(name).unwrap().preset.text.parse().unwrap();
            let list = file["dumbbell"]["changes"]["list"].as_array().unwrap();
            assert_eq!(list.len(), course.steps.len());
            for ((at, rate), said) in course.steps.iter().zip(list) {
                let word = |place: usize, key: &str| match said {
                    toml::Value::Array(pair) => pair[place].as_str().unwrap().to_string(),
                    table => table[key].as_str().unwrap().to_string(),
                };
                assert_eq!(*at, word(0, "at").parse().unwrap());
                let of_link: BitRate = word(1, "rate").parse().unwrap();
                assert!(
                    (rate.bps() as f64 / of_link.bps() as f64 - 1.0).abs() < 0.03,
                    "{name} {at}: {rate} {of_link}"
                );
            }
            assert_eq!(
                course.period,
                file["dumbbell"]["changes"]["repeat"].as_str().unwrap().parse().unwrap()
            );
            assert_eq!(course.span(), Span { least: mbit(least), most: mbit(most) });
        }
        let lte = quell_router::technology::find("lte").unwrap();
        let mean = Course::between(Span { least: mbit(3.0), most: mbit(24.0) }, lte).mean().bps() as f64;
        assert!((mean - 12.55e6).abs() < 0.2e6, "{mean}");
    }
}
