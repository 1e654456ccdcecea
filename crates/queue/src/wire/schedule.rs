//! Values that change at given times.

use alloc::sync::Arc;
use alloc::vec::Vec;

use quell_units::{BitRate, Duration, Time};

/// A value that may change at given times.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule<T> {
    /// The value at the start.
    pub initial: T,
    changes: Option<Arc<Changes<T>>>,
}

/// Changes of a value: once, or over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes<T> {
    /// The values in rising order of time; each holds from its time on.
    list: Vec<(Time, T)>,
    /// After this long, which is later than all of them, they come again.
    period: Option<Duration>,
}

impl<T> Changes<T> {
    /// Changes that come once, in rising order of time.
    pub fn once(list: Vec<(Time, T)>) -> Self {
        Changes { list, period: None }
    }

    /// Changes that come again after each `period`, all of them earlier than that.
    pub fn every(period: Duration, list: Vec<(Time, T)>) -> Self {
        Changes { list, period: Some(period) }
    }

    /// The changes, each once, in order.
    pub fn list(&self) -> &[(Time, T)] {
        &self.list
    }

    /// The number that come before `end`, roughly if they repeat.
    pub fn count(&self, end: Time) -> u64 {
        let rounds = self.period.map_or(1, |p| end.nanos() / p.nanos().max(1) + 1);
        rounds.saturating_mul(self.list.len() as u64)
    }

    /// The reason why they cannot be followed, if they cannot.
    pub fn fault(&self) -> Option<&'static str> {
        if !self.list.windows(2).all(|w| w[0].0 < w[1].0) {
            return Some("the times of changes must increase");
        }
        let last = self.list.last().map_or(0, |c| c.0.nanos());
        let fits = self.period.is_none_or(|p| p.nanos() > last);
        (!fits).then_some("changes that repeat must all be earlier than their period")
    }
}

impl<T> From<Vec<(Time, T)>> for Changes<T> {
    fn from(list: Vec<(Time, T)>) -> Self {
        Changes::once(list)
    }
}

impl<T: Copy> Schedule<T> {
    /// A value that never changes.
    pub fn constant(x: T) -> Self {
        Schedule { initial: x, changes: None }
    }

    /// A value that is `initial` until the first of `changes`.
    pub fn changing(initial: T, changes: impl Into<Changes<T>>) -> Self {
        Self::following(initial, &Arc::new(changes.into()))
    }

    /// [`Schedule::changing`] for changes that others follow as well.
    pub fn following(initial: T, changes: &Arc<Changes<T>>) -> Self {
        Schedule { initial, changes: (!changes.list.is_empty()).then(|| changes.clone()) }
    }

    /// Says whether it never changes.
    pub fn is_constant(&self) -> bool {
        self.changes.is_none()
    }

    /// The values that it takes, in order; those that repeat once.
    pub fn values(&self) -> impl Iterator<Item = T> {
        let changes = self.changes.iter().flat_map(|c| &c.list);
        core::iter::once(self.initial).chain(changes.map(|c| c.1))
    }

    /// Says whether it may step from a value to the next one that `steps` accepts.
    pub fn ever(&self, steps: impl Fn(T, T) -> bool) -> bool {
        let Some(changes) = &self.changes else { return false };
        // What repeats goes from its last value to its first.
        let again = changes.period.and(changes.list.first()).map(|c| c.1);
        let mut before = self.initial;
        self.values().skip(1).chain(again).any(|x| steps(core::mem::replace(&mut before, x), x))
    }

    /// A schedule of what `f` makes of each value.
    pub fn map<U: Copy>(&self, f: impl Fn(T) -> U) -> Schedule<U> {
        let changes = self.changes.as_ref().map(|c| {
            let list = c.list.iter().map(|(t, x)| (*t, f(*x))).collect();
            Arc::new(Changes { list, period: c.period })
        });
        Schedule { initial: f(self.initial), changes }
    }

    /// The value at `t`.
    pub fn at(&self, t: Time) -> T {
        let Some(changes) = &self.changes else { return self.initial };
        let (round, t) = changes.fold(t);
        match changes.list.partition_point(|(from, _)| *from <= t) {
            0 if round == 0 => self.initial,
            0 => changes.list.last().map_or(self.initial, |c| c.1),
            n => changes.list[n - 1].1,
        }
    }

    /// The time of its first change after `t`; [`Time::MAX`] if there is none.
    pub fn next_change(&self, t: Time) -> Time {
        let Some(changes) = &self.changes else { return Time::MAX };
        let (round, t) = changes.fold(t);
        let next = changes.list.partition_point(|(from, _)| *from <= t);
        ToCome { changes: Some(changes.clone()), next, base: round, due: Time::ZERO }.found().due
    }

    /// Its changes, one after the other.
    pub fn to_come(&self) -> ToCome<T> {
        ToCome { changes: self.changes.clone(), next: 0, base: 0, due: Time::ZERO }.found()
    }

    /// The reason why it cannot be followed, if it cannot.
    pub fn fault(&self) -> Option<&'static str> {
        self.changes.as_ref()?.fault()
    }
}

impl Schedule<BitRate> {
    /// The mean from the start until `end`, in bit/s, however often the changes repeat.
    pub fn mean(&self, end: Duration) -> f64 {
        let Some(changes) = &self.changes else { return self.initial.bps() as f64 };
        // What is carried in a round until `end`, beginning with the rate `before`.
        let bits = |before: BitRate, end: u64| {
            let (mut rate, mut from, mut sum) = (before, 0, 0.0);
            for (at, next) in changes.list.iter().take_while(|(at, _)| at.nanos() < end) {
                sum += rate.bps() as f64 * (at.nanos() - from) as f64;
                (rate, from) = (*next, at.nanos());
            }
            sum + rate.bps() as f64 * (end - from) as f64
        };
        let (end, period) = (end.nanos(), changes.period.map_or(u64::MAX, |p| p.nanos().max(1)));
        let sum = match end.checked_sub(period) {
            None => bits(self.initial, end),
            Some(after) => {
                let last = changes.list.last().map_or(self.initial, |c| c.1);
                let whole = (after / period) as f64 * bits(last, period);
                bits(self.initial, period) + whole + bits(last, after % period)
            }
        };
        sum / end.max(1) as f64
    }
}

impl<T> Changes<T> {
    /// The beginning of the round that `t` falls into, in nanoseconds, and how far it is by then.
    fn fold(&self, t: Time) -> (u64, Time) {
        let into = self.period.map_or(t.nanos(), |p| t.nanos() % p.nanos().max(1));
        (t.nanos() - into, Time::from_nanos(into))
    }
}

/// The changes of a [`Schedule`] that are still to come: however many there are, taking the next one costs
/// the same.
#[derive(Clone, Debug)]
pub struct ToCome<T> {
    changes: Option<Arc<Changes<T>>>,
    /// The next one's number.
    next: usize,
    /// The beginning of this round, in nanoseconds.
    base: u64,
    due: Time,
}

impl<T: Copy> ToCome<T> {
    /// The time of the next one; [`Time::MAX`] if there is none.
    #[inline]
    pub fn due(&self) -> Time {
        self.due
    }

    /// Takes the next one.
    pub fn pop(&mut self) -> Option<T> {
        let value = self.changes.as_ref()?.list.get(self.next)?.1;
        self.next += 1;
        self.find();
        Some(value)
    }

    /// Takes all that come at or before `t`; the value from the last of them on, if there are any.
    pub fn pop_until(&mut self, t: Time) -> Option<T> {
        if let Some(period) = self.changes.as_ref().and_then(|c| c.period)
            && self.due <= t
        {
            // Of many rounds only the last one matters.
            let rounds = (t.nanos() - self.base) / period.nanos();
            self.base += rounds.saturating_sub(1) * period.nanos();
            self.find();
        }
        let mut last = None;
        while self.due <= t
            && let Some(value) = self.pop()
        {
            last = Some(value);
        }
        last
    }

    fn found(mut self) -> Self {
        self.find();
        self
    }

    fn find(&mut self) {
        self.due = Time::MAX;
        let Some(changes) = &self.changes else { return };
        if let (Some(period), true) = (changes.period, self.next >= changes.list.len()) {
            (self.next, self.base) = (0, self.base.saturating_add(period.nanos()));
        }
        if let Some((t, _)) = changes.list.get(self.next) {
            self.due = Time::from_nanos(self.base.saturating_add(t.nanos()));
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// What repeats is what the list written out as often would be, and what is to come is what
        /// `at` and `next_change` say.
        #[test]
        fn a_period_is_a_list_written_out(
            times in prop::collection::btree_set(0u64..50, 1..8),
            more in 1u64..20,
            asked in prop::collection::vec(0u64..400, 1..20),
        ) {
            let period = times.last().unwrap() + more;
            let list: Vec<_> = times.iter().map(|t| (Time::from_nanos(*t), *t + 1)).collect();
            let rounds = (0..400).step_by(period as usize);
            let written: Vec<_> = rounds
                .flat_map(|base| list.iter().map(move |(t, x)| (Time::from_nanos(base + t.nanos()), *x)))
                .collect();
            let short = Schedule::changing(0, Changes::every(Duration::from_nanos(period), list));
            let long = Schedule::changing(0, written.clone());
            prop_assert!(short.fault().is_none() && long.fault().is_none());
            for t in &asked {
                let rates = [&short, &long].map(|s| s.map(BitRate::from_bps).mean(Duration::from_nanos(*t)));
                let sum: u64 = (0..*t).map(|t| long.at(Time::from_nanos(t))).sum();
                let mean = sum as f64 / (*t).max(1) as f64;
                prop_assert!(rates.iter().all(|x| (x - mean).abs() <= 1e-9 * mean), "{} {:?} {}", t, rates, mean);
            }
            for t in asked {
                let t = Time::from_nanos(t);
                prop_assert_eq!(short.at(t), long.at(t));
                if long.next_change(t) < Time::MAX {
                    prop_assert_eq!(short.next_change(t), long.next_change(t));
                }
            }
            let mut steps = short.to_come();
            for t in [5, 30, 77, 390].map(Time::from_nanos) {
                let last = steps.pop_until(t);
                prop_assert!(last.is_none_or(|x| x == short.at(t)));
                prop_assert_eq!(steps.due(), short.next_change(t));
            }
            let mut to_come = short.to_come();
            for (t, x) in written {
                prop_assert_eq!(to_come.due(), t);
                prop_assert_eq!(to_come.pop(), Some(x));
            }
        }
    }
}
