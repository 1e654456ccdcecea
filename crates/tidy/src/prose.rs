//! First lines of doc comments, which open with what they are about: a noun or a verb, as in "Returns the gain".
//!
//! Counted is every block of `///` or `//!` lines in production code, also in macros and in function bodies. One
//! that opens with a word of [`CLAUSES`] puts a clause or a preposition before its subject. Some do that well; where
//! many do, the text reads as translated.

use crate::tree::{Crate, crates, without_tests};
use std::fmt::Write;

/// The words that open a subordinate clause or a phrase with a preposition.
const CLAUSES: &[&str] = &[
    "about", "above", "after", "against", "although", "among", "as", "at", "because", "before", "behind",
    "below", "beside", "besides", "between", "beyond", "by", "during", "except", "for", "from", "how", "if",
    "in", "instead", "into", "like", "of", "on", "once", "over", "per", "since", "than", "that", "though",
    "through", "to", "under", "unless", "until", "upon", "what", "when", "where", "whether", "which",
    "while", "who", "whose", "why", "with", "within", "without",
];

/// The largest share of such openings, in percent. Of neighbors, quinn has 6.7 and ripgrep 4.9.
const MOST: f64 = 8.0;

#[test]
fn comments_open_with_their_subject() {
    let (mut all, mut late, mut wrong) = (0, 0, String::new());
    for krate in crates() {
        let blocks = blocks(&krate);
        let clauses: Vec<&Block> = blocks.iter().filter(|block| block.is_late()).collect();
        let negated: Vec<&Block> = blocks.iter().filter(|block| block.negates_a_noun()).collect();
        let docs = blocks.iter().filter(|block| block.doc).count();
        all += docs;
        late += clauses.len();
        let share = percent(clauses.len(), docs);
        println!("{:13} {:4} of {docs:4} {share:5.1} %, is no: {}", krate.name, clauses.len(), negated.len());
        if share >= MOST {
            let _ = writeln!(wrong, "{}: {share:.1} % of first lines open with a clause", krate.name);
            wrong += &worst_files(&clauses);
        }
        for block in negated {
            let _ = writeln!(wrong, "{}:{}: is/are no, in: {}", block.file, block.line, block.first);
        }
    }
    println!("{:13} {late:4} of {all:4} {:5.1} %", "all", percent(late, all));
    assert!(wrong.is_empty(), "\n{wrong}less than {MOST} % is wanted, and \"is not\" for \"is no\"");
}

/// The three files with the most of them, and their lines.
fn worst_files(clauses: &[&Block]) -> String {
    let mut files: Vec<&[&Block]> = clauses.chunk_by(|a, b| a.file == b.file).collect();
    files.sort_by_key(|blocks| std::cmp::Reverse(blocks.len()));
    files.into_iter().take(3).flatten().fold(String::new(), |text, block| {
        text + &format!("  {}:{}: {}\n", block.file, block.line, block.first)
    })
}

fn percent(part: usize, all: usize) -> f64 {
    100.0 * part as f64 / all.max(1) as f64
}

/// Comment lines that follow each other.
struct Block {
    file: String,
    line: usize,
    doc: bool,
    first: String,
    text: String,
}

impl Block {
    fn is_late(&self) -> bool {
        let word: String = self.first.chars().take_while(|c| c.is_alphabetic()).collect();
        self.doc && CLAUSES.contains(&word.to_lowercase().as_str())
    }

    /// Finds a negated noun with "is", but neither "there is" nor "is no longer".
    fn negates_a_noun(&self) -> bool {
        let words: Vec<&str> = self.text.split_whitespace().collect();
        words.windows(2).enumerate().any(|(at, pair)| {
            let before = at.checked_sub(1).map_or("", |at| words[at]).to_lowercase();
            let after = words.get(at + 2).copied().unwrap_or_default();
            matches!(pair, ["is" | "are", "no"]) && before != "there" && !after.starts_with("longer")
        })
    }
}

/// The comments of a crate outside its tests.
fn blocks(krate: &Crate) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (name, text) in &krate.files {
        let mut kind = "";
        for (index, code) in without_tests(name, text) {
            let this =
                ["///", "//!", "//"].into_iter().find(|start| code.starts_with(start)).unwrap_or_default();
            if !this.is_empty() {
                let said = code[this.len()..].trim();
                if this != kind {
                    let (file, first, text) =
                        (format!("{}{name}", krate.source), said.to_string(), String::new());
                    blocks.push(Block { file, line: index + 1, doc: this != "//", first, text });
                }
                if let Some(block) = blocks.last_mut() {
                    block.text += said;
                    block.text += " ";
                }
            }
            kind = this;
        }
    }
    blocks
}

/// The judge itself: a comment is read across its lines, and tests are not.
#[test]
fn openings_are_counted() {
    let text = "/// What it is\n/// is no\n/// gain.\nfn f() {}\n\n/// Returns no gain: there is no gain.\n\
                #[cfg(test)]\nmod tests {\n    /// If.\n}\n/// Those that are no longer here.\n";
    let krate = Crate {
        name: String::new(),
        source: String::new(),
        files: vec![("a.rs".to_string(), text.to_string())],
    };
    let blocks = blocks(&krate);
    let seen: Vec<_> =
        blocks.iter().map(|block| (block.line, block.is_late(), block.negates_a_noun())).collect();
    assert_eq!(seen, [(1, true, true), (6, false, false), (11, false, false)]);
}
