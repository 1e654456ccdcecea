//! The examples in C: compiled with every warning an error and with sanitizers, and run for every algorithm.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use quell_aqm::catalog::CATALOG;

const STRICT: &[&str] =
    &["-std=c99", "-O1", "-g", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"];
const SANITIZED: &[&str] = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];

/// The folder of libquell.so: where this test was built.
fn libraries() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    test.parent().unwrap().to_path_buf()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

/// Compiles an example; `None`, and why, if this machine cannot.
fn compile(dir: &Path, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(format!("{name}.c"));
    compile_source(dir, &source, flags)
}

/// The same of a program that lies anywhere.
fn compile_source(dir: &Path, source: &Path, flags: &[&str]) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (program, libraries) = (dir.join(source.file_stem().unwrap()), libraries());
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(STRICT).args(flags).arg("-I").arg(root.join("include"));
    cc.arg(source).arg("-o").arg(&program);
    cc.arg("-L").arg(&libraries).arg(format!("-Wl,-rpath,{}", libraries.display())).arg("-lquell");
    match cc.output() {
        Err(e) => {
            println!("skipped: no C compiler: {e}");
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{}: {}", source.display(), said(&output));
            Some(program)
        }
    }
}

/// Whether the compiler has the sanitizers, and their programs run here.
fn sanitizers(dir: &Path) -> bool {
    let (source, program) = (dir.join("empty.c"), dir.join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(SANITIZED).arg(&source).arg("-o").arg(&program);
    let works = cc.output().is_ok_and(|o| o.status.success())
        && Command::new(&program).output().is_ok_and(|o| o.status.success());
    if !works {
        println!("skipped: the sanitizers of this C compiler do not work here");
    }
    works
}

fn run(program: &Path, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{} {args:?}: {}", program.display(), said(&output));
    said(&output)
}

#[test]
fn the_examples_in_c_lose_no_packet_whatever_the_algorithm() {
    let dir = tempfile::tempdir().unwrap();
    let flags = if sanitizers(dir.path()) { SANITIZED } else { &[] };
    let Some(event_loop) = compile(dir.path(), "event_loop", flags) else { return };
    let Some(burst_loop) = compile(dir.path(), "burst_loop", flags) else { return };
    for entry in CATALOG {
        let algorithm = format!("algorithm = \"{}\"", entry.name);
        let said = run(&event_loop, &["[aqm]", &algorithm]);
        assert!(said.contains("arrived 50000"), "{}: {said}", entry.name);
        if !BURST_REFUSES.contains(&entry.name) {
            run(&burst_loop, &[entry.name]);
        }
    }
    let refused = Command::new(&event_loop).args(["[aqm]", "algorithm = \"codle\""]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("codle"), "{}", said(&refused));
}

/// Algorithms whose defaults do not work on the burst loop's link.
const BURST_REFUSES: &[&str] = &[];

#[test]
fn the_tutorial_in_c_prints_what_its_page_shows() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tutorials/embed-in-c.md");
    let page = std::fs::read_to_string(page).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("link.c");
    let text = block(&page, "<!-- file: link.c -->");
    std::fs::write(&source, text).unwrap();
    let flags = if sanitizers(dir.path()) { SANITIZED } else { &[] };
    let Some(link) = compile_source(dir.path(), &source, flags) else { return };
    assert_eq!(run(&link, &[]), block(&page, "<!-- not run: crates/capi/tests/c.rs compares it -->"));

    let wrong = dir.path().join("wrong.c");
    std::fs::write(&wrong, text.replace("pie", "codle")).unwrap();
    let Some(wrong) = compile_source(dir.path(), &wrong, flags) else { return };
    let shown = block(&page, "<!-- not run: crates/capi/tests/c.rs compares its beginning -->");
    let output = Command::new(&wrong).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).starts_with(shown.split("...").next().unwrap()), "{}", said(&output));
}

/// The block of code below a comment of a page.
fn block<'a>(page: &'a str, comment: &str) -> &'a str {
    let below = page.split_once(comment).unwrap().1;
    let code = below.split_once("```").unwrap().1.split_once('\n').unwrap().1;
    code.split_once("```").unwrap().0
}

#[test]
fn the_header_is_one_for_cplusplus_too() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("header.cc");
    std::fs::write(&source, "#include \"quell.h\"\nint main() { return quell_version() == nullptr; }\n")
        .unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut cc = Command::new("c++");
    cc.args(["-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", "-I"]);
    match cc.arg(include).arg(source).output() {
        Err(e) => println!("skipped: no C++ compiler: {e}"),
        Ok(output) => assert!(output.status.success(), "{}", said(&output)),
    }
}
