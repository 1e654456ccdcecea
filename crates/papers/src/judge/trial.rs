//! Claims put to the test.

use std::collections::HashMap;

use quell_lab::{ERROR, Estimate, Results, Width, t_quantile};

use super::{ARITHMETIC, Holds, Judge, JudgedClaim, LEAST_NS2_RUNS, figure, place, samples, text};
use crate::claims::{self, Says, Term, Test};
use crate::computed::Compute;
use crate::experiment::{CLAIM, CellPlace, Claim, Experiment, Reading, Refuted};
use crate::results::{NOT_RUN, Spot};
use crate::value::Value;

/// Runs that do not say whether a claim holds: what that makes of it, and why.
#[derive(Clone)]
struct Silent {
    holds: Holds,
    why: String,
}

impl From<String> for Silent {
    fn from(why: String) -> Self {
        Silent { holds: Holds::Missing, why }
    }
}

impl From<&str> for Silent {
    fn from(why: &str) -> Self {
        why.to_string().into()
    }
}

/// One of the things that a test says, as "this is more than zero".
struct Comparison {
    /// A difference that must be more than zero.
    clear: f64,
    /// Half of the 95% interval about it; none from a single run.
    half: Option<f64>,
    /// The number of runs that it is from.
    n: usize,
    /// Accepts zero itself.
    limit: bool,
    /// Can only speak against the test: a step that goes the other way.
    against: bool,
    /// The comparison in words.
    found: String,
}

impl Comparison {
    /// The verdict, of a test that needs it: the interval on its side is that of 95%, divided by the number of cases of
    /// which one may be wrong; that on the other side by the number of those of which each makes it fail.
    fn holds(&self, level: Level) -> Holds {
        let wider = |of: f64| match (self.half, self.n.saturating_sub(1)) {
            (_, 0) => 1.0,
            (_, freedom) => t_quantile(freedom, ERROR / of) / t_quantile(freedom, ERROR),
        };
        match self.half {
            Some(half) if self.clear < -wider(level.fails as f64) * half => Holds::Fails,
            _ if self.against => Holds::Holds,
            Some(half) => {
                let half = wider(level.holds) * half;
                let holds = self.clear > half || (self.limit && self.clear == half);
                if holds { Holds::Holds } else { Holds::Undecided }
            }
            None => Holds::Undecided,
        }
    }
}

/// By how much intervals are wider than those of 95%, as the number by which their error is divided (Bonferroni).
///
/// Of n cases of which at least k must hold, as many as n - k may fail and leave the test true. So it holds by chance
/// only if one of n - k + 1 false ones seems to hold, and it fails by chance only if one of k true ones seems to fail:
/// these are the partial conjunctions of Benjamini and Heller (2008). If all must hold, the first number is one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    holds: f64,
    fails: usize,
}

/// What a part of a test compares in one case.
type Case = Result<Vec<Comparison>, Silent>;

/// A side of a comparison.
enum Side {
    /// A number without chance.
    Exact(f64),
    /// A value of each seed.
    Found(Vec<(u64, f64)>),
}

impl Side {
    /// The mean, and its interval if there is chance in it.
    fn estimate(&self) -> Option<Estimate> {
        match self {
            Side::Exact(x) => Some(Estimate { mean: *x, half_width: None, n: 1 }),
            Side::Found(samples) => Estimate::of(&samples.iter().map(|s| s.1).collect::<Vec<_>>()),
        }
    }

    fn mean(&self) -> Result<f64, Silent> {
        Ok(self.estimate().ok_or("no values")?.mean)
    }

    /// So much of this and so much of another, seed by seed.
    fn plus(&self, own: f64, other: &Side, theirs: f64) -> Result<Side, Silent> {
        Ok(match (self, other) {
            (Side::Exact(a), Side::Exact(b)) => Side::Exact(own * a + theirs * b),
            (Side::Exact(a), Side::Found(b)) => {
                Side::Found(b.iter().map(|(seed, b)| (*seed, own * a + theirs * b)).collect())
            }
            (Side::Found(_), Side::Exact(_)) => other.plus(theirs, self, own)?,
            (Side::Found(a), Side::Found(b)) => {
                let b: HashMap<u64, f64> = b.iter().copied().collect();
                let sum = |(seed, a): &(u64, f64)| Some((*seed, own * a + theirs * b.get(seed)?));
                Side::Found(a.iter().filter_map(sum).collect())
            }
        })
    }

    /// By how much it has changed from another, seed by seed, in the direction in which the mean has.
    fn change_from(&self, other: &Side) -> Result<Side, Silent> {
        let change = self.plus(1.0, other, -1.0)?;
        match change.mean()? {
            mean if mean < 0.0 => other.plus(1.0, self, -1.0),
            _ => Ok(change),
        }
    }

    /// The difference to another, seed by seed.
    fn minus(&self, other: &Side) -> Result<Estimate, Silent> {
        let differences: Vec<f64> = match (self, other) {
            (Side::Exact(a), Side::Exact(b)) => {
                return Ok(Estimate { mean: a - b, half_width: Some(0.0), n: 1 });
            }
            (Side::Found(a), Side::Exact(b)) => a.iter().map(|(_, a)| a - b).collect(),
            (Side::Exact(a), Side::Found(b)) => b.iter().map(|(_, b)| a - b).collect(),
            (Side::Found(a), Side::Found(b)) => {
                let b: HashMap<u64, f64> = b.iter().copied().collect();
                a.iter().filter_map(|(seed, x)| Some(x - b.get(seed)?)).collect()
            }
        };
        Ok(Estimate::of(&differences).ok_or("no seed is common to both sides")?)
    }
}

impl<'a> Judge<'a, '_> {
    /// Puts a claim to the test.
    pub(super) fn claim(&self, claim: &'a Claim) -> JudgedClaim<'a> {
        let (mut holds, mut found) = self.test(&claim.test, claim.reading.as_deref());
        let withheld = holds == Holds::Holds && self.chose_a_reading(claim);
        if withheld {
            holds = Holds::Undecided;
            found = format!("it holds, but a reading was chosen by it: {found}");
        }
        if let Some(said) = self.otherwise(claim, holds) {
            holds = Holds::Undecided;
            found = format!("{said}: {found}");
        }
        let shown = claim.shown_by.as_deref().filter(|reading| self.found.ran(reading));
        let shown = shown.map(|reading| self.test(&claim.test, Some(reading)).0);
        let against = self.e.refuted.iter().filter(|r| r.claims.contains(&claim.name));
        let mut why = String::new();
        if holds == Holds::Fails {
            for refuted in against {
                match self.refutes(refuted, claim) {
                    Ok(said) => {
                        holds = Holds::Refuted;
                        why = format!("{} (shown by {said})", refuted.mechanism);
                        break;
                    }
                    Err(said) => {
                        why = format!("{} (not shown by {}: {said})", refuted.mechanism, refuted.shown_by);
                    }
                }
            }
        }
        JudgedClaim { claim, holds, found, shown, withheld, why }
    }

    /// Says in words that a claim holds under the judged reading or under its rival, but not under both.
    fn otherwise(&self, claim: &Claim, holds: Holds) -> Option<String> {
        let rivals = self.e.readings.iter().filter(|r| r.rival && self.found.ran(&r.name));
        rivals.filter(|_| claim.reading.is_none()).find_map(|rival| {
            let name = &rival.name;
            match (holds, self.test(&claim.test, Some(name)).0) {
                (Holds::Holds, Holds::Fails) => Some(format!("it holds, but fails under \"{name}\"")),
                (Holds::Holds, Holds::Undecided) => {
                    Some(format!("it holds, but is undecided under \"{name}\""))
                }
                (Holds::Fails, Holds::Holds) => Some(format!("it fails, but holds under \"{name}\"")),
                _ => None,
            }
        })
    }

    /// Says whether a judged reading of the document was chosen by a claim, which then proves nothing.
    fn chose_a_reading(&self, claim: &Claim) -> bool {
        let id = format!("{CLAIM}{}#{}", self.e.id, claim.name);
        let document = &self.papers.document_of(self.e).experiments;
        let own = |r: &&Reading| claim.reading.as_ref() == Some(&r.name);
        let mut readings =
            document.iter().flat_map(Experiment::judged_readings).chain(self.e.readings.iter().filter(own));
        readings.any(|reading| reading.fitted_on.contains(&id))
    }

    /// Says in words what refutes a claim that fails here: ns-2's own figures fail the same test, or the document's
    /// numbers contradict each other; and it holds under no reading.
    fn refutes(&self, refuted: &Refuted, claim: &Claim) -> Result<String, String> {
        let holds = |reading: &&Reading| {
            self.found.ran(&reading.name) && self.test(&claim.test, Some(&reading.name)).0 == Holds::Holds
        };
        if let Some(reading) = self.e.readings.iter().find(holds) {
            return Err(format!("it holds under \"{}\"", reading.name));
        }
        if let (ARITHMETIC, Some(arithmetic)) = (refuted.shown_by.as_str(), &refuted.arithmetic) {
            let (apart, found) = arithmetic.contradicts(&self.papers.cells)?;
            return if apart { Ok(format!("{ARITHMETIC}: {found}")) } else { Err(found) };
        }
        let evidence = place::evidence_of(self.e, refuted).map_err(|error| error.to_string())?;
        let evidence = evidence.ok_or("it has no figures")?;
        let with_ns2 = Judge { evidence: Some(&evidence), papers: self.papers, e: self.e, found: self.found };
        let reading = refuted.reading.as_deref().or(claim.reading.as_deref());
        match with_ns2.test(&claim.test, reading) {
            (Holds::Fails, found) => Ok(format!("ns-2: {found}")),
            (other, found) => Err(format!(
                "it {} there: {found}",
                match other {
                    Holds::Holds => "holds",
                    Holds::Missing => "cannot be tested",
                    _ => "is undecided",
                }
            )),
        }
    }

    fn test(&self, test: &Test, reading: Option<&str>) -> (Holds, String) {
        let parts: Vec<_> =
            test.parts.iter().map(|part| self.cases(part, reading).map(|cases| (part, cases))).collect();
        // Each comparison of which a failure makes the test fail.
        let decisive = |(part, cases): &(&claims::Part, Vec<Case>)| {
            let all: usize = cases.iter().flatten().map(Vec::len).sum();
            (all * part.least(cases.len())).div_ceil(cases.len().max(1))
        };
        let fails = parts.iter().flatten().map(decisive).sum();
        let stricter = test.stricter();
        let mut all = (Holds::Holds, Vec::new());
        for part in parts {
            let (holds, found) = match part {
                Ok((part, cases)) if part.share.is_some() => {
                    most(&cases, part.least(cases.len()), (stricter, fails))
                }
                Ok((_, cases)) => match self.there(cases.into_iter()) {
                    Ok(all) => worst(&all.into_iter().flatten().collect::<Vec<_>>(), (stricter, fails)),
                    Err(Silent { holds, why }) => (holds, why),
                },
                Err(Silent { holds, why }) => (holds, why),
            };
            all.0 = all.0.and(holds);
            all.1.push(found);
        }
        (all.0, all.1.join("; "))
    }

    /// The cases of a part of a test: of each label at each of the places that it names, against each other one.
    fn cases(&self, part: &claims::Part, reading: Option<&str>) -> Result<Vec<Case>, Silent> {
        let mut all = Vec::new();
        for choice in self.choices(part, reading)? {
            // What is computed has no algorithm.
            let labels: Vec<&str> = match &part.left {
                Term::Of(left) => left.labels.iter().map(String::as_str).collect(),
                _ => vec![""],
            };
            for label in labels {
                let of_place = |said: Comparison| {
                    let found = format!("{}{}", said.found, choice.title());
                    Comparison { found, ..said }
                };
                match self.said(part, label, &choice, reading) {
                    // The steps along a field are one case.
                    Ok(said) if part.is_trend() => all.push(Ok(said.into_iter().map(of_place).collect())),
                    Ok(said) => all.extend(said.into_iter().map(|one| Ok(vec![of_place(one)]))),
                    // As many cases as there would be.
                    Err(silent) => all.extend((0..part.others()).map(|_| Err(silent.clone()))),
                }
            }
        }
        Ok(all)
    }

    /// The comparisons that can be made. ns-2 may lack some: that it fails for the others is enough for a test of all.
    fn there<T>(&self, all: impl Iterator<Item = Result<T, Silent>>) -> Result<Vec<T>, Silent> {
        if self.evidence.is_none() {
            return all.collect();
        }
        let (mut there, mut lacks) = (Vec::new(), None);
        for one in all {
            match one {
                Ok(one) => there.push(one),
                Err(silent) if silent.holds == Holds::Undecided => lacks = lacks.or(Some(silent)),
                Err(silent) => return Err(silent),
            }
        }
        match (there.is_empty(), lacks) {
            (true, Some(silent)) => Err(silent),
            _ => Ok(there),
        }
    }

    /// Refuses figures of ns-2 with which no part of a test can be compared.
    pub(super) fn check_evidence(&self, test: &Test, reading: Option<&str>) -> Result<(), String> {
        match self.test(test, reading) {
            (Holds::Missing, why) => Err(why),
            _ => Ok(()),
        }
    }

    /// Refuses a test of what is not there, whatever the runs find.
    pub(super) fn check_test(&self, test: &Test, reading: Option<&str>) -> Result<(), String> {
        for part in &test.parts {
            let choices = self.choices(part, reading)?;
            if let (Some(_), Says::Rises(field) | Says::Falls(field)) = (part.linear, &part.says) {
                let values = self.values(&part.left, field, reading)?;
                values.iter().try_for_each(|value| number_of(field, value).map(drop)).map_err(|s| s.why)?;
                if quell_lab::distinct(values.iter().map(|value| unit_of(value))).len() > 1 {
                    return Err(format!("{field}: its values must be in one unit: {}", values.join(", ")));
                }
                if values.len() < 3 {
                    return Err(format!(
                        "{field}: has {} values, none of them between the ends",
                        values.len()
                    ));
                }
            }
            if let (Some(share), 0 | 1) = (part.share, part.cases(choices.len())) {
                return Err(format!("for {}% of cases: there is only one case", 100.0 * share));
            }
            for term in part.terms() {
                let Term::Of(found) = term else { continue };
                let along = match &part.says {
                    Says::Rises(field) | Says::Falls(field) => Some(field),
                    _ => None,
                };
                let along = match along {
                    Some(field) => {
                        self.values(term, field, reading)?.into_iter().map(|v| Some((field, v))).collect()
                    }
                    None => vec![None],
                };
                for choice in &choices {
                    for value in &along {
                        let mut there = (**found).clone();
                        there.at.extend(value.iter().map(|(field, v)| ((*field).clone(), vec![v.clone()])));
                        for there in there.before().into_iter().chain([there]) {
                            let spot = self.found.spot(self.e, reading, &choice.place(&there))?;
                            there.labels.iter().try_for_each(|l| spot.check(l, &there.value.quantity))?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The combinations of points and segments at which a part is tested.
    fn choices(&self, part: &claims::Part, reading: Option<&str>) -> Result<Vec<Choice>, String> {
        let mut choices = vec![Choice::default()];
        for term in part.terms() {
            for (field, values) in term.at().iter().filter(|(_, values)| is_choice(values)) {
                if choices.iter().any(|c| c.at.iter().any(|(f, _)| f == field)) {
                    continue;
                }
                let mut values =
                    if values == &["*"] { self.values(term, field, reading)? } else { values.clone() };
                // Nothing changes from a value to itself.
                if let Term::Of(found) = term {
                    values.retain(|value| {
                        !found.changed_from.iter().any(|(f, from)| f == field && from == value)
                    });
                }
                choices = choices.iter().flat_map(|c| values.iter().map(move |v| c.with(field, v))).collect();
            }
            let Term::Of(found) = term else { continue };
            if is_choice(&found.segments) && choices.iter().all(|c| c.segment.is_none()) {
                let segments = if found.segments == ["*"] {
                    let results = self.results(found, reading)?;
                    let n = results.run.points.iter().map(|p| p.segments.len()).max().unwrap_or(0);
                    (0..n as u32).collect()
                } else {
                    found.segments.iter().filter_map(|s| s.parse().ok()).collect::<Vec<u32>>()
                };
                choices = choices
                    .iter()
                    .flat_map(|c| segments.iter().map(move |s| Choice { segment: Some(*s), ..c.clone() }))
                    .collect();
            }
        }
        Ok(choices)
    }

    fn results(&self, found: &claims::Measured, reading: Option<&str>) -> Result<&Results, String> {
        let results = self.found.results(self.e, reading, found.run.as_deref());
        results.ok_or_else(|| NOT_RUN.to_string())
    }

    /// The values of a field in a run or a computed figure, in their order.
    fn values(&self, term: &Term, field: &str, reading: Option<&str>) -> Result<Vec<String>, String> {
        let found = match term {
            Term::Of(found) => found,
            Term::Computed(read) => {
                let values = self.computed_figure(read)?.values(field).iter().map(f64::to_string).collect();
                return Ok(values);
            }
            Term::Number(_) => return Err("a number has no fields".to_string()),
        };
        let settings = self.results(found, reading)?.run.points.iter().flat_map(|point| &point.settings);
        let values = quell_lab::distinct(settings.filter(|s| s.field == field).map(|s| s.value.clone()));
        if values.is_empty() { Err(format!("{field}: no run varies it")) } else { Ok(values) }
    }

    /// The computation of the figure that is read.
    fn computed_figure(&self, read: &claims::FigureReading) -> Result<&'a Compute, String> {
        let of = self.e.computed.iter().find(|of| of.figure.as_ref() == Some(&read.figure));
        of.map(|of| &of.compute).ok_or_else(|| format!("figure {}: is not computed", read.figure))
    }

    /// Reads a value off a computed figure at one place.
    fn read(&self, read: &claims::FigureReading, choice: &Choice) -> Result<Side, Silent> {
        let mut at = Vec::new();
        for (field, values) in &read.at {
            let chosen = choice.at.iter().find(|(f, _)| is_choice(values) && f == field);
            let text = chosen.map_or(&values[0], |(_, value)| value);
            let number = text.parse::<f64>().map_err(|_| format!("{field} = {text}: must be a number"))?;
            at.push((field.as_str(), number));
        }
        let found = self.computed_figure(read)?.quantity(&read.quantity, &at);
        Ok(Side::Exact(read.factor * found.map_err(|why| format!("{}: {why}", read.quantity))?))
    }

    /// A quantity at one place: what the runs found, or ns-2.
    fn measured(
        &self,
        found: &claims::Measured,
        label: &str,
        choice: &Choice,
        reading: Option<&str>,
    ) -> Result<Side, Silent> {
        let place = choice.place(found);
        Ok(Side::Found(match self.evidence {
            Some(ns2) => {
                let values = ns2.samples(self.e, &place, label, &found.value, LEAST_NS2_RUNS)?;
                let why = || format!("ns-2 has no {} of {label}", found.value.quantity);
                values.ok_or_else(|| Silent { holds: Holds::Undecided, why: why() })?
            }
            None => whole(&self.found.spot(self.e, reading, &place)?, label, &found.value)?,
        }))
    }

    /// The comparisons of a part for one label at one place.
    fn said(
        &self,
        part: &claims::Part,
        label: &str,
        choice: &Choice,
        reading: Option<&str>,
    ) -> Result<Vec<Comparison>, Silent> {
        // The side of a term, and its name for people.
        let side = |term: &Term, label: &str| match term {
            Term::Number(number) => Ok::<_, Silent>((String::new(), Side::Exact(*number))),
            Term::Computed(read) => Ok((read.quantity.clone(), self.read(read, choice)?)),
            Term::Of(found) => {
                let own = self.measured(found, label, choice, reading)?;
                let own = match found.before() {
                    Some(before) => own.change_from(&self.measured(&before, label, choice, reading)?)?,
                    None => own,
                };
                Ok((label.to_string(), own))
            }
        };
        let estimate = |side: &Side| side.estimate().ok_or(Silent::from("no values"));
        match &part.says {
            Says::Within(low, high) => {
                let (name, mine) = side(&part.left, label)?;
                let e = estimate(&mine)?;
                let clear = (e.mean - low).min(high - e.mean);
                let half = mine.minus(&Side::Exact(0.0))?.half_width;
                let found = format!("{name} {}", text(&e));
                Ok(vec![Comparison { clear, half, n: e.n, limit: true, against: false, found }])
            }
            Says::Below(right) | Says::Above(right) | Says::Like(right, _) => {
                let (name, mine) = side(&part.left, label)?;
                let own = format!("{name} {}", text(&estimate(&mine)?));
                let others = match right {
                    Term::Number(_) | Term::Computed(_) => vec![side(right, "")?],
                    Term::Of(found) => {
                        let other = |other: &String| {
                            let name = match found.value.factor {
                                1.0 => other.clone(),
                                factor => format!("{} * {other}", figure(factor)),
                            };
                            Ok((name, side(right, other)?.1))
                        };
                        let all = found.labels.iter().map(other);
                        match part.share {
                            // Of a share all cases count.
                            Some(_) => all.collect::<Result<_, _>>()?,
                            None => self.there(all)?,
                        }
                    }
                };
                let one = |(name, theirs): &(String, Side)| {
                    let (d, mean) = (mine.minus(theirs)?, theirs.mean()?);
                    let found = match name.as_str() {
                        "" => own.clone(),
                        name => format!("{own}; {name} {}", figure(mean)),
                    };
                    let (clear, limit) = match &part.says {
                        Says::Like(_, Width::Absolute(width)) => (width - d.mean.abs(), true),
                        Says::Like(_, Width::Relative(share)) => (share * mean.abs() - d.mean.abs(), true),
                        Says::Above(_) => (d.mean, false),
                        _ => (-d.mean, false),
                    };
                    Ok(Comparison { clear, half: d.half_width, n: d.n, limit, against: false, found })
                };
                others.iter().map(one).collect()
            }
            Says::Rises(field) | Says::Falls(field) => {
                let sign = if matches!(part.says, Says::Rises(_)) { 1.0 } else { -1.0 };
                let at_value = |value: &String| {
                    let mut there = part.left.clone();
                    let here = (field.clone(), vec![value.clone()]);
                    match &mut there {
                        Term::Of(found) => found.at.push(here),
                        Term::Computed(read) => read.at.push(here),
                        Term::Number(_) => {}
                    }
                    Ok(side(&there, label)?.1)
                };
                let values = self.values(&part.left, field, reading)?;
                let series: Vec<Side> = values.iter().map(at_value).collect::<Result<_, Silent>>()?;
                let means = series.iter().map(|side| Ok(figure(side.mean()?)));
                let means = shortened(means.collect::<Result<_, Silent>>()?);
                let name = match &part.left {
                    Term::Computed(read) => &read.quantity,
                    _ => label,
                };
                let found = format!("{name} {means}");
                let step = |from: &Side, to: &Side, against: bool| {
                    let d = to.minus(from)?;
                    let (clear, found) = (sign * d.mean, found.clone());
                    Ok(Comparison { clear, half: d.half_width, n: d.n, limit: false, against, found })
                };
                let (Some(first), Some(last)) = (series.first(), series.last()) else {
                    return Err(format!("{field}: the run has one point").into());
                };
                let steps = series.windows(2).map(|w| step(&w[0], &w[1], true));
                let mut all: Vec<_> =
                    std::iter::once(step(first, last, false)).chain(steps).collect::<Result<_, Silent>>()?;
                let Some(width) = part.linear else { return Ok(all) };
                // Each point between the ends lies near the line through them.
                let at = values.iter().map(|value| number_of(field, value)).collect::<Result<Vec<_>, _>>()?;
                let (from, to) = (at[0], at[at.len() - 1]);
                for (x, own) in at.iter().zip(&series).take(at.len() - 1).skip(1) {
                    let share = (x - from) / (to - from);
                    let line = first.plus(1.0 - share, last, share)?;
                    let (d, mean) = (own.minus(&line)?, line.mean()?);
                    let reach = match width {
                        Width::Absolute(width) => width,
                        Width::Relative(share) => share * mean.abs(),
                    };
                    let clear = reach - d.mean.abs();
                    let found = format!("{found}; on the line {} for {}", figure(mean), figure(own.mean()?));
                    all.push(Comparison {
                        clear,
                        half: d.half_width,
                        n: d.n,
                        limit: true,
                        against: false,
                        found,
                    });
                }
                Ok(all)
            }
        }
    }
}

/// The number of a value of a field, as "20" of "20 packets".
fn number_of(field: &str, value: &str) -> Result<f64, Silent> {
    let number = value.split_whitespace().next().and_then(|text| text.parse().ok());
    number.ok_or_else(|| format!("{field} = {value}: is not a number, so nothing is linear along it").into())
}

/// The unit of a value of a field; may be empty.
fn unit_of(value: &str) -> &str {
    value.split_once(char::is_whitespace).map_or("", |(_, unit)| unit.trim())
}

/// Numbers in a row; of many the first, some between, and the last.
fn shortened(all: Vec<String>) -> String {
    let every = all.len().div_ceil(8).max(1);
    let last = all.len().saturating_sub(1);
    let shown = all.iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last);
    shown.map(|(_, text)| text.as_str()).collect::<Vec<_>>().join(", ")
}

/// The verdict of cases of which at least so many must hold, and what was found where it is worst; errors are divided by
/// the two numbers, of what holds and of what fails.
fn most(cases: &[Case], least: usize, (stricter, fails): (f64, usize)) -> (Holds, String) {
    let level = Level { holds: stricter * (cases.len() - least + 1) as f64, fails };
    let verdict = |case: &Case| match case {
        Ok(all) => all.iter().fold(Holds::Holds, |holds, c| holds.and(c.holds(level))),
        Err(silent) => silent.holds,
    };
    let verdicts: Vec<Holds> = cases.iter().map(verdict).collect();
    let count = |holds: Holds| verdicts.iter().filter(|own| **own == holds).count();
    let (hold, fail) = (count(Holds::Holds), count(Holds::Fails));
    let holds = match () {
        () if hold >= least => Holds::Holds,
        () if cases.len() - fail < least => Holds::Fails,
        () if count(Holds::Missing) > 0 => Holds::Missing,
        () => Holds::Undecided,
    };
    let far = |case: &Case| match case {
        Ok(all) => all.iter().filter(|c| !c.against).map(|c| c.clear).fold(f64::INFINITY, f64::min),
        Err(_) => f64::NEG_INFINITY,
    };
    let worst = cases.iter().min_by(|a, b| far(a).total_cmp(&far(b)));
    let worst = match worst {
        Some(Ok(all)) => all.first().map_or("", |c| c.found.as_str()),
        Some(Err(silent)) => &silent.why,
        None => "nothing to test",
    };
    (holds, format!("holds in {hold} of {}, fails in {fail}; worst: {worst}", cases.len()))
}

/// The verdict of comparisons that must all hold, of all of a test, and what was found where it is worst; errors are
/// divided by the two numbers, of what holds and of what fails.
fn worst(all: &[Comparison], (stricter, fails): (f64, usize)) -> (Holds, String) {
    let level = Level { holds: stricter, fails };
    let judged: Vec<(Holds, &Comparison)> = all.iter().map(|c| (c.holds(level), c)).collect();
    let holds = judged.iter().fold(Holds::Holds, |holds, (own, _)| holds.and(*own));
    // How far it is on its side, or how near to it.
    let margin = |c: &Comparison| match (holds, c.half) {
        (Holds::Holds, _) if c.against => f64::INFINITY,
        (Holds::Holds, Some(half)) => c.clear - half,
        (Holds::Fails, Some(half)) => c.clear + half,
        _ => c.clear,
    };
    let those = judged.iter().filter(|(own, _)| *own == holds).map(|(_, c)| *c);
    let worst = those.min_by(|a, b| margin(a).total_cmp(&margin(b)));
    let places = all.iter().filter(|c| !c.against).count();
    match worst {
        Some(c) if places > 1 => (holds, format!("worst of {places}: {}", c.found)),
        Some(c) => (holds, c.found.clone()),
        None => (Holds::Missing, "nothing to test".to_string()),
    }
}

/// Says whether a list of alternatives has more than one.
fn is_choice(values: &[String]) -> bool {
    values.len() > 1 || values.first().is_some_and(|v| v == "*")
}

/// One of the places at which a part is tested.
#[derive(Clone, Debug, Default)]
struct Choice {
    at: Vec<(String, String)>,
    segment: Option<u32>,
}

impl Choice {
    fn with(&self, field: &str, value: &str) -> Choice {
        let mut choice = self.clone();
        choice.at.retain(|(f, _)| f != field);
        choice.at.push((field.to_string(), value.to_string()));
        choice
    }

    /// The place at which a quantity is looked up.
    fn place(&self, found: &claims::Measured) -> CellPlace {
        let fixed = found.at.iter().filter(|(_, values)| !is_choice(values));
        let fixed = fixed.map(|(field, values)| (field.clone(), toml::Value::String(values[0].clone())));
        // What the other side alone varies is not a field of another run.
        let varies = |field: &String| found.run.is_none() || found.at.iter().any(|(f, _)| f == field);
        let chosen = self.at.iter().filter(|(field, _)| !fixed_field(found, field) && varies(field));
        let chosen = chosen.map(|(field, value)| (field.clone(), toml::Value::String(value.clone())));
        let one_segment = found.segments.first().filter(|_| !is_choice(&found.segments));
        let segment = match one_segment {
            Some(segment) => segment.parse().ok(),
            None if found.segments.is_empty() => None,
            None => self.segment,
        };
        CellPlace {
            run: found.run.clone(),
            at: fixed.chain(chosen).collect(),
            segment,
            scope: None,
            link: found.link.clone(),
        }
    }

    /// The place in words for a reader; may be empty.
    fn title(&self) -> String {
        let at = self.at.iter().map(|(field, value)| format!(" at {field} = {value}")).collect::<String>();
        self.segment.map_or(at.clone(), |s| format!("{at} in segment {s}"))
    }
}

fn fixed_field(found: &claims::Measured, field: &str) -> bool {
    found.at.iter().any(|(f, values)| f == field && !is_choice(values))
}

/// The values of a label at a place, with their seeds, where every replication has one: the others would be those
/// of which there is nothing to say.
fn whole(spot: &Spot<'_>, label: &str, value: &Value) -> Result<Vec<(u64, f64)>, Silent> {
    let samples = samples(spot, label, value)?;
    let all = spot.results.finished(spot.view.point, label);
    match samples.len() {
        n if n < all => {
            let why = format!("{label} has {} in {n} of {all} runs", value.quantity);
            Err(Silent { holds: Holds::Undecided, why })
        }
        _ => Ok(samples),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_of(fails: usize) -> Level {
        Level { holds: 1.0, fails }
    }

    fn comparison(clear: f64, against: bool) -> Comparison {
        Comparison { clear, half: Some(1.0), n: 5, limit: false, against, found: String::new() }
    }

    #[test]
    fn many_comparisons_must_fail_more_clearly() {
        // t(4) is 2.776 at 5 %, and 4.604 at 5 % of five.
        assert_eq!(comparison(1.1, false).holds(all_of(5)), Holds::Holds);
        assert_eq!(comparison(-1.1, false).holds(all_of(1)), Holds::Fails);
        assert_eq!(comparison(-1.1, false).holds(all_of(5)), Holds::Undecided);
        assert_eq!(comparison(-1.6, false).holds(all_of(5)), Holds::Undecided);
        assert_eq!(comparison(-1.7, false).holds(all_of(5)), Holds::Fails);
    }

    /// t(4) is 2.776 at 5%, and 4.604 at 1%: 1.66 half widths. What fails, fails as it does without.
    #[test]
    fn a_confidence_of_99_percent_takes_a_wider_interval() {
        let of = |clear: f64| worst(&[comparison(clear, false)], (5.0, 1)).0;
        assert_eq!((of(1.6), of(1.7)), (Holds::Undecided, Holds::Holds));
        assert_eq!((of(-1.1), of(-0.9)), (Holds::Fails, Holds::Undecided));
        assert_eq!(worst(&[comparison(1.1, false)], (1.0, 1)).0, Holds::Holds);
    }

    /// "Within" and "like" accept their limits, "more than" does not.
    #[test]
    fn a_limit_itself_is_within() {
        let at_limit = |limit| Comparison { limit, ..comparison(1.0, false) }.holds(all_of(1));
        assert_eq!((at_limit(true), at_limit(false)), (Holds::Holds, Holds::Undecided));
        let exact = |limit| Comparison { limit, half: Some(0.0), ..comparison(0.0, false) }.holds(all_of(1));
        assert_eq!((exact(true), exact(false)), (Holds::Holds, Holds::Undecided));
    }

    /// Seeds share what is random: whatever order they come in, each is compared with itself alone.
    #[test]
    fn differences_are_of_the_same_seed() {
        let (a, b) = (vec![(1, 10.0), (2, 30.0), (3, 20.0), (5, 1.0)], vec![(2, 29.0), (3, 19.0), (1, 9.0)]);
        let d = Side::Found(a).minus(&Side::Found(b)).unwrap_or_else(|_| panic!("no difference"));
        assert_eq!((d.mean, d.half_width, d.n), (1.0, Some(0.0), 3));
        let (a, b) = (Side::Found(vec![(1, 1.0)]), Side::Found(vec![(2, 1.0)]));
        assert!(a.minus(&b).is_err());
    }

    /// Of six cases five must hold, so one may be wrong: each is held to half the error. It fails with two.
    #[test]
    fn most_cases_may_be_enough() {
        let one = |clear: f64| Ok(vec![comparison(clear, false)]);
        let of = |all: &[f64]| most(&all.iter().map(|clear| one(*clear)).collect::<Vec<_>>(), 5, (1.0, 5)).0;
        // t(4) is 3.495 at 2.5 %, so 1.26 half widths are needed; against it 1.66.
        assert_eq!(of(&[1.3, 1.3, 1.3, 1.3, 1.3, -9.0]), Holds::Holds);
        assert_eq!(of(&[1.3, 1.3, 1.3, 1.3, 1.2, -9.0]), Holds::Undecided);
        assert_eq!(of(&[1.3, 1.3, 1.3, 1.3, -1.7, -1.7]), Holds::Fails);
        assert_eq!(of(&[1.3, 1.3, 1.3, 1.3, -1.6, -1.7]), Holds::Undecided);
        let silent = Err(Silent { holds: Holds::Undecided, why: "none".to_string() });
        let five: Vec<Case> = (0..5).map(|_| one(2.0)).chain([silent]).collect();
        let (holds, found) = most(&five, 5, (1.0, 5));
        assert_eq!((holds, found.as_str()), (Holds::Holds, "holds in 5 of 6, fails in 0; worst: none"));
        // All of them is what a test without a share asks for.
        assert_eq!(most(&five, 6, (1.0, 6)).0, Holds::Undecided);
    }

    #[test]
    fn sides_are_added_seed_by_seed() {
        let (a, b) =
            (Side::Found(vec![(1, 10.0), (2, 20.0)]), Side::Found(vec![(2, 40.0), (1, 30.0), (3, 1.0)]));
        let of = |side: Side| match side {
            Side::Exact(x) => vec![(0, x)],
            Side::Found(all) => all,
        };
        let plus = |a: &Side, own, b: &Side, theirs| match a.plus(own, b, theirs) {
            Ok(side) => of(side),
            Err(silent) => panic!("{}", silent.why),
        };
        assert_eq!(plus(&a, 0.5, &b, 0.5), [(1, 20.0), (2, 30.0)]);
        assert_eq!(plus(&a, 2.0, &Side::Exact(1.0), 3.0), [(1, 23.0), (2, 43.0)]);
        assert_eq!(plus(&Side::Exact(1.0), 2.0, &Side::Exact(1.0), 3.0), [(0, 5.0)]);
        assert_eq!(number_of("b", "20 packets").ok(), Some(20.0));
        assert!(number_of("b", "many").is_err());
        assert_eq!((unit_of("20 packets"), unit_of("20")), ("packets", ""));
    }

    /// A fall is as much of a change as a rise; seeds that differ in its direction count against it.
    #[test]
    fn a_change_has_no_sign() {
        let found = |values: [f64; 3]| Side::Found(vec![(1, values[0]), (2, values[1]), (3, values[2])]);
        let of = |to: [f64; 3], from: [f64; 3]| match found(to).change_from(&found(from)) {
            Ok(Side::Found(all)) => all.into_iter().map(|(_, x)| x).collect::<Vec<f64>>(),
            _ => panic!("not of runs"),
        };
        assert_eq!(of([5.0, 9.0, 4.0], [3.0, 3.0, 5.0]), [2.0, 6.0, -1.0]);
        assert_eq!(of([3.0, 3.0, 5.0], [5.0, 9.0, 4.0]), [2.0, 6.0, -1.0]);
    }

    #[test]
    fn a_step_speaks_against_a_trend_only() {
        let rise = [comparison(2.0, false), comparison(-1.1, true), comparison(0.5, true)];
        assert_eq!(worst(&rise, (1.0, 3)).0, Holds::Holds);
        let back = [comparison(2.0, false), comparison(-2.0, true)];
        assert_eq!(worst(&back, (1.0, 2)).0, Holds::Fails);
        assert_eq!(worst(&[comparison(0.5, false)], (1.0, 1)).0, Holds::Undecided);
    }

    #[test]
    fn numbers_without_chance_decide() {
        let (a, b) = (Side::Exact(2.0), Side::Exact(3.0));
        let d = a.minus(&b).unwrap_or_else(|_| panic!("no difference"));
        assert_eq!((d.mean, d.half_width), (-1.0, Some(0.0)));
        let found = Side::Found(vec![(1, 2.0), (2, 4.0)]);
        let d = b.minus(&found).unwrap_or_else(|_| panic!("no difference"));
        assert_eq!((d.mean, d.n), (0.0, 2));
    }
}
