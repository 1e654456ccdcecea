//! The types of both sides for the page. `QUELL_UPDATE_DOCS=1 cargo test -p quell-web` writes them again.

use std::path::Path;

use serde_json::{Value, json};
use ts_rs::{Config, TS};

use crate::fault::{Fault, FaultKind};
use crate::protocol::*;

const HEAD: &str = "\
// The messages to the laboratory and its answers, as crates/web has them.
// Written by QUELL_UPDATE_DOCS=1 cargo test -p quell-web. Do not edit.
";

/// What other crates write as they have it. A test holds the keys of answers beside it.
const OF_OTHERS: &str = "
/**
 * The figures of one link, segment and scope. Without a segment they are of the whole measured window. The scope is \"all\",
 * \"data\" (all but acknowledgments), a class, a lane (\"lane:l\"), or the transfers of one size (\"size:0-10kB\"). Metrics
 * that do not apply have no value.
 */
export type MetricRow = {
  link: string,
  segment: number | null,
  scope: string,
  from_s: number,
  to_s: number,
  values: Record<string, number>,
};

/**
 * The time series of a link: equally spaced samples, each at the end of its step. Means, drops, marks and rates are those
 * of the step. Jain's index is empty in samples of a run that goes on.
 */
export type LinkSeries = {
  link: string,
  time_s: Numbers,
  queue_packets: Numbers,
  queue_bytes: Numbers,
  queue_mean_packets: Numbers,
  queue_delay_mean_s: Numbers,
  dropped_packets: Numbers,
  marked_packets: Numbers,
  jain_index: Numbers,
  throughput_bps: [string, Numbers][],
  internals: InternalSeries[],
};

/**
 * An internal signal of an algorithm over time: one value for each sample.
 */
export type InternalSeries = { name: string, unit: string, values: Numbers };

/**
 * A flow over the measured window.
 */
export type FlowRow = {
  flow: number,
  group: string,
  class: string,
  base_rtt_s: number,
  start_s: number,
  stop_s: number | null,
  goodput_bps: number,
  delivered_bytes: number,
  sent_packets: number,
  retransmitted_packets: number,
  timeouts: number,
  fast_retransmits: number,
  ecn_responses: number,
  round_trip_time_mean_s: number | null,
};

/**
 * The average of an internal signal. Without a segment it is of the whole measured window.
 */
export type InternalRow = { link: string, segment: number | null, signal: string, unit: string, mean: number };

/**
 * The numbers of a figure: panels with common axes, and curves in them.
 */
export type ChartNumbers = {
  title: string,
  x: { label: string, log: boolean, names: string[] },
  y: string,
  panel_key: string,
  curve_key: string,
  panels: { title: string, curves: ChartCurve[] }[],
  form: \"over-time\" | \"line\" | \"points\" | \"bars\",
  warmup: number | null,
  events: { at_s: number, label: string }[],
};

/**
 * A curve. Where half the width of an interval is null there is none.
 */
export type ChartCurve = {
  label: string,
  style: number,
  x: Numbers,
  y: Numbers,
  half_width: Numbers,
  low: Numbers,
  high: Numbers,
  seeds: number[],
};

/**
 * The theory's verdict on one algorithm.
 */
export type Assessment = {
  label: string,
  algorithm: string,
  verdict: \"stable\" | \"unstable\" | \"no-equilibrium\" | \"no-model\",
  reasons: string[],
  equilibrium: {
    queue_packets: number,
    queue_delay_s: number,
    probability: number,
    window_packets: number,
    rtt_s: number,
    state: [string, string, number][],
  } | null,
  margins: {
    unstable_roots: number,
    gain: number | null,
    phase_deg: number | null,
    delay_s: number | null,
    crossovers_rad_per_s: number[],
    growth_per_s: number,
    period_s: number | null,
    damping: number,
    settling_s: number | null,
  } | null,
  criteria: {
    statement: string,
    left: number | null,
    right: number | null,
    holds: boolean,
    necessary: boolean,
    reason: string,
  }[],
  reach: { quantity: \"flows\" | \"capacity\" | \"rtt\", now: number, below: ReachEdge | null, above: ReachEdge | null }[],
  fluid: QueueMotion | null,
  packets: (QueueMotion & { agrees: boolean | null }) | null,
};

/**
 * Where a verdict changes, and into what.
 */
export type ReachEdge = { at: number, factor: number, beyond: \"stable\" | \"unstable\" | { \"no-equilibrium\": string } };

/**
 * An answer for a link, as `quell recommend --format json` prints it.
 */
export type RecommendReport = {
  schema: number,
  goal: string,
  link: { technology: string, down: RecommendWay, up: RecommendWay },
  load: string,
  hosts: number,
  runs: string,
  columns: { title: string, metric: string, link: string }[],
  answer: { rows: RecommendJudged[], met: boolean, verdict: string },
  reach: { change: string, found: RecommendJudged }[],
  carries: string,
  router: { parts: { place: string, text: string }[], notes: string[] },
  notes: string[],
};

/**
 * A direction of a link: its rate, that of its shaper, and why.
 */
export type RecommendWay = { rate: string, shaped: string, words: string };

/**
 * A candidate with its figures, in the order of the columns, and what became of the parts of the goal. `difference` is from
 * what one has today, paired by seed.
 */
export type RecommendJudged = {
  name: string,
  cells: ({ estimate: RecommendEstimate, difference: RecommendEstimate | null, lost: RecommendEstimate | null } | null)[],
  verdicts: { asked: string, found: string | null, holds: boolean, sure: boolean, ratio: number | null }[],
  why: string,
};

/**
 * A mean over seeds with half the width of its interval.
 */
export type RecommendEstimate = { mean: number, half_width: number | null, n: number };

/**
 * How a queue moves in the long run.
 */
export type QueueMotion = {
  motion: \"settled\" | \"oscillating\" | \"irregular\",
  mean_packets: number,
  deviation_packets: number,
  swing: number,
  share: number,
  period_s: number,
};
";

/// What each message is answered with.
const ANSWERS: [(&str, &str); 15] = [
    ("about", "About"),
    ("check", "Checked"),
    ("tree", "Tree"),
    ("edit", "Text"),
    ("run", "Replication"),
    ("preset", "Text"),
    ("gather", "Gathered"),
    ("open", "Gathered"),
    ("forget", "Done"),
    ("table", "Table"),
    ("chart", "Chart"),
    ("report", "Report"),
    ("theory", "Theory"),
    ("map", "Map"),
    ("recommend", "Recommended"),
];

/// Declarations with their comments.
macro_rules! declarations {
    ($($type:ty),+ $(,)?) => {{
        let config = Config::new().with_large_int("number");
        let mut text = HEAD.to_string();
        $(
            text.push('\n');
            let docs = <$type>::docs().unwrap_or_default();
            text.push_str(docs.trim_start());
            text.push_str(&format!("export {}\n", indented(&<$type>::decl(&config))));
        )+
        text
    }};
}

/// A declaration with its fields below its name.
fn indented(declaration: &str) -> String {
    let mut lines = declaration.lines();
    let mut text = lines.next().unwrap_or_default().trim_end().to_string();
    for line in lines {
        text.push_str(&format!("\n  {}", line.trim_end()));
    }
    match text.strip_suffix(", };") {
        Some(fields) if fields.contains('\n') => format!("{fields},\n}};"),
        _ => text,
    }
}

fn protocol() -> String {
    let mut text = declarations![
        GatherRequest,
        OpenRequest,
        ForgetRequest,
        TableRequest,
        ChartRequest,
        ReportRequest,
        TheoryRequest,
        MapRequest,
        MapAxis,
        RecommendRequest,
        Gathered,
        GatheredPoint,
        Done,
        Table,
        TableColumn,
        TableRow,
        TableCell,
        TableDifference,
        Chart,
        Report,
        Theory,
        TheoryLoop,
        Map,
        Recommended,
        RecommendedFound,
        RecommendedRun,
        RecommendedAnswer,
        RecommendedRow,
        Request,
        AboutRequest,
        CheckRequest,
        TreeRequest,
        EditRequest,
        EditStep,
        RunRequest,
        PresetRequest,
        Source,
        SourceFile,
        Seed,
        Fault,
        FaultKind,
        About,
        AboutAlgorithm,
        AboutParameter,
        AboutSender,
        AboutDialect,
        AboutMetric,
        AboutLoad,
        AboutPreset,
        Named,
        Look,
        Checked,
        CheckedAlgorithm,
        CheckedPoint,
        Tree,
        TreePlace,
        Text,
        Replication,
        FlowWindow,
        Transfers,
        Delays,
        Numbers,
    ];
    text.push_str(OF_OTHERS);
    text.push_str("\n/**\n * A quantity that a map shows.\n */\nexport type MapShown =");
    for shown in quell_analysis::MapShown::ALL {
        text.push_str(&format!(" | {}", json!(shown)));
    }
    text.push_str(";\n");
    text.push_str("\n/**\n * The answer to each message.\n */\nexport type Answers = {\n");
    for (request, answer) in ANSWERS {
        text.push_str(&format!("  {request}: {answer};\n"));
    }
    text.push_str("};\n");
    text
}

#[test]
fn the_page_has_these_types() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/src/protocol.ts");
    let text = protocol();
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    let update = "QUELL_UPDATE_DOCS=1 cargo test -p quell-web writes it again";
    assert!(written == text, "lab/src/protocol.ts differs from crates/web; {update}");
}

/// Every key below a value.
fn keys(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| keys(item, into)),
        Value::Object(entries) => {
            for (key, value) in entries {
                into.push(key.clone());
                keys(value, into);
            }
        }
        _ => {}
    }
}

/// The answer for a link so slow that it takes little time.
fn recommended(ask: &mut impl FnMut(Value) -> Value) -> Value {
    let mut request = json!({ "do": "recommend", "down": "100 kbit/s", "up": "100 kbit/s", "rtt": "10..80 ms",
        "link": "adsl", "can": "openwrt", "hosts": "1", "found": [] });
    loop {
        let next = ask(request.clone());
        let runs = next["runs"].as_array().unwrap_or_else(|| panic!("{next}"));
        if runs.is_empty() {
            return next["answer"].clone();
        }
        let found: Vec<Vec<Value>> = runs
            .iter()
            .map(|run| {
                let one = |seed: &Value| {
                    let run = json!({ "do": "run", "source": { "text": run["text"] }, "algorithm": run["algorithm"],
                        "seed": seed, "step_s": run["duration_s"], "shown": false, "packed": true });
                    ask(run)["packed"].clone()
                };
                run["seeds"].as_array().unwrap().iter().map(one).collect()
            })
            .collect();
        request["found"].as_array_mut().unwrap().push(json!(found));
    }
}

#[test]
fn the_types_of_others_have_the_keys_of_answers() {
    let text = "schema = 1\nduration = \"8 s\"\nwarmup = \"2 s\"\naqm = [{ algorithm = \"pi\" }]\n\
        dumbbell = { rate = \"2 Mbit/s\", delay = \"10 ms\", buffer = \"50 packets\" }\n\
        flows = [{ name = \"ftp\", count = 4, rtt = \"60 ms\" }]\n";
    let source = json!({ "text": text });
    let mut lab = crate::Lab::default();
    let mut ask = |request: Value| -> Value {
        let answer: Value = serde_json::from_str(&lab.answer(&request.to_string())).unwrap();
        assert!(answer["error"].is_null(), "{answer}");
        answer["ok"].clone()
    };
    let run = json!({ "do": "run", "source": source, "algorithm": "pi", "seed": 1, "packed": true });
    let run = ask(run);
    let packed = run["packed"].clone();
    let id = ask(json!({ "do": "gather", "source": source, "replications": [packed] }))["id"].clone();
    let chart = ask(json!({ "do": "chart", "id": id, "diagram": "queue" }));
    let theory = ask(json!({ "do": "theory", "source": source, "fluid": true, "id": id }));
    let mut found = Vec::new();
    keys(&recommended(&mut ask)["report"], &mut found);
    keys(&chart["chart"], &mut found);
    keys(&theory["assessments"], &mut found);
    for rows in ["metrics", "series", "flows", "internal_means"] {
        let mut row = run[rows][0].clone();
        if let Some(row) = row.as_object_mut() {
            // By metric.
            row.remove("values");
        }
        assert!(row.is_object(), "{rows}: {run}");
        keys(&row, &mut found);
    }
    for key in ["verdicts", "half_width", "motion", "crossovers_rad_per_s", "factor", "agrees", "statement"] {
        assert!(found.iter().any(|k| k == key), "{key}: {theory}");
    }
    for key in found {
        assert!(OF_OTHERS.contains(&format!("{key}: ")), "{key}");
    }
}
