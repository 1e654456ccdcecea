//! The metadata of a bundle as RO-Crate 1.1 has it, in the profile Process Run Crate 0.5.

use quell_lab::{RunInfo, distinct};
use quell_units::text::plural;
use serde_json::{Value, json};

use crate::about::{About, Author};
use crate::entry::{Entry, hash};
use crate::names::{METADATA, RESULTS, SCENARIO, SUMS, id_of, media_type};

/// The version of RO-Crate that a bundle keeps to.
pub(crate) const RO_CRATE: &str = "https://w3id.org/ro/crate/1.1";
const PROFILE: &str = "https://w3id.org/ro/wfrun/process/0.5";
/// The place of Quell's source.
pub(crate) const REPOSITORY: &str = "https://github.com/quell-aqm/quell";
/// The entity that has the commit which made tables, figures and report.
pub(crate) const PACKER: &str = "#packer";
/// The entity that stands for a license where none is given.
const NO_LICENSE: &str = "#no-license";

/// The metadata of these files, as the text of its file.
pub(crate) fn text(run: &RunInfo, about: &About, files: &[Entry], sums_bytes: usize) -> String {
    let mut graph = vec![
        json!({
            "@id": METADATA,
            "@type": "CreativeWork",
            "about": { "@id": "./" },
            "conformsTo": { "@id": RO_CRATE },
        }),
        root(run, about, files),
        json!({ "@id": PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5" }),
        license(about),
    ];
    graph.extend(
        about.authors.iter().enumerate().map(
            |(i, author)| json!({ "@id": author_id(i, author), "@type": "Person", "name": author.name }),
        ),
    );
    graph.push(action(run, about, files));
    graph.push(software(run));
    // Results may have been made by another commit than that which drew the figures.
    graph.push(json!({
        "@id": PACKER,
        "@type": "PropertyValue",
        "name": "commit of Quell that made tables, figures and report",
        "value": quell_lab::commit(),
    }));
    graph.extend(properties(run).into_iter().map(
        |(id, name, value)| json!({ "@id": id, "@type": "PropertyValue", "name": name, "value": value }),
    ));
    graph.extend(files.iter().map(|file| {
        let mut entity = json!({
            "@id": id_of(&file.name),
            "@type": "File",
            "name": file.title,
            "encodingFormat": media_type(&file.name),
            "contentSize": file.bytes.len().to_string(),
            "sha256": hash(&file.bytes),
        });
        if let Some(alias) = &file.alias {
            entity["alternateName"] = json!(alias);
        }
        entity
    }));
    // Its hash is not here: it has that of this file.
    graph.push(json!({
        "@id": SUMS,
        "@type": "File",
        "name": "SHA-256 of every file, for sha256sum --check",
        "encodingFormat": media_type(SUMS),
        "contentSize": sums_bytes.to_string(),
    }));
    // Not every edition of the context has this word of schema.org.
    let sha256 = json!({ "sha256": "http://schema.org/sha256" });
    let whole = json!({ "@context": [format!("{RO_CRATE}/context"), sha256], "@graph": graph });
    // What was made of strings and lists can be written.
    serde_json::to_string_pretty(&whole).unwrap_or_default() + "\n"
}

fn refer(ids: impl IntoIterator<Item = String>) -> Value {
    ids.into_iter().map(|id| json!({ "@id": id })).collect()
}

fn root(run: &RunInfo, about: &About, files: &[Entry]) -> Value {
    let parts = files.iter().map(|file| id_of(&file.name)).chain([SUMS.to_string()]);
    let mut root = json!({
        "@id": "./",
        "@type": "Dataset",
        "conformsTo": { "@id": PROFILE },
        "name": title(run, about),
        "description": description(run, about),
        "datePublished": day(run),
        "license": { "@id": about.license.as_ref().map_or(NO_LICENSE, |license| &license.url) },
        "keywords": keywords(run),
    });
    if !about.authors.is_empty() {
        root["author"] = refer(about.authors.iter().enumerate().map(|(i, author)| author_id(i, author)));
    }
    root["mentions"] = refer(["#run".to_string(), PACKER.to_string()]);
    root["hasPart"] = refer(parts);
    root
}

/// The title of a bundle.
pub(crate) fn title(run: &RunInfo, about: &About) -> String {
    let own = if run.title.is_empty() { "A study of active queue management" } else { &run.title };
    about.title.clone().unwrap_or_else(|| own.to_string())
}

/// The description of a bundle, in sentences.
pub(crate) fn description(run: &RunInfo, about: &About) -> String {
    let algorithms = distinct(run.points.iter().flat_map(|p| &p.algorithms).map(String::as_str)).join(", ");
    let points = plural(run.points.len(), "point");
    let how = if run.live { "Measured with real packets" } else { "Simulated" };
    let made = format!("{how} with Quell {}: {algorithms}, at {points}.", run.version);
    about.description.clone().unwrap_or_else(|| {
        format!(
            "A study of active queue management as an archive that can be checked and computed again: scenario, \
             replications, tables and figures. {made}"
        )
    })
}

/// Words by which a bundle is found.
pub(crate) fn keywords(run: &RunInfo) -> Vec<String> {
    let general = ["active queue management", "congestion control", "network simulation", "Quell"];
    let algorithms = distinct(run.points.iter().flat_map(|p| &p.algorithms).cloned());
    general.map(str::to_string).into_iter().chain(algorithms).collect()
}

/// The day on which the study was run: the same study is the same archive on every other day.
fn day(run: &RunInfo) -> &str {
    run.started.get(..10).filter(|day| day.is_ascii()).unwrap_or("1970-01-01")
}

fn license(about: &About) -> Value {
    match &about.license {
        Some(license) => json!({
            "@id": license.url,
            "@type": "CreativeWork",
            "name": license.name,
            "description": license.title,
        }),
        None => json!({
            "@id": NO_LICENSE,
            "@type": "CreativeWork",
            "name": "No license",
            "description": "The authors have given no license: all rights are reserved.",
        }),
    }
}

fn author_id(i: usize, author: &Author) -> String {
    author
        .orcid
        .as_ref()
        .map_or_else(|| format!("#author-{}", i + 1), |orcid| format!("https://orcid.org/{orcid}"))
}

/// The run that made the results.
fn action(run: &RunInfo, about: &About, files: &[Entry]) -> Value {
    let of = |folder: &'static str| {
        files.iter().filter(move |f| f.name.starts_with(folder)).map(|f| id_of(&f.name))
    };
    let given = properties(run).into_iter().map(|p| p.0).filter(|id| !id.starts_with(ENGINE));
    let mut action = json!({
        "@id": "#run",
        "@type": "CreateAction",
        "name": if run.live { "Measurement of the study" } else { "Simulation of the study" },
        "description": if run.command.is_empty() { "Run from a program".to_string() } else { command(run) },
        "startTime": run.started,
        "endTime": end(run),
        "actionStatus": { "@id": "http://schema.org/CompletedActionStatus" },
        "instrument": { "@id": software_id(run) },
        "object": refer(of(SCENARIO).chain(given)),
        "result": refer(of(RESULTS)),
    });
    if !about.authors.is_empty() {
        action["agent"] = refer(about.authors.iter().enumerate().map(|(i, author)| author_id(i, author)));
    }
    action
}

/// The time at which the run ended.
fn end(run: &RunInfo) -> String {
    let lasted = std::time::Duration::try_from_secs_f64(run.elapsed_s).unwrap_or_default();
    let end = humantime::parse_rfc3339(&run.started).ok().and_then(|started| started.checked_add(lasted));
    end.map_or_else(|| run.started.clone(), |end| humantime::format_rfc3339_seconds(end).to_string())
}

fn software_id(run: &RunInfo) -> String {
    match is_known(&run.commit) {
        true => format!("{REPOSITORY}/tree/{}", run.commit),
        false => REPOSITORY.to_string(),
    }
}

/// True if the commit that made results is known.
pub(crate) fn is_known(commit: &str) -> bool {
    commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit())
}

fn software(run: &RunInfo) -> Value {
    let mut software = json!({
        "@id": software_id(run),
        "@type": "SoftwareApplication",
        "name": "Quell",
        "description": "A laboratory of active queue management",
        "url": REPOSITORY,
        "softwareVersion": run.version,
    });
    if is_known(&run.commit) {
        software["identifier"] = json!(run.commit);
    }
    let engine = properties(run).into_iter().map(|p| p.0).filter(|id| id.starts_with(ENGINE));
    software["additionalProperty"] = refer(engine);
    software
}

const ENGINE: &str = "#engine-";

/// Facts that are values and not files: `@id`, name and value.
fn properties(run: &RunInfo) -> Vec<(String, String, String)> {
    let mut all = vec![("#seeds".to_string(), "seeds".to_string(), seeds(run))];
    if !run.command.is_empty() {
        all.push(("#command".to_string(), "command".to_string(), command(run)));
    }
    all.push(("#digest".to_string(), "digest of all replications".to_string(), run.digest.clone()));
    all.extend(run.engine.iter().map(|(algorithm, print)| {
        (
            format!("{ENGINE}{}", id_of(algorithm)),
            format!("fingerprint of the engine with {algorithm}"),
            print.clone(),
        )
    }));
    all
}

/// The seeds of the points, ranges as such.
pub(crate) fn seeds(run: &RunInfo) -> String {
    let of = |seeds: &Vec<u64>| {
        let runs = seeds.chunk_by(|a, b| a.checked_add(1) == Some(*b));
        let text = runs.map(|run| match run {
            [first, .., last] => format!("{first}-{last}"),
            [only] => only.to_string(),
            [] => String::new(),
        });
        text.collect::<Vec<_>>().join(",")
    };
    let each: Vec<String> = run.points.iter().map(|p| of(&p.seeds)).collect();
    match distinct(each.iter()).len() {
        0 | 1 => each.into_iter().next().unwrap_or_default(),
        _ => {
            let at = |(i, seeds): (usize, &String)| format!("point {}: {seeds}", i + 1);
            each.iter().enumerate().map(at).collect::<Vec<_>>().join("; ")
        }
    }
}

/// The command that made results, as a shell takes it.
pub(crate) fn command(run: &RunInfo) -> String {
    line(run.command.iter().map(String::as_str))
}

/// Words as one line that a shell takes.
pub(crate) fn line<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:%+@".contains(c);
    let quote = |word: &str| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_string(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.map(quote).collect::<Vec<_>>().join(" ")
}
