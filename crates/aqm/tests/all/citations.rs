//! Every citation in code, documentation and scenarios resolves to an entry of `docs/references.bib`, and
//! `docs/references.md` lists these entries.
//!
//! `QUELL_UPDATE_DOCS=1 cargo test -p quell-aqm --test all citations` writes the page again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// An entry of the bibliography: its fields by name.
type Entry = BTreeMap<String, String>;

/// The entries in the order of the file. One field a line, as its head says.
fn bibliography() -> Vec<Entry> {
    let text = std::fs::read_to_string(root().join("docs/references.bib")).unwrap();
    let mut entries: Vec<Entry> = Vec::new();
    for line in text.lines().filter(|l| !l.starts_with('%') && !l.trim().is_empty() && *l != "}") {
        if let Some(head) = line.strip_prefix('@') {
            let (kind, key) = head.split_once('{').unwrap_or_else(|| panic!("{line}"));
            let key = key.strip_suffix(',').unwrap_or_else(|| panic!("{line}"));
            entries.push(Entry::from([("kind".into(), kind.into()), ("key".into(), key.into())]));
        } else {
            let (name, value) = line.trim().split_once(" = {").unwrap_or_else(|| panic!("{line}"));
            let value = value.strip_suffix("},").unwrap_or_else(|| panic!("{line}"));
            let known = entries.last_mut().unwrap().insert(name.into(), value.into());
            assert_eq!(known, None, "{line} is there twice");
        }
    }
    entries
}

/// Text without the marks of BibTeX.
fn plain(value: &str) -> String {
    value
        .replace("{\\o}", "ø")
        .replace("---", "—")
        .replace("--", "-")
        .replace(['{', '}'], "")
        .replace("``", "\"")
        .replace("''", "\"")
}

/// The authors as one reads them: "S. Floyd and V. Jacobson".
fn authors(value: &str) -> String {
    let names: Vec<String> = value
        .split(" and ")
        .map(|name| match plain(name).split_once(", ") {
            Some((family, given)) => format!("{given} {family}"),
            None => plain(name),
        })
        .collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}

fn page(entries: &[Entry]) -> String {
    let mut page = String::from(
        "# References\n\n\
         <!-- Written from references.bib by QUELL_UPDATE_DOCS=1 cargo test -p quell-aqm --test all citations -->\n\n\
         Code, documentation, scenarios and messages cite each source in this form, as in \"Chen 2010, eq. 4.9\". \
         The first five are the source papers, with which the project began. For BibTeX: \
         [references.bib](references.bib).\n\n\
         | cited as | source |\n| --- | --- |\n",
    );
    for entry in entries {
        let field = |name: &str| entry.get(name).map(|v| plain(v));
        let mut text = format!("{}, *{}*", authors(&entry["author"]), plain(&entry["title"]));
        let venue = ["journal", "booktitle", "school", "institution", "publisher", "howpublished"];
        let mut venue: String = venue.iter().find_map(|v| field(v)).unwrap_or_default();
        match (field("volume"), field("number"), field("type")) {
            (Some(volume), Some(number), _) => venue += &format!(" {volume}({number})"),
            (Some(volume), None, _) => venue += &format!(" {volume}"),
            (None, Some(number), Some(kind)) => venue += &format!(" {kind} {number}"),
            (None, Some(number), None) => venue += &format!(" {number}"),
            _ => {}
        }
        if entry["kind"] == "phdthesis" {
            venue = format!("PhD thesis, {venue}");
        }
        let year = match (field("month"), field("year")) {
            (Some(month), Some(year)) => Some(format!("{month} {year}")),
            (_, year) => year,
        };
        let pages = field("pages").map(|p| format!("pp. {p}"));
        for part in [Some(venue).filter(|v| !v.is_empty()), pages, year].into_iter().flatten() {
            text += &format!(", {part}");
        }
        if let Some(note) = field("note") {
            text += &format!(". {note}");
        }
        if let Some(doi) = entry.get("doi") {
            text += &format!(", <https://doi.org/{doi}>");
        } else if let Some(url) = entry.get("url") {
            text += &format!(", <{url}>");
        }
        page += &format!("| {} | {text}. |\n", entry["shorthand"]);
    }
    page
}

#[test]
fn the_page_lists_the_bibliography() {
    let path = root().join("docs/references.md");
    let page = page(&bibliography());
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap_or_default() == page,
        "docs/references.md differs from docs/references.bib; \
         QUELL_UPDATE_DOCS=1 cargo test -p quell-aqm --test all citations writes it again"
    );
}

#[test]
fn entries_are_complete_and_keys_are_unique() {
    let entries = bibliography();
    for name in ["key", "shorthand"] {
        let unique: BTreeSet<_> = entries.iter().map(|e| &e[name]).collect();
        assert_eq!(unique.len(), entries.len(), "two entries have one {name}");
    }
    for entry in &entries {
        let key = &entry["key"];
        assert!(entry.contains_key("title") && entry.contains_key("author"), "{key}");
        assert!(entry.contains_key("year") || entry.contains_key("note"), "{key}: when, or why unknown");
        let short = &entry["shorthand"];
        if let Some(year) = entry.get("year").filter(|_| short.ends_with(|c: char| c.is_ascii_alphanumeric()))
        {
            let dated = short.split([' ']).any(|word| word.trim_end_matches(['a', 'b']) == year.as_str());
            assert!(dated || short.starts_with("RFC ") || key == "hairer", "{short} is of {year}");
        }
    }
}

/// The files in which citations stand.
fn files() -> Vec<PathBuf> {
    fn walk(dir: &Path, out: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                // What is built or written by runs; hidden directories hold tools.
                if !name.starts_with('.')
                    && !["target", "results", "node_modules", "build"].contains(&name.as_str())
                {
                    walk(&path, out);
                }
            } else if ["rs", "md", "toml", "py", "pyi"]
                .iter()
                .any(|e| path.extension().is_some_and(|x| x == *e))
            {
                out.push(path);
            }
        }
    }
    let mut out = Vec::new();
    walk(&root(), &mut out);
    out.sort();
    out
}

/// The text with a citation that runs over a line's end in one piece.
fn joined(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = line.trim();
        let line = ["///", "//!", "//", "#"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        out.push_str(line.trim().trim_end_matches('\\').trim_end());
        out.push(' ');
    }
    out
}

fn is_year(word: &str) -> bool {
    let digits = word.strip_suffix(|c: char| c.is_ascii_lowercase()).unwrap_or(word);
    digits.len() == 4
        && (digits.starts_with("19") || digits.starts_with("20"))
        && digits.parse::<u16>().is_ok()
}

/// A family name: a capital, then small letters.
fn is_name(word: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let mut letters = word.chars();
    letters.next().is_some_and(char::is_uppercase)
        && word.chars().count() > 1
        && letters.all(char::is_lowercase)
        && !MONTHS.contains(&word)
        && !["Copyright", "In"].contains(&word)
}

/// What cites a source: "Floyd 1997", "Lin and Morris 1997", "Ott et al. 1999", "RFC 8289".
fn citations(text: &str) -> Vec<String> {
    // The last run of letters and digits, as `push("Chen` has one.
    let bare = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.rsplit(['"', '(', '[', '`']).next().unwrap_or(word).to_string()
    };
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    for (i, word) in words.iter().enumerate().skip(1) {
        let last = words[i - 1];
        let number = bare(word.split(['-', '/']).next().unwrap_or(word));
        if bare(last) == "RFC" && number.chars().all(|c| c.is_ascii_digit()) && !number.is_empty() {
            found.push(format!("RFC {number}"));
        }
        // "2010," and "1999]" end a citation; "(1999" begins something else.
        if !is_year(&number) || !word.starts_with(|c: char| c.is_ascii_digit()) {
            continue;
        }
        let name = |at: usize| i.checked_sub(at).map(|k| bare(words[k])).filter(|w| is_name(w));
        let word_at = |at: usize| i.checked_sub(at).map_or("", |k| words[k]);
        if last == "al." && word_at(2) == "et" {
            let first = bare(word_at(3));
            found.push(format!("{first} et al. {number}"));
        } else if last.ends_with(|c: char| !c.is_alphanumeric()) {
            continue;
        } else if let Some(second) = name(1) {
            match name(3).filter(|_| word_at(2) == "and") {
                Some(first) => found.push(format!("{first} and {second} {number}")),
                None => found.push(format!("{second} {number}")),
            }
        }
    }
    found
}

#[test]
fn the_scanner_finds_what_a_reader_would() {
    let found = citations(
        "(Chen 2010, eq. 4.9; Lin and Morris 1997) \"Ott et al. 1999\" [Feng et al. 1999a], RFC 8289 section 4.2; \
         push(\"Hollot et al. 2001a: August 1993, Loughborough University, 2010, 2000 flows, Pareto 2500, SIGCOMM 1998, RFCs",
    );
    assert_eq!(
        found,
        [
            "Chen 2010",
            "Lin and Morris 1997",
            "Ott et al. 1999",
            "Feng et al. 1999a",
            "RFC 8289",
            "Hollot et al. 2001a"
        ]
    );
}

#[test]
fn every_citation_resolves() {
    let known: BTreeSet<String> =
        bibliography().into_iter().map(|mut e| e.remove("shorthand").unwrap()).collect();
    let mut unknown = Vec::new();
    let mut resolved = 0;
    for path in files() {
        let text = joined(&std::fs::read_to_string(&path).unwrap());
        if path.ends_with("tests/all/citations.rs") {
            continue;
        }
        for citation in citations(&text) {
            if known.contains(&citation) {
                resolved += 1;
            } else {
                unknown.push(format!("{}: {citation}", path.display()));
            }
        }
    }
    assert!(unknown.is_empty(), "not in docs/references.bib:\n{}", unknown.join("\n"));
    assert!(resolved > 500, "found {resolved} citations only: the scanner must be blind");
}

/// The part of an RFC that a text cites in another form than "RFC 7567 section 4.4" or "RFC 8033 Appendix A".
fn misplaced_parts(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found = Vec::new();
    for at in words.windows(3) {
        let [rfc, number, part] = at else { continue };
        let named = rfc.ends_with("RFC") && number.starts_with(|c: char| c.is_ascii_digit());
        let is_word =
            ["section", "sections", "Section", "Appendix", "appendix"].iter().any(|w| part.starts_with(w));
        let is_number = part.starts_with(|c: char| c.is_ascii_digit()) && part[1..].starts_with('.');
        if named && (is_word && number.ends_with(',') || is_number || part.starts_with('\u{a7}')) {
            found.push(at.join(" "));
        }
    }
    found
}

#[test]
fn parts_of_rfcs_are_cited_in_one_form() {
    let wrong = misplaced_parts(
        "RFC 8033, section 4.2; RFC 3168 6.1.2; RFC 8033, Appendix A; RFC 7567 section 4.4, RFC 1, 2",
    );
    assert_eq!(wrong, ["RFC 8033, section", "RFC 3168 6.1.2;", "RFC 8033, Appendix"]);
    let mut all = Vec::new();
    for path in files().into_iter().filter(|path| !path.ends_with("tests/all/citations.rs")) {
        let text = joined(&std::fs::read_to_string(&path).unwrap());
        all.extend(misplaced_parts(&text).into_iter().map(|part| format!("{}: {part}", path.display())));
    }
    assert!(all.is_empty(), "as \"RFC 7567 section 4.4\":\n{}", all.join("\n"));
}

/// Names by which only this project knew its sources, and words that say there was none.
fn private(text: &str) -> Vec<String> {
    const KEYS: [&str; 6] = ["thesis", "Thesis", "vrc", "hred", "redtail", "fuzzy"];
    const PLACES: [&str; 16] = [
        "eq.",
        "Eq.",
        "eqs.",
        "Fig.",
        "fig.",
        "figure",
        "Table",
        "table",
        "section",
        "sections",
        "ch.",
        "chapter",
        "theorem",
        "proposition",
        "reference",
        "appendix",
    ];
    let words: Vec<&str> = text.split_whitespace().collect();
    let roman = |w: &str| {
        let head: String = w.chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        !head.is_empty() && head.chars().all(|c| "IVX".contains(c))
    };
    let numbered = |w: &str| {
        let w = w.trim_start_matches('[');
        let digits = w.chars().take_while(char::is_ascii_digit).count();
        digits > 0
            && !w.starts_with('0')
            && w[digits..].starts_with(['.', ']'])
            && w[digits + 1..].len() > usize::from(!w.contains(']'))
    };
    let mut found = Vec::new();
    for pair in words.windows(2) {
        let key = pair[0]
            .trim_start_matches(['(', '"', '[', '*', ';'])
            .trim_end_matches(',')
            .trim_end_matches("'s");
        let place = pair[1];
        if KEYS.contains(&key) && (PLACES.contains(&place) || roman(place) || numbered(place)) {
            found.push(format!("{key} {place}"));
        }
        if place.starts_with("memory") && (pair[0] == "by" || pair[0] == "from") {
            found.push(format!("{} memory", pair[0]));
        }
    }
    found
}

#[test]
fn no_source_has_a_private_name() {
    let samples = [
        "(thesis eq. 4.9)",
        "\"vrc 5.4.1\"",
        "hred III.B",
        "fuzzy [12].",
        "redtail, section II",
        "written by memory",
    ];
    for sample in samples {
        assert_eq!(private(sample).len(), 1, "{sample}");
    }
    for sample in ["the fuzzy rules", "(vrc, 0.0)]", "pi, vrc, hred", "hred 250.0 |"] {
        assert_eq!(private(sample), [""; 0], "{sample}");
    }
    let mut found = Vec::new();
    for path in files().into_iter().filter(|p| !p.ends_with("tests/all/citations.rs")) {
        let text = std::fs::read_to_string(&path).unwrap();
        // There labels of algorithms stand before their figures.
        if text.contains("<!-- Written by quell reproduce") {
            continue;
        }
        let text = joined(&text);
        // Memory that a computer has is not a source.
        let text = text.replace("come from memory", "").replace("from memory to", "");
        found.extend(private(&text).into_iter().map(|f| format!("{}: {f}", path.display())));
    }
    assert!(found.is_empty(), "cite by a key of docs/references.bib:\n{}", found.join("\n"));
}
