//! The types of both sides for the page. `QUELL_UPDATE_DOCS=1 cargo test -p quell-web` writes them again.

use std::path::Path;

use ts_rs::{Config, TS};

use crate::fault::{Fault, FaultKind};
use crate::protocol::*;

const HEAD: &str = "\
// The messages to the laboratory and its answers, as crates/web has them.
// Written by QUELL_UPDATE_DOCS=1 cargo test -p quell-web. Do not edit.
";

/// What each message is answered with.
const ANSWERS: [(&str, &str); 6] = [
    ("about", "About"),
    ("check", "Checked"),
    ("tree", "Tree"),
    ("edit", "Text"),
    ("run", "Replication"),
    ("preset", "Text"),
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
            text.push_str(&format!("export {}\n", <$type>::decl(&config)));
        )+
        text
    }};
}

fn protocol() -> String {
    let mut text = declarations![
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
        MetricRow,
        LinkSeries,
        InternalSeries,
        FlowWindow,
        Flow,
        Transfers,
        Delays,
        InternalMean,
        Numbers,
    ];
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
