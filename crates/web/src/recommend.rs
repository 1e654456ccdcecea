//! An answer for a link, as `quell recommend` finds it: the page runs what is asked for, and asks again with what it found.

use quell_metrics::{PointInfo, Quantity, Results, RunInfo};
use quell_recommend::{Column, Found, Goal, Judged, Load, Plan, Reach, Report, Request, Row};
use quell_recommend::{Span, further, judge, plan, reach};
use quell_router::{Can, technology};
use quell_scenario::Scenario;
use quell_units::Duration;
use quell_units::text::cut;
use quell_view::figures;

use crate::answer::json;
use crate::check::memory;
use crate::fault::Fault;
use crate::kept::read;
use crate::protocol::{
    RecommendRequest, Recommended, RecommendedAnswer, RecommendedFound, RecommendedRow, RecommendedRun, Seed,
};

/// The fields of a message, as the library's refusals begin with them.
const FIELDS: [&str; 4] = ["down", "up", "rtt", "hosts"];

pub(crate) fn recommend(ask: &RecommendRequest) -> Result<String, Fault> {
    let request = request(ask)?;
    // What else can be wrong is that the load does not answer the goal, or that the processor is too slow for any rate.
    let mut plan = plan(&request).map_err(|why| wrong("goal", why))?;
    let mut found = ask.found.iter();
    let Some(packed) = found.next() else { return json(&next(&plan.rows)) };
    let first = Ran::of(&plan.rows, packed)?;
    let points = first.points();
    let mut answer = judge(&request, &plan, &points);
    if points.iter().all(Result::is_err) {
        return Err(Fault::failed(answer.verdict));
    }
    let lower = further(&request, &plan, &answer).map_err(Fault::request)?;
    if !lower.is_empty() {
        let Some(packed) = found.next() else { return json(&next(&lower)) };
        let tried = Ran::of(&lower, packed)?;
        let points = [points, tried.points()].concat();
        plan.rows.extend(lower);
        answer = judge(&request, &plan, &points);
    }
    let row_of = |judged: &Judged| plan.rows.iter().find(|row| row.candidate.name == judged.name);
    let best = answer.rows.first().and_then(row_of);
    let best = &best.ok_or_else(|| Fault::failed("nothing was found".to_string()))?.candidate;
    let beyond = reach(&request, &plan, best).map_err(Fault::request)?;
    let rows: Vec<Row> = beyond.iter().map(|reach| reach.row.clone()).collect();
    let Some(packed) = found.next() else { return json(&next(&rows)) };
    let carried = Ran::of(&rows, packed)?;
    let (beyond, carries) = Reach::judge(&request, &plan, beyond, &carried.points());
    let report = Report::of((&request, &plan), &answer, best, (&beyond, &carries));
    let shown = |judged, name: &str, row: Option<&Row>| shown(&plan, judged, name, row);
    json(&Recommended {
        runs: Vec::new(),
        answer: Some(RecommendedAnswer {
            report,
            rows: answer.rows.iter().map(|judged| shown(judged, &judged.name, row_of(judged))).collect(),
            reach: beyond.iter().map(|(of, judged)| shown(judged, &of.words, Some(&of.row))).collect(),
            reasons: best.reasons.clone(),
        }),
    })
}

/// A refusal of a field, in the library's words.
fn wrong(field: &str, why: impl Into<String>) -> Fault {
    Fault { field: Some(field.to_string()), ..Fault::request(why) }
}

/// The request of a message.
fn request(ask: &RecommendRequest) -> Result<Request, Fault> {
    fn span<T>(field: &str, text: &str) -> Result<Span<T>, Fault>
    where
        Span<T>: std::str::FromStr<Err = String>,
    {
        text.parse().map_err(|why| wrong(field, format!("{field}: {why}")))
    }
    let technology = technology::named(&ask.link).map_err(|why| wrong("link", format!("link: {why}")))?;
    let can = Can::parse(&ask.can).map_err(|why| wrong("can", format!("can: {why}")))?;
    let (down, up) = (span("down", &ask.down)?, span("up", &ask.up)?);
    let rtt: Span<Duration> = span("rtt", &ask.rtt)?;
    let hosts = ask.hosts.trim().parse();
    let hosts = hosts.map_err(|_| {
        wrong("hosts", format!("hosts = {}: must be a number from 1 to 250", cut(&ask.hosts)))
    })?;
    let goal = match &ask.goal {
        Some(text) => text.parse().map_err(|why| wrong("goal", format!("goal: {why}")))?,
        None => Goal::usual(technology, down.moves() || up.moves(), rtt.most),
    };
    let load = match &ask.load {
        Some(name) => Load::named(name).map_err(|why| wrong("load", format!("load: {why}")))?,
        None => Load::usual(technology).map_err(Fault::failed)?,
    };
    let cpu_limit = match &ask.cpu_limit {
        Some(text) => Some(text.parse().map_err(|why| wrong("cpu_limit", format!("CPU limit: {why}")))?),
        None => None,
    };
    let request =
        Request { technology, down, up, rtt, hosts, load, goal, can, device: None, cpu_limit, trace: None };
    let field = |why: &str| match why {
        why if why.starts_with("cpu-limit") => "cpu_limit",
        why => FIELDS.into_iter().find(|field| why.starts_with(field)).unwrap_or("can"),
    };
    request.check().map_err(|why| wrong(field(&why), why))?;
    Ok(request)
}

/// What is to be run of rows.
fn next(rows: &[Row]) -> Recommended<'static> {
    let run = |row: &Row| {
        let point = row.study.points.first()?;
        let Scenario { aqm, seeds, duration, .. } = &point.scenario;
        Some(RecommendedRun {
            text: row.text.clone(),
            algorithm: aqm.first()?.label().to_string(),
            seeds: seeds.list().into_iter().map(Seed).collect(),
            duration_s: duration.as_secs_f64(),
            estimated_packets: point.estimated_packets(),
            estimated_memory: memory(point),
        })
    };
    Recommended { runs: rows.iter().filter_map(run).collect(), answer: None }
}

/// What was found of rows.
struct Ran {
    /// The results, in which each row is a point.
    results: Results,
    /// Of each row, the error that ended one of its runs, if one did.
    failures: Vec<Option<String>>,
}

impl Ran {
    /// Reads what the page found of rows. If a row fails, the others still count.
    fn of(rows: &[Row], found: &[RecommendedFound]) -> Result<Ran, Fault> {
        if found.len() != rows.len() {
            let (here, asked) = (found.len(), rows.len());
            return Err(Fault::request(format!(
                "found: has replications of {here} runs, and {asked} were asked for"
            )));
        }
        let (mut replications, mut failures) = (Vec::new(), Vec::new());
        for (point, found) in found.iter().enumerate() {
            let (packed, failed) = match found {
                RecommendedFound::Packed(packed) => (&packed[..], None),
                RecommendedFound::Failed { failed } => (&[][..], Some(failed.clone())),
            };
            let mut of_row = read(packed)?;
            of_row.sort_by_key(|replication| replication.seed);
            replications
                .extend(of_row.into_iter().map(|found| quell_metrics::Replication { point, ..found }));
            failures.push(failed);
        }
        let points = rows.iter().flat_map(|row| &row.study.points).map(PointInfo::of).collect();
        Ok(Ran { results: Results::of(RunInfo { points, ..RunInfo::default() }, replications), failures })
    }

    /// The finding of each row.
    fn points(&self) -> Vec<Found<'_>> {
        let of = |(point, failed): (usize, &Option<String>)| match failed {
            None => Ok((&self.results, point)),
            Some(why) => Err(why.clone()),
        };
        self.failures.iter().enumerate().map(of).collect()
    }
}

/// A row as the command prints it.
fn shown(plan: &Plan, judged: &Judged, name: &str, row: Option<&Row>) -> RecommendedRow {
    let cell = |(column, cell): (&Column, &Option<quell_recommend::Cell>)| {
        let quantity: Quantity = column.metric.parse().ok()?;
        let cell = cell.as_ref()?;
        Some(cell.with_losses(figures::text(&quantity, &cell.estimate)))
    };
    RecommendedRow {
        name: name.to_string(),
        goal: judged.fate(),
        cells: plan.columns.iter().zip(&judged.cells).map(cell).collect(),
        text: row.map(|row| row.text.clone()).unwrap_or_default(),
    }
}
