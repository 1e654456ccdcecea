//! Verdicts: what the runs say of printed numbers and of claims.

mod place;
mod spread;
mod trial;

use std::collections::HashMap;

use quell_lab::{ERROR, Estimate, View, t_quantile};

use crate::band::Band;
use crate::cells::{Cell, Ns2, matches};
use crate::computed::{Answer, Computed};
use crate::digits::{figure, rounded};
use crate::evidence::Evidence;
use crate::experiment::{Basis, CellsOf, Claim, Experiment, Papers, PrintedOf, Reading, Refuted};
use crate::results::{ExperimentResults, Spot};
use crate::value::Value;

/// The verdict on a printed number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// The mean lies in the band around it.
    Agrees,
    /// It lies in the 95% prediction interval of what was printed.
    Inside,
    /// It is outside of both, and another reading shows why: nothing excludes that, it was not fitted, and the interval of
    /// enough runs lies in the band. Or it is [withheld](JudgedCell::withheld).
    Explained,
    /// It is outside of both, and comes out only under a reading that was fitted to it, which explains nothing.
    Fitted,
    /// It is outside of both, a mechanism is given, and ns-2 or a claim of the document shows it.
    Refuted,
    /// It is outside of both, and why is not known.
    Open,
    /// Nothing was run for it.
    Missing,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Verdict; 7] = [
        Verdict::Agrees,
        Verdict::Inside,
        Verdict::Explained,
        Verdict::Fitted,
        Verdict::Refuted,
        Verdict::Open,
        Verdict::Missing,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Inside => "inside",
            Verdict::Explained => "explained",
            Verdict::Fitted => "fitted",
            Verdict::Refuted => "refuted",
            Verdict::Open => "open",
            Verdict::Missing => "missing",
        }
    }
}

/// The verdict on a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Holds {
    /// The intervals are on its side.
    Holds,
    /// They are on the other side.
    Fails,
    /// They are on the other side, and so are those of ns-2, or the document contradicts itself.
    Refuted,
    /// They are on neither.
    Undecided,
    /// Nothing was run for it.
    Missing,
}

impl Holds {
    /// All of them.
    pub const ALL: [Holds; 5] =
        [Holds::Holds, Holds::Fails, Holds::Refuted, Holds::Undecided, Holds::Missing];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Holds::Holds => "holds",
            Holds::Fails => "fails",
            Holds::Refuted => "refuted",
            Holds::Undecided => "undecided",
            Holds::Missing => "missing",
        }
    }

    /// Combines two that must both hold.
    fn and(self, other: Holds) -> Holds {
        let rank = |h: Holds| match h {
            Holds::Fails | Holds::Refuted => 3,
            Holds::Missing => 2,
            Holds::Undecided => 1,
            Holds::Holds => 0,
        };
        if rank(other) > rank(self) { other } else { self }
    }
}

/// A printed number, what was found, and the verdict.
#[derive(Clone, Debug)]
pub struct JudgedCell<'a> {
    /// The number.
    pub cell: &'a Cell,
    /// The label of its algorithm in the scenario.
    pub label: &'a str,
    /// The value that was found, in its unit; `None`: nothing was run.
    pub found: Option<Estimate>,
    /// The interval in which the printed number lies with a probability of 95%.
    pub prediction: Option<(f64, f64)>,
    /// The interval in which the mean agrees.
    pub band: (f64, f64),
    /// The place of the mean in that interval, from -1 at its lower end to 1 at its upper.
    pub place: Option<f64>,
    /// Whether the 95% interval of the mean crosses an end of the band: other seeds might judge otherwise.
    pub knife_edge: bool,
    /// Whether it is utilization that is judged by the idle share.
    pub idle: bool,
    /// The value that a model without a simulation gives: a full link, and a queue at its target.
    pub guess: Option<f64>,
    /// Whether that comes out.
    pub free: bool,
    /// Whether it comes out, but does not count, since the reading was chosen by it, or since it does not come out under a
    /// rival of the reading.
    pub withheld: bool,
    /// Whether it is a range of which only the middle is not where our runs would have it.
    pub off_middle: bool,
    /// Of a number that does not come out: how many other readings were run that were not fitted, how many of them bring
    /// the mean into its band, and how many into the band of its mirror image at what was found.
    pub elsewhere: [usize; 3],
    /// The value that ns-2 gives.
    pub ns2: Option<&'a Ns2>,
    /// The verdict.
    pub verdict: Verdict,
    /// The mechanism, what was tried, or why there is no value; may be empty.
    pub why: String,
}

/// The cells that one table of an experiment answers.
#[derive(Clone, Debug)]
pub struct JudgedTable<'a> {
    /// The kind of the printed numbers.
    pub printed: PrintedOf,
    /// The reading that is judged; empty for what is computed.
    pub reading: &'a str,
    /// Its cells.
    pub cells: Vec<JudgedCell<'a>>,
    /// The numbers of cells in the band and outside, under each reading; most have too few seeds for more.
    pub under: Vec<(&'a str, [usize; 2])>,
}

/// A claim and what is said of it.
#[derive(Clone, Debug)]
pub struct JudgedClaim<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The verdict.
    pub holds: Holds,
    /// The comparison in words.
    pub found: String,
    /// The verdict under the reading that `shown_by` names.
    pub shown: Option<Holds>,
    /// Whether it holds, but does not count, since a reading was chosen by it.
    pub withheld: bool,
    /// The mechanism by which it is refuted, or why it is not; may be empty.
    pub why: String,
}

/// An experiment and what is said of it.
#[derive(Clone, Debug)]
pub struct JudgedExperiment<'a> {
    /// The experiment.
    pub experiment: &'a Experiment,
    /// Its tables.
    pub tables: Vec<JudgedTable<'a>>,
    /// Its claims.
    pub claims: Vec<JudgedClaim<'a>>,
}

/// The distance between the found and the printed value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Nearness {
    Agrees,
    Inside,
    /// The ends of a range are such runs', but its middle is not.
    OffMiddle,
    Outside,
}

/// What another reading than the judged one says of a number.
enum Under {
    /// It lies outside there as well.
    Outside,
    /// It comes out, and that shows why.
    Shown,
    /// It comes out, but the reading was fitted.
    Fitted,
    /// It comes out, but that shows nothing; why not.
    Unproven(String),
}

impl Nearness {
    /// Says whether the number agrees or is inside.
    fn comes_out(self) -> bool {
        matches!(self, Nearness::Agrees | Nearness::Inside)
    }
}

/// Judges an experiment.
pub fn judge<'a>(papers: &'a Papers, e: &'a Experiment, found: &ExperimentResults) -> JudgedExperiment<'a> {
    let judge = Judge { papers, e, found, evidence: None };
    let claims: Vec<JudgedClaim<'a>> = e.claims.iter().map(|claim| judge.claim(claim)).collect();
    let held: HashMap<&str, Holds> = claims.iter().map(|c| (c.claim.name.as_str(), c.holds)).collect();
    let computed: Vec<JudgedCell<'a>> = e.computed.iter().filter_map(|of| judge.computed(of)).collect();
    let computed = (!computed.is_empty()).then_some(JudgedTable {
        printed: PrintedOf::Exact,
        reading: "",
        cells: computed,
        under: Vec::new(),
    });
    let tables = e.cells.iter().map(|of| judge.table(of, &held)).chain(computed).collect();
    JudgedExperiment { experiment: e, tables, claims }
}

pub(crate) use place::check;

/// The evidence of `shown_by` that is the simulator.
pub(crate) const NS2: &str = "ns-2";

/// The evidence of `shown_by` that is the document's own numbers.
pub(crate) const ARITHMETIC: &str = "arithmetic";

/// ns-2 shows nothing by fewer runs.
pub(crate) const LEAST_NS2_RUNS: usize = 3;

/// The reason that a number under a reading that was chosen by it does not agree.
const CHOSEN: &str = "it would agree or be inside, but the reading was chosen by it";

struct Judge<'a, 'f> {
    papers: &'a Papers,
    e: &'a Experiment,
    found: &'f ExperimentResults,
    /// The values of claims' quantities, if they are ns-2's instead.
    evidence: Option<&'f Evidence>,
}

impl<'a> Judge<'a, '_> {
    fn table(&self, of: &'a CellsOf, held: &HashMap<&str, Holds>) -> JudgedTable<'a> {
        let first = &self.e.readings[0].name;
        let reading = of.reading.as_ref().unwrap_or(first);
        let cells: Vec<&'a Cell> = self.papers.cells_of(of).collect();
        let under = self.e.readings.iter().filter_map(|r| {
            let mut count = [0; 2];
            for cell in &cells {
                let Ok(samples) = self.samples(of, cell, Some(&r.name)) else { continue };
                count[usize::from(self.nearness(of, cell, &samples) != Nearness::Agrees)] += 1;
            }
            (count != [0; 2]).then_some((r.name.as_str(), count))
        });
        let under = under.collect();
        let cells = cells.into_iter().map(|cell| self.cell(of, reading, cell, held)).collect();
        JudgedTable { printed: of.printed, reading, cells, under }
    }

    fn cell(
        &self,
        of: &'a CellsOf,
        reading: &str,
        cell: &'a Cell,
        held: &HashMap<&str, Holds>,
    ) -> JudgedCell<'a> {
        let label = of.algorithm[&cell.algorithm].as_str();
        let ns2 = self.ns2_beside(cell, reading);
        let samples = match self.samples(of, cell, Some(reading)) {
            Ok(samples) => samples,
            Err(why) => return self.judged(cell, label, None, ns2, (Verdict::Missing, why)),
        };
        let nearness = self.nearness(of, cell, &samples);
        let withheld_for = match nearness.comes_out() {
            true if self.was_fitted(cell, reading) => Some(CHOSEN.to_string()),
            true => self.rival_denies(of, cell),
            false => None,
        };
        let withheld = withheld_for.is_some();
        let verdict = match (nearness, withheld_for) {
            (_, Some(why)) => (Verdict::Explained, why),
            (Nearness::Agrees, None) => (Verdict::Agrees, String::new()),
            (Nearness::Inside, None) => (Verdict::Inside, String::new()),
            (Nearness::OffMiddle | Nearness::Outside, None) => self.outside(of, cell, reading, held),
        };
        JudgedCell {
            elsewhere: if nearness.comes_out() {
                [0; 3]
            } else {
                self.elsewhere(of, cell, reading, &samples)
            },
            prediction: prediction(&samples, of.printed),
            withheld,
            off_middle: nearness == Nearness::OffMiddle,
            ..self.judged(cell, label, Estimate::of(&samples), ns2, verdict)
        }
    }

    /// A number with its place in the band, and what can be said of it without a simulation.
    fn judged(
        &self,
        cell: &'a Cell,
        label: &'a str,
        found: Option<Estimate>,
        ns2: Option<&'a Ns2>,
        (verdict, why): (Verdict, String),
    ) -> JudgedCell<'a> {
        let band = self.papers.band(&cell.metric);
        let (low, high) = cell.limits(band);
        let half = 0.5 * (high - low);
        let place = found.filter(|_| half > 0.0).map(|e| (e.mean - 0.5 * (low + high)) / half);
        let crosses = |e: Estimate| {
            let reach = e.half_width.unwrap_or(0.0);
            [low, high].iter().any(|end| (e.mean - end).abs() < reach)
        };
        JudgedCell {
            cell,
            label,
            found,
            prediction: None,
            band: (low, high),
            place,
            knife_edge: found.is_some_and(crosses),
            idle: band.nearly_full(cell).is_some(),
            guess: self.papers.guess(cell),
            free: self.papers.is_free(cell),
            withheld: false,
            off_middle: false,
            elsewhere: [0; 3],
            ns2,
            verdict,
            why,
        }
    }

    /// Says that a number does not come out under a rival of the judged reading: then a setting that is not printed and
    /// that nothing decides gives it.
    fn rival_denies(&self, of: &CellsOf, cell: &Cell) -> Option<String> {
        let mut rivals = self.e.readings.iter().filter(|r| r.rival && of.reading.is_none());
        rivals.find_map(|rival| {
            let samples = self.samples(of, cell, Some(&rival.name)).ok()?;
            let outside = !self.nearness(of, cell, &samples).comes_out();
            outside.then(|| {
                format!("it would agree or be inside, but not under \"{}\", and nothing decides", rival.name)
            })
        })
    }

    /// Of the other readings that were not fitted: their number, of how many the mean lies in the band of a number, and of
    /// how many in the band of its mirror image at what was found. If readings explain numbers, the second number is
    /// larger than the third; by chance it is not.
    fn elsewhere(&self, of: &CellsOf, cell: &Cell, reading: &str, samples: &[f64]) -> [usize; 3] {
        let Some(found) = Estimate::of(samples) else { return [0; 3] };
        let band = self.papers.band(&cell.metric);
        let others = self.e.readings.iter().filter(|r| r.name != reading && !self.is_fitted(cell, &r.name));
        let means =
            others.filter_map(|r| Some(Estimate::of(&self.samples(of, cell, Some(&r.name)).ok()?)?.mean));
        means.fold([0; 3], |[all, near, mirrored], mean| {
            let is_near = |x| usize::from(cell.is_near(x, band));
            [all + 1, near + is_near(mean), mirrored + is_near(2.0 * found.mean - mean)]
        })
    }

    /// The value of ns-2 that stands beside a number: that of the reading, or else the first.
    fn ns2_beside(&self, cell: &Cell, reading: &str) -> Option<&'a Ns2> {
        let all = self.papers.ns2.get(&cell.id)?;
        all.iter().find(|ns2| ns2.reading.as_deref() == Some(reading)).or(all.first())
    }

    /// Says whether a number chose the reading, or another number of the same network did, or it chose the reading that
    /// is judged in another experiment of the document.
    fn was_fitted(&self, cell: &Cell, reading: &str) -> bool {
        let document = &self.papers.document_of(self.e).experiments;
        let others = document.iter().filter(|e| e.id != self.e.id);
        let mut others = others.flat_map(Experiment::judged_readings);
        self.is_fitted(cell, reading) || others.any(|r| self.chose(cell, r))
    }

    /// Says whether a reading of the experiment was chosen because numbers come out by it, this one or others.
    fn is_fitted(&self, cell: &Cell, reading: &str) -> bool {
        let mut own = self.e.readings.iter().filter(|r| r.name == reading);
        own.any(|r| r.basis == Basis::Fitted || self.chose(cell, r))
    }

    /// Says whether a reading names the number, or another of the same network, as one that chose it.
    fn chose(&self, cell: &Cell, reading: &Reading) -> bool {
        let mut kin = self.papers.cells.iter().filter(|other| cell.is_same_network(other));
        kin.any(|c| reading.fitted_on.iter().any(|pattern| matches(pattern, &c.id)))
    }

    /// A number that is computed.
    fn computed(&self, of: &'a Computed) -> Option<JudgedCell<'a>> {
        let cell = self.papers.cells.iter().find(|c| Some(&c.id) == of.cell.as_ref())?;
        let found = match of.compute.answer(&|_| Err("is a number".to_string())) {
            Ok(Answer::Number(x)) => Ok(Estimate { mean: x, half_width: None, n: 1 }),
            Ok(Answer::Chart(_)) => Err("is a figure".to_string()),
            Err(why) => Err(why),
        };
        let (verdict, why) = match &found {
            Ok(e) if cell.is_near(e.mean, self.papers.band(&cell.metric)) => (Verdict::Agrees, String::new()),
            Ok(_) => (Verdict::Open, self.tried(cell).unwrap_or_default()),
            Err(why) => (Verdict::Missing, why.clone()),
        };
        let ns2 = self.papers.ns2.get(&cell.id).and_then(|all| all.first());
        Some(self.judged(cell, &cell.algorithm, found.ok(), ns2, (verdict, why)))
    }

    /// The attempts to explain a number.
    fn tried(&self, cell: &Cell) -> Option<String> {
        let names = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, &cell.id));
        let open = self.e.open.iter().filter(|open| names(&open.cells));
        let tried: Vec<&str> = open.flat_map(|open| &open.tried).map(String::as_str).collect();
        (!tried.is_empty()).then(|| format!("tried: {}", tried.join("; ")))
    }

    /// The verdict on a number that neither agrees nor is inside.
    fn outside(
        &self,
        of: &CellsOf,
        cell: &Cell,
        reading: &str,
        held: &HashMap<&str, Holds>,
    ) -> (Verdict, String) {
        let names = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, &cell.id));
        let (mut unshown, mut fitted) = (None, None);
        for refuted in self.e.refuted.iter().filter(|r| names(&r.cells)) {
            let (mechanism, shown_by) = (&refuted.mechanism, refuted.shown_by.as_str());
            let is_reading = self.e.readings.iter().any(|r| r.name == shown_by);
            match self.shown(refuted, of, cell, held) {
                Ok((Verdict::Refuted, said)) => match self.reading_that_explains(of, cell, reading, shown_by)
                {
                    Ok(()) => return (Verdict::Refuted, format!("{mechanism} (shown by {said})")),
                    Err((verdict, why)) => {
                        let why = format!("{mechanism} (not refuted by {shown_by}: {why})");
                        match verdict {
                            Verdict::Explained => return (verdict, why),
                            Verdict::Fitted => fitted = Some(why),
                            _ => unshown = Some(why),
                        }
                    }
                },
                Ok((Verdict::Fitted, said)) => {
                    fitted = Some(format!("{mechanism} (the fitted reading \"{said}\" reproduces it)"));
                }
                Ok((verdict, said)) => return (verdict, format!("{mechanism} (shown by {said})")),
                // What was not asked shows nothing, one way or the other.
                Err(_) if is_reading && !self.found.ran(shown_by) => {}
                Err(why) => unshown = Some(format!("{mechanism} ({why})")),
            }
        }
        if let Some(why) = fitted {
            return (Verdict::Fitted, why);
        }
        (Verdict::Open, unshown.into_iter().chain(self.tried(cell)).collect::<Vec<_>>().join("; "))
    }

    /// The verdict that the evidence against a number gives, and the evidence in words.
    fn shown(
        &self,
        refuted: &Refuted,
        of: &CellsOf,
        cell: &Cell,
        held: &HashMap<&str, Holds>,
    ) -> Result<(Verdict, String), String> {
        let shown_by = refuted.shown_by.as_str();
        let said = |verdict| (verdict, shown_by.to_string());
        if let Some(claim) = shown_by.strip_prefix("claim:") {
            // That something happens, or varies, gives no number.
            let ours = self.e.claims.iter().any(|c| c.name == claim && c.ours);
            return match held.get(claim) {
                Some(Holds::Holds) if ours => {
                    Err(format!("the claim \"{claim}\" holds, and gives no number"))
                }
                Some(Holds::Holds) => Ok(said(Verdict::Refuted)),
                _ => Err(format!("the claim \"{claim}\" does not hold")),
            };
        }
        if let (ARITHMETIC, Some(arithmetic)) = (shown_by, &refuted.arithmetic) {
            let (apart, found) = arithmetic.contradicts(&self.papers.cells)?;
            return if apart {
                Ok((Verdict::Refuted, format!("{shown_by}: {found}")))
            } else {
                Err(format!("no contradiction: {found}"))
            };
        }
        if shown_by == NS2 {
            let not = |why| format!("that is no proof: {why}");
            return self.ns2_refutes(of, cell).map(|()| said(Verdict::Refuted)).map_err(not);
        }
        let other = self.samples(of, cell, Some(shown_by))?;
        match self.under(of, cell, shown_by, &other) {
            Under::Shown => Ok(said(Verdict::Explained)),
            Under::Fitted => Ok(said(Verdict::Fitted)),
            Under::Unproven(why) => Err(why),
            Under::Outside => {
                let mean = Estimate::of(&other).map_or(f64::NAN, |e| e.mean);
                Err(format!("under \"{shown_by}\" it is {}, which is outside as well", figure(mean)))
            }
        }
    }

    /// What another reading says of a number that does not come out under the judged one. There are many readings, so
    /// that one of them gives a number by chance: only one that nothing excludes shows anything, with enough runs whose
    /// interval lies in the band.
    fn under(&self, of: &CellsOf, cell: &Cell, name: &str, samples: &[f64]) -> Under {
        if !self.nearness(of, cell, samples).comes_out() {
            return Under::Outside;
        }
        if self.is_fitted(cell, name) {
            return Under::Fitted;
        }
        let excluded = self.e.readings.iter().find(|r| r.name == name).map_or("", |r| &r.excluded);
        let Some(estimate) = Estimate::of(samples) else { return Under::Outside };
        let found = format!("under \"{name}\" it is {}", text(&estimate));
        if !excluded.is_empty() {
            return Under::Unproven(format!("{found}, but that is excluded: {excluded}"));
        }
        if samples.len() < LEAST_RUNS {
            let runs = samples.len();
            return Under::Unproven(format!("{found}, of {runs} runs: fewer than {LEAST_RUNS} show nothing"));
        }
        let (low, high) = cell.limits(self.papers.band(&cell.metric));
        let reach = estimate.half_width.unwrap_or(0.0);
        match low <= estimate.mean - reach && estimate.mean + reach <= high {
            true => Under::Shown,
            false => Under::Unproven(format!("{found}, which does not lie in the band as a whole")),
        }
    }

    /// Fails if a reading of the experiment gives the number, or readings lie on both sides of it: then a setting that is
    /// not printed decides, and nothing refutes it. Arithmetic needs no setting.
    fn reading_that_explains(
        &self,
        of: &CellsOf,
        cell: &Cell,
        judged: &str,
        shown_by: &str,
    ) -> Result<(), (Verdict, String)> {
        let (low, high) = cell.limits(self.papers.band(&cell.metric));
        let (mut below, mut above, mut fitted, mut unproven) = (None, None, None, None);
        for reading in &self.e.readings {
            let name = &reading.name;
            let Ok(samples) = self.samples(of, cell, Some(name)) else { continue };
            if name != judged {
                match self.under(of, cell, name, &samples) {
                    Under::Shown => {
                        return Err((Verdict::Explained, format!("the reading \"{name}\" reproduces it")));
                    }
                    Under::Fitted => fitted = Some(name),
                    Under::Unproven(why) => unproven = Some(why),
                    Under::Outside => {}
                }
            }
            match Estimate::of(&samples) {
                Some(e) if e.mean < low => below = below.or(Some(name)),
                Some(e) if e.mean > high => above = above.or(Some(name)),
                _ => {}
            }
        }
        if let Some(name) = fitted {
            return Err((Verdict::Fitted, format!("the fitted reading \"{name}\" reproduces it")));
        }
        if let Some(why) = unproven {
            return Err((Verdict::Open, why));
        }
        match (below, above) {
            (Some(below), Some(above)) if shown_by != ARITHMETIC => {
                Err((Verdict::Open, format!("it lies between \"{below}\" and \"{above}\"")))
            }
            _ => Ok(()),
        }
    }

    /// Fails unless ns-2, under a reading that its row names, is outside of what is printed, as we are under that
    /// reading, and with us; and every other row of it for the number is outside as well.
    fn ns2_refutes(&self, of: &CellsOf, cell: &Cell) -> Result<(), String> {
        let band = self.papers.band(&cell.metric);
        let rows = self.papers.ns2.get(&cell.id).map_or(&[][..], Vec::as_slice);
        if rows.is_empty() {
            return Err("ns2.csv has no row for it".to_string());
        }
        let mut with_us = false;
        for ns2 in rows {
            let name = ns2.reading.as_deref().unwrap_or("no reading that is named");
            if cell.is_near(ns2.mean, band) || (ns2.runs > 1 && could_be_one_of(cell, ns2, band)) {
                return Err(format!("it could be a run of ns-2 under {name}"));
            }
            let Some(reading) = ns2.reading.as_deref().filter(|_| ns2.runs >= LEAST_NS2_RUNS) else {
                continue;
            };
            let ours = self.samples(of, cell, Some(reading)).ok().and_then(|s| Estimate::of(&s));
            let Some(ours) = ours else { continue };
            let near = Cell { low: at(ours.mean), high: at(ours.mean), ..cell.clone() };
            if !near.is_near(ns2.mean, band) {
                let [here, there] = [ours.mean, ns2.mean].map(figure);
                return Err(format!(
                    "under {name} Quell has {here} and ns-2 {there}, which is further than the band"
                ));
            }
            with_us = true;
        }
        match with_us {
            true => Ok(()),
            false => Err(format!(
                "no row of ns2.csv has {LEAST_NS2_RUNS} runs of a reading under which it was run here"
            )),
        }
    }

    fn nearness(&self, of: &CellsOf, cell: &Cell, samples: &[f64]) -> Nearness {
        nearness(cell, self.papers.band(&cell.metric), samples, of.printed)
    }

    /// The values found for a cell under a reading, one for each seed.
    fn samples(&self, of: &CellsOf, cell: &Cell, reading: Option<&str>) -> Result<Vec<f64>, String> {
        let spot = self.found.spot(self.e, reading, &of.place_of(cell))?;
        let (label, value) = (&of.algorithm[&cell.algorithm], &of.metric[&cell.metric]);
        let samples = samples(&spot, label, value)?;
        Ok(samples.into_iter().map(|(_, x)| x).collect())
    }
}

fn nearness(cell: &Cell, band: Band, samples: &[f64], printed: PrintedOf) -> Nearness {
    let Some(estimate) = Estimate::of(samples) else { return Nearness::Outside };
    if cell.is_near(estimate.mean, band) {
        return Nearness::Agrees;
    }
    by_chance(cell, band, samples, printed)
}

/// Says whether runs like ours may have given what is printed.
fn by_chance(cell: &Cell, band: Band, samples: &[f64], printed: PrintedOf) -> Nearness {
    // A single number lies within; of a range both ends do, each give or take its rounding.
    let (first, last) = cell.rounded(band);
    let within = prediction(samples, printed).is_some_and(|(low, high)| {
        2.0 * cell.low.value - first >= low && 2.0 * cell.high.value - last <= high
    });
    match within && !is_too_narrow(last - first, samples, printed) {
        false => Nearness::Outside,
        true if is_off_middle(cell, band, samples, printed) => Nearness::OffMiddle,
        true => Nearness::Inside,
    }
}

/// The values of a label at a place, with their seeds.
fn samples(spot: &Spot<'_>, label: &str, value: &Value) -> Result<Vec<(u64, f64)>, String> {
    spot.check(label, &value.quantity)?;
    let samples = spot.results.samples(&spot.view, label, &value.quantity);
    if samples.is_empty() {
        let View { segment, scope, .. } = &spot.view;
        let at = segment.map_or(String::new(), |s| format!(" in segment {s}"));
        return Err(format!("{label} has no {} of {scope}{at}", value.quantity));
    }
    Ok(samples.into_iter().map(|(seed, x)| (seed, value.factor * x)).collect())
}

/// A number to compare with, exactly.
fn at(value: f64) -> crate::cells::Printed {
    crate::cells::Printed { text: value.to_string(), value, rounding: 0.0 }
}

/// The fewest runs for a prediction: from fewer it is so wide that nearly every number lies inside.
const LEAST_RUNS: usize = 5;

/// The interval of the printed number, with a probability of 95%, if our runs are like those of the document and their
/// figures normal: the mean, and Student's t times their deviation for one more run, for the mean of some more, or
/// (Bonferroni) for all of some more. None from fewer runs than [`LEAST_RUNS`].
fn prediction(samples: &[f64], printed: PrintedOf) -> Option<(f64, f64)> {
    let n = samples.len();
    if n < LEAST_RUNS {
        return None;
    }
    let (mean, variance) = moments(samples);
    let (own, error) = match printed {
        PrintedOf::Exact => return None,
        PrintedOf::OneRun => (1.0, ERROR),
        PrintedOf::MeanOf(k) => (1.0 / f64::from(k), ERROR),
        PrintedOf::RangeOf(k) => (1.0, ENDS / f64::from(k)),
    };
    let half = t_quantile(n - 1, error) * (variance * (own + 1.0 / n as f64)).sqrt();
    Some((mean - half, mean + half))
}

/// The mean and the variance of some values.
fn moments(samples: &[f64]) -> (f64, f64) {
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<f64>() / n;
    (mean, samples.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0))
}

// A range has a place and a width, which say nothing of each other. Of the one in twenty true ranges that may be lost, half
// are lost by their place and half by their width: by an end that is too far out, or by a range that is too narrow. What is
// lost by two of the tests is lost once, since all measure by our own deviation; so each may err a third more often.

/// The middle of a true range is off so often.
const MIDDLE: f64 = 4.0 / 3.0 * ERROR / 2.0;

/// An end of it is too far out so often.
const ENDS: f64 = 4.0 / 3.0 * ERROR / 4.0;

/// It is too narrow so often.
const NARROW: f64 = 4.0 / 3.0 * ERROR / 4.0;

/// Says whether a printed range, as wide as this with its rounding, is too narrow for runs that deviate as ours do.
fn is_too_narrow(width: f64, samples: &[f64], printed: PrintedOf) -> bool {
    let (PrintedOf::RangeOf(runs), true) = (printed, samples.len() > 1) else { return false };
    let (_, variance) = moments(samples);
    let freedom = samples.len() - 1;
    variance > 0.0 && spread::studentized_range(width / variance.sqrt(), runs, freedom) < NARROW
}

/// Says whether the middle of a printed range, give or take its rounding, is not where as many runs like ours have it:
/// Student's t for the difference of that middle and our mean.
fn is_off_middle(cell: &Cell, band: Band, samples: &[f64], printed: PrintedOf) -> bool {
    let (PrintedOf::RangeOf(runs), true) = (printed, samples.len() > 1) else { return false };
    let (mean, variance) = moments(samples);
    let own = spread::variance_of_middle(runs) + 1.0 / samples.len() as f64;
    let reach = t_quantile(samples.len() - 1, MIDDLE) * (variance * own).sqrt();
    let (first, last) = cell.rounded(band);
    let rounding = 0.5 * ((last - first) - (cell.high.value - cell.low.value));
    (cell.middle() - mean).abs() > reach + rounding
}

/// A mean with its interval, both rounded to what the interval leaves.
pub fn text(e: &Estimate) -> String {
    let Some(half) = e.half_width else { return figure(e.mean) };
    match half {
        // Two figures of the interval say how many of the mean count.
        half if half > 1e-9 * e.mean.abs() => {
            let digits = 1 - half.log10().floor() as i32;
            format!("{} ± {}", rounded(e.mean, digits), rounded(half, digits))
        }
        // Runs that do not differ have an interval of rounding errors.
        _ => figure(e.mean),
    }
}

/// Says whether the printed number lies in the 95% prediction interval of one more run of ns-2.
fn could_be_one_of(cell: &Cell, ns2: &Ns2, band: Band) -> bool {
    let n = ns2.runs as f64;
    let half = ns2.std.unwrap_or(0.0) * t_quantile(ns2.runs - 1, ERROR) * (1.0 + 1.0 / n).sqrt();
    let (low, high) = (ns2.mean - half, ns2.mean + half);
    let (first, last) = cell.rounded(band);
    first <= high && last >= low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prediction_intervals_are_those_of_the_textbook() {
        // Mean 10, deviation 2, five samples; t(4, 0.975) = 2.776445.
        let samples = [8.0, 8.0, 10.0, 12.0, 12.0];
        let (low, high) = prediction(&samples, PrintedOf::OneRun).unwrap();
        let half = 2.776_445_105_2 * 2.0 * (1.2f64).sqrt();
        assert!((low - (10.0 - half)).abs() < 1e-6 && (high - (10.0 + half)).abs() < 1e-6, "{low} {high}");
        let (low, _) = prediction(&samples, PrintedOf::MeanOf(5)).unwrap();
        assert!((low - (10.0 - 2.776_445_105_2 * 2.0 * (0.4f64).sqrt())).abs() < 1e-6);
        let one = prediction(&samples, PrintedOf::OneRun).unwrap();
        let seven = prediction(&samples, PrintedOf::RangeOf(7)).unwrap();
        assert!(seven.0 < one.0 && seven.1 > one.1);
        assert_eq!(prediction(&samples[..1], PrintedOf::OneRun), None);
    }

    /// Mean 10, deviation 2. A range of seven is inside if both its ends are, if its middle is at most this far away:
    /// 3.19 * 2 * sqrt(0.218 + 0.2) = 4.1 (t(4, 0.9833) = 3.19), and if it is not narrower than seven such runs make
    /// it.
    #[test]
    fn a_range_is_inside_with_its_ends_its_middle_and_its_width() {
        let nearness = |low: f64, high: f64, printed| {
            let cell = Cell::of_range(at(low), at(high));
            nearness(&cell, "0.5".parse().unwrap(), &[8.0, 8.0, 10.0, 12.0, 12.0], printed)
        };
        let range = PrintedOf::RangeOf(7);
        assert!(nearness(9.0, 12.0, range) == Nearness::Agrees);
        assert!(nearness(10.3, 17.6, range) == Nearness::Inside);
        assert!(nearness(11.0, 18.4, range) == Nearness::OffMiddle, "by more");
        assert!(nearness(1.6, 9.0, range) == Nearness::OffMiddle, "by more");
        assert!(nearness(11.0, 30.0, range) == Nearness::Outside, "an end is not");
        assert!(nearness(12.0, 12.1, range) == Nearness::Outside, "too narrow");
        assert!(nearness(12.0, 12.1, PrintedOf::OneRun) == Nearness::Inside, "of one run it has no width");
    }

    #[test]
    fn ninety_five_of_a_hundred_predictions_hold() {
        // Uniform sums are close to normal; a linear congruential generator is enough here.
        let mut state = 12345u64;
        let mut uniform = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        let mut inside = [0; 3];
        let rounds = 4000;
        for _ in 0..rounds {
            let samples: Vec<f64> = (0..10).map(|_| normal()).collect();
            let (low, high) = prediction(&samples, PrintedOf::OneRun).unwrap();
            let next = normal();
            inside[0] += usize::from(low <= next && next <= high);
            let (low, high) = prediction(&samples, PrintedOf::RangeOf(7)).unwrap();
            let seven: Vec<f64> = (0..7).map(|_| normal()).collect();
            inside[1] += usize::from(seven.iter().all(|x| low <= *x && *x <= high));
            let end = |f: fn(f64, f64) -> f64| at(seven.iter().copied().reduce(f).unwrap());
            let range = Cell::of_range(end(f64::min), end(f64::max));
            let near = by_chance(&range, Band::default(), &samples, PrintedOf::RangeOf(7));
            inside[2] += usize::from(near == Nearness::Inside);
        }
        let share = inside.map(|n| n as f64 / f64::from(rounds));
        // Three standard errors of 0.95 over 4000 rounds are 0.01; Bonferroni's interval errs on the safe side.
        assert!((share[0] - 0.95).abs() < 0.011, "{share:?}");
        assert!(share[1] > 0.98 && share[1] < 0.995, "{share:?}");
        // With the middle and the width as well it is 0.95.
        assert!((share[2] - 0.95).abs() < 0.011, "{share:?}");
    }

    #[test]
    fn numbers_are_short() {
        for (x, text) in [
            (0.0, "0"),
            (1234.5678, "1235"),
            (12.345, "12.35"),
            (0.012_345, "0.01235"),
            (100.0, "100"),
            (2_030_033_166.0, "2030000000"),
        ] {
            assert_eq!(figure(x), text);
        }
        assert_eq!(text(&Estimate { mean: 71.0912, half_width: Some(1.234), n: 10 }), "71.1 ± 1.2");
        let large = Estimate { mean: 2_030_033_166.0, half_width: Some(73_208_163.0), n: 10 };
        assert_eq!(text(&large), "2030000000 ± 73000000");
        assert_eq!(text(&Estimate { mean: 0.8835, half_width: Some(1e-17), n: 10 }), "0.8835");
    }
}
