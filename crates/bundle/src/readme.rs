//! The page for anyone who opens a bundle: what it is, how to check it, and how to compute it again.

use std::fmt::Write as _;

use quell_lab::Results;
use quell_units::text::{one_line, plural};

use crate::about::{About, Author};
use crate::crate_metadata::{REPOSITORY, command, description, is_known, line, seeds, title};
use crate::entry::{Entry, scenario_name};

/// The page, in Markdown.
pub(crate) fn page(results: &Results, about: &About, files: &[Entry]) -> String {
    let run = &results.run;
    let mut out = format!("# {}\n\n", one_line(&title(run, about)));
    if !about.authors.is_empty() {
        let name = |a: &Author| match &a.orcid {
            Some(orcid) => format!("{} (https://orcid.org/{orcid})", a.name),
            None => a.name.clone(),
        };
        let _ = writeln!(out, "{}\n", about.authors.iter().map(name).collect::<Vec<_>>().join(", "));
    }
    let _ = writeln!(out, "{}\n", description(run, about).trim());
    let license = match &about.license {
        Some(license) => format!("{} ({})", license.title, license.url),
        None => "none was given; all rights are reserved".to_string(),
    };
    let _ = writeln!(out, "License: {license}.\n");
    if run.partial {
        let (finished, asked) = (results.replications.len(), results.asked());
        let _ = writeln!(out, "**Partial:** the run was stopped after {finished} of {asked} replications.\n");
    }
    out += &how_to_check(results);
    out += &what_made_it(results);
    out += &limits(results);
    out += "## What is in it\n\n| file | what it is |\n| --- | --- |\n";
    let mut names: Vec<(&str, &str)> = files.iter().map(|f| (&*f.name, &*f.title)).collect();
    names.push(("SHA256SUMS", "SHA-256 of every file"));
    names.push(("ro-crate-metadata.json", "All of this for programs: RO-Crate 1.1, Process Run Crate 0.5"));
    names.sort_unstable();
    for (name, title) in names {
        let _ = writeln!(out, "| `{name}` | {} |", one_line(title).replace('|', "\\|"));
    }
    out
}

fn how_to_check(results: &Results) -> String {
    let run = &results.run;
    let commit =
        if is_known(&run.commit) { format!("git -C quell checkout {}\n", run.commit) } else { String::new() };
    let mut out = format!(
        "## How to check it\n\nWithout Quell, in the unpacked folder:\n\n```sh\nsha256sum --check \
         SHA256SUMS\n```\n\nWith Quell, in the version that made this:\n\n```sh\ngit clone {REPOSITORY}\n{commit}cargo \
         build --release --bin quell --manifest-path quell/Cargo.toml    # the program: \
         quell/target/release/quell\n```\n\n`quell bundle verify FILE` checks every hash and the metadata, that the \
         results are complete, and that the scenario, tables, figures and report match them. "
    );
    if run.live {
        out += "Real packets were sent in real time, so nothing can be computed again.\n\n";
        return out;
    }
    let seconds: f64 = results.replications.iter().map(|r| r.elapsed_s).sum();
    let longest = results.replications.iter().map(|r| r.elapsed_s).fold(0.0, f64::max);
    let count = plural(results.replications.len(), "replication");
    let _ = write!(
        out,
        "It also reruns replications and compares them bit for bit:\n\n```sh\nquell bundle verify FILE \
         --rerun=10%\nquell bundle verify FILE --rerun\n```\n\nTime: the {count} together took {} of one core on the \
         machine that made this, and the longest took {}. They run on all cores at once (use `--threads N` for fewer), \
         and need no network, graphics or other hardware. Results do not depend on the machine or on the number of \
         threads.\n\n",
        time(seconds),
        time(longest),
    );
    match scenario_name(results) {
        Some(name) => {
            let (how, again) = match again(&run.command, &name) {
                Some(again) => ("", again),
                None => (
                    " with the options of the command below",
                    line(["quell", "run", &*name, "--out", "again"].into_iter()),
                ),
            };
            let _ = write!(
                out,
                "To run or change it yourself, unpack the archive and run the scenario{how} in the unpacked \
                 folder:\n\n```sh\n{again}\nquell show results\nquell report results --out report.html\n```\n\n"
            );
        }
        None => out += "`quell show results` prints the tables of the unpacked results.\n\n",
    }
    out
}

/// The options of `run` and `bundle` on which results depend; each has a value.
const OPTIONS: &[&str] =
    &["--set", "--sweep", "--seeds", "--seed", "--precision", "--max-seeds", "--aqm", "--engine", "--series"];

/// The command that gives the packed results from the packed scenario, for a shell. `None` if another command than `run`
/// or `bundle` made them: what that did to the scenario is not known here.
fn again(made_by: &[String], scenario: &str) -> Option<String> {
    let mut words = made_by.iter().map(String::as_str).skip(1);
    words.next().filter(|name| ["run", "bundle"].contains(name))?;
    let mut kept = vec!["quell", "run", scenario];
    while let Some(word) = words.next() {
        match word.split_once('=') {
            Some((option, _)) if OPTIONS.contains(&option) => kept.push(word),
            _ if OPTIONS.contains(&word) => kept.extend([word].into_iter().chain(words.next())),
            _ => {}
        }
    }
    kept.extend(["--out", "again"]);
    Some(line(kept.into_iter()))
}

fn what_made_it(results: &Results) -> String {
    let run = &results.run;
    let mut out =
        format!("## What made it\n\nQuell {}, commit {}, {}.\n\n", run.version, run.commit, run.started);
    if !run.command.is_empty() {
        let _ = write!(out, "```sh\n{}\n```\n\n", one_line(&command(run)));
    }
    let _ = writeln!(out, "Seeds: {}. Digest of all replications: `{}`.\n", seeds(run), run.digest);
    if !run.engine.is_empty() {
        out += "Fingerprints of the engine (an engine with the same fingerprints computes the same):\n\n| algorithm | \
                fingerprint |\n| --- | --- |\n";
        for (algorithm, print) in &run.engine {
            let _ = writeln!(out, "| {algorithm} | `{print}` |");
        }
        out.push('\n');
    }
    out
}

/// The remarks that a reader must know: those on the figures, and the points that were left out.
fn limits(results: &Results) -> String {
    let (notes, holes) = (results.notes(), results.run.hole_lines(usize::MAX));
    let mut out = String::new();
    let mut list = |head: &str, lines: &[String]| {
        if !lines.is_empty() {
            let _ = write!(out, "## {head}\n\n");
            lines.iter().for_each(|line| _ = writeln!(out, "- {}", one_line(line)));
            out.push('\n');
        }
    };
    list("What to know of the results", &notes);
    list("Combinations of the sweep that cannot be run", &holes);
    out
}

/// A time as one says it.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => quell_units::text::duration(s),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_has_every_option_on_which_results_depend() {
        let of = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            again(&words, "scenario/a b.toml")
        };
        let run = [
            "quell",
            "run",
            "x/a b.toml",
            "--quiet",
            "--set",
            "dumbbell.rate=3 Mbit/s",
            "--seeds=2",
            "--out",
            "r",
        ];
        assert_eq!(
            of(&run).unwrap(),
            "quell run 'scenario/a b.toml' --set 'dumbbell.rate=3 Mbit/s' --seeds=2 --out again"
        );
        let bundle = [
            "quell",
            "bundle",
            "s.toml",
            "--aqm",
            "red",
            "--author",
            "A",
            "--max-seeds",
            "9",
            "--sweep=a=1; b=2",
        ];
        assert_eq!(
            of(&bundle).unwrap(),
            "quell run 'scenario/a b.toml' --aqm red --max-seeds 9 '--sweep=a=1; b=2' --out again"
        );
        assert_eq!(of(&["quell", "compare", "s.toml"]), None);
        assert_eq!(of(&[]), None);
    }
}
