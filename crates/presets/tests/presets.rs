//! Every link goes with every load, and runs.

use quell_metrics::Quantity;
use quell_presets::{Link, Load, Options, find_link, find_load, links, loads, page, scenario};
use quell_scenario::{Plugins, Study};
use quell_sim::{Control, Engine};
use quell_units::Duration;

fn second(aqm: &str) -> Options {
    Options { aqm: vec![aqm.to_string()], duration: Some(Duration::from_secs(1)) }
}

fn study(load: &Load, link: &Link, options: &Options) -> Study {
    let text = scenario(load.preset.name, link.preset.name, options).unwrap();
    Study::parse(&text, "a pair", &Plugins::new()).unwrap()
}

#[test]
fn every_pair_is_a_scenario_and_names_the_figures_that_it_has() {
    for load in loads() {
        for link in links() {
            let study = study(load, link, &Options::default());
            let [point] = &study.points[..] else { panic!("one point") };
            let labels: Vec<&str> = point.scenario.aqm.iter().map(|aqm| aqm.label()).collect();
            assert_eq!(
                labels, load.aqm,
                "{} over {}: nothing is left out",
                load.preset.name, link.preset.name
            );
            // The classes that the metrics name are there, in one direction or the other.
            let classes = point.classes();
            for metric in &load.metrics {
                metric.parse::<Quantity>().unwrap();
                for part in metric.split('[').skip(1) {
                    let class = part.split(']').next().unwrap();
                    let lane = class.starts_with("lane:");
                    assert!(lane || classes.iter().any(|c| c == class), "{}: {metric}", load.preset.name);
                }
            }
        }
    }
}

#[test]
fn every_link_and_every_load_carries_packets_for_a_second() {
    let (bulk, cable) = (find_load("bulk").unwrap(), find_link("cable").unwrap());
    let pairs = links().iter().map(|link| (bulk, link)).chain(loads().iter().map(|load| (load, cable)));
    for (load, link) in pairs {
        // A port of 10 Gbit/s carries as many packets in a tenth of the time as others in all of it.
        let short = link.longest.is_some_and(|longest| longest <= Duration::from_secs(2));
        let duration = if short { Duration::from_millis(100) } else { Duration::from_secs(1) };
        let options = Options { duration: Some(duration), ..second("fq-codel") };
        let study = study(load, link, &options);
        let network = study.points[0].plan(0, 1, &Plugins::new()).unwrap().network;
        let outcome = quell_sim::run(network, Engine::Fast, &Control::default()).unwrap();
        let entered = outcome.conservation.sent;
        // A satellite carries the first windows alone in that time.
        assert!(entered > 40, "{} over {}: {entered} packets", load.preset.name, link.preset.name);
    }
}

#[test]
fn names_are_found_by_their_aliases_and_others_are_told_what_was_meant() {
    assert_eq!(find_link("home").unwrap().preset.name, "cable");
    assert_eq!(find_link("GEO").unwrap().preset.name, "satellite");
    assert_eq!(find_load("voip").unwrap().preset.name, "call");
    let said = find_link("starlnk").unwrap_err().to_string();
    assert!(said.contains("did you mean \"starlink\"?"), "{said}");
    let said = find_load("rrull").unwrap_err().to_string();
    assert!(said.starts_with("load \"rrull\": unknown load; did you mean \"rrul\"? Known: bulk, "), "{said}");
    let options = Options { aqm: vec!["coddel".into()], ..Options::default() };
    let said = scenario("rrul", "home", &options).unwrap_err().to_string();
    assert!(said.contains("did you mean \"codel\"?"), "{said}");
}

#[test]
fn no_name_stands_for_two() {
    let of = |kind: &str, all: Vec<&quell_presets::Preset>| {
        let every = all.iter().flat_map(|p| [p.name].into_iter().chain(p.aliases.iter().map(String::as_str)));
        let mut names: Vec<&str> = every.collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count, "{kind}: {names:?}");
    };
    of("links", links().iter().map(|link| &link.preset).collect());
    of("loads", loads().iter().map(|load| &load.preset).collect());
}

#[test]
fn each_says_where_its_numbers_come_from() {
    for link in links() {
        let has = |word: &str| link.preset.sources.iter().any(|(what, _)| what.contains(word));
        assert!(has("rate") && has("buffer") && !link.layer.is_empty(), "{}", link.preset.name);
        assert!(has("round trip") || has("delays"), "{}", link.preset.name);
    }
    for load in loads() {
        assert!(!load.preset.sources.is_empty() && !load.metrics.is_empty(), "{}", load.preset.name);
        assert!(load.warmup < load.duration && !load.warmup.is_zero(), "{}", load.preset.name);
    }
}

#[test]
fn every_file_of_the_folders_is_among_them() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let files = |folder: &str| {
        let all = std::fs::read_dir(format!("{root}/{folder}")).unwrap();
        let stem = |e: std::fs::DirEntry| e.path().file_stem().unwrap().to_string_lossy().into_owned();
        let mut names: Vec<String> = all.map(|e| stem(e.unwrap())).collect();
        names.sort();
        names
    };
    assert_eq!(files("links"), links().iter().map(|l| l.preset.name).collect::<Vec<_>>());
    assert_eq!(files("loads"), loads().iter().map(|l| l.preset.name).collect::<Vec<_>>());
}

#[test]
fn a_short_run_leaves_out_the_changes_that_come_later() {
    let text = |seconds| {
        let options = Options { duration: Some(Duration::from_secs(seconds)), ..Options::default() };
        scenario("bulk", "starlink", &options).unwrap()
    };
    assert!(text(30).contains("at = \"27 s\"") && !text(30).contains("at = \"42 s\""));
    assert!(text(30).contains("# Later changes are left out"));
    assert!(text(60).contains("at = \"57 s\"") && !text(60).contains("left out"));
}

#[test]
fn the_page_lists_what_the_files_say() {
    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/presets.md");
    const MARK: &str = "<!-- presets -->\n";
    let text = std::fs::read_to_string(PATH).unwrap();
    let (head, _) = text.split_once(MARK).expect("the page has its mark");
    let fresh = format!("{head}{MARK}\n{}", page());
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(PATH, &fresh).unwrap();
    }
    assert!(
        std::fs::read_to_string(PATH).unwrap() == fresh,
        "docs/presets.md is stale; QUELL_UPDATE_DOCS=1 cargo test -p quell-presets writes it again"
    );
}
