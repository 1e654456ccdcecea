//! `quell reproduce` on the documents of this repository.

use std::path::Path;
use std::process::{Command, Output};

fn quell(args: &[&str]) -> Output {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_quell")).args(args).current_dir(root).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One row at one seed: its numbers have values, its claims can be tested, its pages are written.
#[test]
fn a_row_at_one_seed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (cache, out) = (at("cache"), at("out"));
    let run = |more: &[&str]| {
        let args = ["reproduce", "redtail-v", "--quick", "--quiet", "--cache", &cache];
        let output = quell(&[&args, more].concat());
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let said: serde_json::Value = serde_json::from_str(&run(&["--format", "json"])).unwrap();
    for cell in said["cells"].as_array().unwrap() {
        assert!(cell["mean"].is_number(), "{cell}");
        assert_eq!(cell["seeds"], 1);
    }
    for claim in said["claims"].as_array().unwrap() {
        assert_ne!(claim["verdict"], "missing", "{claim}");
    }
    let table = run(&["--out", &out]);
    assert!(table.contains("redtail/sec. V"), "{table}");
    let page = std::fs::read_to_string(folder.path().join("out/redtail-v.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("id=\"redtail-v\""));
}

/// A folder with a document of two figures that are only computed.
fn computed_document() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
    std::fs::create_dir(at("doc")).unwrap();
    write("cells.csv", "id,document,table,page,case,algorithm,metric,unit,low,high,note\n");
    write("ns2.csv", "cell,mean,std,runs,version,setting\n");
    write("bands.toml", "");
    write("doc/document.toml", "title = \"A title\"\nreference = \"A 2001\"\n");
    let row = "section = \"3\"\ntitle = \"Gains\"\ndescribes = \"Nothing is run.\"\n[[computed]]\nfigure = \"4\"\n\
        title = \"Stable gains\"\ncompute = { kind = \"vrc-gain-regions\", k_d = [0.0], rtt = [0.1], flows = 100, \
        capacity = 1250 }\n";
    write("doc/one.toml", row);
    write("doc/two.toml", row);
    folder
}

/// Pages in Markdown are of whole documents, and are written over nothing else.
#[test]
fn pages_of_whole_documents() {
    let folder = computed_document();
    let pages = tempfile::tempdir().unwrap();
    let (papers, docs) = (folder.path().display().to_string(), pages.path().display().to_string());
    let run = |more: &[&str]| {
        quell(&[&["reproduce", "--papers", &papers, "--docs", &docs, "--quiet", "--no-cache"], more].concat())
    };
    let output = run(&["doc-one"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("would leave 1 of 2 experiments out of doc.md"));
    let output = run(&[]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let page = std::fs::read_to_string(pages.path().join("doc.md")).unwrap();
    assert!(page.contains("](images/doc-one-4.svg)"), "{page}");
    assert!(pages.path().join("images/doc-one-4.svg").exists());
    // Its own index may be written again, another's may not.
    assert!(run(&[]).status.success());
    std::fs::write(pages.path().join("README.md"), "# Mine\n").unwrap();
    let output = run(&[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("its README.md was not written by quell reproduce"));
    assert_eq!(run(&["--quick"]).status.code(), Some(2));
}

/// A page of a part does not come in the place of the whole, and says what it has.
#[test]
fn pages_of_parts_have_names_of_their_own() {
    let folder = computed_document();
    let out = folder.path().join("pages");
    let (papers, shown) = (folder.path().display().to_string(), out.display().to_string());
    let run = |what: &str| {
        let args = ["reproduce", what, "--papers", &papers, "--out", &shown, "--quiet", "--no-cache"];
        let output = quell(&args);
        assert!(output.status.success(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let page = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    run("doc");
    let whole = page("doc.html");
    assert!(whole.contains("id=\"doc-two\"") && !whole.contains("This page has"), "{whole}");
    let said = run("doc-one");
    assert!(said.contains("doc-one.html"), "{said}");
    assert_eq!(page("doc.html"), whole);
    let part = page("doc-one.html");
    let opening = &part[part.find("<h1>").unwrap()..part.find("<div").unwrap()];
    assert!(opening.contains("This page has 1 of the document&#39;s 2 experiments: doc-one."), "{opening}");
    assert!(opening.contains("quell reproduce doc-one "), "{opening}");
}

/// A file in the place of the folder of pages is named for what it is.
#[test]
fn a_file_is_no_folder_of_pages() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html").display().to_string();
    std::fs::write(&file, "mine").unwrap();
    for option in ["--out", "--docs"] {
        let output = quell(&["reproduce", "thesis", option, &file, "--quiet", "--no-cache"]);
        assert_eq!(output.status.code(), Some(2));
        let said = text(&output.stderr);
        assert!(said.contains(option) && said.contains("page.html: is not a folder"), "{said}");
    }
}

/// Values that are only computed need no simulation.
#[test]
fn computed_numbers() {
    let output = quell(&["reproduce", "vrc/sec. 3.2 example", "--quiet", "--no-cache"]);
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(said.contains("vrc/sec. 3.2 example"), "{said}");
}

#[test]
fn names_that_are_not_there() {
    let output = quell(&["reproduce", "vrc-b3"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains("vrc-b3") && said.contains("did you mean \"vrc-b1\"?") && said.contains("--list"),
        "{said}"
    );
    let output = quell(&["reproduce", "--papers", "no/such/folder"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no/such/folder: the folder does not exist"));
    let output = quell(&["reproduce", "b2"]);
    assert!(text(&output.stderr).contains("did you mean \"vrc-b2\"?"), "{}", text(&output.stderr));
    let output = quell(&["reproduce", "vrc/22"]);
    assert!(
        text(&output.stderr).contains("there is no such table; there are vrc/"),
        "{}",
        text(&output.stderr)
    );
    for (wrong, said) in [
        ("redtail/II", "did you mean \"redtail/i\"?"),
        ("hred/3", "\"hred/3\": there is no such table; the only one is hred/2"),
    ] {
        let output = quell(&["reproduce", wrong]);
        assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    }
    let output = quell(&["reproduce", "--list", "hred"]);
    let said = text(&output.stdout);
    assert!(said.contains("hred-t2") && said.starts_with("hred: ") && !said.contains("vrc: "), "{said}");
    let output = quell(&["reproduce", "--list", "vrc-4", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&listed["experiments"][0]["experiment"], &listed["experiments"][0]["figures"]),
        (&"vrc-4".into(), &1.into())
    );
    let output = quell(&["scenario", "check", "papers/vrc/b2.toml", "papers/vrc/document.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(
        said.contains(
            "b2.toml: is an experiment of a document, not a scenario; run it with `quell reproduce vrc-b2`"
        ),
        "{said}"
    );
    assert!(
        said.contains(
            "document.toml: describes a document, not a scenario; run its experiments with `quell reproduce \
            vrc`"
        ),
        "{said}"
    );
}
