//! The pages in `docs/algorithms`: every algorithm has one, and the tables in them are made from the
//! code.
//!
//! `QUELL_UPDATE_DOCS=1 cargo test -p quell-aqm --test all docs::` regenerates the tables.

use std::path::PathBuf;

use quell_aqm::catalog::{CATALOG, Entry};

fn directory() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/algorithms"))
}

fn file_name(entry: &Entry) -> String {
    format!("{}.md", entry.name.replace(['-', '+'], "_"))
}

fn parameter_table(entry: &Entry) -> String {
    let docs = (entry.params)();
    if docs.is_empty() {
        return "None.\n".to_string();
    }
    let mut table = String::from("| parameter | default | unit | meaning | source of the default |\n");
    table += "| --- | --- | --- | --- | --- |\n";
    for d in docs {
        // "none" is not a value that a scenario could give.
        let default = if d.default == "none" { "left out" } else { d.default.as_str() };
        table += &format!("| `{}` | {default} | {} | {} | {} |\n", d.name, d.unit, d.doc, d.source);
    }
    table
}

fn catalog_table() -> String {
    let mut table = String::from("| name | algorithm | family | published | label |\n");
    table += "| --- | --- | --- | --- | --- |\n";
    for e in CATALOG {
        let label = format!("{:?}", e.label).to_lowercase();
        let page = file_name(e);
        table += &format!(
            "| [`{}`]({page}) | {} | {} | {} | {label} |\n",
            e.name,
            e.title,
            e.family.name(),
            e.source
        );
    }
    table
}

/// Compares the text between two markers of a page with `table`, or replaces it.
fn check(file: &str, marker: &str, table: &str) {
    let path = directory().join(file);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("docs/algorithms/{file}: {e}"));
    let (begin, end) = (format!("<!-- {marker}:begin -->"), format!("<!-- {marker}:end -->"));
    let start = page.find(&begin).unwrap_or_else(|| panic!("{file} lacks {begin}")) + begin.len();
    let start = start + page[start..].starts_with('\n') as usize;
    let stop = start + page[start..].find(&end).unwrap_or_else(|| panic!("{file} lacks {end}"));
    if page[start..stop] == *table {
        return;
    }
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{}{table}{}", &page[..start], &page[stop..])).unwrap();
        return;
    }
    panic!(
        "docs/algorithms/{file} differs from the code, which says:\n{table}\n\
         QUELL_UPDATE_DOCS=1 cargo test -p quell-aqm --test all docs:: regenerates it"
    );
}

#[test]
fn every_algorithm_has_a_page_with_its_sections_source_and_parameters() {
    for entry in CATALOG {
        check(&file_name(entry), "params", &parameter_table(entry));
        // In the same test, because an update rewrites the page.
        let page = std::fs::read_to_string(directory().join(file_name(entry))).unwrap();
        assert!(page.starts_with(&format!("# {}\n", entry.title)), "{}: the title", entry.name);
        for section in ["## Equations", "## Parameters", "## Deviations and misprints", "## Cost"] {
            assert!(page.contains(section) || entry.name == "drop-tail", "{} lacks {section}", entry.name);
        }
        // Where a line ends is the page's own affair.
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(entry.source), "{} must cite {}", entry.name, entry.source);
    }
}

#[test]
fn the_list_of_algorithms_is_the_catalog() {
    check("README.md", "catalog", &catalog_table());
    check("../../README.md", "count", &CATALOG.len().to_string());
}

#[test]
fn every_parameter_is_documented() {
    for entry in CATALOG {
        for d in (entry.params)() {
            let place = format!("{}.{}", entry.name, d.name);
            assert!(d.doc.ends_with('.'), "{place}: the meaning is a sentence");
            assert!(!d.unit.is_empty() && !d.source.is_empty(), "{place}: unit and source");
            assert!(![d.doc, d.source, &d.default].iter().any(|t| t.contains(['|', '\n'])), "{place}");
        }
    }
}
