//! What is installed beside the binary: its units and the example of its settings.
#![cfg(target_os = "linux")]

use std::process::Command;

use clap::Parser;

#[derive(Parser)]
struct Cli {
    #[command(subcommand)]
    _command: quell_gateway::commands::Command,
}

fn dist(name: &str) -> String {
    format!("{}/dist/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(dist(name)).unwrap()
}

/// The example is complete: what it lacks on this machine is a device or a right, not a value.
#[test]
fn the_example_is_read() {
    let check = ["check", "--config", &dist("gateway.toml")];
    let done = Command::new(env!("CARGO_BIN_EXE_quell-gateway")).args(check).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.code() != Some(2), "{done:?}");
    assert!(
        said.starts_with("up: codel at 18 Mbit/s") && said.contains("down: codel at 95 Mbit/s"),
        "{said}"
    );
}

/// What is commented out in the example works too.
#[test]
fn the_example_names_options_that_there_are() {
    let text: String = read("gateway.toml")
        .lines()
        .map(|line| match line.strip_prefix("# ") {
            Some(rest)
                if rest.starts_with("[[")
                    || rest.split_once(" = ").is_some_and(|(key, _)| !key.contains(' ')) =>
            {
                format!("{rest}\n")
            }
            _ => format!("{line}\n"),
        })
        .collect();
    assert!(text.contains("\nfirewall = \"nft\"") && text.contains("\nshadow = "), "{text}");
    assert!(text.contains("\n[[classes]]\nname = "), "{text}");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("gateway.toml");
    // That user is for whoever makes one.
    std::fs::write(&path, text.replace("user = \"quell\"", "user = \"65534\"")).unwrap();
    let check = ["check", "--config", path.to_str().unwrap()];
    let done = Command::new(env!("CARGO_BIN_EXE_quell-gateway")).args(check).output().unwrap();
    assert!(done.status.code() != Some(2), "{done:?}");
}

#[test]
fn the_units_run_commands_that_there_are() {
    let unit = read("quell-gateway.service");
    let commands: Vec<&str> =
        unit.lines().filter_map(|l| l.strip_prefix("Exec")?.split_once('=')).map(|c| c.1).collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    // A reload is the signal: which gateway the file names, the process knows.
    assert_eq!(commands[1], "/bin/kill -HUP $MAINPID");
    for command in &commands[..1] {
        if let Err(e) = Cli::try_parse_from(command.split(' ')) {
            panic!("{command}: {e}");
        }
    }
    for wanted in ["Type=notify", "WatchdogSec=", "CapabilityBoundingSet=CAP_NET_ADMIN "] {
        assert!(unit.contains(wanted), "{wanted}");
    }
    // Neither gives up on what mends itself, nor tries what does not.
    for wanted in ["\nStartLimitIntervalSec=0\n", "\nRestart=on-failure\n", "\nRestartPreventExitStatus=2\n"]
    {
        assert!(unit.contains(wanted), "{wanted}");
    }
    assert!(!unit.contains("StartLimitBurst"));
    let init = read("quell-gateway.init");
    assert!(init.contains("procd_set_param respawn 3600 2 0\n"));
    assert!(init.contains("procd_add_raw_trigger \"interface.*.up\" 2000 /etc/init.d/quell-gateway start\n"));
    assert!(init.contains("\"$PROGRAM\" run --config \"$CONFIG\"") && init.contains("\"$PROGRAM\" reload"));
    let parsed = Command::new("sh").args(["-n", &dist("quell-gateway.init")]).output().unwrap();
    assert!(parsed.status.success(), "{parsed:?}");
}
