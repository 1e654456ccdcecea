//! Archives that were damaged, or made to harm: each is refused with its reason, and none does harm.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Cursor, Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use quell_bundle::{About, Author, Bundle, BundleError, Share, open, pack};
use quell_lab::{Options, files_in, parse, run, write_results};
use quell_scenario::Plugins;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

const SCENARIO: &str = r#"schema = 1
title = "A | small \"study\""
duration = "4 s"
warmup = "1 s"
seeds = 2
dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "25 packets" }
aqm = [{ algorithm = "drop-tail" }, { algorithm = "red" }]
flows = [{ name = "ftp", count = 3, rtt = { uniform = ["50 ms", "100 ms"] } }]
"#;

/// A bundle of a small study.
struct Packed {
    dir: tempfile::TempDir,
    bytes: Vec<u8>,
}

impl Packed {
    fn new() -> Packed {
        let dir = tempfile::tempdir().unwrap();
        let study = parse(SCENARIO.into(), Path::new("small.toml")).unwrap().study(&Plugins::new()).unwrap();
        let results = run(&study, &Options::default()).unwrap();
        let folder = dir.path().join("results");
        write_results(&results, &folder, false).unwrap();
        let mut packed = Packed { dir, bytes: Vec::new() };
        packed.bytes = packed.again();
        packed
    }

    fn again(&self) -> Vec<u8> {
        let folder = self.dir.path().join("results");
        let results = quell_lab::read_results(&folder).unwrap();
        let authors = vec!["Josiah Carberry <0000-0002-1825-0097>".parse::<Author>().unwrap()];
        let about = About { authors, ..About::default() };
        let mut out = Cursor::new(Vec::new());
        let each = |_, _| ControlFlow::Continue(());
        pack(&results, &folder, &about, &files_in(Path::new("")), &mut out, &each).unwrap();
        out.into_inner()
    }

    fn open(&self, bytes: &[u8]) -> Result<Bundle, BundleError> {
        let path: PathBuf = self.dir.path().join("x.zip");
        std::fs::write(&path, bytes).unwrap();
        open(&path, &|_, _| ControlFlow::Continue(()))
    }

    fn refused(&self, bytes: &[u8]) -> String {
        match self.open(bytes) {
            Err(BundleError::BadInput(why) | BundleError::Failed(why)) => why,
            other => panic!("{other:?}"),
        }
    }

    /// The archive with files as `change` has them; what it makes `None` is left out.
    fn with(&self, change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>, further: &[(&str, &[u8])]) -> Vec<u8> {
        let mut old = ZipArchive::new(Cursor::new(&self.bytes)).unwrap();
        let mut new = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
        for i in 0..old.len() {
            let mut file = old.by_index(i).unwrap();
            let (name, mut bytes) = (file.name().unwrap().into_owned(), Vec::new());
            file.read_to_end(&mut bytes).unwrap();
            if let Some(bytes) = change(&name, bytes) {
                new.start_file(name, options).unwrap();
                new.write_all(&bytes).unwrap();
            }
        }
        for (name, bytes) in further {
            new.start_file(*name, options).unwrap();
            new.write_all(bytes).unwrap();
        }
        new.finish().unwrap().into_inner()
    }
}

#[test]
fn the_same_results_are_the_same_bytes_and_compute_the_same() {
    let packed = Packed::new();
    assert!(packed.bytes == packed.again());
    let bundle = packed.open(&packed.bytes).unwrap();
    assert_eq!(bundle.results.replications.len(), 4);
    assert!(bundle.engines().agree(), "{:?}", bundle.engines());
    let all = bundle.rerun(Share { of: 1.0, draw: 1 }, &Options::default()).unwrap();
    assert_eq!((all.computed, all.all, all.differing.len()), (4, 4, 0), "{all:?}");
    let some = bundle.rerun(Share { of: 0.1, draw: 2 }, &Options::default()).unwrap();
    assert_eq!((some.computed, some.differing.len()), (1, 0));
    // Packed again by another program it is as good.
    assert!(packed.open(&packed.with(|_, bytes| Some(bytes), &[])).is_ok());
}

#[test]
fn what_is_not_what_it_was_is_found_when_it_is_computed_again() {
    let packed = Packed::new();
    let mut bundle = packed.open(&packed.bytes).unwrap();
    bundle.results.replications[1].digest ^= 1;
    bundle.results.replications[2].metrics[0].to_s += 1e-9;
    let found = bundle.rerun(Share { of: 1.0, draw: 1 }, &Options::default()).unwrap().differing;
    assert_eq!(found.len(), 2, "{found:?}");
    let (before, now) = found[0].digests.unwrap();
    assert_eq!((before ^ now, &*found[0].which), (1, "drop-tail, seed 2"));
    assert_eq!((found[1].digests, &found[1].tables[..]), (None, &["metrics"][..]));
}

#[test]
fn each_damage_is_named() {
    let packed = Packed::new();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let of = |file: &'static str, from: &'static str, to: &'static str| {
        packed.refused(&packed.with(
            |name, bytes| {
                Some(if name == file { text(bytes).replacen(from, to, 1).into_bytes() } else { bytes })
            },
            &[],
        ))
    };
    let without =
        |file: &'static str| packed.refused(&packed.with(|name, bytes| (name != file).then_some(bytes), &[]));
    let metadata = "ro-crate-metadata.json";
    for (why, said) in [
        (of("README.md", "License", "license"), "README.md: differs from the file that was packed"),
        (of("README.md", "License", "Licenses"), "README.md: has"),
        (of("SHA256SUMS", "a", "b"), "SHA256SUMS: is not the list"),
        (of(metadata, "\"name\": \"A |", "\"name\": \"B |"), "SHA256SUMS: is not the list"),
        (of(metadata, "\"@graph\"", "\"@grape\""), "has no list \"@graph\""),
        (of(metadata, "{", ""), "is not JSON"),
        (of(metadata, "\"datePublished\"", "\"dated\""), "no \"datePublished\""),
        (of(metadata, "\"CreateAction\"", "\"Action\""), "no \"CreateAction\""),
        (of(metadata, "\",\n      \"sha256\": \"", "\",\n      \"sha256\": \"0"), "no \"sha256\" of 64"),
        (of(metadata, "\"@id\": \"#run\"", "\"@id\": \"#ran\""), "refers to \"#ran\", which is not there"),
        (without("results/run.json"), "results/run.json"),
        (without("report.html"), "is listed in ro-crate-metadata.json, but not in the archive"),
        (without(metadata), "is not a bundle: it has no ro-crate-metadata.json"),
    ] {
        assert!(why.contains(said), "{said}: {why}");
    }
    assert!(packed.refused(b"{}").contains("which is a zip archive"));
    assert!(packed.refused(b"").contains("which is a zip archive"));
}

/// The archive with changes to its files, and with every size and hash made again.
fn forged(
    packed: &Packed,
    change: impl Fn(&str, Vec<u8>) -> Option<Vec<u8>>,
    further: &[(&str, &[u8])],
) -> Vec<u8> {
    const OWN: [&str; 2] = ["ro-crate-metadata.json", "SHA256SUMS"];
    let sha256 = |bytes: &[u8]| Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect::<String>();
    let mut files: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    let mut old = ZipArchive::new(Cursor::new(&packed.bytes)).unwrap();
    for i in 0..old.len() {
        let mut file = old.by_index(i).unwrap();
        let (name, mut bytes) = (file.name().unwrap().into_owned(), Vec::new());
        file.read_to_end(&mut bytes).unwrap();
        if let Some(bytes) = if OWN.contains(&&*name) { Some(bytes) } else { change(&name, bytes) } {
            files.insert(name, bytes);
        }
    }
    files.extend(further.iter().map(|(name, bytes)| (name.to_string(), bytes.to_vec())));
    let mut metadata: Value = serde_json::from_slice(&files[OWN[0]]).unwrap();
    let graph = metadata["@graph"].as_array_mut().unwrap();
    let is_file = |e: &Value| e["@type"] == "File";
    graph.retain(|e| !is_file(e) || files.contains_key(e["@id"].as_str().unwrap()));
    for (name, _) in further {
        graph.push(json!({ "@id": name, "@type": "File", "encodingFormat": "text/plain" }));
    }
    let sums_bytes: usize =
        files.keys().filter(|name| **name != OWN[1]).map(|name| 64 + 3 + name.len()).sum();
    let mut parts = Vec::new();
    for entity in graph.iter_mut().filter(|e| is_file(e)) {
        let name = entity["@id"].as_str().unwrap().to_string();
        parts.push(json!({ "@id": name }));
        if name == OWN[1] {
            entity["contentSize"] = json!(sums_bytes.to_string());
        } else {
            entity["contentSize"] = json!(files[&name].len().to_string());
            entity["sha256"] = json!(sha256(&files[&name]));
        }
    }
    let action = graph.iter_mut().find(|e| e["@id"] == "#run").unwrap();
    action["object"] = json!([]);
    graph.iter_mut().find(|e| e["@id"] == "./").unwrap()["hasPart"] = json!(parts);
    files.insert(OWN[0].to_string(), serde_json::to_vec(&metadata).unwrap());
    let listed = files.iter().filter(|(name, _)| **name != OWN[1]);
    let sums: String = listed.map(|(name, bytes)| format!("{}  {name}\n", sha256(bytes))).collect();
    files.insert(OWN[1].to_string(), sums.into_bytes());
    let mut new = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in &files {
        new.start_file(name.as_str(), SimpleFileOptions::default()).unwrap();
        new.write_all(bytes).unwrap();
    }
    new.finish().unwrap().into_inner()
}

#[test]
fn what_was_changed_with_all_its_hashes_is_refused() {
    let packed = Packed::new();
    // The forgery itself is well made: without a change it is a bundle.
    let whole = packed.open(&forged(&packed, |_, bytes| Some(bytes), &[])).unwrap();
    assert!(whole.differing.is_empty(), "{:?}", whole.differing);
    let changed = |file: &'static str| {
        packed.refused(&forged(
            &packed,
            |name, mut bytes| {
                if name == file {
                    bytes.push(b'\n');
                }
                Some(bytes)
            },
            &[],
        ))
    };
    let made = "is not what this program makes from results/";
    assert!(changed("scenario/small.toml").contains("is not the scenario of results/run.json"));
    for file in [
        "tables/metrics.csv",
        "tables/replications.csv",
        "figures/queue.svg",
        "figures/queue.csv",
        "report.html",
    ] {
        let why = changed(file);
        assert!(why.contains(&format!("{file}: {made}")), "{file}: {why}");
    }
    let without = |file: &'static str| {
        packed.refused(&forged(&packed, |name, bytes| (name != file).then_some(bytes), &[]))
    };
    assert!(without("scenario/small.toml").contains("scenario/small.toml: is missing"));
    assert!(without("report.html").contains(&format!("report.html: {made}")));
    let with = |file: &str| packed.refused(&forged(&packed, |_, bytes| Some(bytes), &[(file, b"x")]));
    assert!(with("tables/more.csv").contains(&format!("tables/more.csv: {made}")));
    assert!(with("scenario/more.csv").contains("is not a file that the scenario"));
}

#[test]
fn nothing_stands_behind_the_end() {
    let packed = Packed::new();
    for behind in [&b"x"[..], b"PK\x05\x06", &[0; 40], &packed.bytes[packed.bytes.len() - 22..]] {
        let why = packed.refused(&[&packed.bytes, behind].concat());
        assert!(why.contains("has bytes after its end"), "{why}");
    }
}

#[test]
fn what_would_harm_is_refused() {
    let packed = Packed::new();
    let with = |name: &str, bytes: &[u8]| packed.refused(&packed.with(|_, b| Some(b), &[(name, bytes)]));
    assert!(with("../evil", b"x").contains("leads out of the archive's folder"));
    assert!(with("/tmp/evil", b"x").contains("is an absolute path"));
    assert!(with("a\\evil", b"x").contains("separator"));
    // Hidden beside the rest, and far larger than the archive.
    assert!(with("zeros", &vec![0; 50 << 20]).contains("does not list it"));
    let mut zip = ZipWriter::new_append(Cursor::new(packed.bytes.clone())).unwrap();
    zip.add_symlink("link", "/etc/passwd", SimpleFileOptions::default()).unwrap();
    assert!(packed.refused(&zip.finish().unwrap().into_inner()).contains("is not a regular file"));
    // A listed file that unpacks to more than is listed.
    let bomb = packed.with(|name, b| Some(if name == "report.html" { vec![0; 50 << 20] } else { b }), &[]);
    assert!(packed.refused(&bomb).contains("report.html: has 52428800 bytes"));
}

#[test]
fn no_cut_and_no_byte_goes_unnoticed() {
    let packed = Packed::new();
    let n = packed.bytes.len();
    let whole = packed.open(&packed.bytes).unwrap();
    for i in 1..40 {
        let why = packed.refused(&packed.bytes[..n * i / 40]);
        assert!(why.contains("x.zip: "), "{i}: {why}");
    }
    for i in 0..97 {
        let mut bytes = packed.bytes.clone();
        bytes[(n - 1) * i / 96] ^= 0x21;
        // What headers say of systems and clocks is not content.
        if let Ok(found) = packed.open(&bytes) {
            // As text, in which what is not a number equals itself.
            let text = |results| format!("{results:?}");
            assert!(text(&found.results) == text(&whole.results) && found.bytes == whole.bytes, "{i}");
        }
    }
    assert!(File::open(packed.dir.path().join("x.zip")).is_ok());
}
