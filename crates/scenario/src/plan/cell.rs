//! The cell of a link: users who share its transmission intervals.

use quell_queue::Policy;
use quell_sim::network::Schedule;
use quell_units::{BitRate, Bytes, Duration, QueueSize};

use super::classes::{self, Classes};
use super::handovers::rewritten;
use super::measure::at;
use crate::error::{Problem, require};
use crate::files::Loaded;
use crate::format::{Cell, CellUser, TrafficClass};
use crate::limits;
use crate::tree::Path;
use crate::values::CellScheduler;

/// The transmission interval that nobody sets: a subframe of LTE, 1 ms.
pub(super) const INTERVAL: Duration = Duration::from_millis(1);

/// The memory of proportional fairness that nobody sets.
pub(super) const WINDOW: Duration = Duration::from_secs(1);

/// The users of a link, beside what [`Classes`] say of them: their names, queues and packets.
pub(super) struct CellPlan {
    pub(super) policy: Policy,
    pub(super) interval: Duration,
    /// The rates of their channels, in the order of the leaves.
    pub(super) rates: Vec<Schedule<BitRate>>,
    /// The rates that their algorithms are built for.
    pub(super) known: Vec<BitRate>,
    /// True if a user has the rate of the link.
    pub(super) follows: bool,
}

/// The cell that is written at `path`; `rate` gives the rate of the channel of a user that is written at a path.
pub(super) fn cell(
    s: Loaded<'_>,
    written: &Cell,
    (largest, buffer): (Bytes, QueueSize),
    path: &Path,
    rate: impl Fn(&CellUser, &Path) -> Result<Schedule<BitRate>, Problem>,
) -> Result<(CellPlan, Classes), Problem> {
    let interval = written.interval.unwrap_or(INTERVAL);
    let [least, most] = [Duration::from_micros(10), Duration::from_secs(1)];
    let rule = format!("must lie between {least} and {most}");
    require((least..=most).contains(&interval), path.then("interval"), rule)?;
    let window = written.window.unwrap_or(WINDOW.max(interval));
    let here = path.then("window");
    let fair = written.scheduler == CellScheduler::ProportionalFair;
    let rule = "is the memory of scheduler = \"proportional-fair\"; leave it out";
    require(fair || written.window.is_none(), here.clone(), rule)?;
    let rule = format!("must be at least an interval ({interval})");
    require(window >= interval, here.clone(), rule)?;
    let most = Duration::from_secs(limits::SECONDS);
    require(window <= most, here, format!("must be at most {most}"))?;
    let policy = match written.scheduler {
        CellScheduler::ProportionalFair => Policy::ProportionalFair { window },
        CellScheduler::RoundRobin => Policy::RoundRobin,
        CellScheduler::MaxRate => Policy::MaxRate,
    };
    let users_at = path.then("users");
    let all: Vec<TrafficClass> = written.users.iter().map(as_class).collect();
    let of_users = |problem: Problem| Problem { rule: of_users(&problem.rule), ..problem };
    let users = classes::classes(&s, &all, largest, buffer, &users_at).map_err(of_users)?;
    let Some(users) = users else {
        let rule = "must have a user, such as { name = \"phone\" }";
        return Err(Problem::new(users_at, rule));
    };
    let mut rates = Vec::with_capacity(users.leaves.len());
    for (i, user) in written.users.iter().enumerate() {
        let here = users_at.then(i);
        let first = rate(user, &here)?;
        let count = user.repeat.unwrap_or(1);
        let Some(shift) = user.shift else {
            rates.extend((0..count).map(|_| first.clone()));
            continue;
        };
        let rule = "requires a repeat of at least 2: it is the time from one user's rates to the next one's";
        require(count > 1, here.then("shift"), rule)?;
        let rule = "requires rates that change: give changes";
        require(!first.is_constant(), here.then("shift"), rule)?;
        rates.extend((0..u64::from(count)).map(|copy| shifted(&first, shift * copy, s.duration)));
    }
    let share = |rate: &Schedule<BitRate>| rate.mean(s.duration) / rates.len() as f64;
    let known = rates.iter().map(|rate| BitRate::from_bps(share(rate).max(1.0) as u64)).collect();
    let follows = written.users.iter().any(|user| user.rate.is_none());
    Ok((CellPlan { policy, interval, rates, known, follows }, users))
}

/// A user as a class: what has a name, a match and a queue.
fn as_class(user: &CellUser) -> TrafficClass {
    TrafficClass {
        name: user.name.clone(),
        parent: None,
        repeat: user.repeat,
        rate: None,
        ceil: None,
        burst: None,
        cburst: None,
        quantum: None,
        priority: None,
        traffic: user.traffic.clone(),
        aqm: user.aqm.clone(),
        buffer: user.buffer,
    }
}

/// A rule of classes in words of users.
pub(super) fn of_users(rule: &str) -> String {
    rule.replace("leaves", "users").replace("leaf", "user").replace("class", "user")
}

/// The rate that is another one's after the time `by`.
fn shifted(rate: &Schedule<BitRate>, by: Duration, end: Duration) -> Schedule<BitRate> {
    if by.is_zero() {
        return rate.clone();
    }
    let first = at(by);
    let changes = std::iter::successors(Some(rate.next_change(first)), |t| Some(rate.next_change(*t)));
    let times = changes.map(|t| at(t.since(first))).take_while(|t| *t < at(end));
    rewritten(&Schedule::constant(rate.at(first)), times, at(end), |t| rate.at(t + by))
}

/// The cell with every default in its place.
pub(super) fn complete(cell: &mut Cell, buffer: Option<QueueSize>) {
    let interval = *cell.interval.get_or_insert(INTERVAL);
    if cell.scheduler == CellScheduler::ProportionalFair {
        cell.window = cell.window.or(Some(WINDOW.max(interval)));
    }
    for user in &mut cell.users {
        user.buffer = user.buffer.or(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_sim::network::Changes;
    use quell_units::Time;

    #[test]
    fn a_shifted_rate_is_the_same_later_in_its_course() {
        let mbit = |n: u64| BitRate::from_bps(n * 1_000_000);
        let ms = |n| at(Duration::from_millis(n));
        let list = vec![(ms(0), mbit(3)), (ms(40), mbit(0)), (ms(70), mbit(9))];
        for rate in [
            Schedule::changing(mbit(3), Changes::every(Duration::from_millis(100), list.clone())),
            Schedule::changing(mbit(5), list),
        ] {
            for by in [0, 1, 39, 40, 70, 99, 100, 250] {
                let later = shifted(&rate, Duration::from_millis(by), Duration::from_secs(1));
                for t in 0..1000 {
                    assert_eq!(later.at(ms(t)), rate.at(ms(t + by)), "{t} ms, later by {by} ms");
                }
            }
        }
        assert_eq!(
            shifted(&Schedule::constant(mbit(1)), Duration::from_secs(1), Duration::from_secs(1))
                .at(Time::ZERO),
            mbit(1)
        );
    }
}
