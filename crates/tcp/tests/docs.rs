//! The pages in `docs/senders`: every value of the keys by which senders are chosen has one, and what the code knows
//! of it is made from the code.
//!
//! `QUELL_UPDATE_DOCS=1 cargo test -p quell-tcp --test docs` writes these parts again.

use std::path::PathBuf;

use quell_tcp::catalog::{COMMON, Entry, Parameter, SENDERS};

fn path(file: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/senders")).join(file)
}

fn file_name(entry: &Entry) -> String {
    format!("{}.md", entry.id().replace(['.', '-'], "_").replace('+', "p"))
}

fn table<'a>(parameters: impl Iterator<Item = &'a Parameter>) -> String {
    let mut table = String::from("| key | default | unit | range | meaning | source of the default |\n");
    table += "| --- | --- | --- | --- | --- | --- |\n";
    for Parameter { doc: d, range } in parameters {
        let row = [d.unit, range, d.doc, d.source].join(" | ");
        table += &format!("| `{}` | {} | {row} |\n", d.name, d.default);
    }
    table
}

/// What the code says of a sender.
fn about(e: &Entry) -> String {
    let mut text = format!("`{} = \"{}\"`: {} Source: {}.\n", e.key, e.name, lower(e.summary), e.source);
    for (what, list) in [("Needs", e.demands()), ("Refuses", e.refusals())] {
        if !list.is_empty() {
            let lines = list.iter().map(|line| format!("- {}\n", code(line)));
            text += &format!("\n{what}:\n{}", lines.collect::<String>());
        }
    }
    let own = e.parameters();
    if !own.is_empty() {
        text += "\nBesides the keys that every sender reads, it reads:\n\n";
        text += &table(own.iter());
    }
    if !e.choices.is_empty() {
        text += "\n## What was chosen\n\n";
        text += "Where the source leaves something open, or the code differs from it:\n\n";
        text += &e.choices.iter().map(|choice| format!("- {choice}\n")).collect::<String>();
    }
    text
}

/// A sentence that goes on; abbreviations stay as they are.
fn lower(sentence: &str) -> String {
    let (first, rest) = sentence.split_at(1);
    let word = sentence.split(' ').next().unwrap_or_default();
    let name = word.len() > 1 && word.chars().all(|c| !c.is_lowercase());
    if name { sentence.to_string() } else { first.to_lowercase() + rest }
}

/// Settings are code, sentences are not.
fn code(line: &str) -> String {
    if line.split(' ').nth(1) == Some("=") && !line.contains([':', ';']) {
        format!("`{line}`").replace(" or ", "` or `")
    } else {
        line.into()
    }
}

fn index() -> String {
    let mut out = String::from("| key | value | | source |\n| --- | --- | --- | --- |\n");
    for e in SENDERS {
        let page = file_name(e);
        out += &format!(
            "| `{}` | [`{}`]({page}) | {}: {} | {} |\n",
            e.key,
            e.name,
            e.title,
            lower(e.summary),
            e.source
        );
    }
    out
}

/// Compares the text between two markers of a page with `text`, or replaces it; a page that is not there is begun.
fn check(file: &str, title: &str, marker: &str, text: &str) {
    let update = std::env::var_os("QUELL_UPDATE_DOCS").is_some();
    let (begin, end) = (format!("<!-- {marker}:begin -->\n"), format!("<!-- {marker}:end -->"));
    let page = match std::fs::read_to_string(path(file)) {
        Ok(page) => page,
        Err(_) if update => format!("# {title}\n\n{begin}{end}\n"),
        Err(e) => panic!("docs/senders/{file}: {e}"),
    };
    let start = page.find(&begin).unwrap_or_else(|| panic!("{file} lacks {begin}")) + begin.len();
    let stop = start + page[start..].find(&end).unwrap_or_else(|| panic!("{file} lacks {end}"));
    assert!(page.starts_with(&format!("# {title}\n")), "{file}: the title is {title}");
    if page[start..stop] == *text {
        return;
    }
    assert!(
        update,
        "docs/senders/{file} differs from the code; QUELL_UPDATE_DOCS=1 cargo test -p quell-tcp --test docs writes it \
         again"
    );
    std::fs::write(path(file), format!("{}{text}{}", &page[..start], &page[stop..])).unwrap();
}

#[test]
fn every_value_has_a_page() {
    for entry in SENDERS {
        check(&file_name(entry), entry.title, "about", &about(entry));
    }
    let mut pages: Vec<String> = SENDERS.iter().map(|e| file_name(e)).chain(["README.md".into()]).collect();
    let mut there: Vec<String> =
        std::fs::read_dir(path("")).unwrap().map(|f| f.unwrap().file_name().into_string().unwrap()).collect();
    pages.sort();
    there.sort();
    assert_eq!(there, pages, "a page for each, and no other");
}

#[test]
fn the_index_lists_the_catalog_and_the_keys_of_all() {
    check("README.md", "The senders", "catalog", &index());
    let all = Parameter::all();
    let common = all.iter().filter(|p| COMMON.contains(&p.doc.name));
    check("README.md", "The senders", "common", &table(common));
}

/// The overview is written by hand; the defaults that it states are those of the code.
#[test]
fn the_overview_states_the_defaults() {
    let page = std::fs::read_to_string(path("../senders.md")).unwrap();
    let all = Parameter::all();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let stated: Vec<&str> = rows
        .filter_map(|(key, rest)| {
            let default = rest.split(" | ").next()?;
            let parameter =
                all.iter().find(|p| p.doc.name == key).unwrap_or_else(|| panic!("{key} is no key"));
            assert_eq!(parameter.doc.default, default, "{key}");
            Some(key)
        })
        .collect();
    assert!(["congestion", "ecn", "initial_window", "max_window"].iter().all(|key| stated.contains(key)));
}

#[test]
fn every_key_is_documented_in_a_row() {
    for Parameter { doc: d, range } in Parameter::all() {
        assert!(d.doc.ends_with('.') && !d.unit.is_empty() && !d.source.is_empty(), "{}", d.name);
        assert!(!range.is_empty(), "{}: the range", d.name);
        assert!(![d.doc, d.source, &d.default, &range].iter().any(|t| t.contains(['|', '\n'])), "{}", d.name);
    }
}
