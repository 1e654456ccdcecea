//! Completions and manual pages. Where a program that reads them is missing, its test says so and ends.

use std::process::{Command, Stdio};

use crate::common::{Bench, list};

/// The output of a program; `None`, and why, if it is not here.
fn said(program: &str, args: &[&str]) -> Option<String> {
    match Command::new(program).args(args).stdin(Stdio::null()).output() {
        Err(e) => {
            println!("skipped: {program}: {e}");
            None
        }
        Ok(output) => {
            let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(output.status.success(), "{program} {args:?}: {said}");
            Some(said)
        }
    }
}

#[test]
fn bash_completes_commands_options_and_their_values() {
    let bench = Bench::new();
    let script = bench.file("quell.bash", &bench.ok(&["completions", "bash"]));
    let completed = |words: &str| {
        let program = format!(
            "source '{}'; COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); \
             _quell quell \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\"",
            script.display()
        );
        said("bash", &["--norc", "-c", &program])
    };
    let Some(commands) = completed("quell con") else { return };
    assert_eq!(commands.trim(), "conformance");
    assert_eq!(completed("quell aqm desc").unwrap().trim(), "describe");
    assert_eq!(completed("quell run --overw").unwrap().trim(), "--overwrite");
    assert_eq!(completed("quell completions --").unwrap().trim(), "--help");
    // Options that a command refuses, and its help does not list.
    assert_eq!(completed("quell search --swe").unwrap().trim(), "");
    assert_eq!(completed("quell worker --no-c").unwrap().trim(), "");
    assert_eq!(completed("quell scale --precis").unwrap().trim(), "");
    assert_eq!(completed("quell run --precis").unwrap().trim(), "--precision");
    assert_eq!(completed("quell search --toler").unwrap().trim(), "--tolerance");
    let shells = completed("quell completions ''").unwrap();
    assert!(shells.contains("zsh") && shells.contains("fish"), "{shells}");
}

#[test]
fn the_other_shells_take_their_completions() {
    let bench = Bench::new();
    for (shell, check) in [("zsh", "--no-exec"), ("fish", "--no-execute")] {
        let script = bench.file(shell, &bench.ok(&["completions", shell]));
        said(shell, &[check, script.to_str().unwrap()]);
    }
    let script = bench.path("fish");
    let asked = format!("source {}; complete -C 'quell conf'", script.display());
    if let Some(found) = said("fish", &["--no-config", "-c", &asked]) {
        assert!(found.starts_with("conformance\t"), "{found}");
    }
}

#[test]
fn a_manual_page_is_there_for_each_command_and_renders_without_a_warning() {
    let bench = Bench::new();
    let pages = bench.path("man");
    bench.ok(&["man", pages.to_str().unwrap()]);
    let names = list(&pages.join("man1"));
    for name in ["quell.1", "quell-run.1", "quell-aqm-describe.1", "quell-completions.1"] {
        assert!(names.iter().any(|n| n.ends_with(name)), "{name}: {names:?}");
    }
    let paths: Vec<String> = ["man1", "man8"]
        .iter()
        .filter(|section| pages.join(section).is_dir())
        .flat_map(|section| std::fs::read_dir(pages.join(section)).unwrap())
        .map(|entry| entry.unwrap().path().to_str().unwrap().to_string())
        .collect();
    assert!(paths.len() > 40, "{paths:?}");
    assert!(
        !cfg!(target_os = "linux") || paths.iter().any(|path| path.ends_with("man8/quell-gateway-run.8"))
    );
    for path in &paths {
        let Some(warnings) = said("groff", &["-man", "-Tutf8", "-ww", "-z", path]) else { return };
        assert_eq!(warnings, "", "{path}");
    }
    let run = pages.join("man1/quell-run.1");
    let text = said("groff", &["-man", "-Tascii", "-P-cbou", "-rLL=200n", run.to_str().unwrap()]).unwrap();
    assert!(text.contains("NAME") && text.contains("quell-run - Run a scenario"), "{text}");
    assert!(text.contains("--overwrite"), "{text}");
    // Examples keep their lines.
    assert!(
        text.lines().any(|line| line.trim_start().starts_with("quell run scenarios/main.toml")),
        "{text}"
    );
}
