//! `quell lab`.

use std::io::{ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use quell_page::{Answer, Further, Page, Server, Site};

use crate::args::whole;
use crate::failure::Failure;
use crate::opened::Opened;
use crate::{interrupt, terminal};

/// The port that is tried first, so that the page has the same address each time: what a browser keeps of it stays.
const USUAL: u16 = 8765;

/// Arguments of `lab`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell lab                        # the page, with its own scenarios
  quell lab my.toml                # opens a scenario, and the files that it names
  quell lab results/main           # shows a study that was run
  quell new rrul --link home | quell lab -

The page runs the simulator in the browser and sends nothing anywhere. Quell prints its address and serves it to this \
machine only, until you press Ctrl-C. Reload the page to read an opened file again. See docs/lab.md.")]
pub struct Args {
    /// A scenario file or a results folder to open; - for a scenario from standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// The port; default: 8765 if it is free, else another.
    #[arg(long, value_name = "N", value_parser = whole(1..=u16::MAX))]
    port: Option<u16>,
    /// Open the page in the browser; default if the output is a terminal.
    #[arg(long, overrides_with = "no_open")]
    open: bool,
    /// Only print the address.
    #[arg(long, overrides_with = "open")]
    no_open: bool,
    /// Serve the page in this folder, as `make lab` writes it, instead of the built-in one.
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Serves the laboratory's page until it is interrupted.
pub fn run(args: &Args, _: Vec<String>) -> Result<(), Failure> {
    let page = page(args.dir.as_deref())?;
    let opened = args.file.as_deref().map(Opened::read).transpose()?;
    let server = listen(args.port)?;
    let url = server.url() + if opened.is_some() { "?opened" } else { "" };
    let stop = interrupt::listen();
    terminal::print(&format!("{url}\n"))?;
    if args.open || (!args.no_open && std::io::stdout().is_terminal()) {
        show(&url);
    }
    terminal::say("Only this machine can reach it; press Ctrl-C to stop.");
    server.serve(Site { page, further: further(opened) }, stop);
    Ok(())
}

/// The page of a folder, or the one in this command.
fn page(dir: Option<&Path>) -> Result<Page, Failure> {
    match dir {
        Some(dir) => Page::in_folder(dir).map_err(|e| {
            bad_input!(
                "--dir {}: {e}; must be a folder with the page, as `make lab` writes it to lab/dist",
                quell_files::name(dir)
            )
        }),
        None => Page::compiled_in().ok_or_else(|| {
            bad_input!(
                "the page is not in this build. In Quell's source tree, run `make lab` (with Node.js 20 or later) and \
                 then `cargo build --release --bin quell` to include it, or use --dir DIR to serve one that is \
                 elsewhere"
            )
        }),
    }
}

/// Takes the port that was asked for, or else the usual one, or any that is free.
fn listen(port: Option<u16>) -> Result<Server, Failure> {
    let Some(port) = port else {
        let server = Server::bind(USUAL).or_else(|_| Server::bind(0));
        return server.map_err(|e| Failure::cannot("listen on 127.0.0.1", e));
    };
    Server::bind(port).map_err(|e| match e.kind() {
        ErrorKind::AddrInUse => Failure::Failed(format!(
            "--port {port}: another program uses it; name another port, or leave out --port to get a free one"
        )),
        ErrorKind::PermissionDenied => {
            bad_input!("--port {port}: you are not allowed to use this port; choose 1024 or higher")
        }
        _ => Failure::cannot(format!("listen on port {port}"), e),
    })
}

/// Asks the system's browser to show a page; it says so if that cannot be done.
fn show(url: &str) {
    if let Err(e) = open::that_detached(url) {
        terminal::note(&format!("could not open a browser ({e}); open {url} yourself"));
    }
}

/// What is served beside the page: `opened.json`, which it asks for when its address ends with `?opened`.
fn further(opened: Option<Opened>) -> Box<Further> {
    let opened = opened.map(Mutex::new);
    Box::new(move |path| {
        let opened = opened.as_ref().filter(|_| path == "/opened.json")?;
        // Nothing under the lock panics but for a defect, and then there is nothing to open.
        let body = opened.lock().ok()?.now();
        Some(Answer::new("application/json", body))
    })
}
