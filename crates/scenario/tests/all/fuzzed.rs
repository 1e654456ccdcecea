//! The functions of the fuzz targets on inputs that a plain test run can afford.

#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../../../fuzz/src/expressions.rs"]
mod expressions;
#[path = "../../../../fuzz/src/scenario.rs"]
mod fuzz;
#[path = "../../../../fuzz/src/link_traces.rs"]
mod link_traces;

use proptest::prelude::*;

/// Parts from which mutations are made: keys and values that mean something somewhere.
const PARTS: &[&str] = &[
    "\"100 ms\"",
    "\"0 s\"",
    "100",
    "-1",
    "1e300",
    "nan",
    "inf",
    "\"10 Mbit/s\"",
    "\"50 packets\"",
    "\"1 kB\"",
    "true",
    "[]",
    "{}",
    "[\"1 s\", \"2 s\"]",
    "[[1, 1e6], [2, \"2 Mbit/s\", 0.5]]",
    "{ list = [[0, 1e6], [1, 0]], repeat = \"2 s\" }",
    "{ file = \"a.csv\" }",
    "changes =",
    "{ uniform = [\"2 s\", \"1 s\"] }",
    "{ pareto = { shape = 0.5, mean = \"1 kB\" } }",
    "{ between = [\"9 s\", \"1 s\"] }",
    "\"udp\"",
    "\"trace\"",
    "file = \"a.csv\"",
    "\"sessions\"",
    "\"cross\"",
    "\"avq\"",
    "rtt",
    "count",
    "duration",
    "[[flows]]",
    "[[aqm]]",
    "[sweep]",
    "[[cases]]",
    "[graph]",
    "\n",
    "=",
    ".",
    "\"",
    "9999999999999",
    "schema = 1",
    "\"flows.ftp.count\" = [1, 2]",
    "[[sweep.linked]]",
    "\"flows.ftp.count\" = \"1..3:lin:3\"",
    "\"1..1000000:step:1\"",
    "\"5 ms..50 ms:log:4\"",
    "\"0.2 * dumbbell.buffer\"",
    "\"max(5 ms, 2 * dumbbell.delay)\"",
    "\"series_step / mean_packet * 1 packet\"",
    "\"(duration\"",
    "0x7f",
    "2020-01-01",
    "\u{e9}",
];

fn mutate(text: &str, edits: &[(usize, usize, usize)]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for (at, cut, part) in edits {
        let at = at % (chars.len() + 1);
        let cut = (cut % 12).min(chars.len() - at);
        chars.splice(at..at + cut, PARTS[part % PARTS.len()].chars());
    }
    chars.into_iter().collect()
}

/// Replaces the value of one line: most edits in the middle of a text only make it unreadable.
fn replace_value(text: &str, line: usize, part: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let settable: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains(" = ")).collect();
    let chosen = settable[line % settable.len()];
    let new =
        lines[chosen].split_once(" = ").map(|(key, _)| format!("{key} = {}", PARTS[part % PARTS.len()]));
    let out: Vec<&str> = lines
        .iter()
        .enumerate()
        .map(|(i, l)| if i == chosen { new.as_deref().unwrap_or(l) } else { l })
        .collect();
    out.join("\n")
}

fn seeds() -> [&'static str; 5] {
    [
        include_str!("../../../../scenarios/main.toml"),
        include_str!("../../../../scenarios/parking_lot.toml"),
        include_str!("../../../../scenarios/graph.toml"),
        include_str!("../../../../scenarios/web_sessions.toml"),
        include_str!("../../../../scenarios/papers/fuzzy-s1.toml"),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mutated_scenario_loads_or_names_a_line(
        which in 0..5usize,
        edits in prop::collection::vec(any::<(usize, usize, usize)>(), 1..4),
    ) {
        fuzz::scenario(mutate(seeds()[which], &edits).as_bytes());
    }

    #[test]
    fn a_wrong_value_loads_or_names_a_line(which in 0..5usize, line: usize, part: usize) {
        fuzz::scenario(replace_value(seeds()[which], line, part).as_bytes());
    }

    #[test]
    fn any_text_loads_or_names_a_line(text in ".{0,200}") {
        fuzz::scenario(text.as_bytes());
    }
}

#[test]
fn the_corpus_of_scenarios() {
    corpus::replay("scenario", fuzz::scenario);
}

#[test]
fn the_corpus_of_expressions() {
    corpus::replay("expressions", expressions::expressions);
}

#[test]
fn the_corpus_of_link_traces() {
    corpus::replay("link_traces", link_traces::link_traces);
}
