//! Small documents from files to verdicts.

use std::fs;
use std::path::Path;

use quell_lab::{Options, run};
use quell_papers::{
    Extent, Holds, JudgedExperiment, Page, Papers, Plan, Record, Verdict, draw, html, judge, markdown, scores,
};
use tempfile::TempDir;

const SCENARIO: &str = r#"
schema = 1
duration = "6 s"
warmup = "1 s"
[dumbbell]
rate = "4 Mbit/s"
delay = "10 ms"
buffer = "40 packets"
[[aqm]]
algorithm = "drop-tail"
[[aqm]]
algorithm = "red"
min_th = "5 packets"
max_th = "15 packets"
[[flows]]
name = "ftp"
count = 8
rtt = { uniform = ["30 ms", "60 ms"] }
start = { between = ["0 s", "1 s"] }
[sweep]
"flows.ftp.count" = [4, 8]
"#;

const CELLS: &str = "\
id,document,table,page,case,algorithm,metric,unit,low,high,note
doc/1/four/tail/mean_queue,doc,1,p. 3,four,tail,mean_queue,packets,QUEUE,QUEUE,
doc/1/four/red/mean_queue,doc,1,p. 3,four,red,mean_queue,packets,39,39,
doc/1/eight/tail/link_utilization,doc,1,p. 3,eight,tail,link_utilization,percent,99.0,99.9,
doc/1/eight/red/loss_rate,doc,1,p. 3,eight,red,loss_rate,percent,88,88,
doc/2/x/red/loss_rate,doc,2,,x,red,loss_rate,percent,1,1,
";

const EXPERIMENT: &str = r#"
section = "1.1"
title = "Two queues"
describes = "Eight flows."
seeds = 5
[[run]]
name = "main"
scenario = "../scenario.toml"
[[reading]]
name = "plain"
says = "as it is"
basis = "document"
because = "section 1"
[[reading]]
name = "large"
says = "the thresholds are higher"
basis = "simulator"
because = "a guess"
set = { "aqm.red.min_th" = "30 packets", "aqm.red.max_th" = "40 packets" }
algorithms = ["red"]
[[cells]]
of = "doc/1"
printed = "one run"
algorithm = { tail = "drop-tail", red = "red" }
metric = { mean_queue = "queue_packets", link_utilization = "100 * utilization", loss_rate = "100 * loss_rate" }
[cells.case]
four = { at = { "flows.ftp.count" = 4 } }
eight = { at = { "flows.ftp.count" = 8 } }
[[refuted]]
cells = ["doc/1/*/red/loss_rate"]
mechanism = "No queue loses that much."
shown_by = "claim:tail-longer"
[[open]]
cells = ["doc/1/four/red"]
tried = ["nothing"]
[[claim]]
name = "tail-longer"
figure = "1"
says = "The queue of drop-tail is longer."
test = "queue_packets of drop-tail at flows.ftp.count=* > queue_packets of red"
[[claim]]
name = "red-longer"
table = "1"
says = "The queue of RED is longer."
test = "queue_packets of red > queue_packets of drop-tail at flows.ftp.count=4|8"
because = "It is not."
[[claim]]
name = "more-loss"
section = "1"
says = "More flows lose more."
test = "loss_rate of red, drop-tail rises along flows.ftp.count and loss_rate of red at flows.ftp.count=4 within 0..1"
[[claim]]
name = "same"
section = "1"
says = "Both use the link."
test = "utilization of red at flows.ftp.count=8 like utilization of drop-tail at flows.ftp.count=8 by 20%"
[[claim]]
name = "absent"
section = "1"
says = "The web does better."
test = "utilization[web] of red at flows.ftp.count=8 > 0.5"
[[figure]]
number = "1"
title = "The queue against the flows"
kind = "metric"
metric = "queue_packets"
x = "flows.ftp.count"
[[figure.printed]]
label = "red"
points = [[4, 8], [8, 9]]
[[figure]]
number = "2"
title = "The queue over time"
kind = "queue"
at = { "flows.ftp.count" = 8 }
panels = true
"#;

/// A folder of one document.
fn folder(experiment: &str, cells: &str, ns2: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("doc")).unwrap();
    fs::write(at("cells.csv"), cells).unwrap();
    fs::write(at("ns2.csv"), format!("cell,mean,std,runs,version,setting\n{ns2}")).unwrap();
    fs::write(at("bands.toml"), "link_utilization = \"1\"\nmean_queue = \"10%\"\n").unwrap();
    fs::write(at("doc/document.toml"), "title = \"A <title>\"\nreference = \"A 2001\"\n").unwrap();
    fs::write(at("doc/row.toml"), experiment).unwrap();
    fs::write(at("scenario.toml"), SCENARIO).unwrap();
    folder
}

/// The error of a folder whose experiment is changed.
fn error(change: impl Fn(String) -> String) -> String {
    let folder = folder(&change(EXPERIMENT.to_string()), &CELLS.replace("QUEUE", "20"), "");
    match Papers::read(folder.path()) {
        Err(e) => e.to_string(),
        Ok(papers) => Plan::of(&papers, papers.experiments(), Extent::default()).unwrap_err().to_string(),
    }
}

fn judged<T>(
    folder: &Path,
    see: impl FnOnce(&Papers, &[JudgedExperiment<'_>], &quell_papers::Found) -> T,
) -> T {
    let papers = Papers::read(folder).unwrap();
    let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap();
    let found = plan.apart(run(&plan.study, &Options::default()).unwrap());
    let judged: Vec<_> = papers.experiments().map(|e| judge(&papers, e, &found)).collect();
    see(&papers, &judged, &found)
}

#[test]
fn numbers_and_claims_are_judged() {
    // What is printed is first measured, so that it agrees whatever the simulator does.
    let at_first = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    let mean = judged(at_first.path(), |_, judged, _| judged[0].tables[0].cells[0].found.unwrap().mean);
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", &format!("{mean:.1}")), "");
    judged(folder.path(), |papers, judged, found| {
        let table = &judged[0].tables[0];
        let verdict = |id: &str| table.cells.iter().find(|c| c.cell.id == id).map(|c| c.verdict).unwrap();
        assert_eq!(verdict("doc/1/four/tail/mean_queue"), Verdict::Agrees);
        assert_eq!(verdict("doc/1/four/red/mean_queue"), Verdict::Open);
        assert_eq!(verdict("doc/1/eight/red/loss_rate"), Verdict::Refuted);
        let tried = &table.cells.iter().find(|c| c.verdict == Verdict::Open).unwrap().why;
        assert_eq!(tried, "tried: nothing");
        // The other reading is of RED only.
        let numbers: Vec<usize> = table.under.iter().map(|(_, count)| count.iter().sum()).collect();
        assert_eq!(numbers, [4, 2]);

        let claims: Vec<Holds> = judged[0].claims.iter().map(|c| c.holds).collect();
        assert_eq!(claims, [Holds::Holds, Holds::Fails, Holds::Holds, Holds::Holds, Holds::Missing]);
        assert!(
            judged[0].claims[0].found.starts_with("worst of 2: drop-tail "),
            "{}",
            judged[0].claims[0].found
        );
        assert!(judged[0].claims[4].found.contains("red has no utilization[web]"));

        let scores = scores(papers, &["doc"], judged);
        assert_eq!(scores[0].2.of_cells(), 4);
        assert_eq!(scores[1].2.cell(Verdict::Missing), 1);
        assert_eq!(scores[2].2.claim(Holds::Holds), 3);

        let drawn = draw(judged[0].experiment, found);
        assert_eq!(drawn.iter().map(|d| d.name.as_str()).collect::<Vec<_>>(), ["doc-row-1", "doc-row-2"]);
        let svg = &drawn[0].picture.as_ref().unwrap().svg;
        assert!(svg.contains("red, printed"), "{svg}");
        assert!(drawn[1].picture.is_ok());
        let page =
            Page { papers, document: &papers.documents[0], experiments: vec![(judged[0].clone(), drawn)] };
        let (text, page) = (markdown(&page, "images"), html(&page));
        assert!(text.contains("| four | drop-tail | mean queue (packets) |"), "{text}");
        assert!(text.contains("![Figure 1: The queue against the flows](images/doc-row-1.svg)"));
        assert!(text.contains("fails: It is not."));
        assert!(page.contains("A &#60;title&#62;") && page.contains("<svg"));

        let record = Record::of(judged);
        let of = [judged[0].experiment];
        assert_eq!(record.changes(&of, &record), Vec::<String>::new());
        let file = folder.path().join("verdicts.csv");
        let other =
            record.text().replace("doc/1/eight/red/loss_rate,refuted", "doc/1/eight/red/loss_rate,open");
        fs::write(&file, format!("{other}doc-row#old,holds\nelse-row#old,holds\n")).unwrap();
        let other = Record::read(&file).unwrap();
        let changes = other.changes(&of, &record);
        let gone = "doc-row#old: is no more, was holds";
        assert_eq!(changes, ["doc/1/eight/red/loss_rate: refuted, was open", gone]);
    });
}

#[test]
fn what_is_fitted_does_not_agree() {
    let fitted = EXPERIMENT.replacen("basis = \"document\"", "basis = \"fitted\"", 1);
    let at_first = folder(&fitted, &CELLS.replace("QUEUE", "20"), "");
    let mean = judged(at_first.path(), |_, judged, _| judged[0].tables[0].cells[0].found.unwrap().mean);
    let folder = folder(&fitted, &CELLS.replace("QUEUE", &format!("{mean:.1}")), "");
    judged(folder.path(), |_, judged, _| {
        let not = |v: Verdict| v != Verdict::Agrees && v != Verdict::Inside;
        let cells = &judged[0].tables[0].cells;
        assert!(cells.iter().all(|c| not(c.verdict)));
        assert_eq!(cells[0].verdict, Verdict::Explained);
    });
}

#[test]
fn ns2_refutes_only_where_it_is_with_us() {
    let shown = EXPERIMENT.replace("shown_by = \"claim:tail-longer\"", "shown_by = \"ns-2\"");
    let verdict = |ns2: &str| {
        let folder = folder(&shown, &CELLS.replace("QUEUE", "20"), ns2);
        judged(folder.path(), |_, judged, _| {
            let cells = &judged[0].tables[0].cells;
            let cell = cells.iter().find(|c| c.cell.id == "doc/1/eight/red/loss_rate").unwrap();
            (cell.verdict, cell.found.unwrap().mean)
        })
    };
    let (without, mean) = verdict("");
    assert_eq!(without, Verdict::Open);
    assert_eq!(verdict(&format!("doc/1/eight/red/loss_rate,{mean},,5,2.35,\n")).0, Verdict::Refuted);
    assert_eq!(verdict(&format!("doc/1/eight/red/loss_rate,{mean},,1,2.35,\n")).0, Verdict::Open);
    assert_eq!(verdict(&format!("doc/1/eight/red/loss_rate,{},,5,2.35,\n", 2.0 * mean)).0, Verdict::Open);
    assert_eq!(verdict("doc/1/eight/red/loss_rate,88,,5,2.35,\n").0, Verdict::Open);
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    for (from, to, why) in [
        ("seeds = 5", "sedes = 5", "row.toml:5: unknown field `sedes`"),
        ("of = \"doc/1\"", "of = \"doc/3\"", "of = \"doc/3\": no cell has such an id"),
        ("of = \"doc/1\"", "of = \"other/1\"", "must begin with \"doc/\""),
        ("tail = \"drop-tail\"", "tale = \"drop-tail\"", "algorithm \"tale\": no cell of \"doc/1\" has it"),
        ("four = {", "five = {", "case \"five\": no cell"),
        ("printed = \"one run\"", "printed = \"mean of one\"", "must be \"one run\", \"mean of 5\""),
        ("\"queue_packets\", link", "\"queue_packet\", link", "unknown metric"),
        ("shown_by = \"claim:tail-longer\"", "shown_by = \"claim:tail\"", "there are tail-longer"),
        ("name = \"same\"", "name = \"more-loss\"", "claim = \"more-loss\": is named twice"),
        (
            "kind = \"metric\"",
            "kind = \"metrics\"",
            "kind = \"metrics\": is not there; there are metric, queue",
        ),
        ("algorithms = [\"red\"]", "algorithms = [\"blue\"]", "algorithm \"blue\": is not in"),
        ("\"aqm.red.min_th\"", "\"aqm.blue.min_th\"", "reading large, run main"),
        (
            "red = \"red\" }",
            "red = \"redd\" }",
            "algorithm \"redd\": no run has it; there are drop-tail, red",
        ),
        ("of red, drop-tail rises", "of red, tail rises", "algorithm \"tail\": no run has it"),
        ("rises along flows.ftp.count", "rises along flows.ftp.cout", "flows.ftp.cout: no run varies it"),
        ("count=8 like", "count=8 liek", "must be \"A < B\""),
        (
            "cells = [\"doc/1/four/red\"]",
            "cells = [\"doc/1/*/red/loss_rate\"]",
            "cells = \"doc/1/*/red/loss_rate\": is in [[refuted]] and in [[open]]",
        ),
        ("seeds = 5", "seeds = 0", "row.toml: seeds = 0: must be at least 1"),
        ("seeds = 5", "seeds = 5\ndialect = \"ns-2.3\"", "row.toml: dialect = \"ns-2.3\": unknown dialect"),
        (
            "queue_packets of drop-tail at flows.ftp.count=* > queue_packets of red",
            "k_i_max of figure 4 > 1",
            "figure = \"4\": is not there",
        ),
    ] {
        assert!(EXPERIMENT.contains(from), "{from}");
        let error = error(|text| text.replacen(from, to, 1));
        assert!(error.contains(why), "{from} -> {to}: {error}");
    }
}

#[test]
fn cells_are_checked() {
    let error = |from: &str, to: &str| {
        let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20").replacen(from, to, 1), "");
        Papers::read(folder.path()).unwrap_err().to_string()
    };
    assert!(error("39,39", "39,about 40").contains("cells.csv:3: high = \"about 40\": must be a number"));
    assert!(error("39,39", "39,38").contains("low = 39: must be no more than high = 38"));
    assert!(error("doc/1/four/red", "doc/1/4/red").contains("must be \"doc/1/four/red/mean_queue\""));
    let twice = "doc/2/x/red/loss_rate,doc,2,,x,red,loss_rate,percent,1,1,\n";
    assert!(error(twice, &twice.repeat(2)).contains("is that of line 6 as well"));
}

/// A document of which everything is computed.
const COMPUTED: &str = r#"
section = "3"
title = "Gains"
describes = "Nothing is run."
[[computed]]
figure = "4"
title = "Stable gains"
compute = { kind = "vrc-gain-regions", k_d = [0.0, 0.001], rtt = [0.1], flows = 100, capacity = 1250 }
[[claim]]
name = "wider"
says = "K_D extends the range."
test = "k_i_max of figure 4 rises along k_d and k_p_max of figure 4 at k_d=0.001, k_i=0.1 > k_p_max of figure 4 at k_d=0, k_i=0.1"
[[claim]]
name = "narrower"
says = "K_D narrows the range."
test = "k_i_max of figure 4 at k_d=0.001 < 0.5 * k_i_max of figure 4 at k_d=0"
[[claim]]
name = "nowhere"
says = "Beyond the largest K_I there is a K_P."
test = "k_p_max of figure 4 at k_d=*, k_i=1 > 0"
"#;

#[test]
fn computed_figures_are_tested() {
    let folder = folder(COMPUTED, &CELLS.replace("QUEUE", "20"), "");
    let papers = Papers::read(folder.path()).unwrap();
    let e = papers.experiments().next().unwrap();
    let judged = judge(&papers, e, &quell_papers::Found::default());
    let holds: Vec<Holds> = judged.claims.iter().map(|c| c.holds).collect();
    assert_eq!(holds, [Holds::Holds, Holds::Fails, Holds::Missing], "{:?}", judged.claims);
    assert!(judged.claims[2].found.contains("eq. 20"), "{}", judged.claims[2].found);
    let error = |from: &str, to: &str| {
        fs::write(folder.path().join("doc/row.toml"), COMPUTED.replacen(from, to, 1)).unwrap();
        Papers::read(folder.path()).unwrap_err().to_string()
    };
    assert!(
        error("k_i_max of", "k_i_most of")
            .contains("quantity = \"k_i_most\": is not there; there are k_i_max")
    );
    assert!(
        error("along k_d", "along capacity")
            .contains("field = \"capacity\": is not there; there are k_d, rtt")
    );
    assert!(error("k_i_max of figure 4 at k_d=0.001 <", "loss_rate of red <").contains("has no [[run]]"));
}

#[test]
fn a_broken_document_stops_no_other() {
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    fs::create_dir(folder.path().join("other")).unwrap();
    fs::write(folder.path().join("other/document.toml"), "titel = \"B\"\n").unwrap();
    let (papers, broken) = Papers::read_usable(folder.path()).unwrap();
    assert_eq!(papers.documents.len(), 1);
    assert_eq!(broken[0].0, "other");
    assert!(broken[0].1.to_string().contains("other/document.toml:1: unknown field `titel`"));
    assert!(Papers::read(folder.path()).is_err());
    let document = "title = \"B\"\nreference = \"B\"\ndialect = \"ns-2.3\"\n";
    fs::write(folder.path().join("other/document.toml"), document).unwrap();
    let error = Papers::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("other/document.toml: dialect = \"ns-2.3\": unknown dialect"), "{error}");
    fs::write(folder.path().join("bands.toml"), "mean_queu = \"10%\"\n").unwrap();
    let error = Papers::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("mean_queu: unknown metric; did you mean \"mean_queue\"?"), "{error}");
}

#[test]
fn the_end_of_a_name_is_mistaken_most_often() {
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    fs::rename(folder.path().join("doc/row.toml"), folder.path().join("doc/b2.toml")).unwrap();
    fs::write(folder.path().join("doc/3.toml"), COMPUTED).unwrap();
    let papers = Papers::read(folder.path()).unwrap();
    assert!(papers.select("doc-b3").unwrap_err().contains("did you mean \"doc-b2\"?"));
}
