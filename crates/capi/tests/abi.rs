//! Programs that were compiled against an older `quell.h` run with the library of today.
//!
//! `abi/libquell.so.N` lists the declarations of the header since the soname became that. `packaging/packages.sh` takes the
//! soname from the name of the file, and compares the functions with those that the library exports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const HOW: &str = "QUELL_UPDATE_DOCS=1 cargo test -p quell-capi --test all abi::";

#[test]
fn what_was_declared_stays_until_the_soname_changes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let list = list(&root.join("abi"));
    let header = std::fs::read_to_string(root.join("include/quell.h")).unwrap();
    let (kept, made) = (lines(&std::fs::read_to_string(&list).unwrap()), declarations(&header));
    assert!(made.iter().any(|line| line.contains("quell_create(")), "the header cannot be read: {made:?}");
    let gone: Vec<_> = kept.difference(&made).collect();
    assert!(
        gone.is_empty(),
        "{}: programs compiled against this break, so the soname must change: rename the file to the next number, \
         empty it, run `{HOW}`, and name the change in CHANGELOG.md: {gone:#?}",
        list.display()
    );
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        let text: Vec<&str> = made.iter().map(String::as_str).collect();
        std::fs::write(&list, text.join("\n") + "\n").unwrap();
    }
    let kept = lines(&std::fs::read_to_string(&list).unwrap());
    let new: Vec<_> = made.difference(&kept).collect();
    assert!(new.is_empty(), "{}: new declarations: run `{HOW}`: {new:#?}", list.display());
}

#[test]
fn a_changed_declaration_is_another_one() {
    let before =
        declarations("// Words.\nint32_t quell_set_rate(struct quell_queue *queue,\n    uint64_t rate);\n");
    assert_eq!(before, lines("int32_t quell_set_rate(struct quell_queue *queue, uint64_t rate);"));
    assert_ne!(before, declarations("int32_t quell_set_rate(struct quell_queue *queue, uint32_t rate);\n"));
    let fields =
        declarations("typedef struct a {\n  // One.\n  uint32_t b;\n  uint8_t c;\n} a;\n#define QUELL_D 1\n");
    assert_eq!(fields, lines("#define QUELL_D 1\ntypedef struct a { uint32_t b; uint8_t c; } a;"));
}

/// The only file in the folder.
fn list(folder: &Path) -> PathBuf {
    let files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let [list] = files.as_slice() else { panic!("{}: must have one list: {files:?}", folder.display()) };
    list.clone()
}

fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(str::to_string).collect()
}

/// The declarations and constants of a header, one a line, without comments.
fn declarations(header: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut begun = String::new();
    let code = header.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    for line in code.filter(|line| !line.is_empty()) {
        if let Some(directive) = line.strip_prefix('#') {
            if directive.starts_with("define QUELL_") && directive.split_whitespace().count() > 2 {
                found.insert(line.to_string());
            }
            continue;
        }
        // The braces of `extern "C"` are nobody's declaration.
        if begun.is_empty() && (line.starts_with("extern") || line == "}") {
            continue;
        }
        if !begun.is_empty() {
            begun.push(' ');
        }
        begun.push_str(line);
        if line.ends_with(';') && begun.matches('{').count() == begun.matches('}').count() {
            found.insert(std::mem::take(&mut begun));
        }
    }
    assert!(begun.is_empty(), "a declaration has no end: {begun}");
    found
}
