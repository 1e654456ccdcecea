//! `quell man`: the manual pages, generated from the command line's definition.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;

use crate::failure::Failure;
use crate::folder;

/// Arguments of `man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell man ~/.local/share/man      # then: man quell, man quell-run
  quell man /tmp/pages && man -l /tmp/pages/man1/quell-run.1

The pages of quell go to man1, and those of quell-gateway to man8. Existing pages are replaced.")]
pub struct Args {
    /// Folder for the manual pages.
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

/// Writes the manual pages, generated from the command line's definition.
pub fn run(args: &Args, definition: Command) -> Result<(), Failure> {
    write_pages(definition, "1", &args.dir)?;
    #[cfg(target_os = "linux")]
    {
        use clap::Subcommand;
        let gateway = Command::new("quell-gateway")
            .version(env!("CARGO_PKG_VERSION"))
            .about("AQM algorithms on real packets: a gateway for Linux");
        write_pages(quell_gateway::commands::Command::augment_subcommands(gateway), "8", &args.dir)?;
    }
    Ok(())
}

/// Writes a page for a command and one for each command in it.
fn write_pages(command: Command, section: &str, dir: &Path) -> Result<(), Failure> {
    let dir = dir.join(format!("man{section}"));
    std::fs::create_dir_all(&dir)
        .map_err(|why| Failure::cannot(format!("make the folder {}", quell_files::name(&dir)), why))?;
    let mut command = command.disable_help_subcommand(true);
    command.build();
    write_built(&command, section, &dir)
}

fn write_built(command: &Command, section: &str, dir: &Path) -> Result<(), Failure> {
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        write_built(inner, section, dir)?;
    }
    let page = page(command, section).map_err(|why| Failure::cannot("write a manual page", why))?;
    let name = command.get_display_name().unwrap_or_else(|| command.get_name());
    folder::write_whole(&page, &dir.join(format!("{name}.{section}")))
}

/// The page of one command. Examples keep their lines, which [`Man::render`] would fill.
fn page(command: &Command, section: &str) -> std::io::Result<String> {
    let after = command.get_after_help().map(ToString::to_string);
    let man = Man::new(command.clone().after_help(""))
        .section(section)
        .source(concat!("Quell ", env!("CARGO_PKG_VERSION")))
        .manual("Quell");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command.get_arguments().any(|arg| !arg.is_hide_set()) {
        man.render_options_section(&mut page)?;
    }
    if command.get_subcommands().any(|inner| !inner.is_hide_set()) {
        man.render_subcommands_section(&mut page)?;
    }
    let mut page = String::from_utf8_lossy(&page).into_owned();
    if let Some(after) = after {
        page.push_str(&below(&after));
    }
    Ok(page)
}

/// The text after a command's help as roff. A line of one word and a colon is a heading; indented lines are examples.
fn below(text: &str) -> String {
    let mut page = String::new();
    let mut is_headed = false;
    let mut is_kept = false;
    for line in text.lines() {
        let is_example = line.starts_with("  ");
        if is_example != is_kept {
            page.push_str(if is_example { ".PP\n.nf\n" } else { ".fi\n.PP\n" });
            is_kept = is_example;
        }
        let _ = match (line.strip_suffix(':'), is_headed) {
            (Some(heading), _) if !line.starts_with(' ') && !heading.contains(' ') => {
                is_headed = true;
                writeln!(page, ".SH {}", escaped(&heading.to_uppercase()))
            }
            (_, false) => {
                is_headed = true;
                writeln!(page, ".SH NOTES\n{}", escaped(line))
            }
            _ if line.is_empty() => writeln!(page, ".PP"),
            _ => writeln!(page, "{}", escaped(line)),
        };
    }
    if is_kept {
        page.push_str(".fi\n");
    }
    page
}

/// A line that roff prints as it is: not a control line, and with hyphens that can be copied.
fn escaped(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\'', "\\(aq").replace('`', "\\(ga");
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_keep_their_lines_and_control_characters_are_text() {
        let text = "Examples:\n  quell run a.toml\n  quell 'b' \\\n\nIt ends.\n.hidden is text.";
        assert_eq!(
            below(text),
            ".SH EXAMPLES\n.PP\n.nf\n  quell run a.toml\n  quell \\(aqb\\(aq \\e\n.fi\n.PP\n.PP\nIt ends.\n\\&.hidden is text.\n"
        );
    }
}
