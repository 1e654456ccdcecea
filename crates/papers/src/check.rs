//! Checks of documents whose files can be read: no name leads nowhere, and nothing is asked for that is not in the
//! scenarios that are to be run.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use quell_scenario::dialect::Dialect;

use crate::cells::{Cell, matches};
use crate::error::PaperError;
use crate::experiment::{CLAIM, Document, Experiment, Figure, Papers, Reading, Refuted};
use crate::judge::{ARITHMETIC, NS2};

impl Experiment {
    /// The error that something in its file breaks a rule; the steps lead to it, and numbers into lists.
    pub(crate) fn wrong(&self, at: &[&dyn Display], rule: impl Into<String>) -> PaperError {
        let steps: Vec<String> = at.iter().map(|step| step.to_string()).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let line = self.toml.as_ref().filter(|_| !at.is_empty()).and_then(|toml| toml.line(&steps));
        PaperError { line, ..PaperError::of(&self.file, rule) }
    }
}

/// Refuses a name that is not among these.
pub(crate) fn one_of(key: &str, name: &str, names: &[&str]) -> Result<(), String> {
    if names.contains(&name) {
        return Ok(());
    }
    let (_, nearest) = quell_scenario::unknown(key, name, names);
    let known = match names {
        [] => "there is none".to_string(),
        names => format!("there are {}", names.join(", ")),
    };
    let rule = quell_scenario::suggest("is not there", nearest.as_deref(), Some(&known));
    Err(format!("{key} = \"{name}\": {rule}"))
}

/// Refuses a name that is not a dialect's.
pub(crate) fn dialect(name: &str) -> Result<(), String> {
    let names: Vec<&str> = [Dialect::Quell].into_iter().chain(Dialect::ALL).map(Dialect::name).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let (rule, nearest) = quell_scenario::unknown("dialect", name, &names);
    let known = format!("there are {}", names.join(", "));
    Err(format!("dialect = \"{name}\": {}", quell_scenario::suggest(&rule, nearest.as_deref(), Some(&known))))
}

/// Checks a document before its scenarios are read.
pub(crate) fn document(papers: &Papers, document: &Document) -> Result<(), PaperError> {
    let mut answered: BTreeMap<&str, &Path> = BTreeMap::new();
    for e in &document.experiments {
        if let Some(other) = papers.experiments().find(|other| other.id == e.id) {
            let rule = format!(
                "its id would be {}, as that of {}; rename one",
                e.id,
                quell_files::name(&other.file)
            );
            return Err(e.wrong(&[], rule));
        }
        experiment(papers, document, e)?;
        let computed = e.computed.iter().filter_map(|of| of.cell.as_ref());
        let computed = computed.filter_map(|id| papers.cells.iter().find(|c| c.id == *id));
        for cell in e.cells.iter().flat_map(|of| papers.cells_of(of)).chain(computed) {
            if let Some(other) = answered.insert(&cell.id, &e.file) {
                let rule = format!("answers {}, which {} answers as well", cell.id, quell_files::name(other));
                return Err(e.wrong(&[], rule));
            }
        }
    }
    Ok(())
}

/// Names that lead nowhere.
fn experiment(papers: &Papers, document: &Document, e: &Experiment) -> Result<(), PaperError> {
    let of_runs = e.claims.iter().any(|claim| claim.test.needs_runs());
    if e.runs.is_empty() && (of_runs || !(e.cells.is_empty() && e.figures.is_empty())) {
        let rule = "has no [[run]]: cells, figures and claims on quantities of runs need one";
        return Err(e.wrong(&[], rule));
    }
    if e.readings.is_empty() {
        return Err(e.wrong(&[&"reading"], "reading = []: must have at least one; or leave it out"));
    }
    own(e)?;
    cells(papers, &document.key, e)?;
    let claims: Vec<&str> = e.claims.iter().map(|c| c.name.as_str()).collect();
    let readings: Vec<&str> = e.readings.iter().map(|r| r.name.as_str()).collect();
    for (i, r) in e.refuted.iter().enumerate() {
        let wrong = |rule| e.wrong(&[&"refuted", &i, &"shown_by"], rule);
        match r.shown_by.strip_prefix("claim:") {
            Some(name) => one_of("shown_by = claim", name, &claims).map_err(wrong)?,
            None if r.shown_by == NS2 || r.shown_by == ARITHMETIC => {}
            None => one_of("shown_by", &r.shown_by, &readings).map_err(wrong)?,
        }
        evidence(papers, e, r).map_err(|(key, rule)| e.wrong(&[&"refuted", &i, &key], rule))?;
    }
    let known = |pattern: &String| papers.cells.iter().any(|c| matches(pattern, &c.id));
    let named = |kind: &str, i: usize, key: &str, patterns: &[String]| match patterns
        .iter()
        .find(|p| !known(p))
    {
        Some(lost) => Err(e.wrong(&[&kind, &i, &key], format!("{key} = \"{lost}\": no cell has such an id"))),
        None => Ok(()),
    };
    let of_document = document.experiments.iter().flat_map(|e| e.claims.iter().map(move |c| (e, c)));
    let of_document: Vec<String> = of_document.map(|(e, c)| format!("{CLAIM}{}#{}", e.id, c.name)).collect();
    for (i, r) in e.readings.iter().enumerate() {
        let (claims, numbers): (Vec<_>, Vec<_>) =
            r.fitted_on.iter().cloned().partition(|name| name.starts_with(CLAIM));
        named("reading", i, "fitted_on", &numbers)?;
        let names: Vec<&str> = of_document.iter().map(String::as_str).collect();
        if let Some(lost) = claims.iter().find(|name| !of_document.contains(name)) {
            let (_, nearest) = quell_scenario::unknown("claim", lost, &names);
            let rule = format!("fitted_on = \"{lost}\": the document has no such claim");
            let rule = quell_scenario::suggest(&rule, nearest.as_deref(), None);
            return Err(e.wrong(&[&"reading", &i, &"fitted_on"], rule));
        }
    }
    for (i, r) in e.refuted.iter().enumerate() {
        named("refuted", i, "cells", &r.cells)?;
        // A wider pattern of [[open]] is for what [[refuted]] does not show.
        if let Some(both) = r.cells.iter().find(|p| e.open.iter().any(|open| open.cells.contains(*p))) {
            let rule =
                format!("cells = \"{both}\": is in [[refuted]] and in [[open]]; leave it in one of them");
            return Err(e.wrong(&[&"refuted", &i, &"cells"], rule));
        }
    }
    for (i, open) in e.open.iter().enumerate() {
        named("open", i, "cells", &open.cells)?;
    }
    claims_of(e)?;
    ns2(papers, e)?;
    computed(papers, e)?;
    for (i, figure) in e.figures.iter().enumerate() {
        if quell_view::chart::Diagram::find(&figure.kind).is_none() {
            let names: Vec<&str> = quell_view::chart::Diagram::ALL.iter().map(|d| d.name()).collect();
            return one_of("kind", &figure.kind, &names)
                .map_err(|rule| e.wrong(&[&"figure", &i, &"kind"], rule));
        }
        for (key, name, names) in
            [("run", &figure.run, names_of_runs(e)), ("reading", &figure.reading, readings.clone())]
        {
            let known = name.as_ref().map_or(Ok(()), |name| one_of(key, name, &names));
            known.map_err(|rule| e.wrong(&[&"figure", &i, &key], rule))?;
        }
        figure
            .check_axes()
            .map_err(|(key, rule)| e.wrong(&[&"figure", &i, &key], format!("{key}: {rule}")))?;
        live_figure(e, figure).map_err(|rule| e.wrong(&[&"figure", &i, &"live"], format!("live: {rule}")))?;
    }
    live_side(e)
}

/// The evidence against numbers or claims has what it needs, and nothing else.
fn evidence(papers: &Papers, e: &Experiment, r: &Refuted) -> Result<(), (&'static str, String)> {
    let (numbers, claims) = (!r.cells.is_empty(), !r.claims.is_empty());
    if numbers == claims {
        return Err(("mechanism", "must have either \"cells\" or \"claims\"".to_string()));
    }
    let names: Vec<&str> = e.claims.iter().filter(|c| !c.ours).map(|c| c.name.as_str()).collect();
    r.claims.iter().try_for_each(|name| one_of("claims", name, &names)).map_err(|why| ("claims", why))?;
    let readings: Vec<&str> = e.readings.iter().map(|reading| reading.name.as_str()).collect();
    let known = r.reading.iter().try_for_each(|name| one_of("reading", name, &readings));
    known.map_err(|why| ("reading", why))?;
    if (r.shown_by == ARITHMETIC) != r.arithmetic.is_some() {
        let rule = "arithmetic: goes with shown_by = \"arithmetic\", as in \"[ID] * [ID] = 54..66\"";
        return Err(("shown_by", rule.to_string()));
    }
    if let Some(arithmetic) = &r.arithmetic {
        let (apart, found) = arithmetic
            .contradicts(&papers.cells)
            .map_err(|why| ("arithmetic", format!("arithmetic: {why}")))?;
        if !apart {
            return Err(("arithmetic", format!("arithmetic: {found}; it contradicts nothing")));
        }
    }
    let of_ns2 = claims && r.shown_by == NS2;
    if claims && !of_ns2 && r.shown_by != ARITHMETIC {
        let rule = format!(
            "shown_by = \"{}\": a claim is refuted by \"{NS2}\" or \"{ARITHMETIC}\"; under a reading it holds: its              own \"shown_by\" names that",
            r.shown_by
        );
        return Err(("shown_by", rule));
    }
    if of_ns2 != r.figures.is_some() || (r.reading.is_some() && !of_ns2) {
        let rule =
            "figures: names the file of ns-2's values, and goes with claims that are shown_by = \"ns-2\"";
        return Err(("shown_by", format!("{rule}, as \"reading\" does")));
    }
    Ok(())
}

/// The rows of ns-2 for the numbers that an experiment answers name its readings, and so does each that refutes.
fn ns2(papers: &Papers, e: &Experiment) -> Result<(), PaperError> {
    let readings: Vec<&str> = e.readings.iter().map(|r| r.name.as_str()).collect();
    let by_ns2 = e.refuted.iter().filter(|r| r.shown_by == NS2).flat_map(|r| &r.cells);
    let by_ns2: Vec<&String> = by_ns2.collect();
    for cell in e.cells.iter().flat_map(|of| papers.cells_of(of)) {
        let refuted = by_ns2.iter().any(|pattern| matches(pattern, &cell.id));
        for row in papers.ns2.get(&cell.id).into_iter().flatten() {
            let wrong = |rule: String| PaperError::at(&papers.folder.join("ns2.csv"), row.line, rule);
            match &row.reading {
                Some(name) => one_of("setting = reading", name, &readings).map_err(wrong)?,
                None if refuted => {
                    let rule = format!(
                        "setting: must begin with the reading of {} that ns-2 ran, in square brackets, as in \"[{}] {}\": \
                         the number is refuted by it",
                        e.id, readings[0], row.setting
                    );
                    return Err(wrong(rule));
                }
                None => {}
            }
        }
    }
    Ok(())
}

/// A live figure is a quantity over a field, of the run that is live.
fn live_figure(e: &Experiment, figure: &Figure) -> Result<(), String> {
    let Some(file) = &figure.live else { return Ok(()) };
    let Some(live) = &e.live else {
        return Err("needs a table [live], which says what is run with real packets".into());
    };
    if figure.kind != "metric" || figure.x.is_none() || figure.by.is_some() {
        return Err("must be of a figure with kind = \"metric\" and x, and without by".into());
    }
    let run = |name: &Option<String>| name.clone().or_else(|| e.runs.first().map(|r| r.name.clone()));
    let reading = |name: &Option<String>| name.clone().or_else(|| e.readings.first().map(|r| r.name.clone()));
    if run(&figure.run) != run(&live.run) || reading(&figure.reading) != reading(&live.reading) {
        return Err("the figure must be of the run and the reading that [live] names".into());
    }
    crate::live::recorded(e, file).map(|_| ())
}

/// Checks the part that is run with real packets.
fn live_side(e: &Experiment) -> Result<(), PaperError> {
    let Some(live) = &e.live else { return Ok(()) };
    if live.seeds == 0 {
        return Err(e.wrong(&[&"live", &"seeds"], "seeds = 0: must be at least 1"));
    }
    let readings = e.readings.iter().map(|r| r.name.as_str()).collect();
    for (key, name, names) in [("run", &live.run, names_of_runs(e)), ("reading", &live.reading, readings)] {
        let known = name.as_ref().map_or(Ok(()), |name| one_of(key, name, &names));
        known.map_err(|rule| e.wrong(&[&"live", &key], rule))?;
    }
    crate::live::LiveRecord::read(e).map(|_| ()).map_err(|rule| e.wrong(&[&"live", &"record"], rule))
}

fn names_of_runs(e: &Experiment) -> Vec<&str> {
    e.runs.iter().map(|r| r.name.as_str()).collect()
}

/// Its runs and readings.
fn own(e: &Experiment) -> Result<(), PaperError> {
    let seeds = [("seeds", Some(e.seeds))].into_iter().map(|(key, n)| (vec![key.to_string()], n));
    let own =
        |kind: &'static str| move |(i, n)| (vec![kind.to_string(), format!("{i}"), "seeds".to_string()], n);
    let runs = e.runs.iter().map(|r| r.seeds).enumerate().map(own("run"));
    let readings = e.readings.iter().map(|r| r.seeds).enumerate().map(own("reading"));
    if let Some((at, _)) = seeds.chain(runs).chain(readings).find(|(_, n)| *n == Some(0)) {
        let at: Vec<&dyn Display> = at.iter().map(|step| step as &dyn Display).collect();
        return Err(e.wrong(&at, "seeds = 0: must be at least 1"));
    }
    e.dialect.iter().try_for_each(|name| dialect(name)).map_err(|rule| e.wrong(&[&"dialect"], rule))?;
    let runs = e.runs.iter().map(|r| &r.dialect).enumerate().map(|(i, d)| ("run", i, d));
    let readings = e.readings.iter().map(|r| &r.dialect).enumerate().map(|(i, d)| ("reading", i, d));
    for (kind, i, name) in runs.chain(readings) {
        name.iter()
            .try_for_each(|name| dialect(name))
            .map_err(|rule| e.wrong(&[&kind, &i, &"dialect"], rule))?;
    }
    if e.readings.first().is_some_and(|r| r.rival) {
        let rule = "rival = true: the first reading is the one that is judged; name it in another one";
        return Err(e.wrong(&[&"reading", &0, &"rival"], rule));
    }
    let judged = |r: &Reading| e.judged_readings().any(|j| j.name == r.name);
    if let Some(at) = e.readings.iter().position(|r| !r.excluded.is_empty() && judged(r)) {
        let rule = "excluded: the reading is judged; judge another one, or leave this out";
        return Err(e.wrong(&[&"reading", &at, &"excluded"], rule));
    }
    let readings: Vec<&str> = e.readings.iter().map(|r| r.name.as_str()).collect();
    let claims: Vec<&str> = e.claims.iter().map(|c| c.name.as_str()).collect();
    for (kind, names) in [("run", names_of_runs(e)), ("reading", readings), ("claim", claims)] {
        if let Some(twice) = (1..names.len()).find(|i| names[..*i].contains(&names[*i])) {
            let rule = format!("{kind} = \"{}\": is named twice", names[twice]);
            return Err(e.wrong(&[&kind, &twice, &"name"], rule));
        }
    }
    let runs = names_of_runs(e);
    for (i, r) in e.readings.iter().enumerate() {
        for (key, names) in [
            ("runs", r.runs.iter().flatten().collect::<Vec<_>>()),
            ("replace", r.replace.keys().collect::<Vec<_>>()),
        ] {
            let known = names.into_iter().try_for_each(|name| one_of("run", name, &runs));
            known.map_err(|rule| e.wrong(&[&"reading", &i, &key], rule))?;
        }
    }
    Ok(())
}

/// Checks the printed numbers that it answers, and how.
fn cells(papers: &Papers, document: &str, e: &Experiment) -> Result<(), PaperError> {
    let readings: Vec<&str> = e.readings.iter().map(|r| r.name.as_str()).collect();
    let runs = names_of_runs(e);
    for (i, of) in e.cells.iter().enumerate() {
        let wrong = |key: &str, rule: String| e.wrong(&[&"cells", &i, &key], rule);
        let known = of.reading.iter().try_for_each(|name| one_of("reading", name, &readings));
        known.map_err(|rule| wrong("reading", rule))?;
        let known = of.place.run.iter().try_for_each(|name| one_of("run", name, &runs));
        known.map_err(|rule| wrong("where", rule))?;
        for (case, place) in &of.case {
            let known = place.run.iter().try_for_each(|name| one_of("run", name, &runs));
            known.map_err(|rule| e.wrong(&[&"cells", &i, &"case", case], rule))?;
        }
        if !of.of.starts_with(&format!("{document}/")) {
            return Err(wrong("of", format!("of = \"{}\": must begin with \"{document}/\"", of.of)));
        }
        let all = || papers.cells.iter().filter(|c| matches(&of.of, &c.id));
        if all().next().is_none() {
            return Err(wrong("of", format!("of = \"{}\": no cell has such an id", of.of)));
        }
        type Part = fn(&Cell) -> &str;
        let parts: [(&str, Vec<&String>, Part); 3] = [
            ("algorithm", of.algorithm.keys().collect(), |c| &c.algorithm),
            ("metric", of.metric.keys().collect(), |c| &c.metric),
            ("case", of.case.keys().collect(), |c| c.part(2)),
        ];
        for (kind, names, part) in parts {
            let known = quell_lab::distinct(all().map(part));
            if let Some(lost) = names.into_iter().find(|name| !known.contains(&name.as_str())) {
                let (_, nearest) = quell_scenario::unknown(kind, lost, &known);
                let rule = format!("{kind} \"{lost}\": no cell of \"{}\" has it", of.of);
                let known = format!("there are {}", known.join(", "));
                let rule = quell_scenario::suggest(&rule, nearest.as_deref(), Some(&known));
                return Err(e.wrong(&[&"cells", &i, &kind, lost], rule));
            }
        }
        for cell in papers.cells_of(of) {
            let value = &of.metric[&cell.metric];
            crate::units::check(value, &cell.unit).map_err(|rule| {
                e.wrong(&[&"cells", &i, &"metric", &cell.metric], format!("{} = {rule}", cell.metric))
            })?;
        }
    }
    Ok(())
}

/// Checks the names that its claims take from its file.
fn claims_of(e: &Experiment) -> Result<(), PaperError> {
    let readings: Vec<&str> = e.readings.iter().map(|r| r.name.as_str()).collect();
    let runs = names_of_runs(e);
    let drawn: Vec<&str> = e.computed.iter().filter_map(|of| of.figure.as_deref()).collect();
    for (i, claim) in e.claims.iter().enumerate() {
        for (key, name) in [("reading", &claim.reading), ("shown_by", &claim.shown_by)] {
            let known = name.iter().try_for_each(|name| one_of(key, name, &readings));
            known.map_err(|rule| e.wrong(&[&"claim", &i, &key], rule))?;
        }
        let test = |rule: String| e.wrong(&[&"claim", &i, &"test"], rule);
        claim.test.runs().try_for_each(|name| one_of("run", name, &runs)).map_err(test)?;
        for (read, along) in claim.test.reads() {
            one_of("figure", &read.figure, &drawn).map_err(test)?;
            let of = e.computed.iter().find(|of| of.figure.as_ref() == Some(&read.figure));
            let quantities = of.map_or(&[][..], |of| of.compute.quantities());
            let names: Vec<&str> = quantities.iter().map(|(name, _)| *name).collect();
            one_of("quantity", &read.quantity, &names).map_err(test)?;
            let fields = quantities.iter().find(|(name, _)| *name == read.quantity).map_or(&[][..], |q| q.1);
            let mut named = read.at.iter().map(|(field, _)| field.as_str()).chain(along);
            named.try_for_each(|field| one_of("field", field, fields)).map_err(test)?;
        }
    }
    Ok(())
}

/// Checks the figures and numbers that it computes.
fn computed(papers: &Papers, e: &Experiment) -> Result<(), PaperError> {
    let runs = names_of_runs(e);
    for (i, computed) in e.computed.iter().enumerate() {
        for (j, border) in computed.borders.iter().enumerate() {
            let known = border.run.iter().try_for_each(|name| one_of("run", name, &runs));
            known.map_err(|rule| e.wrong(&[&"computed", &i, &"border", &j, &"run"], rule))?;
        }
        let known = computed.compute.runs().iter().try_for_each(|name| one_of("run", name, &runs));
        known.map_err(|rule| e.wrong(&[&"computed", &i, &"compute"], rule))?;
        match (&computed.cell, &computed.figure) {
            (Some(id), None) if papers.cells.iter().any(|c| c.id == *id) => {}
            (Some(id), None) => {
                let rule = format!("cell = \"{id}\": no cell has this id");
                return Err(e.wrong(&[&"computed", &i, &"cell"], rule));
            }
            (None, Some(number)) => {
                let same = |of: &&crate::Computed| of.figure.as_ref() == Some(number);
                if e.computed[..i].iter().any(|of| same(&of)) {
                    let rule =
                        format!("figure = \"{number}\": is computed twice; tests could not tell which");
                    return Err(e.wrong(&[&"computed", &i, &"figure"], rule));
                }
            }
            _ => return Err(e.wrong(&[&"computed", &i], "must have either \"cell\" or \"figure\"")),
        }
        if computed.cell.is_some() != computed.compute.is_number() {
            let rule = match computed.cell {
                Some(_) => "compute: is of a kind that gives a figure; name \"figure\" instead of \"cell\"",
                None => "compute: is of a kind that gives a number; name \"cell\" instead of \"figure\"",
            };
            return Err(e.wrong(&[&"computed", &i, &"compute"], rule));
        }
    }
    Ok(())
}
