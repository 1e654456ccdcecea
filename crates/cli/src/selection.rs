//! The selection of results that is shown, and its tables.

use std::collections::BTreeMap;
use std::path::Path;

use quell_lab::{Estimate, LANE, Metric, Quantity, Results, SIZE, View};
use quell_scenario::{Hole, Scenario};
use quell_units::text::{cut, one_line, seconds};
use quell_view::grid::{Grid, in_few};
use serde_json::json;

use crate::align::{self, Scale, align, round_within};
use crate::args::{TableFormat, ViewArgs};
use crate::failure::{Failure, unknown_name};
use crate::notes::MOST_HOLES;
use crate::table::{self, Column, Tint};
use crate::{json, terminal};

/// What stands for every link.
const ALL: &str = "all";

/// The selection of results that is shown.
#[derive(Clone, Debug)]
pub struct Selection {
    /// The figures asked for. `None`: the usual ones.
    metrics: Option<Vec<Quantity>>,
    link: Option<String>,
    classes: bool,
    segments: bool,
}

impl Selection {
    /// Checks what the user asked for, as far as that is possible before there are results.
    pub fn of(args: &ViewArgs) -> Result<Self, Failure> {
        let find = |name: &String| {
            let wrong = |why| bad_input!("metric \"{}\": {why}", cut(name));
            name.parse::<Quantity>().map_err(wrong)
        };
        let metrics = match args.metrics.as_slice() {
            [] => None,
            [all] if all == "all" => Some(quantities(Metric::ALL)),
            names => Some(names.iter().map(find).collect::<Result<_, _>>()?),
        };
        Ok(Selection { metrics, link: args.link.clone(), classes: args.classes, segments: args.segments })
    }

    /// Refuses a link that no point has.
    pub fn check_link<'a>(&self, links: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
        let Some(wanted) = self.link() else { return Ok(()) };
        let names = quell_lab::distinct(links);
        if names.contains(&wanted) { Ok(()) } else { Err(unknown_name("link", wanted, names)) }
    }

    /// The metrics that were asked for. `None`: the usual ones.
    pub fn asked_metrics(&self) -> Option<&[Quantity]> {
        self.metrics.as_deref()
    }

    /// The link that was asked for; `None` also if all were.
    pub fn link(&self) -> Option<&str> {
        self.link.as_deref().filter(|link| *link != ALL)
    }

    /// True if every link is shown.
    pub fn is_of_all_links(&self) -> bool {
        self.link.as_deref() == Some(ALL)
    }

    /// Refuses a link that the results do not have, and what names a class or an internal signal that they do not have.
    pub fn check(&self, results: &Results) -> Result<(), Failure> {
        self.check_link(results.run.points.iter().flat_map(|p| &p.links).map(String::as_str))?;
        match self.lacking(results).next() {
            Some(why) => Err(bad_input!("metric {why}")),
            None => Ok(()),
        }
    }

    /// Says what the results do not have, where it is too late to refuse.
    pub fn say_lacking(&self, results: &Results) {
        self.lacking(results).for_each(|why| terminal::note(&format!("metric {why}")));
    }

    /// The metrics that apply at none of the links that are shown, and where they do.
    pub fn inapplicable(&self, results: &Results) -> Vec<String> {
        if self.is_of_all_links() {
            return Vec::new();
        }
        let mut found = Vec::new();
        for figure in self.metrics.iter().flatten().filter(|figure| results.lacks(figure).is_none()) {
            let views = self.points(results).flat_map(|(point, link)| self.views(results, point, link));
            let views: Vec<View> = views.collect();
            let applies = |view: &View| {
                let mut algorithms = results.algorithms(view.point).iter();
                algorithms.any(|a| !results.samples(view, a, figure).is_empty())
            };
            if results.replications.is_empty() || views.iter().any(applies) {
                continue;
            }
            let shown: Vec<&str> = quell_lab::distinct(views.iter().filter_map(|view| view.link.as_deref()));
            let elsewhere = views.iter().flat_map(|view| results.links_with(view.point, figure, &view.scope));
            let elsewhere = quell_lab::distinct(elsewhere);
            found.push(match elsewhere.split_first() {
                Some((first, _)) => format!(
                    "metric {figure} does not apply at link {}, but it does at {}; use --link {first} or --link all",
                    shown.join(", "),
                    elsewhere.join(", ")
                ),
                None if figure.of_lanes() => {
                    format!("metric {figure} has values for lanes only, such as {figure}[lane:NAME] or --classes")
                }
                None => format!("metric {figure} does not apply to any link here"),
            });
        }
        found
    }

    /// Says on stderr which metrics apply at none of the links that are shown.
    pub fn say_inapplicable(&self, results: &Results) {
        self.inapplicable(results).iter().for_each(|why| terminal::note(why));
    }

    /// The selection as one table for papers and programs.
    pub fn grid(&self, results: &Results) -> Grid {
        Grid::of(results, &self.all_views(results), &self.grid_metrics())
    }

    /// Every view that is selected.
    pub fn all_views(&self, results: &Results) -> Vec<View> {
        self.points(results).flat_map(|(point, link)| self.views(results, point, link)).collect()
    }

    /// The columns of one table of all scopes.
    pub fn grid_metrics(&self) -> Vec<Quantity> {
        self.table_metrics(ALL)
    }

    fn lacking<'a>(&'a self, results: &'a Results) -> impl Iterator<Item = String> + 'a {
        self.metrics.iter().flatten().filter_map(|quantity| results.lacks(quantity))
    }

    /// The columns of the table of a scope.
    pub fn table_metrics(&self, scope: &str) -> Vec<Quantity> {
        self.metrics.clone().unwrap_or_else(|| quantities(Metric::table_of(scope)))
    }

    /// The figures of JSON.
    pub fn json_metrics(&self) -> Vec<Quantity> {
        self.metrics.clone().unwrap_or_else(|| quantities(Metric::ALL))
    }

    /// The points that have the link, with it; each link of a point if all are shown.
    pub fn points<'a>(&'a self, results: &'a Results) -> impl Iterator<Item = (usize, &'a str)> {
        results.run.points.iter().enumerate().flat_map(|(i, point)| {
            let links: Vec<&String> = match self.link() {
                Some(wanted) => point.links.iter().filter(|l| *l == wanted).collect(),
                None if self.is_of_all_links() => point.links.iter().collect(),
                None => point.links.iter().take(1).collect(),
            };
            links.into_iter().map(move |l| (i, l.as_str()))
        })
    }

    /// The points that have the link, each once, with the links that are shown of it.
    fn points_with_links<'a>(&'a self, results: &'a Results) -> Vec<(usize, Vec<&'a str>)> {
        let mut found: Vec<(usize, Vec<&str>)> = Vec::new();
        for (point, link) in self.points(results) {
            match found.last_mut() {
                Some((last, links)) if *last == point => links.push(link),
                _ => found.push((point, vec![link])),
            }
        }
        found
    }

    /// The tables of a point at a link: the whole first, then what was asked for besides.
    pub fn views(&self, results: &Results, point: usize, link: &str) -> Vec<View> {
        let scopes = match self.classes {
            true => results.scopes(point),
            false => vec!["all".to_string()],
        };
        let count = results.run.points.get(point).map_or(0, |p| p.segments.len());
        let segments = if self.segments && count > 1 { count } else { 0 };
        let segments = std::iter::once(None).chain((0..segments).map(|i| Some(i as u32)));
        segments
            .flat_map(|segment| {
                let view = |scope: &String| View {
                    point,
                    link: Some(link.to_string()),
                    segment,
                    scope: scope.clone(),
                };
                scopes.iter().map(view).collect::<Vec<_>>()
            })
            .collect()
    }

    /// The name of one of several tables: "class http, segment 2 of 3 (20 s to 30 s)"; may be empty.
    pub fn name(&self, results: &Results, view: &View) -> String {
        let scope = match view.scope.as_str() {
            "all" if self.classes => Some("all traffic".to_string()),
            "all" => None,
            "data" => Some("all data (without acknowledgments)".to_string()),
            other => Some(match (other.strip_prefix(LANE), other.strip_prefix(SIZE)) {
                (Some(lane), _) => format!("lane {lane}"),
                (_, Some(size)) => format!("transfers of size {size}"),
                _ => format!("class {other}"),
            }),
        };
        let segments = results.run.points.get(view.point).map_or(&[][..], |p| &p.segments);
        let segment = match view.segment.and_then(|i| Some((i, segments.get(i as usize)?))) {
            Some((i, (from, to))) => Some(format!(
                "segment {} of {} ({} s to {} s)",
                i + 1,
                segments.len(),
                seconds(*from),
                seconds(*to)
            )),
            None => self.segments.then(|| "whole window".to_string()),
        };
        [scope, segment].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn quantities(metrics: &[Metric]) -> Vec<Quantity> {
    metrics.iter().map(|m| Quantity::from(*m)).collect()
}

/// Figures that mean something in some row: a column of dashes tells nothing.
pub fn applicable(metrics: &[Quantity], rows: &[Vec<Option<Estimate>>]) -> Vec<usize> {
    (0..metrics.len()).filter(|i| rows.iter().any(|row| row[*i].is_some())).collect()
}

/// The scale for values of a figure of results up to `largest`, and the unit to print.
pub fn scale_of(results: &Results, figure: &Quantity, largest: f64) -> (Scale, String) {
    align::scale_of(figure, &results.unit(figure), largest)
}

/// A column of estimates of one figure, scaled by the largest of them.
pub fn column(
    figure: &Quantity,
    estimates: &[Option<Estimate>],
    scale: impl FnOnce(f64) -> (Scale, String),
) -> Column {
    let largest = estimates.iter().flatten().map(|e| e.mean.abs()).fold(0.0, f64::max);
    let (scale, unit) = scale(largest);
    let range = figure.range();
    let figures: Vec<_> =
        estimates.iter().map(|e| e.as_ref().map(|e| round_within(e, scale, range))).collect();
    Column::new(figure.title(), unit, align(&figures).into_iter().map(|text| (text, Tint::Plain)))
}

/// A table for papers or programs in one of their forms.
pub fn formatted(grid: &Grid, form: TableFormat) -> String {
    match form {
        TableFormat::Md => grid.markdown(),
        TableFormat::Latex => grid.latex(),
        TableFormat::Csv | TableFormat::Table | TableFormat::Json => grid.csv(),
    }
}

/// The heading of the tables: the title, and how much of the run is missing.
pub fn heading(results: &Results) -> String {
    let title = &results.run.title;
    let mut text = if title.is_empty() { String::new() } else { one_line(title) + "\n" };
    if results.run.partial {
        let (finished, asked) = (results.replications.len(), results.asked());
        text.push_str(&format!("PARTIAL: {finished} of {asked} replications\n"));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// All that is selected as text: the heading, the tables, what was left out, and what the intervals are.
pub fn text(results: &Results, selection: &Selection) -> String {
    heading(results) + &tables(results, selection) + &holes(results) + &caption(results)
}

/// The tables of all that is selected, with headings where there are several.
fn tables(results: &Results, selection: &Selection) -> String {
    let mut out = String::new();
    for (point, links) in selection.points_with_links(results) {
        out.push_str(&point_heading(results, point));
        for view in selection.views(results, point, links[0]) {
            let name = selection.name(results, &view);
            if !name.is_empty() {
                out.push_str(&(one_line(&name) + "\n"));
            }
            let metrics = selection.table_metrics(&view.scope);
            let links = if selection.is_of_all_links() { Some(links.as_slice()) } else { None };
            out.push_str(&one_table(results, &view, &metrics, links));
            out.push('\n');
        }
    }
    out
}

/// The points of a sweep that were left out; empty if there are none.
pub fn holes(results: &Results) -> String {
    let holes = &results.run.holes;
    if holes.is_empty() {
        return String::new();
    }
    let all = holes.len() + results.run.points.len();
    let lines: String =
        results.run.hole_lines(MOST_HOLES).iter().map(|line| format!("  {}\n", one_line(line))).collect();
    format!("left out ({} of {all} points):\n{lines}\n", holes.len())
}

/// The heading of a point; empty if there is only one.
pub fn point_heading(results: &Results, point: usize) -> String {
    let title = results.run.points.get(point).map(|p| p.title()).unwrap_or_default();
    match (title.is_empty(), results.run.points.len()) {
        (true, _) => String::new(),
        (false, 1) => one_line(&title) + "\n",
        (false, n) => format!("point {} of {n}: {}\n", point + 1, one_line(&title)),
    }
}

/// The table of a view; of several links, one below the other, if they are given.
fn one_table(results: &Results, view: &View, metrics: &[Quantity], links: Option<&[&str]>) -> String {
    let algorithms = results.algorithms(view.point);
    let mut names = Column::names("algorithm", algorithms);
    let mut views = vec![view.clone()];
    if let Some(links) = links {
        views = links.iter().map(|l| View { link: Some((*l).to_string()), ..view.clone() }).collect();
        let named = |link: &&str| std::iter::repeat_n((*link).to_string(), algorithms.len());
        names = Column::names("algorithm", links.iter().flat_map(|_| algorithms));
        names = Column::names("link", links.iter().flat_map(named)).beside(&names);
    }
    let row = |(view, a): (&View, &String)| metrics.iter().map(|m| results.estimate(view, a, m)).collect();
    let rows: Vec<Vec<Option<Estimate>>> =
        views.iter().flat_map(|view| algorithms.iter().map(move |a| (view, a))).map(row).collect();
    let shown = applicable(metrics, &rows);
    let mut columns: Vec<Column> = shown
        .iter()
        .map(|i| {
            let (figure, estimates) = (&metrics[*i], rows.iter().map(|row| row[*i]).collect::<Vec<_>>());
            column(figure, &estimates, |largest| scale_of(results, figure, largest))
        })
        .collect();
    if let Some(seeds) = seeds_column(&rows) {
        columns.push(seeds);
    }
    let named = |view: &View, a: &String| match (&view.link, links) {
        (Some(link), Some(_)) => format!("{link} {a}"),
        _ => a.clone(),
    };
    let labels: Vec<String> =
        views.iter().flat_map(|view| algorithms.iter().map(move |a| named(view, a))).collect();
    let quantities: Vec<&Quantity> = metrics.iter().collect();
    let cells: Vec<&[Option<Estimate>]> = rows.iter().map(Vec::as_slice).collect();
    let notes = in_few(&labels, &quantities, &cells);
    let fixed = links.map(|links| fixed_links(results, view.point, links)).unwrap_or_default();
    let notes = notes.into_iter().chain(fixed);
    let notes: String = notes.map(|note| terminal::prose(&format!("{}\n", one_line(&note)))).collect();
    table::figures(&names, &columns) + &notes
}

/// What to know of links that have algorithms of their own: the algorithms of the table are those that are compared.
fn fixed_links(results: &Results, point: usize, links: &[&str]) -> Vec<String> {
    let Some(info) = results.run.points.get(point) else { return Vec::new() };
    let (Some(scenario), Some(first)) = (Scenario::parse(&info.scenario), info.algorithms.first()) else {
        return Vec::new();
    };
    let note = |link: &&str| {
        let all = scenario.algorithms_at(link, first);
        let is_own = !all.is_empty() && all.iter().all(|at| at.is_own);
        let names = quell_lab::distinct(all.iter().map(|at| at.choice.label()));
        is_own.then(|| format!("{link} runs {} in every row", names.join(", ")))
    };
    links.iter().filter_map(note).collect()
}

/// The column of replications, if their number differs between rows.
pub fn seeds_column(rows: &[Vec<Option<Estimate>>]) -> Option<Column> {
    let count = |row: &Vec<Option<Estimate>>| row.iter().flatten().map(|e| e.n).max().unwrap_or(0);
    let counts: Vec<usize> = rows.iter().map(count).collect();
    let differ = counts.windows(2).any(|w| w[0] != w[1]);
    let cells = counts.iter().map(|n| (n.to_string(), Tint::Plain));
    differ.then(|| Column::new("seeds", "", cells))
}

/// The explanation of the intervals, for below the tables.
fn caption(results: &Results) -> String {
    let counts = replications(results);
    let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
    match (least.unwrap_or(0), most.unwrap_or(0)) {
        (_, 0) => String::new(),
        (_, 1) => "one seed, so no intervals; use --seeds N\n".to_string(),
        (least, most) => {
            let seeds = if least == most { most.to_string() } else { format!("{least} to {most}") };
            format!(
                "mean ± half-width of the 95% confidence interval over {seeds} seeds; [low, high] if the interval is \
                 cut off at a limit of the metric\n{}",
                rules(results)
            )
        }
    }
}

/// The rules by which the run chose the seeds itself, where it did.
pub fn rules(results: &Results) -> String {
    let mut rules: Vec<String> = results.run.sequential.iter().map(|s| s.rule() + "\n").collect();
    rules.dedup();
    terminal::prose(&rules.concat())
}

/// Says on stderr what a reader of the figures should know, beside what was said of the scenario before it ran.
pub fn say_remarks(results: &Results) {
    results.remarks().iter().for_each(|note| terminal::note(note));
}

/// The numbers of replications that the algorithms have at the points; without those that have none.
fn replications(results: &Results) -> Vec<usize> {
    let points = 0..results.run.points.len();
    let counts = points.flat_map(|p| results.algorithms(p).iter().map(move |a| results.finished(p, a)));
    counts.filter(|n| *n > 0).collect()
}

/// Prints all that is selected as JSON; `folder` and `report` are where the results were written.
pub fn print_json(
    results: &Results,
    selection: &Selection,
    folder: Option<&Path>,
    report: Option<&Path>,
) -> Result<(), Failure> {
    let mut output = json_run(results, folder, report);
    output["points"] = json_points(results, selection).into();
    add_notes(&mut output, selection.inapplicable(results));
    json::print(&output)
}

/// Adds notes on what is shown to those on what was run.
pub fn add_notes(output: &mut serde_json::Value, notes: Vec<String>) {
    if let Some(all) = output["notes"].as_array_mut() {
        all.extend(notes.into_iter().map(serde_json::Value::from));
    }
}

/// The run behind the figures, for JSON.
pub fn json_run(results: &Results, folder: Option<&Path>, report: Option<&Path>) -> serde_json::Value {
    let run = &results.run;
    let text = |path: &Path| path.display().to_string();
    let hole = |h: &Hole| json!({ "settings": json::settings(&h.settings), "reason": h.reason });
    let mut output = json!({
        "title": run.title,
        "scenario": run.scenario_file,
        "version": run.version,
        // Of the source that it was built from; "unknown" outside a repository.
        "commit": run.commit,
        // The engine's fingerprint for each algorithm: what computes the same has the same.
        "engine": run.engine,
        "digest": run.digest,
        // True if the run was stopped before its end.
        "partial": run.partial,
        "replications_asked": results.asked(),
        "replications_finished": results.replications.len(),
        // The points of a sweep that are not valid.
        "holes": run.holes.iter().map(hole).collect::<Vec<_>>(),
        // What a reader of the figures should know.
        "notes": results.notes(),
        "elapsed_s": run.elapsed_s,
    });
    // The rules by which the run chose the numbers of seeds, where it did.
    if !run.sequential.is_empty() {
        output["sequential"] = json!(run.sequential);
    }
    // Where it was written, if it was.
    output["folder"] = json!(folder.map(text));
    output["report"] = json!(report.map(text));
    output
}

/// The figures of one algorithm for JSON; null where one does not apply.
pub fn json_row(results: &Results, view: &View, algorithm: &str, metrics: &[Quantity]) -> serde_json::Value {
    let value = |m: &Quantity| {
        let estimate = results.estimate(view, algorithm, m);
        (m.to_string(), estimate.map(|e| json::Value::within(results.unit(m), &e, m.range())))
    };
    json!({
        "algorithm": algorithm,
        // "all", "data" (all but acknowledgments), a traffic class, a lane, or the transfers of one size.
        "scope": view.scope,
        // Null for the whole measured window.
        "segment": view.segment,
        "metrics": metrics.iter().map(value).collect::<BTreeMap<_, _>>(),
    })
}

/// Everything that is selected, for JSON.
fn json_points(results: &Results, selection: &Selection) -> Vec<serde_json::Value> {
    let metrics = &selection.json_metrics();
    let of_point = |(point, link): (usize, &str)| {
        let views = selection.views(results, point, link);
        let rows = views.iter().flat_map(|view| {
            results.algorithms(point).iter().map(move |a| json_row(results, view, a, metrics))
        });
        json!({
            "settings": json::settings(&results.run.points[point].settings),
            "link": link,
            "rows": rows.collect::<Vec<_>>(),
        })
    };
    selection.points(results).map(of_point).collect()
}
