//! Small documents from files to verdicts.

use std::fs;
use std::path::Path;

use quell_lab::Options;
use quell_papers::{
    Extent, Holds, JudgedExperiment, LiveRecord, Page, Papers, Plan, Record, Reproduced, Verdict,
    by_algorithm, draw, html, judge, live_files, markdown, scores,
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
says = "Transfers are fast."
test = "flow_completion_time_mean_s of red at flows.ftp.count=8 < 0.5"
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
    see: impl FnOnce(&Papers, &[JudgedExperiment<'_>], &quell_papers::ExperimentResults) -> T,
) -> T {
    let papers = Papers::read(folder).unwrap();
    let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap();
    let of_first = std::sync::Mutex::new(None);
    let ran = plan.run(&Options::default(), &|_, found| *of_first.lock().unwrap() = Some(found)).unwrap();
    assert_eq!(ran.done, ran.all);
    let found = of_first.into_inner().unwrap().unwrap();
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
        assert!(judged[0].claims[4].found.contains("red has no flow_completion_time_mean_s"));

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
        assert!(text.contains("The document's claims: 3 hold, 1 fail, 1 missing, of 5."), "{text}");
        assert!(text.contains("![Figure 1: The queue against the flows](images/doc-row-1.svg)"));
        assert!(
            text.contains("- **fails** (Table 1): The queue of RED is longer. *Why:* It is not."),
            "{text}"
        );
        // Nothing is said of Quell's own documents.
        let command = format!("`quell reproduce doc-row --papers {}`", papers.folder.display());
        assert!(text.contains(&command) && !text.contains("](../"), "{text}");
        let index = quell_papers::scoreboard(papers, &Record::of(judged), &std::collections::BTreeMap::new());
        assert!(!index.contains("](../") && !index.contains("vrc") && index.contains("--papers"), "{index}");
        // Verdicts are words, not colors alone.
        assert!(page.contains("<span class=\"word\">refuted</span>"));
        assert!(page.contains("A &#60;title&#62;") && page.contains("<svg"));

        let record = Record::of(judged);
        let of = [judged[0].experiment];
        assert_eq!(record.changes(&of, &record), Vec::<String>::new());
        let file = folder.path().join("verdicts.csv");
        let other =
            record.text().replace("doc/1/eight/red/loss_rate,refuted", "doc/1/eight/red/loss_rate,open");
        fs::write(&file, format!("{other}doc-row#old,holds,\nelse-row#old,holds,\n")).unwrap();
        let other = Record::read(&file).unwrap();
        let changes = other.changes(&of, &record);
        let gone = "doc-row#old: no longer exists, was holds";
        assert_eq!(changes, ["doc/1/eight/red/loss_rate: refuted, was open", gone]);
    });
}

/// Figures have the axes that the document gives them: titles, units and ranges.
#[test]
fn axes_are_those_of_the_document() {
    let axes = "x_axis = { title = \"flows, by twos\", factor = 0.5, range = [2, 4], from = \"section 1\" }\n\
                y_axis = { title = \"queue (kB)\", unit = \"kB\", range = [0, 50], from = \"section 1\" }\n";
    let metric = "metric = \"queue_packets\"\n";
    let bytes = format!("metric = \"queue_bytes\"\n{axes}");
    let over_time = "kind = \"queue\"\nx_axis = { title = \"time (seconds)\", range = [0, 6], from = \"the caption\" }\n\
                     y_axis = { title = \"queue size (packets)\", unit = \"packets\", per = \"500 B\", from = \"1\" }\n";
    let text = EXPERIMENT.replacen(metric, &bytes, 1).replacen("kind = \"queue\"\n", over_time, 1);
    let other = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    let folder = folder(&text, &CELLS.replace("QUEUE", "20"), "");
    let number = |csv: &str, curve: &str| -> Vec<f64> {
        let rows = csv.lines().filter(|line| line.contains(curve));
        rows.map(|line| line.split(',').next_back().and_then(|y| y.parse().ok()).unwrap_or(f64::NAN))
            .collect()
    };
    let plain = judged(other.path(), |_, judged, found| {
        draw(judged[0].experiment, found)[1].picture.as_ref().unwrap().csv.clone()
    });
    judged(folder.path(), |_, judged, found| {
        let drawn = draw(judged[0].experiment, found);
        let first = drawn[0].picture.as_ref().unwrap();
        for text in [">flows, by twos<", ">queue (kB)<", "<metadata>x from 2 to 4, y from 0 to 50</metadata>"]
        {
            assert!(first.svg.contains(text), "{text}: {}", first.svg);
        }
        assert!(!first.svg.contains("flows.ftp.count") && first.csv.contains("red,2,"), "{}", first.csv);
        // Printed points are in the metric's own unit, bytes, and laid over in the figure's.
        assert!(first.csv.contains("\"red, printed\",2,0.008"), "{}", first.csv);
        let second = drawn[1].picture.as_ref().unwrap();
        assert!(second.svg.contains(">queue size (packets)<") && second.svg.contains(">time (seconds)<"));
        // Twice as many packets of 500 B as there are of 1 kB, but for acknowledgments and the step.
        let most = |csv: &str| number(csv, "drop-tail").into_iter().fold(0.0, f64::max);
        let (ours, theirs) = (most(&second.csv), most(&plain));
        assert!(ours > 1.7 * theirs && ours < 2.4 * theirs, "{ours} {theirs}");
    });
    for (from, to, why) in [
        ("range = [2, 4]", "range = [4, 2]", "x_axis: range = [4, 2]: must rise"),
        ("factor = 0.5", "unit = \"ms\"", "are of the vertical axis"),
        ("unit = \"kB\"", "unit = \"kilo\"", "unit = \"kilo\": is not there"),
        ("unit = \"packets\", per", "per", "per: needs a unit of \"packets\""),
    ] {
        assert!(text.contains(from), "{from}");
        fs::write(folder.path().join("doc/row.toml"), text.replacen(from, to, 1)).unwrap();
        let error = Papers::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(why), "{from}: {error}");
    }
}

/// Pages are for people: each table is a picture first, no cell of a table is long, and each sentence stands once.
#[test]
fn pages_are_short_and_say_each_thing_once() {
    let sentence = "a lower threshold, of which the queue came out shorter than it is printed, and longer than it was before: 12";
    let text = EXPERIMENT.replace(
        "cells = [\"doc/1/four/red\"]\ntried = [\"nothing\"]",
        &format!(
            "cells = [\"doc/1/four/red\"]\ntried = [\"nothing\", \"{sentence}\"]\n[[open]]\n\
             cells = [\"doc/1/four/tail\"]\ntried = [\"{sentence}\"]"
        ),
    );
    let folder = folder(&text, &CELLS.replace("QUEUE", "1"), "");
    judged(folder.path(), |papers, judged, found| {
        let drawn = draw(judged[0].experiment, found);
        let page =
            Page { papers, document: &papers.documents[0], experiments: vec![(judged[0].clone(), drawn)] };
        let text = markdown(&page, "images");
        assert_eq!(text.matches(sentence).count(), 1, "{text}");
        assert!(text.contains("- drop-tail mean queue, red mean queue: Tried: a lower"), "{text}");
        for cell in text.lines().filter(|l| l.starts_with('|')).flat_map(|l| l.split('|')) {
            assert!(cell.trim().chars().count() <= 80, "{cell}");
        }
        let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
        let picture = place("![A 2001, Table 1: printed and found](images/doc-row-numbers-1.svg)");
        assert!(picture < place("| case | algorithm |"));
        assert!(
            place("| case | algorithm |") < place("<summary>What was chosen, and what was tried</summary>")
        );
        let strips = page.strips();
        assert_eq!(strips[0].name, "doc-row-numbers-1");
        assert!(strips[0].svg.contains("numbers are not found: ") && strips[0].svg.contains(">its band<"));
    });
}

/// Figures of a live run on record stand beside the simulated ones, in the picture and in a table; what cannot be read is
/// refused before anything is run.
#[test]
fn live_figures_stand_beside() {
    let printed = "[[figure.printed]]\nlabel = \"red\"\npoints = [[4, 8], [8, 9]]\n";
    let without = EXPERIMENT.replace(printed, "live = \"live.csv\"\n");
    let text = without.clone() + "\n[live]\nrecord = \"live/row.toml\"\nseeds = 2\n";
    let folder = folder(&text, &CELLS.replace("QUEUE", "20"), "");
    // A file beside the experiments would be one.
    fs::create_dir(folder.path().join("doc/live")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join("doc").join(name), text).unwrap();
    let refused = |name: &str, text: &str| {
        write(name, text);
        Papers::read(folder.path()).unwrap_err().to_string()
    };
    // What is not on record yet is not missed.
    let papers = Papers::read(folder.path()).unwrap();
    let study = papers.live_study(papers.experiments().next().unwrap()).unwrap();
    assert_eq!(study.points.len(), 2);
    let scenario = &study.points[0].scenario;
    assert_eq!((scenario.duration.to_string(), scenario.seeds.list()), ("6 s".to_string(), vec![1, 2]));
    assert!(
        refused("live.csv", "flow,x\n1,2\n")
            .contains("its columns must be algorithm, a field and a quantity")
    );
    assert!(refused("live.csv", "algorithm,x,y\nred,4,many\n").contains("\"many\" must be a number"));
    let head = "algorithm,flows.ftp.count,mean queue (packets)";
    write("live.csv", &format!("{head}\nred,4,11.5\nred,8,12.5\nother,4,1\n"));
    assert!(refused("live/row.toml", "command = 1\n").contains("live/row.toml: "));
    fs::remove_file(folder.path().join("doc/live/row.toml")).unwrap();
    assert!(refused("row.toml", &without).contains("needs a table [live]"));
    let other = format!("{text}reading = \"large\"\n");
    assert!(refused("row.toml", &other).contains("must be of the run and the reading that [live] names"));
    write("row.toml", &text);
    let record = LiveRecord {
        command: "quell reproduce doc-row --live".into(),
        version: "1".into(),
        duration: "3 s".parse().unwrap(),
        measured: "2 s".parse().unwrap(),
        seeds: 1,
        kernel: "6.1".into(),
        processors: 2,
        load: 1.5,
        real_time: true,
        late_p99_s: 0.0003,
    };
    judged(folder.path(), |papers, judged, found| {
        let drawn = draw(judged[0].experiment, found);
        // A run's results become files that read as they were.
        let results = found.results(judged[0].experiment, None, None).unwrap();
        let files = live_files(judged[0].experiment, results, &record).unwrap();
        let [(csv, numbers), (toml, how)] = &files[..] else { panic!("{files:?}") };
        assert!(csv.ends_with("doc/live.csv") && numbers.starts_with(head), "{numbers}");
        assert!(
            toml.ends_with("doc/live/row.toml") && how.starts_with("# Written by `quell reproduce"),
            "{how}"
        );
        fs::write(toml, how).unwrap();
        let picture = drawn[0].picture.as_ref().unwrap();
        assert!(picture.svg.contains("red, live"), "{}", picture.csv);
        let beside: Vec<_> = picture.beside.iter().map(|b| (b.label.as_str(), b.x, b.live)).collect();
        assert_eq!(beside, [("red", 4.0, 11.5), ("red", 8.0, 12.5)]);
        assert!(picture.beside.iter().all(|b| b.simulated > 1.0));
        let experiments = vec![(judged[0].clone(), drawn)];
        let text = markdown(&Page { papers, document: &papers.documents[0], experiments }, "images");
        assert!(text.contains("| red | 11.5 / "), "{text}");
        assert!(
            text.contains(
                "on record (`quell reproduce doc-row --live`, version 1: 2 s measured of 3 s, one seed; "
            ),
            "{text}"
        );
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
            (cell.verdict, cell.found.unwrap().mean, cell.why.clone())
        })
    };
    let (without, mean, _) = verdict("");
    assert_eq!(without, Verdict::Open);
    assert_eq!(verdict(&format!("doc/1/eight/red/loss_rate,{mean},,5,2.35,[plain]\n")).0, Verdict::Refuted);
    assert_eq!(verdict(&format!("doc/1/eight/red/loss_rate,{mean},,1,2.35,[plain]\n")).0, Verdict::Open);
    let (apart, _, why) = verdict(&format!("doc/1/eight/red/loss_rate,{},,5,2.35,[plain]\n", 2.0 * mean));
    assert_eq!(apart, Verdict::Open);
    // The mechanism stands beside this, and may say what ns-2 has.
    assert!(why.contains("(that is no proof: under plain Quell has "), "{why}");
    assert!(why.contains("which is further than the band"), "{why}");
    assert_eq!(verdict("doc/1/eight/red/loss_rate,88,,5,2.35,[plain]\n").0, Verdict::Open);
}

/// That something happens here does not give the number.
#[test]
fn a_claim_of_ours_explains_no_number() {
    let ours = EXPERIMENT.replacen("name = \"tail-longer\"", "name = \"tail-longer\"\nours = true", 1);
    let folder = folder(&ours, &CELLS.replace("QUEUE", "20"), "");
    judged(folder.path(), |papers, judged, _| {
        let cells = &judged[0].tables[0].cells;
        let cell = cells.iter().find(|c| c.cell.id == "doc/1/eight/red/loss_rate").unwrap();
        assert_eq!((judged[0].claims[0].holds, cell.verdict), (Holds::Holds, Verdict::Open));
        let page = Page {
            papers,
            document: &papers.documents[0],
            experiments: vec![(judged[0].clone(), Vec::new())],
        };
        // It is not among those of the document.
        let text = markdown(&page, "images");
        assert!(
            text.contains("The document's claims: 2 hold, 1 fail, 1 missing, of 4; and 1 of ours."),
            "{text}"
        );
        assert!(cell.why.contains("(the claim \"tail-longer\" holds, and gives no number)"), "{}", cell.why);
    });
}

/// A number that another reading gives is explained, even if others are outside with us; one that lies between two
/// readings waits for the setting between them.
#[test]
fn what_another_reading_gives_is_not_refuted() {
    // RED of eight flows, under the thresholds of the document, under higher ones, and under lower ones.
    let id = "doc/1/eight/red/mean_queue";
    let lower = "[[reading]]\nname = \"small\"\nsays = \"\"\nbasis = \"simulator\"\nset = { \"aqm.red.min_th\" = \"2 packets\", \
        \"aqm.red.max_th\" = \"4 packets\" }\nalgorithms = [\"red\"]\n[[cells]]";
    let text = EXPERIMENT
        .replacen("[[cells]]", lower, 1)
        .replace("cells = [\"doc/1/*/red/loss_rate\"]", &format!("cells = [\"{id}\"]"));
    let judge_of = |text: &str, printed: f64| {
        let row = format!("{id},doc,1,p. 3,eight,red,mean_queue,packets,{printed:.2},{printed:.2},\n");
        let folder = folder(text, &(CELLS.replace("QUEUE", "20") + &row), "");
        judged(folder.path(), |_, judged, _| {
            let cell = judged[0].tables[0].cells.iter().find(|c| c.cell.id == id).unwrap();
            (cell.verdict, cell.why.clone(), cell.found.unwrap().mean)
        })
    };
    let judged_mean = judge_of(&text, 100.0).2;
    assert_eq!(judge_of(&text, 100.0).0, Verdict::Refuted);
    // The other two readings, each judged.
    let mean_under = |name: &str| {
        let judged = text.replacen(
            "printed = \"one run\"",
            &format!("printed = \"one run\"\nreading = \"{name}\""),
            1,
        );
        judge_of(&judged.replace("algorithm = { tail = \"drop-tail\", ", "algorithm = { "), 100.0).2
    };
    let (large, small) = (mean_under("large"), mean_under("small"));
    assert!(small < judged_mean && judged_mean < large, "{small} {judged_mean} {large}");
    let (verdict, why, _) = judge_of(&text, large);
    assert_eq!(verdict, Verdict::Explained);
    assert!(why.contains("the reading \"large\" reproduces it"), "{why}");
    // A reading that was fitted explains nothing.
    let basis = |basis: &str| format!("says = \"the thresholds are higher\"\nbasis = \"{basis}\"");
    let fitted = text.replace(&basis("simulator"), &basis("fitted"));
    let (verdict, why, _) = judge_of(&fitted, large);
    assert_eq!(verdict, Verdict::Fitted);
    assert!(why.contains("the fitted reading \"large\" reproduces it"), "{why}");
    let chose =
        text.replace("because = \"a guess\"", &format!("because = \"a guess\"\nfitted_on = [\"{id}\"]"));
    assert_eq!(judge_of(&chose, large).0, Verdict::Fitted);
    let named = |text: &str| text.replace("shown_by = \"claim:tail-longer\"", "shown_by = \"large\"");
    assert_eq!(judge_of(&named(&text), large).0, Verdict::Explained);
    let (verdict, why, _) = judge_of(&named(&fitted), large);
    assert_eq!(verdict, Verdict::Fitted);
    assert_eq!(why, "No queue loses that much. (the fitted reading \"large\" reproduces it)");
    let (verdict, why, _) = judge_of(&named(&fitted), 100.0);
    assert_eq!(verdict, Verdict::Open);
    assert!(why.contains("(under \"large\" it is ") && why.contains(", which is outside as well)"), "{why}");
    let (verdict, why, _) = judge_of(&text, 0.5 * (judged_mean + large));
    assert_eq!(verdict, Verdict::Open);
    assert!(why.contains("it lies between \"plain\" and \"large\""), "{why}");
    // Of many readings one gives a number by chance. What comes out under one that is excluded, in few runs, or at the end of
    // the band, is open, whether the number asks that reading or another evidence.
    let with = |line: &str| text.replace("because = \"a guess\"", &format!("because = \"a guess\"\n{line}"));
    for (weak, printed, said) in [
        (with("excluded = \"nobody has it\""), large, "but that is excluded: nobody has it"),
        (with("seeds = 4"), large, "of 4 runs: fewer than 5 show nothing"),
        // The band is a tenth of what is printed: the mean is just within it.
        (text.clone(), large / 0.9 - 0.01, "which does not lie in the band as a whole"),
    ] {
        for asked in [weak.clone(), named(&weak)] {
            let (verdict, why, _) = judge_of(&asked, printed);
            assert_eq!(verdict, Verdict::Open, "{why}");
            assert!(why.contains("under \"large\" it is ") && why.contains(said), "{why}");
        }
    }
    let first =
        error(|text| text.replacen("because = \"section 1\"", "because = \"\"\nexcluded = \"so\"", 1));
    assert!(first.contains("excluded: the reading is judged"), "{first}");
}

/// Readings that are near a number are counted, and those that are near its mirror image at what was found.
#[test]
fn a_mirror_shows_what_chance_gives() {
    let of = |experiment: &str, printed: f64| {
        let printed = format!("packets,{printed:.2},{printed:.2}");
        let cells = CELLS.replace("QUEUE", "20").replace("packets,39,39", &printed);
        judged(folder(experiment, &cells, "").path(), |papers, judged, found| {
            let cells = &judged[0].tables[0].cells;
            let cell = cells.iter().find(|c| c.cell.id == "doc/1/four/red/mean_queue").unwrap();
            let drawn = draw(judged[0].experiment, found);
            let page = Page {
                papers,
                document: &papers.documents[0],
                experiments: vec![(judged[0].clone(), drawn)],
            };
            (cell.elsewhere, cell.found.unwrap().mean, markdown(&page, "images"))
        })
    };
    // A buffer of 40 packets holds no such queue.
    let (elsewhere, found, _) = of(EXPERIMENT, 100.0);
    assert_eq!(elsewhere, [1, 0, 0]);
    let judged = EXPERIMENT.replace("printed = \"one run\"", "printed = \"one run\"\nreading = \"large\"");
    let (_, large, _) = of(&judged.replace("algorithm = { tail = \"drop-tail\", ", "algorithm = { "), 100.0);
    let (elsewhere, _, page) = of(EXPERIMENT, large);
    assert_eq!(elsewhere, [1, 1, 0], "{large}");
    let said = "Some reading brings the mean of 1 of them into the band. As a check, each band was mirrored at what was \
         found. Nobody printed those mirrored numbers, but some reading also brings 0 means into their bands";
    assert!(page.contains(said), "{page}");
    let mirrored = 2.0 * found - large;
    assert_eq!(of(EXPERIMENT, mirrored).0, [1, 0, 1], "{large} {mirrored}");
}

/// Every row of ns-2 must be outside, and the number is compared with us under the reading that the row names.
#[test]
fn each_run_of_ns2_counts() {
    let shown = EXPERIMENT.replace("shown_by = \"claim:tail-longer\"", "shown_by = \"ns-2\"");
    let verdict = |ns2: &str| {
        let folder = folder(&shown, &CELLS.replace("QUEUE", "20"), ns2);
        judged(folder.path(), |_, judged, _| {
            let cell = judged[0].tables[0].cells.iter().find(|c| c.cell.id.ends_with("eight/red/loss_rate"));
            let cell = cell.unwrap();
            (cell.verdict, cell.why.clone(), cell.found.unwrap().mean)
        })
    };
    let row =
        |mean: f64, reading: &str| format!("doc/1/eight/red/loss_rate,{mean},,5,2.35,[{reading}] two runs\n");
    let mean = verdict("").2;
    assert_eq!(verdict(&row(mean, "plain")).0, Verdict::Refuted);
    // Under the other reading it can be the printed 88 %.
    let (verdict_of_both, why, _) = verdict(&(row(mean, "plain") + &row(88.0, "large")));
    assert_eq!(verdict_of_both, Verdict::Open);
    assert!(why.contains("it could be a run of ns-2 under large"), "{why}");
    let error = |ns2: &str| {
        let folder = folder(&shown, &CELLS.replace("QUEUE", "20"), ns2);
        Papers::read(folder.path()).unwrap_err().to_string()
    };
    let unnamed = error("doc/1/eight/red/loss_rate,1,,5,2.35,two runs\n");
    assert!(
        unnamed.contains(
            "ns2.csv:2: setting: must begin with the reading of doc-row that ns-2 ran, in square brackets"
        ) && unnamed.contains("\"[plain] two runs\""),
        "{unnamed}"
    );
    let lost = error(&row(1.0, "plan"));
    assert!(lost.contains("setting = reading = \"plan\": is not there; did you mean \"plain\"?"), "{lost}");
}

/// Numbers of the document that contradict each other refute one that does not come out.
#[test]
fn arithmetic_refutes() {
    let of = |equation: &str| {
        let shown = format!("shown_by = \"arithmetic\"\narithmetic = \"{equation}\"");
        EXPERIMENT.replace("shown_by = \"claim:tail-longer\"", &shown)
    };
    let refuted = folder(&of("[doc/1/eight/red/loss_rate] + 10 = 80..90"), &CELLS.replace("QUEUE", "20"), "");
    judged(refuted.path(), |_, judged, _| {
        let cell =
            judged[0].tables[0].cells.iter().find(|c| c.cell.id == "doc/1/eight/red/loss_rate").unwrap();
        assert_eq!(cell.verdict, Verdict::Refuted);
        assert!(cell.why.contains("97.5 to 98.5 is not 80 to 90"), "{}", cell.why);
    });
    let error = |text: &str| {
        let folder = folder(text, &CELLS.replace("QUEUE", "20"), "");
        Papers::read(folder.path()).unwrap_err().to_string()
    };
    let fulfilled = error(&of("[doc/1/eight/red/loss_rate] = 80..90"));
    assert!(
        fulfilled.contains("arithmetic: [doc/1/eight/red/loss_rate] = 80..90: 87.5 to 88.5 may be 80 to 90"),
        "{fulfilled}"
    );
    assert!(
        error(&of("[doc/1/eight/red/loss] = 1"))
            .contains("arithmetic: [doc/1/eight/red/loss]: no cell has this id")
    );
    let without = EXPERIMENT.replace("shown_by = \"claim:tail-longer\"", "shown_by = \"arithmetic\"");
    assert!(error(&without).contains("arithmetic: goes with shown_by = \"arithmetic\""));
}

/// A claim that fails is refuted by ns-2's own figures, if they fail the same test.
#[test]
fn claims_are_refuted_by_figures_of_ns2() {
    let refuted = "[[refuted]]\nclaims = [\"red-longer\"]\nmechanism = \"RED drops early.\"\nshown_by = \"ns-2\"\n\
        figures = \"ns2/queues.csv\"\n[[figure]]";
    let text = EXPERIMENT.replacen("[[figure]]", refuted, 1);
    let rows = |red: f64| {
        let of = |label: &str, flows: u32, queue: f64| {
            let one = |seed: u32| {
                format!(
                    "queue_packets,{label},flows.ftp.count={flows},,,,{seed},{}\n",
                    queue + 0.1 * f64::from(seed)
                )
            };
            (1..=3).map(one).collect::<String>()
        };
        ["quantity,algorithm,at,segment,link,run,seed,value\n".to_string()]
            .into_iter()
            .chain([4, 8].into_iter().flat_map(|n| [of("red", n, red), of("drop-tail", n, 30.0)]))
            .collect::<String>()
    };
    let with = |figures: &str| {
        let folder = folder(&text, &CELLS.replace("QUEUE", "20"), "");
        fs::create_dir(folder.path().join("doc/ns2")).unwrap();
        fs::write(folder.path().join("doc/ns2/queues.csv"), figures).unwrap();
        folder
    };
    let claim = |figures: &str| {
        judged(with(figures).path(), |papers, judged, _| {
            let claim = &judged[0].claims[1];
            let score = &scores(papers, &["doc"], judged)[2].2;
            (claim.holds, claim.why.clone(), score.claim(Holds::Refuted))
        })
    };
    let (holds, why, count) = claim(&rows(9.0));
    assert_eq!((holds, count), (Holds::Refuted, 1));
    assert!(why.starts_with("RED drops early. (shown by ns-2: worst of 2: red 9.2"), "{why}");
    let (holds, why, _) = claim(&rows(40.0));
    assert_eq!(holds, Holds::Fails);
    assert!(why.contains("not shown by ns-2: it holds there"), "{why}");
    // One algorithm that fails is enough for a test of both.
    let without =
        rows(9.0).lines().filter(|l| !l.contains("count=8")).map(|l| format!("{l}\n")).collect::<String>();
    assert_eq!(claim(&without).0, Holds::Refuted);
    let error = |figures: &str| {
        let folder = with(figures);
        let papers = Papers::read(folder.path()).unwrap();
        Plan::of(&papers, papers.experiments(), Extent::default()).unwrap_err().to_string()
    };
    let few = error(&rows(9.0).replace("red,flows.ftp.count=8,,,,3,", "red,flows.ftp.count=9,,,,3,"));
    assert!(
        few.contains(
            "claim \"red-longer\": ns-2 has 2 values of queue_packets of red at flows.ftp.count=8; at least 3"
        ),
        "{few}"
    );
    let lost = error(&rows(9.0).replace("red,flows.ftp.count=8", "red,flows.ftp.count=9"));
    assert!(lost.contains("queues.csv:8: queue_packets of red: no test of the claims"), "{lost}");
    assert!(error("quantity,algorithm\n").contains("queues.csv:1: column \"at\": is missing"));
}

/// A claim that chose the reading holds, and does not count.
#[test]
fn a_claim_that_chose_the_reading_does_not_count() {
    let fitted = |name: &str| {
        let fitted = format!("because = \"section 1\"\nfitted_on = [\"claim:doc-row#{name}\"]");
        EXPERIMENT.replacen("because = \"section 1\"", &fitted, 1)
    };
    let of = folder(&fitted("tail-longer"), &CELLS.replace("QUEUE", "20"), "");
    judged(of.path(), |_, judged, _| {
        let claim = &judged[0].claims[0];
        assert_eq!((claim.holds, claim.withheld), (Holds::Undecided, true));
        assert!(claim.found.starts_with("it holds, but a reading was chosen by it: "), "{}", claim.found);
        assert!(Record::of(judged).text().contains("doc-row#tail-longer,undecided,withheld\n"));
    });
    let lost = folder(&fitted("tail-long"), &CELLS.replace("QUEUE", "20"), "");
    let lost = Papers::read(lost.path()).unwrap_err().to_string();
    assert!(
        lost.contains("the document has no such claim; did you mean \"claim:doc-row#tail-longer\"?"),
        "{lost}"
    );
}

/// The document may mean either of two readings: a claim that holds under one of them only is undecided.
#[test]
fn a_claim_that_holds_under_one_of_two_rivals_is_undecided() {
    let claim = |name: &str, test: &str| {
        format!("[[claim]]\nname = \"{name}\"\nsection = \"1\"\nsays = \"So.\"\ntest = \"{test}\"\n")
    };
    let text = EXPERIMENT
        .replace("\"aqm.red.min_th\" = \"30 packets\", \"aqm.red.max_th\" = \"40 packets\"", WINDOW_OF_ONE)
        .replace("algorithms = [\"red\"]\n", "")
        .replace(
            "[[figure]]\nnumber = \"1\"",
            &(claim("long", "queue_packets of red at flows.ftp.count=8 > 3")
                + &claim("short", "queue_packets of red at flows.ftp.count=8 < 3")
                + &claim("any", "utilization of red at flows.ftp.count=8 > 0.1")
                + "[[figure]]\nnumber = \"1\""),
        );
    let found = |text: &str| {
        let of = folder(text, &CELLS.replace("QUEUE", "20"), "");
        judged(of.path(), |_, judged, _| {
            let found = |name: &str| {
                let claim = judged[0].claims.iter().find(|c| c.claim.name == name).unwrap();
                (claim.holds, claim.found.clone())
            };
            [found("long"), found("short"), found("any")]
        })
    };
    let alone = found(&text);
    assert_eq!([alone[0].0, alone[1].0, alone[2].0], [Holds::Holds, Holds::Fails, Holds::Holds], "{alone:?}");
    let rival = |reading: &str| text.replace(reading, &format!("{reading}rival = true\n"));
    let both = found(&rival("because = \"a guess\"\n"));
    assert_eq!(
        [both[0].0, both[1].0, both[2].0],
        [Holds::Undecided, Holds::Undecided, Holds::Holds],
        "{both:?}"
    );
    assert!(both[0].1.starts_with("it holds, but fails under \"large\": "), "{}", both[0].1);
    assert!(both[1].1.starts_with("it fails, but holds under \"large\": "), "{}", both[1].1);
    assert_eq!(both[2].1, alone[2].1);
    // So is a number: the rival has another one.
    let number = |text: &str| {
        let at_first = folder(text, &CELLS.replace("QUEUE", "20"), "");
        let of = |path: &Path| {
            judged(path, |_, judged, _| {
                let cell = &judged[0].tables[0].cells[0];
                (cell.verdict, cell.withheld, cell.why.clone(), cell.found.unwrap().mean)
            })
        };
        let mean = of(at_first.path()).3;
        of(folder(text, &CELLS.replace("QUEUE", &format!("{mean:.1}")), "").path())
    };
    assert_eq!(number(&text).0, Verdict::Agrees);
    let (verdict, withheld, why, _) = number(&rival("because = \"a guess\"\n"));
    assert_eq!((verdict, withheld), (Verdict::Explained, true));
    assert_eq!(why, "it would agree or be inside, but not under \"large\", and nothing decides");
    let first = error(|text| {
        text.replacen("because = \"section 1\"\n", "because = \"section 1\"\nrival = true\n", 1)
    });
    assert!(first.contains("rival = true: the first reading is the one that is judged"), "{first}");
}

/// A rival reading under which queues are empty.
const WINDOW_OF_ONE: &str = "\"flows.ftp.tcp.max_window\" = 1";

/// Numbers that come out without a simulation are counted apart, and each number has its place in the band.
#[test]
fn free_numbers_are_counted_apart() {
    let at_first = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    let mean = judged(at_first.path(), |_, judged, _| judged[0].tables[0].cells[0].found.unwrap().mean);
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", &format!("{mean:.1}")), "");
    let null = |text: &str| fs::write(folder.path().join("null.toml"), text).unwrap();
    null("[[guess]]\ncells = [\"doc/3\"]\nis = 5\n");
    let lost = Papers::read(folder.path()).unwrap_err().to_string();
    assert!(lost.contains("null.toml:2: cells = \"doc/3\": no cell has such an id"), "{lost}");
    null(&format!("[[guess]]\ncells = [\"doc/1/*/*/mean_queue\"]\nis = {:.3}\n", 1.05 * mean));
    judged(folder.path(), |papers, judged, _| {
        let cell = |id: &str| judged[0].tables[0].cells.iter().find(|c| c.cell.id == id).unwrap();
        let (tail, red) = (cell("doc/1/four/tail/mean_queue"), cell("doc/1/four/red/mean_queue"));
        assert_eq!((tail.free, red.free), (true, false));
        assert!(tail.place.unwrap().abs() < 0.1 && !tail.knife_edge, "{tail:?}");
        let reach = 0.1 * tail.cell.middle();
        assert!((tail.band.1 - tail.cell.middle() - reach).abs() < 1e-9, "{tail:?}");
        assert!(red.place.unwrap() < -1.0, "{red:?}");
        let score = &scores(papers, &["doc"], judged)[0].2;
        assert_eq!((score.free, score.free_come_out, score.beyond()), (1, 1, 3));
    });
}

/// The index says of what is missed why, and how near the labels are: by the numbers that need a simulation.
#[test]
fn the_index_says_what_is_missed() {
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    let papers = Papers::read(folder.path()).unwrap();
    let verdicts = "id,verdict,note\ndoc/1/four/tail/mean_queue,fitted,\ndoc/1/four/red/mean_queue,open,middle\n\
                    doc/1/eight/tail/link_utilization,agrees,\ndoc/1/eight/red/loss_rate,open,\n";
    let file = folder.path().join("verdicts.csv");
    fs::write(&file, verdicts).unwrap();
    let record = Record::read(&file).unwrap();
    let index = quell_papers::scoreboard(&papers, &record, &std::collections::BTreeMap::new());
    for text in [
        "Of 5 printed numbers 1 agree or are inside, 0 are withheld, 0 are explained by a reading other than the \
         judged one, 1 are in their band only by a fit, 0 are refuted, and 2 are open; 1 were not run.",
        "3 numbers have no explanation. 2 are open: nothing that was tried shows why they lie outside. 1 are in their band only by a fit",
        "For 1 ranges, only the middle lies outside; they are named below",
        "By metric: 2 mean queue, 1 loss rate.",
        "1 ranges whose ends are inside, but not their middle</summary>\n\n\
         - red mean queue at four (Table 1)\n",
    ] {
        assert!(index.contains(text), "{text}: {index}");
    }
    assert!(!index.contains(" come out"), "{index}");
    let row = index.lines().find(|line| line.contains("Table 1](doc.md)")).unwrap();
    assert!(row.ends_with("| 4 | 1 | 1 of 4 | 0 | 0 | 1 | 0 | 2 |  |  |  |  |  |"), "{row}");
    // Of 100 numbers 30 are free; of the other 70, 56 are four of five.
    let of = |come_out| Reproduced { numbers: 100, come_out, free: 30, free_come_out: 30, withheld: 0 };
    assert!(of(86).holds() && !of(85).holds());
    assert!(!Reproduced { numbers: 100, come_out: 100, free: 89, free_come_out: 89, withheld: 0 }.holds());
}

/// The reading was chosen by a number of another window of the same network.
#[test]
fn what_chose_the_reading_is_withheld_in_all_windows() {
    let at_first = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    let mean = judged(at_first.path(), |_, judged, _| judged[0].tables[0].cells[0].found.unwrap().mean);
    let window = |case: &str| {
        let slug = quell_papers::slug(case);
        format!(
            "doc/1/{slug}/tail/mean_queue,doc,1,,\"{case}\",tail,mean_queue,packets,{mean:.1},{mean:.1},\n"
        )
    };
    let [first, same, other] = ["1-2 s, few", "3-4 s, few", "3-4 s, a few"].map(window);
    let text = EXPERIMENT
        .replacen("because = \"section 1\"", "because = \"section 1\"\nfitted_on = [\"doc/1/1-2-s-few\"]", 1)
        .replace(
            "eight = {",
            "\"1-2-s-few\" = { at = { \"flows.ftp.count\" = 4 } }\n\
            \"3-4-s-few\" = { at = { \"flows.ftp.count\" = 4 } }\n\
            \"3-4-s-a-few\" = { at = { \"flows.ftp.count\" = 4 } }\neight = {",
        );
    let folder =
        folder(&text, &(CELLS.replace("QUEUE", &format!("{mean:.1}")) + &first + &same + &other), "");
    judged(folder.path(), |papers, judged, _| {
        let withheld: Vec<&str> =
            judged[0].tables[0].cells.iter().filter(|c| c.withheld).map(|c| c.cell.part(2)).collect();
        assert_eq!(withheld, ["1-2-s-few", "3-4-s-few"]);
        let score = &scores(papers, &["doc"], judged)[0].2;
        assert_eq!(score.withheld, 2);
        let record = Record::of(judged);
        assert!(
            record.text().contains("doc/1/1-2-s-few/tail/mean_queue,explained,withheld\n"),
            "{}",
            record.text()
        );
    });
}

#[test]
fn errors_name_the_file_and_what_is_wrong() {
    for (from, to, why) in [
        ("seeds = 5", "sedes = 5", "row.toml:5: sedes: unknown key; did you mean \"seeds\"?"),
        (
            "seeds = 5",
            "seeds = \"5\"",
            "row.toml:5: seeds = \"5\": expected a whole number of at least 0, not a string",
        ),
        ("section = \"1.1\"", "", "row.toml:1: section: is missing"),
        ("basis = \"document\"", "basis = \"documents\"", "must be one of: document, simulator"),
        ("of = \"doc/1\"", "of = \"doc/3\"", "row.toml:22: of = \"doc/3\": no cell has such an id"),
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
            "row.toml:65: kind = \"metrics\": is not there; did you mean \"metric\"? There are metric, queue",
        ),
        ("algorithms = [\"red\"]", "algorithms = [\"blue\"]", "algorithm \"blue\": is not in"),
        ("\"aqm.red.min_th\"", "\"aqm.blue.min_th\"", "reading large, run main"),
        (
            "red = \"red\" }",
            "red = \"redd\" }",
            "doc/1/four/red/mean_queue: algorithm \"redd\": unknown algorithm; did you mean \"red\"? There are drop-tail, red",
        ),
        (
            "of red, drop-tail rises",
            "of red, tail rises",
            "claim \"more-loss\": algorithm \"tail\": unknown algorithm",
        ),
        ("rises along flows.ftp.count", "rises along flows.ftp.cout", "flows.ftp.cout: no run varies it"),
        ("count=8 like", "count=8 liek", "must be \"A < B\""),
        (
            "cells = [\"doc/1/four/red\"]",
            "cells = [\"doc/1/*/red/loss_rate\"]",
            "cells = \"doc/1/*/red/loss_rate\": is in [[refuted]] and in [[open]]",
        ),
        ("seeds = 5", "seeds = 0", "row.toml:5: seeds = 0: must be at least 1"),
        ("seeds = 5", "seeds = 5\ndialect = \"ns-2.3\"", "row.toml:6: dialect = \"ns-2.3\": unknown dialect"),
        // What the scenario does not have is found before it is run.
        (
            "{ \"flows.ftp.count\" = 4 }",
            "{ \"flows.ftp.count\" = 5 }",
            "there is no point with flows.ftp.count = 5; there are",
        ),
        ("{ \"flows.ftp.count\" = 4 }", "{ \"flows.ftp.cont\" = 4 }", "flows.ftp.cont: no run varies it"),
        ("{ \"flows.ftp.count\" = 4 }", "{}", "may be one of several points"),
        (
            "[cells.case]",
            "where = { segment = 1 }\n[cells.case]",
            "segment 1: the measured window has one segment",
        ),
        (
            "[cells.case]",
            "where = { scope = \"wbe\" }\n[cells.case]",
            "class \"wbe\": unknown class; there are all, data, ftp",
        ),
        (
            "[cells.case]",
            "where = { link = \"bottlenek\" }\n[cells.case]",
            "link \"bottlenek\": unknown link; did you mean \"bottleneck\"?",
        ),
        ("\"100 * loss_rate\" }", "\"100 * loss_rate[web]\" }", "class \"web\": unknown class"),
        (
            "like utilization of drop-tail",
            "like utilization[web] of drop-tail",
            "claim \"same\": class \"web\"",
        ),
        ("of red at flows.ftp.count=8 like", "of red in segment 7 like", "may be one of several points"),
        (
            "of red at flows.ftp.count=8 like",
            "of red at flows.ftp.count=8 in segment 7 like",
            "segment 7: the measured window",
        ),
        (
            "of red at flows.ftp.count=8 like",
            "of red at flows.ftp.count=8 on r1 like",
            "link \"r1\": unknown link",
        ),
        (
            "> queue_packets of red\"",
            "> queue_packets of red for 90% of cases and loss_rate of red at flows.ftp.count=4 < 1 for 90% of cases\"",
            "claim \"tail-longer\": for 90% of cases: there is only one case",
        ),
        ("cells = [\"doc/1/*/red/loss_rate\"]\n", "", "must have either \"cells\" or \"claims\""),
        (
            "cells = [\"doc/1/*/red/loss_rate\"]\n",
            "claims = [\"more-loss\"]\n",
            "a claim is refuted by \"ns-2\" or \"arithmetic\"",
        ),
        (
            "cells = [\"doc/1/*/red/loss_rate\"]\n",
            "claims = [\"more-los\"]\n",
            "claims = \"more-los\": is not there; did you mean \"more-loss\"?",
        ),
        (
            "shown_by = \"claim:tail-longer\"",
            "shown_by = \"ns-2\"\nfigures = \"x.csv\"",
            "figures: names the file of ns-2's values, and goes with claims",
        ),
        ("count=4|8", "count=4|9", "claim \"red-longer\": there is no point with flows.ftp.count = 9"),
        ("kind = \"queue\"", "kind = \"queue\"\nlink = \"r1\"", "figure 2: link \"r1\": unknown link"),
        ("kind = \"queue\"", "kind = \"queue\"\nscope = \"web\"", "figure 2: class \"web\": unknown class"),
        (
            "kind = \"queue\"",
            "kind = \"queue\"\nalgorithms = [\"pi\"]",
            "figure 2: algorithm \"pi\": unknown algorithm",
        ),
        (
            "label = \"red\"\n",
            "label = \"red\"\npanel = \"4\"\n",
            "panel = \"4\": \"by\" must name the field",
        ),
        ("x = \"flows.ftp.count\"", "x = \"flows.ftp.cuont\"", "flows.ftp.cuont: no run varies it"),
        // Units, numbers and kinds.
        (
            "\"100 * loss_rate\"",
            "\"loss_rate\"",
            "row.toml:25: loss_rate = \"loss_rate\": is in 1, and its printed numbers are in percent: write \"100 * loss_rate\"",
        ),
        (
            "points = [[4, 8], [8, 9]]",
            "points = [[4, nan]]",
            "figure[0].printed[0].points[0][1] = NaN: must be a finite number",
        ),
        (
            "[[figure]]",
            "[[computed]]\ncell = \"doc/1/four/tail/mean_queue\"\ncompute = { kind = \"vrc-longest\" }\n[[figure]]",
            "computed[0].compute.kind = \"vrc-longest\": must be one of: vrc-largest-integral, vrc-largest-proportional, vrc-longest-rtt, avq-longest-rtt",
        ),
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
    assert!(error("39,39", "39,38").contains("cells.csv:3: low = \"39\": must be no more than high = 38"));
    assert!(error("doc/1/four/red", "doc/1/4/red").contains("must be \"doc/1/four/red/mean_queue\""));
    assert!(error("39,39", "nan,39").contains("low = \"nan\": must be a number"));
    assert!(error("39,39", "39,inf").contains("high = \"inf\": must be a number"));
    assert!(error("39,39,", "39,39").contains("cells.csv:3: has 10 values, and the header names 11 columns"));
    assert!(
        error("unit,low", "units,low")
            .contains("cells.csv:1: \"units\": unknown column; did you mean \"unit\"?")
    );
    assert!(error("unit,low,high,note", "unit,low,high,low").contains("column \"low\": is named twice"));
    assert!(error(",note\n", "\n").contains("column \"note\": is missing; the columns are id, document"));
    assert!(
        error("packets,39", "pakets,39")
            .contains("unit = \"pakets\": unknown unit; did you mean \"packets\"?")
    );
    let lost = error("doc/2/x/red/loss_rate,doc", "dog/2/x/red/loss_rate,dog");
    assert!(
        lost.contains("cells.csv:6: document = \"dog\": unknown document; did you mean \"doc\"?"),
        "{lost}"
    );
    let twice = "doc/2/x/red/loss_rate,doc,2,,x,red,loss_rate,percent,1,1,\n";
    assert!(error(twice, &twice.repeat(2)).contains("is that of line 6 as well"));
}

#[test]
fn the_other_tables_are_checked() {
    let cell = "doc/1/eight/red/loss_rate";
    let error = |ns2: &str| {
        let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), ns2);
        Papers::read(folder.path()).unwrap_err().to_string()
    };
    assert!(error(&format!("{cell},nan,,3,2.35,\n")).contains("ns2.csv:2: mean = \"nan\": must be a number"));
    assert!(error(&format!("{cell},1,-0.1,3,2.35,\n")).contains("std = \"-0.1\": must be at least 0"));
    assert!(error(&format!("{cell},1,inf,3,2.35,\n")).contains("std = \"inf\": must be a number"));
    assert!(
        error(&format!("{cell},1,,0,2.35,\n")).contains("runs = \"0\": must be a whole number of at least 1")
    );
    assert!(error("doc/9,1,,3,2.35,\n").contains("cell = \"doc/9\": no cell has this id"));
    let row = format!("{cell},1,,3,2.35,\n");
    assert!(
        error(&row.repeat(2))
            .contains("ns2.csv:3: cell = \"doc/1/eight/red/loss_rate\": is that of line 2 as well")
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("verdicts.csv");
    let error = |rows: &str| {
        fs::write(&file, format!("id,verdict\n{rows}")).unwrap();
        Record::read(&file).unwrap_err().to_string()
    };
    assert!(error("a,open\na,agrees\n").contains("verdicts.csv:3: id = \"a\": is named twice"));
    assert!(error("a,agree\n").contains("verdict = \"agree\": must be one of: agrees, inside"));
    assert!(error("a#b,agrees\n").contains("must be one of: holds, fails"));
}

/// Bands and ns-2's values may be left out.
#[test]
fn only_the_printed_numbers_are_needed() {
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    fs::remove_file(folder.path().join("bands.toml")).unwrap();
    fs::remove_file(folder.path().join("ns2.csv")).unwrap();
    assert!(Papers::read(folder.path()).unwrap().bands.is_empty());
}

/// Reading, run, experiment, document, scenario: the first that says something.
#[test]
fn the_most_specific_dialect_wins() {
    let dialects = |document: &str, experiment: &str, run: &str, reading: &str, scenario: &str| {
        let line =
            |name: &str| if name.is_empty() { String::new() } else { format!("dialect = \"{name}\"\n") };
        let text = EXPERIMENT
            .replacen("seeds = 5\n", &format!("seeds = 5\n{}", line(experiment)), 1)
            .replacen("name = \"main\"\n", &format!("name = \"main\"\n{}", line(run)), 1)
            .replacen("name = \"large\"\n", &format!("name = \"large\"\n{}", line(reading)), 1);
        let folder = folder(&text, &CELLS.replace("QUEUE", "20"), "");
        let about = format!("title = \"A\"\nreference = \"A\"\n{}", line(document));
        fs::write(folder.path().join("doc/document.toml"), about).unwrap();
        let scenario = SCENARIO.replacen("schema = 1\n", &format!("schema = 1\n{}", line(scenario)), 1);
        fs::write(folder.path().join("scenario.toml"), scenario).unwrap();
        let papers = Papers::read(folder.path()).unwrap();
        let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap();
        // Two points of each reading.
        let name = |point: usize| plan.study.points[point].scenario.dialect.unwrap_or_default().name();
        [name(0), name(2)]
    };
    assert_eq!(dialects("", "", "", "", ""), ["quell", "quell"]);
    assert_eq!(dialects("", "", "", "", "ns-2.1b"), ["ns-2.1b", "ns-2.1b"]);
    assert_eq!(dialects("ns-2.27", "", "", "", "ns-2.1b"), ["ns-2.27", "ns-2.27"]);
    assert_eq!(dialects("ns-2.27", "ns-2.35", "", "", "ns-2.1b"), ["ns-2.35", "ns-2.35"]);
    assert_eq!(dialects("ns-2.27", "ns-2.35", "ns-2.1b", "", ""), ["ns-2.1b", "ns-2.1b"]);
    assert_eq!(dialects("ns-2.27", "ns-2.35", "ns-2.1b", "quell", ""), ["ns-2.1b", "quell"]);
}

/// Two experiments, the second as the first but for what is changed; without printed numbers.
fn two(change: impl Fn(String) -> String) -> TempDir {
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    let second = EXPERIMENT.replace("doc/1", "doc/2").replace("seeds = 5", "seeds = 2");
    let (head, tail) = (second.find("[[cells]]").unwrap(), second.find("[[claim]]").unwrap());
    let second = change(format!("{}{}", &second[..head], &second[tail..]));
    fs::write(folder.path().join("doc/second.toml"), second).unwrap();
    folder
}

/// The scenario of another network.
fn elsewhere(experiment: String) -> String {
    let scenario = "scenario = \"../scenario.toml\"\n";
    experiment.replace(scenario, &format!("{scenario}set = {{ \"dumbbell.delay\" = \"12 ms\" }}\n"))
}

/// An experiment that is handed over: the numbers of its replications and points, and whether its first claim holds.
type HandedOver = (String, (usize, usize), Holds);

/// What is handed over, in order of names; and how many replications were run, of how many.
fn handed_over(folder: &TempDir) -> (Vec<HandedOver>, (usize, usize)) {
    let papers = Papers::read(folder.path()).unwrap();
    let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap();
    let taken = std::sync::Mutex::new(Vec::new());
    let take = |id: &str, found: quell_papers::ExperimentResults| {
        let e = papers.experiments().find(|e| e.id == id).unwrap();
        let results = found.results(e, Some("large"), None).unwrap();
        let own = (results.replications.len(), results.run.points.len());
        taken.lock().unwrap().push((id.to_string(), own, judge(&papers, e, &found).claims[0].holds));
    };
    let ran = plan.run(&Options::default(), &take).unwrap();
    assert_eq!(plan.cost().replications, ran.all);
    let mut taken = taken.into_inner().unwrap();
    taken.sort_by(|a, b| a.0.cmp(&b.0));
    (taken, (ran.done, ran.all))
}

/// Each experiment is handed over once, with its own results.
#[test]
fn experiments_are_handed_over_one_by_one() {
    let (taken, ran) = handed_over(&two(elsewhere));
    // Of one algorithm at two points.
    let want = [("doc-row", (10, 2), Holds::Holds), ("doc-second", (4, 2), Holds::Holds)];
    assert_eq!(taken, want.map(|(id, own, holds)| (id.to_string(), own, holds)));
    // Two algorithms and one, at two points, with as many seeds.
    assert_eq!(ran, (6 * 7, 6 * 7));
}

/// What two experiments have in common is run once, and each has all of it; a second one with more seeds than the first
/// runs its own.
#[test]
fn experiments_share_what_is_the_same() {
    let want = |seeds: usize| {
        let second = ("doc-second".to_string(), (2 * seeds, 2), Holds::Holds);
        vec![("doc-row".to_string(), (10, 2), Holds::Holds), second]
    };
    assert_eq!(handed_over(&two(|second| second)), (want(2), (30, 30)));
    let more = |second: String| second.replace("seeds = 2", "seeds = 6");
    assert_eq!(handed_over(&two(more)), (want(6), (6 * 11, 6 * 11)));
}

/// Nothing of an experiment is run before what was found of the one before it is handed over: who lets go of that has
/// one experiment's results at a time, and of these no rows of each flow.
#[test]
fn results_do_not_pile_up() {
    let folder = two(elsewhere);
    let papers = Papers::read(folder.path()).unwrap();
    let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap();
    let cache = quell_lab::Cache::at(folder.path().join("cache"));
    let run = std::sync::Mutex::new(Vec::new());
    let take = |id: &str, found: quell_papers::ExperimentResults| {
        let e = papers.experiments().find(|e| e.id == id).unwrap();
        let results = found.results(e, None, None).unwrap();
        assert!(results.replications.iter().all(|r| r.flows.is_empty() && r.transfers.is_empty()));
        run.lock().unwrap().push((id.to_string(), cache.entries().unwrap().len()));
    };
    let options = Options { threads: Some(1), cache: Some(&cache), ..Options::default() };
    plan.run(&options, &take).unwrap();
    let want = [("doc-row", 30), ("doc-second", 42)];
    assert_eq!(run.into_inner().unwrap(), want.map(|(id, run)| (id.to_string(), run)));
}

/// A reading that changes RED alone shares drop-tail's replications with the first.
#[test]
fn readings_share_what_they_do_not_change() {
    let folder =
        folder(&EXPERIMENT.replacen("algorithms = [\"red\"]\n", "", 1), &CELLS.replace("QUEUE", "20"), "");
    let papers = Papers::read(folder.path()).unwrap();
    let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap();
    let seen = std::sync::Mutex::new(None);
    let take = |_: &str, found: quell_papers::ExperimentResults| {
        let e = papers.experiments().next().unwrap();
        let of = |reading: &str| {
            let results = found.results(e, Some(reading), None).unwrap();
            let tail = results.replications.iter().filter(|r| r.algorithm == "drop-tail");
            let digests: Vec<_> = tail.map(|r| (r.point, r.seed, r.digest)).collect();
            (results.replications.len(), results.algorithms(1).to_vec(), digests)
        };
        *seen.lock().unwrap() = Some((of("plain"), of("large")));
    };
    let ran = plan.run(&Options::default(), &take).unwrap();
    // Two algorithms at two points with five seeds, and one of them again.
    assert_eq!((ran.done, ran.all), (30, 30));
    let cost = plan.cost();
    assert_eq!((cost.replications, cost.shared), (30, 10));
    assert!(cost.seconds(1) == 2.0 * cost.seconds(2) && cost.seconds(1) > 0.0);
    let (plain, large) = seen.into_inner().unwrap().unwrap();
    assert_eq!((plain.0, plain.2.len()), (20, 10));
    assert_eq!(plain, large);
}

/// Readings that were not asked for show nothing, and are not said to.
#[test]
fn a_quick_look_is_not_told_of_other_readings() {
    let shown = EXPERIMENT.replace("shown_by = \"claim:tail-longer\"", "shown_by = \"large\"");
    let shown = shown.replace("because = \"It is not.\"", "because = \"It is not.\"\nshown_by = \"large\"");
    let folder = folder(&shown, &CELLS.replace("QUEUE", "20"), "");
    let papers = Papers::read(folder.path()).unwrap();
    for (judged_only, said) in [(false, true), (true, false)] {
        let extent = Extent { seeds: Some(1), judged: judged_only };
        let plan = Plan::of(&papers, papers.experiments(), extent).unwrap();
        let seen = std::sync::Mutex::new(None);
        let take = |_: &str, found: quell_papers::ExperimentResults| {
            let judged = judge(&papers, papers.experiments().next().unwrap(), &found);
            let cell = judged.tables[0].cells.iter().find(|c| c.cell.id.ends_with("eight/red/loss_rate"));
            *seen.lock().unwrap() =
                Some((cell.unwrap().why.contains("is outside as well"), judged.claims[1].shown.is_some()));
        };
        plan.run(&Options::default(), &take).unwrap();
        assert_eq!(seen.into_inner().unwrap(), Some((said, said)));
    }
}

/// A document of which everything is computed.
const COMPUTED: &str = r#"
section = "3"
title = "Gains"
describes = "Nothing is run."
[[computed]]
figure = "4"
title = "Stable gains"
compute = { kind = "vrc-gain-regions", k_d = [0.0, 0.0005, 0.001], rtt = [0.1], flows = 100, capacity = 1250 }
[[claim]]
name = "wider"
says = "K_D extends the range."
test = "k_i_max of figure 4 rises along k_d and k_p_max of figure 4 at k_d=0.001, k_i=0.1 > k_p_max of figure 4 at k_d=0, k_i=0.1"
[[claim]]
name = "narrower"
says = "K_D narrows the range."
test = "k_i_max of figure 4 at k_d=0.001 < 0.5 * k_i_max of figure 4 at k_d=0"
[[claim]]
name = "linear"
says = "K_D extends the range in proportion."
test = "k_i_max of figure 4 rises linearly along k_d by 2%"
[[claim]]
name = "more-linear"
says = "It is on the line to a hundredth."
test = "k_i_max of figure 4 rises linearly along k_d by 1%"
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
    let judged = judge(&papers, e, &quell_papers::ExperimentResults::default());
    let holds: Vec<Holds> = judged.claims.iter().map(|c| c.holds).collect();
    let (yes, no) = (Holds::Holds, Holds::Fails);
    assert_eq!(holds, [yes, no, yes, no, Holds::Missing], "{:?}", judged.claims);
    let line = "worst of 2: k_i_max 0.4234, 0.5349, 0.6594; on the line 0.5414 for 0.5349";
    assert_eq!(judged.claims[3].found, line);
    assert!(judged.claims[4].found.contains("eq. 20"), "{}", judged.claims[4].found);
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

/// (1 + epsilon)^2 from 0 to 0.5 is off the line between its ends by up to 4%.
#[test]
fn a_rise_may_be_a_line() {
    let claim = |by: &str| {
        format!(
            r#"
section = "3"
title = "Adjustment"
describes = "Nothing is run."
[[computed]]
figure = "14"
title = "Adjustment"
compute = {{ kind = "hred-adjustment", change = [0, 0.5] }}
[[claim]]
name = "linear"
says = "The probability rises linearly."
test = "probability_ratio of figure 14 rises linearly along change by {by}"
"#
        )
    };
    for (by, holds) in
        [("5%", Holds::Holds), ("2%", Holds::Fails), ("0.1", Holds::Holds), ("0.01", Holds::Fails)]
    {
        let folder = folder(&claim(by), &CELLS.replace("QUEUE", "20"), "");
        let papers = Papers::read(folder.path()).unwrap();
        let e = papers.experiments().next().unwrap();
        let judged = judge(&papers, e, &quell_papers::ExperimentResults::default());
        assert_eq!(judged.claims[0].holds, holds, "{by}: {:?}", judged.claims[0].found);
    }
}

/// The kinds that an error lists are those of the documentation.
#[test]
fn the_documentation_names_every_kind() {
    let folder = folder(COMPUTED, &CELLS.replace("QUEUE", "20"), "");
    let wrong = COMPUTED.replacen("vrc-gain-regions", "x", 1);
    fs::write(folder.path().join("doc/row.toml"), wrong).unwrap();
    let error = Papers::read(folder.path()).unwrap_err().to_string();
    let kinds = error.split("must be one of: ").nth(1).unwrap().split(", ").collect::<Vec<_>>();
    assert!(kinds.len() >= 10 && error.contains("row.toml:8: computed[0].compute"), "{error}");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers/format.md");
    let text = fs::read_to_string(file).unwrap();
    for kind in kinds {
        assert!(text.contains(&format!("| `{}` |", kind.trim())), "{kind}");
    }
}

#[test]
fn a_broken_document_stops_no_other() {
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    fs::create_dir(folder.path().join("other")).unwrap();
    // A folder without files of ours is none of ours.
    assert!(Papers::read(folder.path()).is_ok());
    fs::write(folder.path().join("other/document.toml"), "titel = \"B\"\n").unwrap();
    let (papers, broken) = Papers::read_usable(folder.path()).unwrap();
    assert_eq!(papers.documents.len(), 1);
    assert_eq!(broken[0].0, "other");
    assert!(
        broken[0]
            .1
            .to_string()
            .contains("other/document.toml:1: titel: unknown key; did you mean \"title\"?")
    );
    assert!(Papers::read(folder.path()).is_err());
    let document = "title = \"B\"\nreference = \"B\"\ndialect = \"ns-2.3\"\n";
    fs::write(folder.path().join("other/document.toml"), document).unwrap();
    let error = Papers::read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("other/document.toml:3: dialect = \"ns-2.3\": unknown dialect"), "{error}");
    fs::write(folder.path().join("bands.toml"), "mean_queu = \"10%\"\n").unwrap();
    let error = Papers::read(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("bands.toml:1: mean_queu: unknown metric; did you mean \"mean_queue\"?"),
        "{error}"
    );
}

#[test]
fn the_end_of_a_name_is_mistaken_most_often() {
    let folder = folder(EXPERIMENT, &CELLS.replace("QUEUE", "20"), "");
    fs::rename(folder.path().join("doc/row.toml"), folder.path().join("doc/b2.toml")).unwrap();
    fs::write(folder.path().join("doc/3.toml"), COMPUTED).unwrap();
    let papers = Papers::read(folder.path()).unwrap();
    assert!(papers.select("doc-b3").unwrap_err().contains("did you mean \"doc-b2\"?"));
    assert!(papers.select("b2").unwrap_err().contains("did you mean \"doc-b2\"?"));
    let error = papers.select("doc/22").unwrap_err();
    assert_eq!(error, "\"doc/22\": there is no such table; there are doc/1, doc/2; did you mean \"doc/2\"?");
}

/// The numbers of a link that loses packets by itself are printed of no algorithm.
#[test]
fn numbers_may_be_of_no_algorithm() {
    let counted = |experiment: &str| {
        let folder = folder(experiment, &CELLS.replace("QUEUE", "20"), "");
        let papers = Papers::read(folder.path()).unwrap();
        let plan = Plan::of(&papers, papers.experiments(), Extent::default()).unwrap();
        let of = by_algorithm(&papers, &plan, &Record::default());
        ["drop-tail", "red"].map(|name| of.get(name).map(|of| of.numbers))
    };
    assert_eq!(counted(EXPERIMENT), [Some(2), Some(2)]);
    let of_none = EXPERIMENT.replace("printed = \"one run\"", "printed = \"one run\"\nof_algorithm = false");
    assert_eq!(counted(&of_none), [None, None]);
}

/// A change is told from the quantity, has no sign, and is of every other value where all are meant.
#[test]
fn claims_may_be_of_a_change() {
    let claims = r#"
[[claim]]
name = "grows"
section = "1"
says = "With 8 flows the loss is more than with 4 by less than it is with 8."
test = "loss_rate of red at flows.ftp.count=* changed from flows.ftp.count=4 < loss_rate of red at flows.ftp.count=8"
[[claim]]
name = "without-sign"
section = "1"
says = "From 8 flows to 4 it changes as much as from 4 to 8."
test = "loss_rate of red at flows.ftp.count=4 changed from flows.ftp.count=8 like loss_rate of red at flows.ftp.count=8 changed from flows.ftp.count=4 by 0.001%"
[[claim]]
name = "little"
section = "1"
says = "It changes by less than a thousandth of what it is."
test = "loss_rate of red at flows.ftp.count=8 changed from flows.ftp.count=4 < 0.001 * loss_rate of red at flows.ftp.count=8"
"#;
    let of_change = folder(&format!("{EXPERIMENT}{claims}"), &CELLS.replace("QUEUE", "20"), "");
    judged(of_change.path(), |_, judged, _| {
        let claims = &judged[0].claims[5..];
        let found = |i: usize| (claims[i].holds, claims[i].found.as_str());
        assert_eq!(found(0).0, Holds::Holds, "{}", found(0).1);
        assert!(!found(0).1.contains("worst of"), "one other value: {}", found(0).1);
        assert_eq!(found(1).0, Holds::Holds, "{}", found(1).1);
        assert_eq!(found(2).0, Holds::Fails, "{}", found(2).1);
    });
    let wrong = |from: &str| {
        let test = format!("queue_packets of red at flows.ftp.count=8 changed from {from} > 1");
        error(|experiment| {
            experiment
                .replace("queue_packets of red > queue_packets of drop-tail at flows.ftp.count=4|8", &test)
        })
    };
    assert!(wrong("flows.ftp.count=5").contains("flows.ftp.count"), "{}", wrong("flows.ftp.count=5"));
    assert!(wrong("dumbbell.delay=5 ms").contains("names no dumbbell.delay"));
}
