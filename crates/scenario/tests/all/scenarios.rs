//! The scenarios that come with Quell load, and survive being written out.

use std::path::{Path, PathBuf};

use quell_scenario::{Document, Files, FoundFile, Plugins, Point, Scenario, Study};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios")
}

fn read(path: &Path) -> Document {
    let text = std::fs::read_to_string(path).unwrap();
    Document::parse(&text, &path.display().to_string()).unwrap_or_else(|e| panic!("{e}")).among(beside(path))
}

/// The files beside a file.
fn beside(path: &Path) -> Files {
    let folder = path.parent().unwrap().to_path_buf();
    Files::new(move |name| {
        let path = folder.join(name);
        let name = path.display().to_string();
        std::fs::read(&path).map(|bytes| FoundFile { name, bytes }).map_err(|e| e.to_string())
    })
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            out.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "toml") {
            out.push(path);
        }
    }
    out.sort();
    out
}

#[test]
fn every_scenario_loads_and_survives_being_written_out() {
    let mut files = files(&root());
    // Those are halves of scenarios; crates/presets tests that each pair is one.
    files.retain(|path| !["links", "loads"].iter().any(|half| path.starts_with(root().join(half))));
    assert!(files.len() >= 15, "only {} scenarios found", files.len());
    for path in files {
        let study = read(&path).study(&Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
        for point in &study.points {
            let text = point.to_toml();
            let again = Document::parse(&text, "resolved").unwrap_or_else(|e| panic!("{e}\n{text}"));
            let again = again
                .among(beside(Path::new("x")))
                .study(&Plugins::new())
                .unwrap_or_else(|e| panic!("{}: {e}\n{text}", path.display()));
            // What is written out once more has nothing to add, and draws the same flows.
            assert_eq!(again.points[0].to_toml(), text, "{}", path.display());
            let flows = |p: &Point| {
                let plan = p.plan(0, 1, &Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
                let specs = plan.network.flows.iter().map(|f| (f.class, f.dscp, f.start, f.stop));
                let facts = plan.facts.flows.iter().map(|f| (f.group, f.base_rtt, f.links.clone()));
                specs.zip(facts).collect::<Vec<_>>()
            };
            assert!(flows(&again.points[0]) == flows(point), "{}", path.display());
        }
    }
}

/// The lines of a file by the section they are in; the sections of a list have one name.
fn sections(text: &str) -> Vec<(String, Vec<String>)> {
    let mut out = vec![(String::new(), Vec::new())];
    for line in text.lines() {
        match line.strip_prefix('[') {
            Some(name) => out.push((name.trim_matches(['[', ']']).to_string(), Vec::new())),
            None => out.last_mut().unwrap().1.push(line.to_string()),
        }
    }
    out
}

/// The keys of an object of the schema that have a default.
fn defaults(object: &serde_json::Value) -> Vec<String> {
    let properties = object["properties"].as_object().unwrap();
    let has = |p: &serde_json::Value| {
        let text = p["description"].as_str().unwrap_or_default();
        p.get("default").is_some() || text.contains("default") || text.contains("Default")
    };
    properties.iter().filter(|(_, p)| has(p)).map(|(key, _)| key.clone()).collect()
}

#[test]
fn every_key_with_a_default_is_written_out() {
    let schema = Scenario::json_schema();
    let of = |name: &str| schema["$defs"][name].clone();
    let tcp = of("FlowGroup")["properties"]["tcp"].clone();
    let groups = r#"
aqm = "all"
[[flows]]
name = "bulk"
FROM
[[flows]]
name = "web"
kind = "transfers"
size = "10 packets"
FROM
[[flows]]
name = "sessions"
kind = "sessions"
size = { pareto = { shape = 1.2, mean = "10 packets" } }
sessions_per_second = 1.0
FROM
[[flows]]
name = "pages"
kind = "pages"
size = "5 packets"
objects = 50
FROM
[[flows]]
name = "video"
kind = "video"
rates = ["300 kbit/s", "1 Mbit/s"]
FROM
[[flows]]
name = "test"
kind = "responsiveness"
FROM
[[flows]]
name = "voice"
kind = "udp"
rate = "64 kbit/s"
FROM
"#;
    let link = "rate = \"30 Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"500 packets\"\n";
    for (topology, from, tables) in [
        (format!("[dumbbell]\n{link}"), "", vec![("dumbbell", of("Dumbbell"))]),
        (format!("[parking_lot]\nbottlenecks = 2\n{link}"), "", vec![("parking_lot", of("ParkingLot"))]),
        (
            format!("[[graph.links]]\nfrom = \"a\"\nto = \"b\"\n{link}"),
            "from = \"a\"\nto = \"b\"",
            vec![("graph", of("Graph")), ("graph.links", of("GraphLink"))],
        ),
    ] {
        let name = tables.last().unwrap().0;
        let reverse = format!("{name}.reverse");
        let (first, rest) = groups.split_once("[[flows]]").unwrap();
        let text = format!(
            "schema = 1\nduration = \"10 s\"\n{first}{topology}[[flows]]{}",
            rest.replace("FROM", from)
        );
        let study = Study::parse(&text, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
        let text = study.points[0].to_toml();
        let sections = sections(&text);
        let lines = |table: &str| -> Vec<&String> {
            sections.iter().filter(|(name, _)| name == table).flat_map(|(_, lines)| lines).collect()
        };
        let mut wanted = vec![("", schema.clone()), ("flows", of("FlowGroup")), ("flows.tcp", tcp.clone())];
        wanted.extend(tables.iter().cloned());
        wanted.push((&reverse, of("Reverse")));
        for (table, object) in &wanted {
            for key in defaults(object) {
                // A table with defaults of its own is a section.
                let inner = if table.is_empty() { key.clone() } else { format!("{table}.{key}") };
                let is =
                    |l: &&String| l.starts_with(&format!("{key} = ")) || l.starts_with(&format!("# {key}: "));
                let section = sections.iter().any(|(name, _)| *name == inner);
                assert!(section || lines(table).iter().any(is), "[{table}] lacks {key}:\n{text}");
            }
        }
        // Every algorithm in its own section, with every parameter.
        let algorithms: Vec<_> = sections.iter().filter(|(name, _)| name == "aqm").collect();
        assert_eq!(algorithms.len(), quell_aqm::catalog::CATALOG.len());
        for (entry, (_, lines)) in quell_aqm::catalog::CATALOG.iter().zip(algorithms) {
            for doc in (entry.params)() {
                let (set, out) = (format!("{} = ", doc.name), format!("# {}: ", doc.name));
                let value = lines.iter().any(|l| l.starts_with(&set));
                let said = lines.iter().any(|l| l.starts_with(&out));
                assert_eq!(value, doc.default != "none", "{}.{}: {lines:?}", entry.name, doc.name);
                let told = said || !["none", "auto"].contains(&doc.default.as_str());
                assert!(told, "{}.{}: {lines:?}", entry.name, doc.name);
            }
        }
    }
}

#[test]
fn the_way_back_has_a_plain_queue_unless_it_is_asked_for_another() {
    let back = |link: &str| {
        let text = FRAME.replace("buffer = \"500 packets\" }", &format!("buffer = \"500 packets\"{link} }}"));
        let text = format!("aqm = [{{ algorithm = \"pi\" }}]\n{text}");
        let study = Study::parse(&text, "x.toml", &Plugins::new()).map_err(|e| e.to_string())?;
        let shown = study.points[0].to_toml();
        let at = |name: &str| study.points[0].scenario.algorithm_at(name, "pi").unwrap().algorithm;
        assert_eq!(at("bottleneck"), "pi");
        Ok::<_, String>((at("reverse"), shown.contains("aqm = \"same\"")))
    };
    assert_eq!(back(""), Ok(("drop-tail".into(), false)));
    assert_eq!(back(", reverse = { aqm = \"same\" }"), Ok(("pi".into(), true)));
    assert_eq!(back(", reverse = { aqm = { algorithm = \"red\" } }"), Ok(("red".into(), false)));
    let e = back(", reverse = { aqm = \"red\" }").unwrap_err();
    assert!(
        e.contains("dumbbell.reverse.aqm = \"red\": must be a table: write { algorithm = \"red\" }"),
        "{e}"
    );
    let e = back(", reverse = { aqm = \"sme\" }").unwrap_err();
    assert!(e.contains("or \"same\""), "{e}");
    // Of a link with an algorithm of its own that is meant, as everywhere.
    let graph = |back: &str| {
        let text = format!(
            "schema = 1\nduration = \"10 s\"\naqm = [{{ algorithm = \"pi\" }}]\n[[graph.links]]\nfrom = \"a\"\nto = \
             \"b\"\nrate = \"1 Mbit/s\"\ndelay = \"10 ms\"\n{back}[[flows]]\nname = \"x\"\nfrom = \"a\"\nto = \"b\"\n"
        );
        let study = Study::parse(&text, "x.toml", &Plugins::new()).map_err(|e| e.to_string())?;
        let own = study.points[0].scenario.algorithm_at("b-a", "pi");
        Ok::<_, String>(own.map(|choice| choice.algorithm))
    };
    let own = "buffer = \"9 packets\"\naqm = { algorithm = \"blue\" }\n";
    assert_eq!(graph(own), Ok(Some("drop-tail".into())));
    assert_eq!(graph(&format!("{own}reverse = {{ aqm = \"same\" }}\n")), Ok(Some("blue".into())));
    let e = graph("reverse = { aqm = \"same\" }\n").unwrap_err();
    assert!(e.contains("graph.links[0].reverse.aqm"), "{e}");
}

#[test]
fn all_algorithms_are_the_catalog_in_its_order() {
    let study = read(&root().join("catalog.toml")).study(&Plugins::new()).unwrap();
    let listed = study.points[0].scenario.aqm.iter().map(|a| a.algorithm.as_str());
    assert!(listed.eq(quell_aqm::catalog::CATALOG.iter().map(|e| e.name)));
    assert!(study.points[0].scenario.aqm.iter().all(|a| a.label.is_none() && a.parameters.is_empty()));
    let text = FRAME.replace("duration", "aqm = \"every\"\nduration");
    let e = Study::parse(&text, "text", &Plugins::new()).unwrap_err().to_string();
    assert!(e.contains("write [[aqm]]: a list of tables; or aqm = \"all\""), "{e}");
}

#[test]
fn settings_reach_the_algorithms_that_all_stands_for() {
    let text = FRAME.replace("duration", "aqm = \"all\"\nduration");
    let max_p = |p: &Point| {
        let red = p.scenario.aqm.iter().find(|a| a.algorithm == "red").unwrap();
        red.parameters.get("max_p").and_then(toml::Value::as_float)
    };
    let table = Document::from_table(&toml::from_str(&text).unwrap(), "table").unwrap();
    for mut doc in [Document::parse(&text, "text").unwrap(), table] {
        doc.set_text("aqm.red.max_p", "0.05").unwrap();
        assert_eq!(max_p(&doc.study(&Plugins::new()).unwrap().points[0]), Some(0.05));
        // Set again, it is the catalog with its defaults.
        doc.set_text("aqm", "all").unwrap();
        assert_eq!(max_p(&doc.study(&Plugins::new()).unwrap().points[0]), None);
        let e = doc.set_text("aqm.redd.max_p", "0.05").unwrap_err().to_string();
        assert!(e.contains("did you mean \"red\"?"), "{e}");
    }
    let sweep = format!("{text}[sweep]\naqm.red.max_p = [0.05, 0.1]\n");
    let study = Study::parse(&sweep, "sweep", &Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(study.points.iter().map(max_p).collect::<Vec<_>>(), [Some(0.05), Some(0.1)]);
}

/// What surrounds a snippet of the documentation.
const FRAME: &str = r#"
schema = 1
duration = "10 s"
dumbbell = { rate = "30 Mbit/s", delay = "10 ms", buffer = "500 packets" }
flows = [{ name = "ftp" }]
"#;

#[test]
fn every_snippet_of_the_algorithms_pages_can_be_used() {
    let mut found = 0;
    for entry in std::fs::read_dir(root().join("../docs/algorithms")).unwrap() {
        let path = entry.unwrap().path();
        let page = std::fs::read_to_string(&path).unwrap();
        for snippet in page.split("```toml\n").skip(1) {
            let (snippet, _) = snippet.split_once("```").unwrap();
            let text = format!("{FRAME}{snippet}");
            let name = path.display().to_string();
            Study::parse(&text, &name, &Plugins::new()).unwrap_or_else(|e| panic!("{e}\n{text}"));
            found += 1;
        }
    }
    assert!(found >= 2, "only {found} snippets found");
}

#[test]
fn every_snippet_about_sweeps_can_be_used() {
    let page = std::fs::read_to_string(root().join("../docs/sweeps.md")).unwrap();
    let frame = FRAME.replace("flows = [{ name = \"ftp\" }]\n", "");
    let red = "[[aqm]]\nalgorithm = \"red\"\n[[flows]]\nname = \"ftp\"\n";
    let mut points = Vec::new();
    for snippet in page.split("```toml\n").skip(1) {
        let (snippet, _) = snippet.split_once("```").unwrap();
        let rest = if snippet.contains("[[aqm]]") { "" } else { red };
        let text = format!("{frame}{rest}{snippet}");
        let study =
            Study::parse(&text, "docs/sweeps.md", &Plugins::new()).unwrap_or_else(|e| panic!("{e}\n{text}"));
        points.push((study.points.len(), study.holes.len()));
    }
    assert_eq!(points, [(15, 0), (3, 0), (1, 0)]);
}

#[test]
fn every_snippet_about_traffic_can_be_used() {
    let page = std::fs::read_to_string(root().join("../docs/traffic.md")).unwrap();
    let frame = FRAME.replace("flows = [{ name = \"ftp\" }]\n", "[[aqm]]\nalgorithm = \"red\"\n");
    let frame = frame.replace("10 s", "200 s");
    let snippets: Vec<_> = page.split("```toml\n").skip(1).collect();
    for snippet in &snippets {
        let (snippet, _) = snippet.split_once("```").unwrap();
        let text = format!("{frame}{snippet}");
        let document = Document::parse(&text, "docs/traffic.md").unwrap_or_else(|e| panic!("{e}\n{text}"));
        let document = document.among(beside(&root().join("x.toml")));
        document.study(&Plugins::new()).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
    assert_eq!(snippets.len(), 8);
}

#[test]
fn sweeps_and_settings_reach_flows_and_algorithms_by_name() {
    let mut doc = read(&root().join("papers/fuzzy-s1.toml"));
    doc.set_text("aqm.red.max_p", "0.05").unwrap();
    doc.set_text("duration", "10 s").unwrap();
    doc.set_text("seeds", "[3, 4]").unwrap();
    let study = doc.study(&Plugins::new()).unwrap();
    let counts: Vec<_> = study.points.iter().map(|p| p.scenario.flows[0].count.unwrap()).collect();
    assert_eq!(counts, [4, 16, 64, 256]);
    assert_eq!(study.points[1].title(), "flows.ftp.count = 16");
    assert_eq!(study.points[0].scenario.aqm[1].parameters["max_p"].as_float(), Some(0.05));
    assert_eq!(study.points[0].scenario.seeds.list(), [3, 4]);
    let e = doc.set_text("flows.fpt.count", "3").unwrap_err().to_string();
    assert!(e.contains("did you mean \"ftp\"?"), "{e}");
}

#[test]
fn what_is_set_varies_no_more() {
    let swept = || read(&root().join("papers/fuzzy-s1.toml"));
    let mut doc = swept();
    assert!(doc.sweeps("flows.ftp.count") && doc.sweeps("flows[0].count") && !doc.sweeps("duration"));
    doc.set_text("flows.ftp.count", "5").unwrap();
    let study = doc.study(&Plugins::new()).unwrap();
    assert_eq!((study.points.len(), study.points[0].scenario.flows[0].count), (1, Some(5)));
    doc.sweep_text("flows.ftp.count=5,6").unwrap();
    let e = doc.study(&Plugins::new()).unwrap_err().to_string();
    assert!(e.contains("flows.ftp.count is both set and swept: do only one of these"), "{e}");
    let cases = "schema = 1\nduration = \"1 s\"\n[dumbbell]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"9 packets\"\n\
                 [[aqm]]\nalgorithm = \"pi\"\n[[flows]]\nname = \"ftp\"\nrtt = \"50 ms\"\n";
    let mut doc = Document::parse(&format!("{cases}[[cases]]\nflows.ftp.count = 2\n"), "x").unwrap();
    doc.set_text("flows.ftp.count", "5").unwrap();
    let e = doc.study(&Plugins::new()).unwrap_err().to_string();
    assert!(e.contains("sets flows.ftp.count, which is also set from outside"), "{e}");

    // The same point in two spellings, of a typed field and of an algorithm's parameter, and as an expression.
    let sweep = "[sweep]\ndumbbell.rate = [\"1 Mbit/s\", \"1000 kbit/s\", \"2 Mbit/s\"]\n\
                 aqm.pi.q_ref = [\"2 kB\", \"2000 B\", \"dumbbell.buffer / 3\", \"3 packets\"]\n";
    let study = Study::parse(&format!("{cases}{sweep}"), "x", &Plugins::new()).unwrap();
    assert_eq!((study.points.len(), study.holes.len()), (4, 8));
    let reasons: Vec<&str> = study.holes.iter().map(|h| h.reason.as_str()).collect();
    assert_eq!(reasons[0], "is the same as dumbbell.rate = 1 Mbit/s, aqm.pi.q_ref = 2 kB");
}
