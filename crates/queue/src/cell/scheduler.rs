//! Whose turn a transmission interval is.

use alloc::vec::Vec;

use quell_units::Duration;

/// The rule by which a cell gives each transmission interval to one user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Proportional fair: the user whose rate is the largest multiple of what it has been getting. That is an average
    /// with weights that fall exponentially with age; `window` is their mean age, the t_c of Viswanath et al.
    /// (2002). At least one interval.
    ProportionalFair {
        /// The memory of the average.
        window: Duration,
    },
    /// Each in its turn.
    RoundRobin,
    /// The user with the highest rate; equals take turns.
    MaxRate,
}

/// The order in which users are served.
#[derive(Clone, Debug)]
pub struct Scheduler {
    policy: Policy,
    /// The part of an average that is left after an interval, and the part that comes in.
    keep: f64,
    take: f64,
    /// What each user has been getting in an interval; only proportional fairness asks.
    averages: Vec<f64>,
    /// The number of the interval to whose start the averages belong, and what users got in it, which they lack.
    at: u64,
    got: Vec<(usize, f64)>,
    /// The user that was served last.
    last: usize,
}

impl Scheduler {
    /// The order of so many users.
    pub fn new(policy: Policy, interval: Duration, users: usize) -> Self {
        let take = match policy {
            Policy::ProportionalFair { window } => {
                interval.nanos() as f64 / window.nanos().max(interval.nanos()) as f64
            }
            _ => 1.0,
        };
        Scheduler {
            policy,
            keep: 1.0 - take,
            take,
            averages: alloc::vec![0.0; users],
            at: 0,
            got: Vec::with_capacity(users),
            last: users.saturating_sub(1),
        }
    }

    /// The user that gets interval `number`, or what is left of it; `capacity` is what each user can receive in it, 0 if
    /// nothing waits for it. None if all are 0. Of equals, the one whose turn is next. Numbers never decrease.
    pub fn pick(&mut self, number: u64, capacity: &[u128]) -> Option<usize> {
        self.age(number);
        let users = capacity.len();
        let mut best: Option<(usize, f64)> = None;
        for nth in 1..=users {
            let user = (self.last + nth) % users;
            if capacity[user] == 0 {
                continue;
            }
            let rate = capacity[user] as f64;
            let better = match (self.policy, best) {
                (_, None) => true,
                (Policy::RoundRobin, Some(_)) => break,
                (Policy::MaxRate, Some((_, other))) => rate > other,
                // Averages may be zero, so nothing divides by them.
                (Policy::ProportionalFair { .. }, Some((before, other))) => {
                    rate * self.averages[before] > other * self.averages[user]
                }
            };
            if better {
                best = Some((user, rate));
            }
        }
        best.map(|(user, _)| user)
    }

    /// A user was given the interval that was picked for last, and got this much of it.
    pub fn served(&mut self, user: usize, amount: u128) {
        self.last = user;
        if let Policy::ProportionalFair { .. } = self.policy {
            self.got.push((user, amount as f64));
        }
    }

    /// Brings the averages to the start of interval `number`.
    fn age(&mut self, number: u64) {
        let Policy::ProportionalFair { .. } = self.policy else { return };
        let passed = number.saturating_sub(self.at);
        if passed == 0 {
            return;
        }
        self.at = number;
        let kept = power(self.keep, passed - 1);
        let all = kept * self.keep;
        self.averages.iter_mut().for_each(|average| *average *= all);
        for (user, amount) in self.got.drain(..) {
            self.averages[user] += kept * self.take * amount;
        }
    }
}

/// x to the power n, by the same multiplications on every platform.
fn power(mut x: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 {
        if n % 2 == 1 {
            result *= x;
        }
        x *= x;
        n /= 2;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Viswanath et al. (2002): T(m + 1) = (1 - 1/t_c) T(m) + R/t_c for the user that is served, and without
    /// the last term for others, also where no interval is used for long.
    #[test]
    fn averages_are_those_of_the_recursion() {
        let window = Duration::from_millis(20);
        let mut scheduler = Scheduler::new(Policy::ProportionalFair { window }, MS, 3);
        let mut averages = [0.0_f64; 3];
        let mut at = 0;
        for (i, number) in [0, 1, 2, 5, 6, 107, 108, 109, 400].into_iter().enumerate() {
            for _ in at..number {
                averages.iter_mut().for_each(|average| *average *= 1.0 - 1.0 / 20.0);
            }
            let capacity = [100 + i as u128, 250, 40 * (i as u128 % 3)];
            let metric = |user: &usize| capacity[*user] as f64 / averages[*user].max(1e-300);
            let wanted = (0..3).filter(|user| capacity[*user] > 0);
            let wanted = wanted.max_by(|a, b| metric(a).total_cmp(&metric(b))).unwrap();
            let found = scheduler.pick(number, &capacity).unwrap();
            // While several have got nothing yet, they take turns.
            if averages.iter().filter(|average| **average < 1e-9).count() < 2 {
                assert_eq!(found, wanted, "{number}: {averages:?}");
            }
            scheduler.served(found, capacity[found]);
            averages.iter_mut().for_each(|average| *average *= 1.0 - 1.0 / 20.0);
            averages[found] += capacity[found] as f64 / 20.0;
            at = number + 1;
        }
        scheduler.age(401);
        for (found, wanted) in scheduler.averages.iter().zip(averages) {
            assert!((found / wanted - 1.0).abs() < 1e-12, "{found} {wanted}");
        }
    }

    #[test]
    fn turns_pass_over_those_who_wait_for_nothing() {
        let mut scheduler = Scheduler::new(Policy::RoundRobin, MS, 4);
        let mut order = Vec::new();
        for number in 0..6 {
            let user = scheduler.pick(number, &[1, 0, 9, 3]).unwrap();
            scheduler.served(user, 1);
            order.push(user);
        }
        assert_eq!(order, [0, 2, 3, 0, 2, 3]);
        assert_eq!(scheduler.pick(6, &[0; 4]), None);
    }

    #[test]
    fn the_highest_rate_wins_and_equals_take_turns() {
        let mut scheduler = Scheduler::new(Policy::MaxRate, MS, 3);
        let mut pick = |number, capacity: [u128; 3]| {
            let user = scheduler.pick(number, &capacity).unwrap();
            scheduler.served(user, 1);
            user
        };
        let found = [[5, 6, 6], [5, 6, 6], [5, 6, 6], [7, 6, 6]];
        let found: Vec<usize> = (0..).zip(found).map(|(number, capacity)| pick(number, capacity)).collect();
        assert_eq!(found, [1, 2, 1, 0]);
    }
}
