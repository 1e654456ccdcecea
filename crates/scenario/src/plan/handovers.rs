//! Handovers of a link: at regular times, its path becomes another.

use quell_aqm::Seed;
use quell_sim::network::Schedule;
use quell_units::{BitRate, Duration, Time};

use super::measure::at;
use crate::error::{Problem, require};
use crate::limits;
use crate::tree::Path;
use crate::values::{Delay, DelaySpread, Handovers, OneOr};

/// The handovers of a link in one direction.
#[derive(Clone)]
pub(super) struct HandoverPlan {
    spec: Handovers,
    /// The link that they belong to, whose name the draws have in both directions.
    link: String,
    /// The end of the run.
    end: Duration,
}

/// Handovers in a replication.
pub(super) struct Course {
    /// The delay that the path has in addition, from each time on.
    delays: Vec<(Time, Duration)>,
    /// The times during which nothing gets through.
    outages: Vec<(Time, Time)>,
    lost: bool,
    end: Time,
}

impl HandoverPlan {
    /// The plan for what is written at `path`, in a run that lasts until `end`; `idle` says whether it may change nothing.
    pub(super) fn new(
        spec: Handovers,
        link: &str,
        end: Duration,
        idle: bool,
        path: &Path,
    ) -> Result<Self, Problem> {
        let plan = HandoverPlan { spec, link: link.to_string(), end };
        let Handovers { every, first, delay, outage, lost } = spec;
        require(!every.is_zero(), path.then("every"), "must be longer than 0 s")?;
        require(first != Some(Duration::ZERO), path.then("first"), "must be later than 0 s")?;
        let number = plan.times().count() as u64;
        let rule = format!("makes {number} handovers in {end}; at most {} are allowed", limits::STEPS / 2);
        require(number <= limits::STEPS / 2, path.then("every"), rule)?;
        let changes = delay.is_some() || outage.is_some() || idle;
        require(changes, path.clone(), "change nothing: give a delay or an outage")?;
        let order = "must increase from the first value to the second";
        if let Some(delay) = delay {
            let here = path.then("delay");
            let OneOr::Spread(DelaySpread::Uniform([low, high])) = delay else {
                let rule = "must be a table, such as { uniform = [\"0 ms\", \"15 ms\"] }: what never changes is part of the \
                    link's delay";
                return Err(Problem::new(here, rule));
            };
            require(low <= high, here.clone(), order)?;
            let most = Duration::from_secs(limits::DELAY_SECONDS);
            require(high <= most, here, format!("must be at most {most}"))?;
        }
        if let Some(outage) = outage {
            let here = path.then("outage");
            let [low, high] = ends(&outage);
            require(low <= high, here.clone(), order)?;
            let rule = format!("must be shorter than the time from one handover to the next ({every})");
            require(high < every, here, rule)?;
        }
        require(!lost || outage.is_some(), path.then("lost"), "requires an outage")?;
        Ok(plan)
    }

    fn times(&self) -> impl Iterator<Item = Duration> + use<> {
        let Handovers { every, first, .. } = self.spec;
        let end = self.end;
        // One more than are allowed is enough to refuse.
        let most = quell_units::index(limits::STEPS / 2 + 1);
        let next = move |t: &Duration| Some(*t + every);
        std::iter::successors(Some(first.unwrap_or(every)), next).take(most).take_while(move |t| *t < end)
    }

    /// Says whether what is sent into an outage is lost.
    pub(super) fn loses(&self) -> bool {
        self.spec.lost
    }

    /// The handovers of a replication. Delays and outages have a stream each, the same in both directions of the link
    /// and whatever the algorithm.
    pub(super) fn draw(&self, seed: Seed) -> Course {
        let stream = |what: &str| seed.stream(&format!("links.{}.handovers.{what}", self.link));
        let (mut of_delay, mut of_outage) = (stream("delay"), stream("outage"));
        let mut draw = |spread: [Duration; 2], first: bool| {
            let rng = if first { &mut of_delay } else { &mut of_outage };
            spread[0] + (spread[1] - spread[0]).mul_f64(rng.uniform())
        };
        let Handovers { delay, outage, lost, .. } = self.spec;
        let mut course = Course { delays: Vec::new(), outages: Vec::new(), lost, end: at(self.end) };
        if let Some(spread) = delay.as_ref().map(ends) {
            let from = std::iter::once(Duration::ZERO).chain(self.times());
            course.delays = from.map(|t| (at(t), draw(spread, true))).collect();
        }
        if let Some(spread) = outage.as_ref().map(ends) {
            let outages = self.times().map(|t| (at(t), at(t + draw(spread, false))));
            course.outages = outages.filter(|(from, to)| from < to).collect();
        }
        course
    }
}

/// The least and the most of a time.
fn ends(of: &Delay) -> [Duration; 2] {
    match *of {
        OneOr::One(always) => [always; 2],
        OneOr::Spread(DelaySpread::Uniform(ends)) => ends,
    }
}

impl Course {
    /// The delay of a path that is `own` without them.
    pub(super) fn delay(&self, own: Schedule<Duration>) -> Schedule<Duration> {
        if self.delays.is_empty() {
            return own;
        }
        let more = |t: Time| {
            let after = self.delays.partition_point(|(from, _)| *from <= t);
            after.checked_sub(1).map_or(Duration::ZERO, |i| self.delays[i].1)
        };
        let times = self.delays.iter().map(|(t, _)| *t);
        rewritten(&own, times, self.end, |t| own.at(t) + more(t))
    }

    /// The rate of a transmitter that is `own` without them: zero during outages, unless it goes on sending into them.
    pub(super) fn rate(&self, own: &Schedule<BitRate>) -> Schedule<BitRate> {
        if self.lost || self.outages.is_empty() {
            return own.clone();
        }
        let is_out = |t: Time| {
            let after = self.outages.partition_point(|(from, _)| *from <= t);
            after.checked_sub(1).is_some_and(|i| t < self.outages[i].1)
        };
        let times = self.outages.iter().flat_map(|(from, to)| [*from, *to]);
        let rate = |t: Time| if is_out(t) { BitRate::from_bps(0) } else { own.at(t) };
        rewritten(own, times, self.end, rate)
    }

    /// The outages in which the wire loses what is sent.
    pub(super) fn losing(&self) -> Option<&[(Time, Time)]> {
        (self.lost && !self.outages.is_empty()).then_some(&self.outages)
    }
}

/// The schedule of what `value` says at the times of changes of `own`, and at `times`, until `end`.
pub(super) fn rewritten<T: Copy + PartialEq>(
    own: &Schedule<T>,
    times: impl Iterator<Item = Time>,
    end: Time,
    value: impl Fn(Time) -> T,
) -> Schedule<T> {
    let changes = std::iter::successors(Some(Time::ZERO), |t| Some(own.next_change(*t)));
    let mut all: Vec<Time> = changes.take_while(|t| *t < end).chain(times.filter(|t| *t < end)).collect();
    all.sort_unstable();
    all.dedup();
    let initial = value(Time::ZERO);
    let mut list: Vec<(Time, T)> = Vec::with_capacity(all.len());
    for t in all {
        let (now, before) = (value(t), list.last().map_or(initial, |(_, before)| *before));
        if now != before {
            list.push((t, now));
        }
    }
    Schedule::changing(initial, list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::steps;
    use quell_sim::network::Changes;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn starlink(lost: bool) -> HandoverPlan {
        let uniform = |low, high| Some(OneOr::Spread(DelaySpread::Uniform([ms(low), ms(high)])));
        let spec = Handovers {
            every: ms(15_000),
            first: Some(ms(12_000)),
            delay: uniform(0, 15),
            outage: uniform(20, 200),
            lost,
        };
        HandoverPlan::new(spec, "up", ms(600_000), false, &steps!["x"]).unwrap()
    }

    /// At 12, 27, 42 and 57 s past each minute, with the mean and the deviation of a uniform delay: they are those of
    /// ten minutes and 50 seeds.
    #[test]
    fn delays_step_at_their_times_and_are_uniform() {
        let mut all = Vec::new();
        for seed in 0..50 {
            let delay = starlink(false).draw(Seed(seed)).delay(Schedule::constant(ms(20)));
            let mut t = Time::ZERO;
            all.push(delay.initial);
            for n in 0.. {
                t = delay.next_change(t);
                if t == Time::MAX {
                    assert_eq!(n, 40);
                    break;
                }
                assert_eq!(t, at(ms(12_000 + 15_000 * n)));
                all.push(delay.at(t));
            }
        }
        let values: Vec<f64> = all.iter().map(|d| d.as_secs_f64() * 1e3 - 20.0).collect();
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        assert!(values.iter().all(|x| (0.0..=15.0).contains(x)) && n == 2050.0);
        // The standard error of the mean is 15 / sqrt(12 n) = 0.096.
        assert!((mean - 7.5).abs() < 0.4 && (variance / 18.75 - 1.0).abs() < 0.1, "{mean} {variance}");
    }

    /// Rates that change go on below outages, and the time without a rate is that of the outages.
    #[test]
    fn outages_are_cut_out_of_what_the_rate_does() {
        let [low, high] = [1, 2].map(|n| BitRate::from_bps(n * 1_000_000));
        let own =
            Schedule::changing(low, Changes::every(ms(100), vec![(at(ms(0)), low), (at(ms(50)), high)]));
        let course = starlink(false).draw(Seed(1));
        let rate = course.rate(&own);
        assert_eq!((course.outages.len(), course.losing()), (40, None));
        for n in 0..600_000 {
            let t = at(ms(n));
            let out = course.outages.iter().any(|(from, to)| (*from..*to).contains(&t));
            assert_eq!(rate.at(t), if out { BitRate::from_bps(0) } else { own.at(t) }, "{t}");
        }
        let out: Duration = course.outages.iter().fold(Duration::ZERO, |sum, (from, to)| sum + (*to - *from));
        let mean = out.as_secs_f64() / 40.0;
        assert!((0.085..0.135).contains(&mean), "{mean}");
        // The wire loses instead, and the rate is as it was.
        let losing = starlink(true).draw(Seed(1));
        assert_eq!((losing.losing(), losing.rate(&own)), (Some(&course.outages[..]), own));
    }
}
